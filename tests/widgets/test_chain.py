"""The playground's chain: stopped in time, and by nothing that it can catch."""

import sys
import threading

import pytest
import torch

from mha_lib.widgets.chain import SIZES, ChainError, evaluate, explain, limited


def test_a_chain_that_never_ends_is_stopped():
    before = threading.active_count()
    with pytest.raises(ChainError, match="longer than 0.3 seconds"):
        limited(lambda: evaluate("[None for _ in iter(int, 1)]\nX", SIZES), seconds=0.3)
    for thread in threading.enumerate()[before:]:
        thread.join(5)
    assert threading.active_count() == before


def test_a_chain_that_catches_every_exception_is_stopped():
    def busy():
        while True:
            try:
                sum(range(1000))
            except Exception:
                pass

    before = threading.active_count()
    with pytest.raises(ChainError, match="longer than"):
        limited(busy, seconds=0.2)
    for thread in threading.enumerate()[before:]:
        thread.join(5)
    assert threading.active_count() == before


def test_a_chain_that_only_waits_is_stopped_too():
    ended = threading.Event()
    try:
        with pytest.raises(ChainError, match="longer than 0.1 seconds"):
            limited(ended.wait, seconds=0.1)
    finally:
        ended.set()


def test_a_chain_is_not_blamed_for_what_others_do_on_the_machine():
    """Three busy threads share one interpreter: 0.2 s of work take longer on the clock."""
    ended = threading.Event()
    others = [threading.Thread(target=_busy_until, args=(ended,)) for _ in range(2)]
    for other in others:
        other.start()
    try:
        assert limited(lambda: sum(range(2_000_000)), seconds=2) == 1999999000000
    finally:
        ended.set()
        for other in others:
            other.join()


def _busy_until(ended):
    while not ended.is_set():
        sum(range(1000))


def test_a_chain_is_not_stopped_in_the_midst_of_an_import(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_to_load.py").write_text("for _ in range(3_000_000): pass\nwhole = True\n")
    with pytest.raises(ChainError, match="longer than"):
        limited(lambda: [__import__("slow_to_load") for _ in iter(int, 1)], seconds=0.02)
    assert sys.modules.pop("slow_to_load").whole


def test_what_a_chain_raises_comes_through_and_what_it_gives_too():
    with pytest.raises(ZeroDivisionError):
        limited(lambda: 1 // 0)
    assert limited(lambda: 7) == 7


def test_a_size_is_checked_before_torch_makes_anything():
    peak = []

    class Sees(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            if isinstance(made, torch.Tensor) and made.device.type == "cpu":
                peak.append(made.numel())
            return made

    with Sees(), pytest.raises(ChainError, match="80,000,000"):
        evaluate("X.repeat(100, 100, 100)", SIZES)
    assert max(peak) < 1000


def test_random_numbers_are_what_they_would_have_been():
    torch.manual_seed(0)
    expected = torch.rand(80)
    torch.manual_seed(0)
    made = evaluate("X.flatten() + torch.rand(80)", SIZES).result
    assert (made - torch.arange(80.0)).allclose(expected, atol=1e-4)


def test_a_chain_can_write_in_place():
    assert (
        evaluate("Y = X.clone()\nY[0] = Y[1]\nY", SIZES)
        .result[0]
        .equal(torch.arange(40.0, 80).reshape(4, 10))
    )


def test_explained_trouble_belongs_to_its_chain():
    trouble = explain(ValueError("<b>"), "X.x")
    assert (trouble.chain, trouble.error) == ("X.x", "ValueError: <b>")
