"""Kernels for the browser tests that need not import torch first: forks of one process that did.

    python warm_kernel.py serve SOCKET       import, then fork a kernel for everyone who asks
    python warm_kernel.py SOCKET CONNECTION  what the kernelspec starts: it asks, and ends with its kernel

mha_lib and the widgets are not imported beforehand: each kernel does that itself, as a learner's does.
"""

import json
import os
import signal
import socket
import sys
import threading

PACKAGES = ("torch", "matplotlib.figure", "matplotlib.backends.backend_agg", "ipykernel.ipkernel", "debugpy")


def serve(address: str) -> None:
    for package in PACKAGES:
        __import__(package)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel that has ended
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
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
