"""Put a fault into this process: into a module that is still to be imported, or into its living functions.

A fault that stands in a function's body takes effect at once, wherever the function is already
known by name; what was computed before stays as it was.
"""

import gc
import importlib.util
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, FunctionType


class NotPlantable(Exception):
    """The function that has the fault takes other names from around it than before."""


class _Loader(SourceFileLoader):
    def __init__(self, name: str, file: str, code: CodeType) -> None:
        super().__init__(name, file)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _Finder(MetaPathFinder):
    """Finds one module, with the fault in it; where the library lies, as ever."""

    def __init__(self, name: str, file: str, code: CodeType) -> None:
        self.name, self.file, self.code = name, file, code

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        loader = _Loader(self.name, self.file, self.code)
        return importlib.util.spec_from_file_location(self.name, self.file, loader=loader)


def living(file: str) -> list[FunctionType]:
    """Every function of a file that exists in this process."""
    return [
        each for each in gc.get_objects() if type(each) is FunctionType and each.__code__.co_filename == file
    ]


def plant(name: str, file: str, code: CodeType, functions: list[FunctionType]) -> None:
    """Let the module `name` have this code, by its `functions` if it has been imported."""
    if name not in sys.modules:
        sys.meta_path.insert(0, _Finder(name, file, code))
        return
    new = defaultdict(list)
    for part in _parts(code):
        new[part.co_qualname, part.co_firstlineno].append(part)
    for function in functions:
        old = function.__code__
        same = new.get((old.co_qualname, old.co_firstlineno), [])
        if len(same) == 1:  # lambdas that share a line come anew with the function around them
            if same[0].co_freevars != old.co_freevars:
                raise NotPlantable(old.co_qualname)
            function.__code__ = same[0]


def _parts(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _parts(constant)


def lines_on_import(code: CodeType) -> Iterator[int]:
    """The lines of a module that run once, when it is imported: its own and those of its classes."""
    yield from (line for _, _, line in code.co_lines() if line)
    for part in code.co_consts:
        if isinstance(part, CodeType) and not part.co_flags & inspect.CO_OPTIMIZED:
            yield from lines_on_import(part)
