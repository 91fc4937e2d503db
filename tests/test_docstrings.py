"""Every example in a docstring runs and shows what it says; every public name has one."""

import dataclasses
import doctest
import importlib
import pkgutil

import pytest

import mha_lib as mha

MODULES = sorted(m.name for m in pkgutil.walk_packages(mha.__path__, "mha_lib."))
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    said = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(example, out=said.append)
    assert not runner.summarize(verbose=False).failed, "".join(said)


@pytest.mark.parametrize("name", mha.__all__)
def test_public_name_has_a_docstring(name):
    value = getattr(mha, name)
    assert value.__doc__ and value.__doc__.strip(), name
    record = isinstance(value, type) and (issubclass(value, Exception) or dataclasses.is_dataclass(value))
    if record or not callable(value):
        return
    assert ">>>" in value.__doc__, f"mha.{name} has no runnable example"
