"""What every test shares: one thread for torch, and the same examples on every run under CI."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # also for the kernels that tests start


def pytest_addoption(parser):
    parser.addoption("--headed", action="store_true", help="show the browser of the browser tests")


def pytest_configure(config):
    import hypothesis

    # A slow machine is not a fault, and under CI a run must not depend on chance.
    hypothesis.settings.register_profile("local", deadline=None)
    hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Two workers with one thread each beat two that fight for the cores."""
    import torch

    torch.set_num_threads(1)
