"""The house: each module can be entered by itself, and no two need each other."""

import ast
import subprocess
import sys
from pathlib import Path

import mha_lib

LIBRARY = Path(mha_lib.__file__).parent
MODULES = {
    ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(LIBRARY.rglob("*.py"))
}


def imports_of(name: str, path: Path) -> set[str]:
    """The modules of the library that a module imports, wherever in it the import stands."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    imported = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            imported |= {f"{source}.{alias.name}" for alias in node.names} | {source}
    return {module for module in imported if module in MODULES and module != name}


ALONE = """
import importlib, sys, torch
for name in sys.argv[1:]:
    for module in [m for m in sys.modules if m.partition(".")[0] == "mha_lib"]:
        del sys.modules[module]
    importlib.import_module(name)
    parent, _, last = name.rpartition(".")
    if parent and getattr(sys.modules[parent], last) is not sys.modules[name]:
        print(name)
"""


def run(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_module_can_be_imported_alone_and_is_what_its_name_gives():
    # `mha.example` is the function: its module stands in the core, and nobody needs it by name.
    assert run(ALONE, *MODULES).split() == ["mha_lib.example"]


def test_no_modules_import_each_other_in_a_circle():
    # The package itself hands public names on; inside the library nobody asks it for any.
    needs = {name: imports_of(name, path) - {"mha_lib"} for name, path in MODULES.items()}
    while free := {name for name, needed in needs.items() if not needed & needs.keys()}:
        needs = {name: needed for name, needed in needs.items() if name not in free}
    assert not needs, f"these need each other: {sorted(needs)}"


def test_the_package_alone_loads_torch_and_the_core_only():
    loaded = run("import sys, mha_lib; print(*sorted(sys.modules))").split()
    core = "errors example heads look look.table masks multihead scoring".split()
    assert [name for name in loaded if name.startswith("mha_lib.")] == [f"mha_lib.{name}" for name in core]
    assert not {"matplotlib", "ipywidgets", "anywidget"} & set(loaded)


def test_the_package_is_a_module_like_any_other():
    run(
        "import torch, mha_lib as mha; mha.T = torch.ones(2, 3); assert mha.T.shape == (2, 3)\n"
        "mha.__doc__ = 'x'; assert mha.__doc__ == 'x'\n"
        "import mha_lib.moves.recorder as module; assert module.watch is mha.watch"
    )


def test_nothing_is_unpickled():
    """A pickle runs what it holds: weights come as safetensors, states as JSON."""
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not imported & {"pickle", "marshal", "shelve", "dill", "joblib"}, path
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in ("torch.load", "torch.hub", "np.load"), path
