"""Setting up: the files that name packages agree, and what can go wrong is said in one line."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Another name on conda-forge: the CPU build, and matplotlib without a desktop toolkit.
CONDA_NAMES = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib"}
CONDA = {"pip", "python"}


def asked(*extras):
    """What pyproject asks for: name → specifier."""
    lines = PROJECT["dependencies"] + [r for e in extras for r in PROJECT["optional-dependencies"][e]]
    return {canonicalize_name(Requirement(line).name): Requirement(line).specifier for line in lines}


def locked():
    """The lock: name → the requirements that pin it, one for each marker."""
    pins = {}
    for line in (ROOT / "requirements.lock").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
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


def test_the_lock_pins_what_pyproject_asks_for():
    pins = locked()
    for name, specifier in asked("lab", "model", "test").items():
        assert name in pins, f"{name} is missing: make lock"
        for pin in pins[name]:
            assert specifier.contains(str(pin.specifier).removeprefix("==")), f"{pin} is not {specifier}"


def test_the_lock_pins_one_version_each_and_torch_as_tested():
    for name, pins in locked().items():
        for pin in pins:
            assert re.fullmatch(r"==[\w.]+", str(pin.specifier)), f"{name} is not pinned: {pin}"
    assert [str(pin) for pin in locked()["torch"]] == ["torch==2.13.0"]


def test_the_lock_leaves_cuda_to_torch_and_names_no_host():
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert not re.search(r"^(nvidia|cuda|triton)", text, re.M)
    assert "://" not in text and "@" not in text


@pytest.mark.parametrize("path", ["environment.yml", "binder/environment.yml"])
def test_a_conda_environment_has_what_pyproject_asks_for(path):
    content, has = environment(path)
    wanted = asked("lab")
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


def test_post_build_stops_at_the_first_fault_and_installs_the_library():
    path = ROOT / "binder" / "postBuild"
    text = path.read_text("utf-8")
    assert os.access(path, os.X_OK)
    assert re.search(r"^set -e", text, re.M) and re.search(r"^pip install --no-deps .*-e \.$", text, re.M)
    assert subprocess.run(["bash", "-n", str(path)]).returncode == 0


def test_post_build_writes_settings_that_jupyterlab_reads(tmp_path):
    """Run with a stand-in for pip, in a Python prefix of its own (jupyterlab/jupyterlab#19719)."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "pip").write_text("#!/bin/sh\n")
    (bin_ / "python").write_text(f"#!/bin/sh\necho {tmp_path}\n")
    for tool in bin_.iterdir():
        tool.chmod(0o755)
    env = os.environ | {"PATH": f"{bin_}:{os.environ['PATH']}"}
    subprocess.run(["bash", str(ROOT / "binder" / "postBuild")], env=env, check=True)
    written = yaml.safe_load((tmp_path / "share/jupyter/lab/settings/overrides.json").read_text())
    kernels = written["@jupyterlab/apputils-extension:kernels-settings"]
    schemas = Path(sys.prefix) / "share/jupyter/lab/schemas"
    for plugin, values in written.items():
        package, name = plugin.split(":")
        schema = yaml.safe_load((schemas / package / f"{name}.json").read_text("utf-8"))
        assert set(values) <= set(schema["properties"])
    assert kernels == {"commsOverSubshells": "disabled"}


def test_repo2docker_takes_the_binder_folder(tmp_path):
    pytest.importorskip("repo2docker")
    shutil.copytree(ROOT / "binder", tmp_path / "binder")
    shutil.copy(ROOT / "environment.yml", tmp_path)
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--no-run", "--debug", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stderr[-2000:]
    said = run.stdout + run.stderr
    assert "Building conda environment for python=3.12" in said
    assert "binder/environment.yml" in said and "postBuild" in said


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
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def ready(copy):
    """A copy whose .venv stands, and is the environment of this test."""
    (copy / ".venv" / "bin").mkdir(parents=True)
    python = copy / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    for stamp in ("installed", "ready"):
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
    answers = "--version) echo Python 3.14.1;; -m) echo no module venv; exit 1;;"
    new = script(copy / "new", f'case "$1" in {answers} esac')
    _, said = make(copy, "lab", f"PYTHON={old} {new}")
    assert "Python 3.14.1" in said[0]
    assert "sudo apt install python3-venv" in said[1] and "no module venv" in said[1] and len(said) == 2


def test_a_failed_install_says_so_and_starts_again_the_next_time(copy):
    """pip is kept from every index, as on a machine without a network."""
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    code, said = make(copy, "lab", f"PYTHON={sys.executable}", **offline)
    assert code != 0 and len(said) == 2, said
    assert said[0].startswith("Setting up .venv")
    assert said[1].startswith("The install failed: ERROR: No matching distribution")
    assert "run make again" in said[1] and ".venv/install.log" in said[1]
    assert "-m venv --clear .venv" in " ".join(make(copy, "-n", "lab")[1])


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


@pytest.mark.parametrize("port", ["99999", "abc"])
def test_a_port_that_is_none(ready, port):
    code, said = make(ready, "lab", f"PORT={port}")
    assert code != 0 and len(said) == 1 and f"Port {port}" in said[0], said


def test_a_standing_venv_is_reused_and_a_changed_lock_renews_it(ready):
    assert make(ready, "-n", "setup")[1] == ["make: Nothing to be done for 'setup'."]
    later = (ready / ".venv" / "ready").stat().st_mtime + 5
    os.utime(ready / "requirements.lock", (later, later))
    assert "-m venv --clear .venv" in " ".join(make(ready, "-n", "setup")[1])


def lab_command(ready, **env):
    """What `make lab` would start, asked of a stand-in for JupyterLab."""
    script(
        ready / ".venv" / "bin" / "python",
        f'if [ "$2" = jupyterlab ]; then echo "$@"; else exec {sys.executable} "$@"; fi',
    )
    code, said = make(ready, "lab", **env)
    assert code == 0, said
    return said


def test_lab_keeps_to_this_machine_and_its_token(ready):
    note, command = lab_command(ready, DISPLAY="", WAYLAND_DISPLAY="", BROWSER="")
    assert "--ip=127.0.0.1" in command and "token" not in command and "password" not in command
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in command
    assert ("--allow-root" in command) == (os.getuid() == 0)
    assert "--no-browser" in command and note.startswith("No browser at hand")


def test_lab_opens_a_browser_where_there_is_one(ready):
    browser = script(ready / "browser", "exit 0")
    note, command = lab_command(ready, BROWSER=browser)
    assert "--no-browser" not in command and note.startswith("Your browser opens")


def test_lab_does_not_allow_root_to_others(ready):
    bin_ = ready / "path"
    bin_.mkdir()
    script(bin_ / "id", "echo 1000")
    _, command = lab_command(ready, PATH=f"{bin_}:{os.environ['PATH']}")
    assert "--allow-root" not in command


def test_ci_needs_no_input_and_no_certain_folder():
    path = ROOT / ".ci" / "run"
    text = path.read_text("utf-8")
    assert os.access(path, os.X_OK) and subprocess.run(["bash", "-n", str(path)]).returncode == 0
    assert "set -euo pipefail" in text and "/dev/null" in text and "CI=true" in text
    assert not re.search(r"(?<![\w.$}])/(work|home|root)\b", text)
