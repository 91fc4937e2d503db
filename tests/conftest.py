"""What every test shares: one thread for torch; under CI the same examples each run, and no skips."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # also for the kernels that tests start
CI = os.environ.get("CI", "").lower() in ("1", "true")


def pytest_addoption(parser):
    parser.addoption("--headed", action="store_true", help="show the browser of the browser tests")


def pytest_configure(config):
    import hypothesis

    # A slow machine is not a fault, and under CI a run must not depend on chance.
    hypothesis.settings.register_profile("local", deadline=None)
    hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("ci" if CI else "local")
    config.addinivalue_line(
        "markers", "ci: long, so run only where -m ci asks for it, as the workflow's last job does"
    )


def pytest_collection_modifyitems(config, items):
    """Leave out what takes minutes, unless a marker asks for it."""
    if config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("ci")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """What is skipped on a learner's machine for want of a tool is a failure under CI."""
    report = yield
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"under CI nothing may be skipped. {reason}"
    return report


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Two workers with one thread each beat two that fight for the cores."""
    import torch

    torch.set_num_threads(1)
