"""The tiny trainings: what each task asks, that honest layers learn it, and what heads do."""

import functools
import math

import pytest
import torch
from torch import nn

from mha_lib.labs import training
from mha_lib.labs.training import NO_TARGET, look_back, score, train, without_head

NONE = NO_TARGET
QUICK = {"steps": 60, "lr": 0.03}
TOKENS = torch.tensor([[5, 6, 7, 8]])
TASKS = [
    (training.copying(4), [[5], [6], [7], [8]]),
    (training.reversing(4), [[8], [7], [6], [5]]),
    (training.next_digit(4), [[6], [7], [8], [NONE]]),
    (training.repeating((1, 2), 4), [[NONE] * 2, [NONE] * 2, [6, 5], [7, 6]]),
]


@pytest.mark.parametrize("task, targets", TASKS, ids=lambda value: getattr(value, "name", ""))
def test_targets_worked_by_hand(task, targets):
    assert task.answer(TOKENS).tolist() == [targets]


def test_marked_token_is_asked_from_where_it_stands():
    task = training.neighbour_and_marked(4)
    targets = task.answer(torch.tensor([[5, 16, 7, 8]]))
    assert targets.tolist() == [[[NONE, NONE], [5, 16], [16, 16], [7, 16]]]
    tokens, _ = task.sample(50, torch.Generator().manual_seed(0))
    assert (tokens >= 10).sum(1).eq(1).all() and tokens.max() < 20


def test_sentences_follow_the_generator_alone():
    def draw(seed):
        return training.copying().sample(7, torch.Generator().manual_seed(seed))[0]

    assert torch.equal(draw(3), draw(3)) and not torch.equal(draw(3), draw(4))
    assert draw(3).shape == (7, 8) and draw(3).min() >= 0 and draw(3).max() < 10


def test_training_repeats_itself_and_leaves_the_global_generator_alone():
    torch.manual_seed(11)
    before = torch.random.get_rng_state()
    one, two = (train(training.copying(), 2, seed=5, steps=4) for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert one.losses == two.losses and len(one.losses) == 4
    assert train(training.copying(), 2, seed=6, steps=4).losses != one.losses


def test_fixed_sentences_are_learnt_by_heart():
    result = train(training.next_digit(), 2, sentences=4, steps=150, mlp=True)
    assert result.losses[-1] < 0.7 < math.log(10) < result.loss


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("task", [training.copying(), training.reversing()], ids=lambda task: task.name)
def test_honest_layers_learn_to_copy_and_reverse(task, num_heads):
    assert train(task, num_heads, **QUICK).accuracies[0] > 0.97


def test_nothing_honest_predicts_random_digits():
    assert train(training.next_digit(), 2, **QUICK).loss > math.log(10) - 0.02


@functools.cache
def two_heads(seed):
    return train(training.repeating((1, 3)), 2, seed=seed, **QUICK)


@pytest.mark.parametrize("seed", range(2))
def test_one_head_cannot_do_two_jobs_that_two_heads_share(seed):
    assert train(training.repeating((1, 3)), 1, seed=seed, **QUICK).loss > 0.6
    two = two_heads(seed)
    weights = two.model.weights(two.tokens)
    near, far = look_back(weights, 1), look_back(weights, 3)
    assert two.loss < 0.3
    assert near.max() > 0.8 and far.max() > 0.8 and near.argmax() != far.argmax()


def test_without_a_head_one_answer_goes_and_the_model_stays():
    two = two_heads(0)
    near = int(look_back(two.model.weights(two.tokens), 1).argmax())
    before = [p.clone() for p in two.model.parameters()]
    _, kept = score(without_head(two.model, 1 - near), two.tokens, two.targets)
    assert kept[0] > 0.9 and kept[1] < 0.3
    assert all(torch.equal(a, b) for a, b in zip(before, two.model.parameters(), strict=True))


def test_look_back_worked_by_hand():
    weights = torch.zeros(1, 2, 5, 5)
    weights[0, 0] = torch.eye(5).roll(-1, 1)  # head A looks one back
    weights[0, 1, 3:] = 0.2  # head B evenly
    assert look_back(weights, 1).tolist() == pytest.approx([1.0, 0.2])
    assert look_back(weights, 3).tolist() == pytest.approx([0.0, 0.2])


def test_any_attention_layer_can_be_trained():
    class Blind(nn.Module):
        def forward(self, queries, keys, values, attn_mask=None):
            return torch.zeros_like(values)

    assert train(training.copying(), Blind, steps=30).accuracies[0] < 0.3


def test_steps_below_one_are_refused():
    with pytest.raises(ValueError, match="steps: expected 1 or more, got 0"):
        train(training.copying(), steps=0)


def test_gradient_noise_comes_from_chance_alone(monkeypatch):
    task = training.repeating((1, 3))
    model = train(task, 2, steps=1).model
    assert 0.2 < training.gradient_noise(model, task) < 3
    same = task.sample(32, torch.Generator().manual_seed(0))
    monkeypatch.setattr(training.Task, "sample", lambda *_: same)
    assert training.gradient_noise(model, task) < 1e-4
