"""What notebooks 08 and 09 say of trainings, with the seeds they show and with fresh ones.

`make claims` runs this; it takes some minutes. The bounds leave room for another machine,
what is printed is what this one gives.
"""

import math
from copy import deepcopy
from statistics import median

import pytest
import torch
from lesson import lesson, tell

from mha_lib.labs import training
from mha_lib.labs.training import look_back, score, train, without_head

TASK = training.repeating((1, 3))
STEPS = {"steps": 120, "lr": 0.01}  # notebook 09's
SHOWN, FRESH = range(4), range(24)  # the notebook's seeds are the first of these


def looks(run):
    weights = run.model.weights(run.tokens)
    return look_back(weights, 1), look_back(weights, 3)


def alone(run):
    """For each head, the share of right answers without it."""
    return [score(without_head(run.model, head), run.tokens, run.targets)[1] for head in (0, 1)]


def test_one_head_puts_its_weight_on_both_words():
    runs = [train(TASK, 1, seed=seed, **STEPS) for seed in FRESH]
    shares = [(near.item(), far.item()) for near, far in map(looks, runs)]
    both = [min(pair) > 0.3 for pair in shares]
    tell("one head, 24 seeds: weight on one back and three back", [f"{n:.2f}/{f:.2f}" for n, f in shares])
    tell("over 0.3 on each in", sum(both), "of 24; losses", [round(run.loss, 2) for run in runs])
    assert all(min(pair) > 0.35 for pair in shares[:3])
    assert all(sum(pair) > 0.8 for pair in shares) and 16 <= sum(both) <= 22
    assert min(run.loss for run in runs) > 0.5


def test_two_heads_part():
    runs = [train(TASK, 2, seed=seed, **STEPS) for seed in FRESH]
    parted = [
        min(near.max(), far.max()) > 0.9 and near.argmax() != far.argmax() for near, far in map(looks, runs)
    ]
    letters = ["AB"[looks(run)[0].argmax()] for run in runs]
    tell("two heads, 24 seeds: parted in", sum(map(bool, parted)), "runs; one back is looked at by", *letters)
    assert all(parted[:4]) and sum(map(bool, parted)) >= 20
    assert 6 <= letters.count("A") <= 18, "the letter says nothing"


def test_one_word_makes_twins():
    runs = [train(training.repeating((1,)), 2, seed=seed, steps=60, lr=0.03) for seed in FRESH]
    lowest = [min(looks(run)[0]).item() for run in runs]
    right = [min(answers[0] for answers in alone(run)) for run in runs]
    tell("one word wanted: lower weight of two heads", [round(value, 2) for value in lowest])
    tell("right with either head alone, the worse one", [round(value, 2) for value in right])
    assert min(lowest) > 0.8 and min(right[:3]) > 0.5 and median(right) > 0.6


def test_one_head_needs_more_steps_or_a_layer_behind_it():
    short = [train(TASK, 1, seed=seed, **STEPS).loss for seed in range(12)]
    hidden = [train(TASK, 1, seed=seed, mlp=True, **STEPS).loss for seed in range(12)]
    long = [train(TASK, 1, seed=seed, steps=600, lr=0.01).loss for seed in range(12)]
    for name, losses in (("120 steps", short), ("hidden layer", hidden), ("600 steps", long)):
        tell(f"one head, {name}: losses of 12 seeds", [round(loss, 3) for loss in losses])
    assert max(long[:3]) < min(short[:3]) and median(long) < 0.3 < median(short)
    assert sum(loss < min(short) for loss in long) == 11
    assert min(hidden) < 0.1 < 0.5 < max(hidden)


RISING = [(steps, 0.03) for steps in (10, 40, 150, 600)] + [(steps, 0.01) for steps in (40, 150, 600)]


@pytest.mark.parametrize("steps, lr", RISING)
def test_reversing_overfits_more_with_more_heads(steps, lr):
    gaps = lesson("09")["gaps"](training.reversing(), (1, 2, 4, 8), steps=steps, lr=lr)
    middles = [median(runs) for runs in gaps.values()]
    tell(
        f"reversing, {steps} steps, lr {lr}: middle gap with 1, 2, 4, 8 heads", [round(m, 1) for m in middles]
    )
    assert middles == sorted(middles)


@pytest.mark.parametrize(
    "steps, lr, more", [(40, 0.03, True), (150, 0.03, True), (100, 0.01, False), (600, 0.01, False)]
)
def test_repeating_turns_round_with_the_size_of_the_steps(steps, lr, more):
    gaps = lesson("09")["gaps"](TASK, (1, 2, 4, 8), steps=steps, lr=lr)
    middles = [median(runs) for runs in gaps.values()]
    tell(
        f"repeating, {steps} steps, lr {lr}: middle gap with 1, 2, 4, 8 heads", [round(m, 1) for m in middles]
    )
    assert (middles[-1] > middles[0]) == more


def test_gradients_of_one_head_and_of_eight_overlap():
    noise = {}
    for heads in (1, 8):
        models = [train(TASK, heads, seed=seed, steps=20, lr=0.02).model for seed in range(12)]
        noise[heads] = [training.gradient_noise(model, TASK) for model in models]
        tell(f"h = {heads}: distance of gradients from the mean", [round(value, 2) for value in noise[heads]])
    assert max(noise[8]) > min(noise[1]) and max(noise[1]) > min(noise[8])


def test_heads_part_by_place_and_content():
    runs = [train(training.neighbour_and_marked(), 2, seed=seed, steps=60, lr=0.03) for seed in range(12)]
    missed = [torch.tensor(alone(run)).argmin(0).tolist() for run in runs]
    tell("the head that each answer misses", missed)
    assert all(near != marked for near, marked in missed)


def test_crossed_projections_break_both_answers():
    worst = []
    for seed in range(12):
        run = train(TASK, 2, seed=seed, **STEPS)
        crossed = deepcopy(run.model)
        W_q = crossed.attention.W_q.requires_grad_(False).weight
        W_q.copy_(W_q.roll(16, dims=0))
        worst.append(max(score(crossed, run.tokens, run.targets)[1]))
    tell("right with crossed projections, the better answer", [round(value, 2) for value in worst])
    assert worst[0] < 0.6 and max(worst) < 0.75


def test_honest_models_are_a_little_below_ln_10_at_times_and_never_clearly():
    losses = []
    for seed in range(20):
        model = train(training.next_digit(), 2, seed=seed, steps=110).model
        for test_set in range(10):
            drawn = training.next_digit().sample(256, torch.Generator().manual_seed(10**6 + test_set))
            losses.append(score(model, *drawn)[0])
    below = sum(loss < math.log(10) for loss in losses)
    tell("honest, 200 losses on random digits: below ln 10 in", below, "; lowest", round(min(losses), 3))
    assert min(losses) > 2.25 and sum(losses) / 200 > math.log(10)


@pytest.mark.parametrize("name", ["merge_without_permute", "mask_after_softmax"])
def test_cheats_are_clearly_below(name):
    losses = [
        train(training.next_digit(), lesson("08")["ill"](name), seed=s, steps=110).loss for s in range(8)
    ]
    tell(f"{name}: losses on random digits", [round(loss, 2) for loss in losses])
    assert max(losses) < 2.2
