"""Kernels for the tests that need not import torch first: forks of one process that did.

    python warm_kernels.py serve SOCKET       import, then fork a kernel for everyone who asks
    python warm_kernels.py SOCKET CONNECTION  what the kernelspec starts: it asks, and ends with its kernel

mha_lib and the widgets are not imported beforehand: each kernel does that itself, as a learner's does.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("torch", "matplotlib.figure", "matplotlib.backends.backend_agg", "ipykernel.ipkernel", "debugpy")


@contextlib.contextmanager
def warm_kernels(data: Path) -> Iterator[None]:
    """Write a kernelspec whose kernels are forks into a data folder of Jupyter; none where nothing forks."""
    if not hasattr(os, "fork"):
        yield
        return
    specification = data / "kernels" / "python3" / "kernel.json"
    specification.parent.mkdir(parents=True)
    # A socket's address has to be short, so it stands in a folder of its own.
    with tempfile.TemporaryDirectory() as folder, (data / "warm.log").open("w") as out:
        address = Path(folder, "warm")
        asking = [sys.executable, "-I", "-S", __file__, str(address), "{connection_file}"]
        spec = {"argv": asking, "display_name": "Python 3", "language": "python"}
        specification.write_text(json.dumps(spec), "utf-8")
        serving = [sys.executable, __file__, "serve", str(address)]
        process = subprocess.Popen(serving, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            while not address.exists() and process.poll() is None:
                time.sleep(0.01)
            yield
        finally:
            process.kill()
            process.wait()


def serve(address: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel that has ended
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)  # whoever asks before the packages are there waits
        for package in PACKAGES:
            __import__(package)
        while True:
            asking, _ = listening.accept()
            if not os.fork():
                listening.close()
                become_kernel(asking)
            asking.close()


def become_kernel(asking: socket.socket) -> None:
    """Run a kernel as the one who asks would have, for as long as they live."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with asking.makefile("r", encoding="utf-8") as told:
        connection, folder, environment = json.loads(told.readline())
    os.environ.clear()
    os.environ.update(environment)
    os.environ.pop("JPY_PARENT_PID", None)  # its parent is this process, not the server
    os.chdir(folder)
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # where this script stands
    asking.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=lambda: (asking.recv(1), os._exit(0)), daemon=True).start()
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(["-f", connection])
    os._exit(0)


def ask(address: str, connection: str) -> None:
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(address)
        asked.sendall(json.dumps([connection, os.getcwd(), dict(os.environ)]).encode() + b"\n")
        with asked.makefile("r", encoding="utf-8") as answer:
            kernel = int(answer.readline())
            signal.signal(signal.SIGINT, lambda *_: os.kill(kernel, signal.SIGINT))
            answer.read()


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1] == "serve" else ask(*sys.argv[1:])
