"""Tiny tasks on sequences of digits, and a training of about a second, to see what heads learn.

The model is as small as it can be: embedding + position → one attention layer → read-out.
There is no way around the attention, so what an output knows it has seen through a head.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import value_error
from ..masks import causal_mask
from ..multihead import MultiHeadAttention
from .work import one_thread

NO_TARGET = -100  # cross_entropy passes over these
WIDTH, BATCH = 32, 32  # features of a word, and sentences at a step


@dataclass(frozen=True)
class Task:
    """A task: `answer` maps tokens (B, L) to targets (B, L, n), NO_TARGET where none is asked."""

    name: str
    answer: Callable[[Tensor], Tensor]
    length: int = 8
    vocab_size: int = 10
    causal: bool = False
    marked: bool = False  # in each sentence one early token is raised by vocab_size / 2

    def sample(self, sentences: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw tokens (B, L) from the generator; return them and their targets (B, L, n)."""
        top = self.vocab_size // 2 if self.marked else self.vocab_size
        tokens = torch.randint(top, (sentences, self.length), generator=generator)
        if self.marked:
            where = torch.randint(self.length // 2, (sentences, 1), generator=generator)
            tokens = tokens.scatter_add(1, where, torch.full_like(where, top))
        return tokens, self.answer(tokens)


def copying(length: int = 8) -> Task:
    """Say the token that stands here: no other word need be seen."""
    return Task("copying", lambda tokens: tokens.unsqueeze(-1), length)


def reversing(length: int = 8) -> Task:
    """Say the sentence backwards: place i wants the token at L − 1 − i."""
    return Task("reversing", lambda tokens: tokens.flip(1).unsqueeze(-1), length)


def next_digit(length: int = 8) -> Task:
    """Say the next of random digits; causal. On average nothing honest gets below ln 10 = 2.303."""
    return Task("next random digit", lambda tokens: _back(tokens, -1).unsqueeze(-1), length, causal=True)


def repeating(offsets: tuple[int, ...] = (1, 3), length: int = 8) -> Task:
    """Say the tokens that stood `offsets` places back, one answer for each; causal."""

    def answer(tokens: Tensor) -> Tensor:
        targets = torch.stack([_back(tokens, offset) for offset in offsets], -1)
        targets[:, : max(offsets)] = NO_TARGET  # where one answer is missing, none is asked
        return targets

    return Task("repeating " + " and ".join(map(str, offsets)) + " back", answer, length, causal=True)


def neighbour_and_marked(length: int = 8) -> Task:
    """Say the token one place back, and the marked token (10 to 19) so far; causal.

    The first is found by its place, the second by what it is.
    """

    def answer(tokens: Tensor) -> Tensor:
        marked = torch.where(tokens >= 10, tokens, 0).cumsum(1)
        return torch.stack([_back(tokens, 1), torch.where(marked > 0, marked, NO_TARGET)], -1)

    return Task("the neighbour and the marked one", answer, length, 20, causal=True, marked=True)


def _back(tokens: Tensor, offset: int) -> Tensor:
    return F.pad(tokens, (offset, -offset), value=NO_TARGET)


class TinyModel(nn.Module):
    """Embedding + position → attention → read-out: tokens (B, L) → logits (B, L, n, vocab_size)."""

    attention: Any  # any layer that is called as ours is; heads are read off it by name

    def __init__(self, task: Task, attention: nn.Module, mlp: bool = False):
        super().__init__()
        self.tokens = nn.Embedding(task.vocab_size, WIDTH)
        self.places = nn.Embedding(task.length, WIDTH)
        self.attention = attention
        outputs = task.answer(torch.zeros(1, task.length, dtype=torch.long)).shape[-1]
        hidden = [nn.Linear(WIDTH, 64), nn.ReLU()] if mlp else []
        self.read_out = nn.Sequential(*hidden, nn.Linear(64 if mlp else WIDTH, outputs * task.vocab_size))
        self.mask = causal_mask(task.length, task.length) if task.causal else None

    def _attend(self, tokens: Tensor, **need: bool) -> Any:
        X = self.tokens(tokens) + self.places.weight
        return self.attention(X, X, X, attn_mask=self.mask, **need)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.read_out(self._attend(tokens))
        return logits.reshape(*tokens.shape, -1, self.tokens.num_embeddings)

    @one_thread()
    @torch.no_grad()
    def weights(self, tokens: Tensor) -> Tensor:
        """Return the attention weights (B, h, L, L) for tokens (B, L)."""
        weights: Tensor = self._attend(tokens, need_weights=True)[1]
        return weights


@dataclass(frozen=True)
class TrainResult:
    """A trained model, and how it does on fresh sentences."""

    model: TinyModel
    losses: tuple[float, ...]  # at every step, in nats
    loss: float  # on the fresh sentences
    accuracies: tuple[float, ...]  # likewise, one for each answer of the task
    tokens: Tensor  # the fresh sentences (B, L)
    targets: Tensor  # (B, L, n)


@one_thread()
def train(
    task: Task,
    build: Callable[[], nn.Module] | int = 2,
    *,
    seed: int = 0,
    steps: int = 120,
    lr: float = 0.01,
    sentences: int | None = None,
    mlp: bool = False,
) -> TrainResult:
    """Train a TinyModel with Adam, on one thread, and test it on 256 fresh sentences.

    Args:
        task: what to learn.
        build: a number of heads, or a function that makes the attention layer, of width
            32, called as layer(X, X, X, attn_mask=bool (L, L) or None).
        seed: of the weights and the sentences; the global generator is left as it was.
        sentences: train on so many fixed sentences, instead of fresh ones at each step.
        mlp: whether the read-out has a hidden layer of 64.

    Raises:
        ValueError: steps below 1, or heads that do not divide 32.

    Example:
        >>> train(copying(), 2, steps=80).accuracies[0] > 0.9
        True
    """
    if steps < 1:
        raise value_error("steps", "1 or more", steps)
    generator = torch.Generator().manual_seed(seed)
    fixed = task.sample(sentences, generator) if sentences else None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = MultiHeadAttention(WIDTH, WIDTH, WIDTH, WIDTH, build) if isinstance(build, int) else build()
        model = TinyModel(task, layer, mlp)
    optimiser = torch.optim.Adam(model.parameters(), lr, fused=True)
    losses = []
    for _ in range(steps):
        tokens, targets = fixed if fixed else task.sample(BATCH, generator)
        loss = F.cross_entropy(model(tokens).flatten(0, 2), targets.flatten())
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        losses.append(loss.item())
    tokens, targets = task.sample(256, torch.Generator().manual_seed(seed + 1_000_000))
    held_out, accuracies = score(model, tokens, targets)
    return TrainResult(model, tuple(losses), held_out, accuracies, tokens, targets)


@one_thread()
@torch.no_grad()
def score(model: nn.Module, tokens: Tensor, targets: Tensor) -> tuple[float, tuple[float, ...]]:
    """Return the mean loss and, for each of the n answers, the share that is right."""
    logits, asked = model(tokens), targets != NO_TARGET
    loss = F.cross_entropy(logits.flatten(0, 2), targets.flatten()).item()
    right = (logits.argmax(-1) == targets) & asked
    return loss, tuple((right.sum((0, 1)) / asked.sum((0, 1))).tolist())


@one_thread()
def gradient_noise(model: TinyModel, task: Task, batches: int = 8, seed: int = 0) -> float:
    """Return how far gradients of single batches are from their mean, in units of its length."""
    generator, slopes = torch.Generator().manual_seed(seed), []
    for _ in range(batches):
        tokens, targets = task.sample(BATCH, generator)
        loss = F.cross_entropy(model(tokens).flatten(0, 2), targets.flatten())
        slopes.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))]))
    mean = torch.stack(slopes).mean(0)
    distances = torch.stack([(slope - mean).norm() for slope in slopes])
    return float(distances.mean() / mean.norm())


def look_back(weights: Tensor, offset: int, first: int = 3) -> Tensor:
    """Return each head's mean weight on the word `offset` back, from the query `first` on.

    Shapes: (B, h, L, L) → (h,).
    """
    return weights.diagonal(-offset, -2, -1)[..., first - offset :].mean((0, 2))


def without_head(model: TinyModel, head: int) -> TinyModel:
    """Return a copy of the model in which W_o does not hear `head`."""
    copy = deepcopy(model)
    d = copy.attention.W_o.in_features // copy.attention.num_heads
    with torch.no_grad():
        copy.attention.W_o.weight[:, head * d : (head + 1) * d] = 0
    return copy
