"""The line that is pointed at is the one with the wrong call, in layers written out in three ways."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mha_lib.clinic.bugs import bugs
from mha_lib.clinic.examination import diagnose
from mha_lib.clinic.findings import Clue, Milestone, Remark

D, H = 12, 3


class Projections(nn.Module):
    def __init__(self):
        super().__init__()
        self.num_heads = H
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(D, D, bias=False) for _ in range(4))

    def split(self, queries, keys, values):
        projections = zip((self.W_q, self.W_k, self.W_v), (queries, keys, values), strict=True)
        return [W(X).unflatten(-1, (H, -1)).transpose(1, 2) for W, X in projections]


class ByMatmul(Projections):
    def forward(self, queries, keys, values):
        q, k, v = self.split(queries, keys, values)
        scores = torch.matmul(q, k.transpose(-2, -1))
        scores = scores / math.sqrt(D / H)
        weights = torch.sigmoid(scores)  # the wrong call of ByMatmul
        context = torch.matmul(weights, v)
        return self.W_o(context.transpose(1, 2).flatten(2))


class ByEinsum(Projections):
    def forward(self, queries, keys, values):
        q, k, v = self.split(queries, keys, values)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(D / H)
        weights = scores.softmax(-1)
        context = torch.einsum("bhqk,bhkd->bhqd", weights, v.flip(2))  # the wrong call of ByEinsum
        return self.W_o(context.transpose(1, 2).flatten(2))


class ByHeads(Projections):
    def forward(self, queries, keys, values):
        q, k, v = self.split(queries, keys, values)
        heads = []
        for i in range(H):
            scores = q[:, i] @ k[:, i].mT
            scores = scores / math.pi  # the wrong call of ByHeads
            heads.append(scores.softmax(-1) @ v[:, i])
        return self.W_o(torch.cat(heads, -1))


class ByExponentials(Projections):
    def forward(self, queries, keys, values):
        q, k, v = self.split(queries, keys, values)
        scores = q @ k.mT / math.sqrt(D / H)
        highest = scores.amax(-1, keepdim=True)
        e = (scores - highest).exp()  # the wrong call of ByExponentials
        context = e @ v
        return self.W_o(context.transpose(1, 2).flatten(2))


class BySums(Projections):
    def forward(self, queries, keys, values):
        q, k, v = self.split(queries, keys, values)
        e = (q @ k.mT / math.sqrt(D / H)).exp()
        total = e.sum(-2, keepdim=True)
        weights = e / total  # the wrong call of BySums
        return self.W_o((weights @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize(
    "style", [ByMatmul, ByEinsum, ByHeads, ByExponentials, BySums], ids=lambda style: style.__name__
)
def test_the_line_with_the_wrong_call_is_pointed_at(style):
    torch.manual_seed(0)
    found = diagnose(style())
    mark = f"  # the wrong call of {style.__name__}"
    listing = Path(__file__).read_text("utf-8").splitlines()
    marked = [number for number, line in enumerate(listing, 1) if line.endswith(mark)]
    assert found.name != "right"
    assert found.line is not None, found
    assert found.line.file == __file__
    assert [found.line.number] == marked, found


def test_exponentials_that_nobody_divided_are_said_to_be_that():
    torch.manual_seed(0)
    assert diagnose(ByExponentials()).line.clue is Clue.UNDIVIDED
    assert diagnose(BySums()).line.clue is Clue.COLUMNS


class WrittenOver(Projections):
    def forward(self, queries, keys, values):
        q, k, v = self.split(queries, keys, values)
        e = (q @ k.mT / math.sqrt(D / H)).exp()
        e /= e.sum(-1, keepdim=True)  # the wrong call of WrittenOver
        return self.W_o((e @ v).transpose(1, 2).flatten(2))


class OtherPolarity(Projections):
    def forward(self, queries, keys, values, key_padding_mask=None):
        q, k, v = self.split(queries, keys, values)
        mask = None if key_padding_mask is None else key_padding_mask[:, None, None]
        return self.W_o(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))


def test_a_key_padding_mask_that_is_true_for_words_is_right_and_named():
    torch.manual_seed(0)
    found = diagnose(OtherPolarity())
    assert found.name == "right"
    assert any(note.remark is Remark.PADDING_POLARITY for note in found.notes)


def test_what_backward_needs_and_was_written_over_is_pointed_at():
    torch.manual_seed(0)
    found = diagnose(WrittenOver())
    assert found.name == "unknown" and "backward raises RuntimeError" in found.message
    assert found.line.source.endswith("# the wrong call of WrittenOver")


@pytest.mark.parametrize("fault", ["dropout_in_eval", "scores_detached", "values_detached", "inputs_changed"])
def test_where_every_number_is_right_the_line_is_not_said_to_make_a_wrong_one(fault):
    found = diagnose(bugs[fault].make())
    assert found.name == fault
    assert found.line.source in found.message
    assert "not right comes from" not in found.message


def test_a_large_finite_fill_is_pointed_at_where_it_becomes_a_weight():
    found = diagnose(bugs["fill_minus_1e9"].make())
    assert found.name == "fill_minus_1e9" and "softmax" in found.line.source
    assert found.line.reached[-1] is Milestone.MASKED and found.line.wanted is Milestone.WEIGHTS
