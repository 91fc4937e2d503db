"""The set-up check: all well here, and a missing package is named with its mend."""

import mha_lib as mha
from mha_lib.exercises import setup_check


def test_all_is_well_here():
    assert mha.check_setup(), repr(mha.check_setup())


def test_what_is_missing_is_named_with_a_mend(monkeypatch):
    monkeypatch.setattr(setup_check, "_NEEDED", ("a_package_that_nobody_has",))
    found = mha.check_setup()
    assert not found and "✗ a_package_that_nobody_has: Run make lab" in repr(found)


def test_a_changed_layer_is_noticed(monkeypatch):
    ex = mha.example()
    ex.layer.W_q.weight.mul_(2)
    monkeypatch.setattr(setup_check, "example", lambda: ex)
    assert "✗ the example" in repr(mha.check_setup())
