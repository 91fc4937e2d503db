"""Make .venv, a layer at a time; what goes wrong is said in one line, before time is lost.

    python3 tools/install.py base       .venv with PyTorch and what the notebooks are read with
    python tools/install.py library     mha_lib into it, and what a kernel imports compiled
    python tools/install.py site        the tools of `make site`
    python tools/install.py test        the tools of `make test`
    python tools/install.py wheelhouse  all that base and library need, fetched into wheelhouse/
    python tools/install.py settings    only JupyterLab's settings, into the Python that runs this

Only the standard library is needed. TORCH=cpu takes PyTorch's build without CUDA; with
WHEELHOUSE=wheelhouse packages come from there and no network is asked.
"""

import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GB = 10**9
SPACE = 3 * GB
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
UNWRITABLE = (
    "{folder} cannot be written ({reason}). Copy the collection to a folder of yours and run make there."
)
TOO_FULL = (
    "{need:.0f} GB of free disk are needed, and {folder} has {free:.1f} GB. Make room, then run make again."
)
NO_VENV = (
    "Python could not make .venv. On Debian and Ubuntu first: sudo apt install python3-venv. "
    "Python said: {reason}"
)
# What pip writes when it fails, and what to do about it; the first that is found is said.
TROUBLES = (
    (("No space left on device", "Errno 28"), "The disk is full. Make room for 3 GB"),
    (
        ("DO NOT MATCH THE HASHES",),
        "A package is not the one that was tested. Clear pip's cache (pip cache purge)",
    ),
    (
        (
            "NewConnectionError",
            "Failed to establish",
            "NameResolutionError",
            "No matching distribution",
            "ReadTimeout",
        ),
        "The packages could not be fetched. Connect to the network, or set PIP_INDEX_URL to a mirror",
    ),
    (
        ("Permission denied", "Read-only file system"),
        "A folder may not be written. Put the collection in one that is yours",
    ),
)
# A kernel and a server import these at their start; imported once, they are compiled.
KERNEL = (
    "import ipykernel.kernelapp, ipykernel.ipkernel, IPython.core.completer, debugpy, ipywidgets, anywidget, "
    "matplotlib.figure, matplotlib.backends.backend_agg"
)
SERVER = "import jupyterlab.labapp, jupyter_lsp, jupyter_server_terminals, nbconvert.exporters, notebook_shim"
LIBRARY = (
    "import mha_lib as mha; mha.plot_moves, mha.plot_heads, mha.predict, mha.check, mha.widgets.TensorMoves"
)
SETTINGS = ROOT / "binder" / "overrides.json"
SETTINGS_PLACE = Path("share", "jupyter", "lab", "settings", "overrides.json")  # below a Python's prefix


class SetUpError(Exception):
    """What went wrong and what to do about it, in one line."""


def python_of(venv: Path) -> Path:
    """Where the environment keeps its Python."""
    windows = venv / "Scripts" / "python.exe"
    return windows if windows.exists() else venv / "bin" / "python"


def pinned() -> dict[str, str]:
    """Return [tool.mha] of pyproject.toml: which torch is tested, among other things."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mha"]


def say(line: str, end: str = "\n") -> None:
    print(line, end=end, flush=True)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is being done, and how long it took."""
    start = time.monotonic()
    say(f"  {what} ... ", end="")
    try:
        yield
    except BaseException:
        say("failed")
        raise
    say(f"{time.monotonic() - start:.0f} s")


class SetUp:
    """The steps, on the folder `root`; all that the tools say goes to .venv/install.log."""

    def __init__(self, root: Path = ROOT):
        self.root, self.venv = root, root / ".venv"
        self.log = self.venv / "install.log"

    def base(self) -> None:
        """Make .venv anew with PyTorch and what the notebooks are read with."""
        self.check_folder()
        say(f"Setting up .venv with Python {platform.python_version()}; once, about two minutes.")
        with step("an empty environment"):
            self.make_venv()
        with step("JupyterLab and what the notebooks use"):
            self.pip("--no-deps", "--no-compile", "-r", self.locked("lab"))
        compiling = [self.start(imports) for imports in (SERVER, KERNEL)]
        with step("PyTorch"):
            self.pip("--no-compile", f"torch=={pinned()['torch']}", *self.torch_index())
        for process in compiling:
            process.wait()

    def library(self) -> None:
        """Install mha_lib, write JupyterLab's settings, compile what a kernel imports."""
        with step("mha_lib, settings"):
            self.pip("--no-deps", "--no-build-isolation", "--no-compile", "-e", str(self.root))
            self.run([str(python_of(self.venv)), str(Path(__file__)), "settings"])
        with step("compiling what a notebook imports"):
            self.start(LIBRARY).wait()

    def layer(self, name: str) -> None:
        """Install the tools of `make site` or of `make test`."""
        self.check_folder()
        with step(f"the tools of make {name}"):
            self.pip("--no-deps", "--no-compile", "-r", self.locked(name))

    def wheelhouse(self) -> None:
        """Fetch what `base` installs, for this kind of machine and this Python, into wheelhouse/."""
        house = self.root / "wheelhouse"
        with step("fetching packages into wheelhouse/"):
            self.pip("--no-deps", "-d", str(house), "-r", self.locked("lab"), do="download")
            torch = f"torch=={pinned()['torch']}"
            self.pip("-d", str(house), "--find-links", str(house), torch, *self.torch_index(), do="download")
        say("Take this folder along; where there is no network: make lab WHEELHOUSE=wheelhouse")

    def check_folder(self) -> None:
        """Notice a folder that cannot be written and a disk that is full before anything is fetched."""
        try:
            self.venv.mkdir(exist_ok=True)
            probe = self.venv / "probe"
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            raise SetUpError(UNWRITABLE.format(folder=self.root, reason=error.strerror)) from None
        free = shutil.disk_usage(self.root).free
        if free < SPACE and not (self.venv / "installed").exists():
            raise SetUpError(TOO_FULL.format(need=SPACE / GB, folder=self.root, free=free / GB))

    def make_venv(self) -> None:
        run = subprocess.run(
            [sys.executable, "-m", "venv", "--clear", str(self.venv)], capture_output=True, text=True
        )
        if run.returncode:
            reason = " ".join((run.stdout + run.stderr).split())
            raise SetUpError(NO_VENV.format(reason=reason))

    def locked(self, name: str) -> str:
        return str(self.root / "tools" / "locks" / f"{name}.lock")

    def torch_index(self) -> list[str]:
        if os.environ.get("WHEELHOUSE") or os.environ.get("TORCH") != "cpu":
            return []
        return ["--extra-index-url", CPU_WHEELS]

    def pip(self, *arguments: str, do: str = "install") -> None:
        """Run pip; name the trouble if it fails."""
        house = os.environ.get("WHEELHOUSE")
        source = ["--no-index", "--find-links", str(Path(house).resolve())] if house else []
        options = ["--disable-pip-version-check", "--no-input", "--retries=2", *source]
        self.run([str(python_of(self.venv)), "-m", "pip", do, *options, *arguments])

    def run(self, command: list[str]) -> None:
        # What pip unpacks on its way stays on the disk that was looked at, not in a small /tmp.
        unpacked = self.venv / "tmp"
        unpacked.mkdir(exist_ok=True)
        env = os.environ | {"TMPDIR": str(unpacked)}
        with self.log.open("a", encoding="utf-8") as log:
            start = log.tell()
            code = subprocess.run(
                command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            ).returncode
        shutil.rmtree(unpacked, ignore_errors=True)
        if code == 0:
            return
        raise SetUpError(trouble(self.log.read_text("utf-8", "replace")[start:]))

    def start(self, imports: str) -> subprocess.Popen:
        """Import, in a process of its own, so that the compiled files are there when a kernel asks."""
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env["MPLCONFIGDIR"] = str(self.venv / "matplotlib")
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([str(python_of(self.venv)), "-c", imports], env=env, cwd=self.root, **quiet)


def trouble(log: str) -> str:
    """Return the line that says what failed and what to do, from what pip wrote."""
    errors = [line.strip() for line in log.splitlines() if "error" in line.lower()]
    reason = errors[-1] if errors else "it gave no reason"
    mends = (mend for marks, mend in TROUBLES if any(mark in log for mark in marks))
    mend = next(mends, "The install failed. Look into .venv/install.log")
    return f"{mend}, then run make again. pip said: {reason} (all of it: .venv/install.log)"


def write_settings(prefix: Path = Path(sys.prefix)) -> Path:
    """Put JupyterLab's settings where the Python with this prefix reads them."""
    target = prefix / SETTINGS_PLACE
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SETTINGS, target)
    return target


def main(names: list[str]) -> int:
    setup = SetUp()
    steps = {
        "base": setup.base,
        "library": setup.library,
        "site": lambda: setup.layer("site"),
        "test": lambda: setup.layer("test"),
        "wheelhouse": setup.wheelhouse,
        "settings": write_settings,
    }
    if not names or not set(names) <= set(steps):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for name in names:
            steps[name]()
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
