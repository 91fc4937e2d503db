"""Other hosts than JupyterLab, each in a small environment laid over this one; the network is needed once.

They take a minute each, so they run under CI, or with `pytest -m ci tests/hosts`.
"""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest
from in_browser import Lab, chromium, context, free_port  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "colab": ("ipywidgets==7.7.1", "anywidget==0.9.21", "ipykernel==6.17.1"),
    "notebook": ("notebook==7.6.5",),
    "voila": ("voila==0.5.13",),
    "marimo": ("marimo==0.25.2",),
}  # README's table of hosts says what they showed
WIDGETS = {
    "mha.widgets.TensorMoves(split)": ".mha-moves",
    "mha.widgets.TensorMoves.playground()": ".mha-moves input[type=text], .mha-moves textarea",
    "mha.widgets.HeadExplorer(weights, ex.words[0], sample=0)": ".mha-heads",
    "mha.widgets.AttentionPlane(*torch.rand(3, 3, 2), ['small', 'cats', 'sleep'])": ".mha-plane",
    "mha.widgets.ScalePlayground()": ".mha-scale",
    "mha.widgets.MaskConsole()": "img[src^='data:image/png']",
    'mha.predict("start.numbers")': "input[type=radio]",
    'mha.reveal("start.numbers")': "[role=status]:has-text('answer')",
    'mha.quiz(only=["reshape"])': "input[type=radio]",
}
START = (
    "import torch\nimport mha_lib as mha\nex = mha.example()\n"
    "split = mha.watch(lambda X: mha.split_heads(X, 2), ex.numbers)\n"
    "weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)[1]"
)


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker("ci")


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """Make an environment that has this one's packages and, before them, a host's own."""

    def make(host: str) -> Path:
        folder = tmp_path_factory.mktemp(host)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        python = folder / "bin" / "python"
        site = next((folder / "lib").glob("python*")) / "site-packages"
        (site / "below.pth").write_text(sysconfig.get_path("purelib"))
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES[host]], check=True)
        return python

    return make


def environ(folder: Path, python: Path, **more: str) -> dict[str, str]:
    """The environment variables of a host whose files stay in `folder`."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(folder / name.lower()) for name in names}
    below = Path(sys.prefix) / "share" / "jupyter"  # where this environment keeps extensions and schemas
    above = python.parents[1] / "share" / "jupyter"  # the host's own come first
    found = {
        "JUPYTER_PATH": f"{above}{os.pathsep}{below}",
        "JUPYTERLAB_DIR": str(below / "lab"),
        "PYTHONPATH": str(ROOT),
    }
    return os.environ | own | found | more


def kernelspec(folder: Path, python: Path, name: str) -> None:
    """Add a kernel of that environment, for whoever has `folder` as JUPYTER_DATA_DIR."""
    target = folder / "jupyter_data_dir" / "kernels" / name
    target.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": name, "language": "python"}
    (target / "kernel.json").write_text(json.dumps(spec), "utf-8")


@pytest.fixture
def every_widget(tmp_path) -> Path:
    """A notebook that shows every widget."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (START, *WIDGETS)]
    path = tmp_path / "every_widget.ipynb"
    nbformat.write(notebook, path)
    return path
