"""Open the learner's own copies of the notebooks in JupyterLab: python tools/lab.py [PORT]

The server listens on 127.0.0.1 only and keeps its token. What Jupyter, IPython and matplotlib
write goes into the environment's folder, so that a home that cannot be written is no hindrance.
"""

import os
import socket
import subprocess
import sys
import webbrowser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START = "notebooks/mine/00_start_here.ipynb"
FOLDERS = {
    "JUPYTER_CONFIG_DIR": "jupyter/config",
    "JUPYTER_DATA_DIR": "jupyter/data",
    "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
    "IPYTHONDIR": "ipython",
    "MPLCONFIGDIR": "matplotlib",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def why_not(port: str) -> str:
    """Return why JupyterLab cannot listen on this port, or ""."""
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        return f"PORT={port} is not a port: a number from 1024 to 65535 is."
    with socket.socket() as probe:
        if os.name != "nt":  # there it would let two servers share a port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(port)))
        except PermissionError:
            return f"Port {port} is not yours to open."
        except OSError:
            return f"Port {port} is taken."
    return ""


def has_browser() -> bool:
    """Say whether a browser would come up."""
    if sys.platform == "linux" and not any(
        os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    ):
        return False
    try:
        return bool(webbrowser.get())
    except webbrowser.Error:
        return False


def environment(prefix: Path = Path(sys.prefix)) -> dict[str, str]:
    """Return the environment of the server and its kernels; what the user has set stays."""
    return {**{name: str(prefix / folder) for name, folder in FOLDERS.items()}, **os.environ}


def command(port: str) -> list[str]:
    """Return what starts JupyterLab."""
    options = [
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--log-level=WARN",
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/{START}",
        # What a kernel is told and answers is kept from others on the same machine.
        "--KernelManager.transport_encryption=auto",
    ]
    if hasattr(os, "getuid") and os.getuid() == 0:
        options.append("--allow-root")
    if not has_browser():
        options.append("--no-browser")
    return [sys.executable, "-m", "jupyterlab", *options]


def main(port: str = "8888") -> int:
    if trouble := why_not(port):
        print(f"{trouble} Choose another one: make lab PORT={free_port()}", file=sys.stderr)
        return 1
    if code := subprocess.run([sys.executable, str(ROOT / "tools" / "mine.py")]).returncode:
        return code
    start = command(port)
    if "--no-browser" in start:
        print("No browser at hand: open the address below in one. Ctrl-C twice stops.", flush=True)
    else:
        print(f"Your browser opens {START}. Ctrl-C twice stops.", flush=True)
    if os.name == "nt":
        return subprocess.run(start, env=environment()).returncode
    os.execve(start[0], start, environment())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
