"""Configuration shared by all tests."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# helper modules in tests/tools (plain.py, exact.py) are imported by name
sys.path.insert(0, str(Path(__file__).parent / "tools"))

from measured import REQUEST, spare_compiler, withhold_request

# The same examples in every run, so that a suite that passed passes again; HYPOTHESIS_PROFILE=default tries new ones.
settings.register_profile(
    "sterna", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "sterna"))

IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
COVERAGE = withhold_request() if IS_WORKER else None
spare_compiler()


@pytest.fixture
def measured_processes(monkeypatch):
    """Measure the coverage of processes that the test starts, if coverage is measured at all."""
    if COVERAGE is not None:
        monkeypatch.setenv(REQUEST, COVERAGE)


@pytest.fixture
def untraced_thread():
    """Do not measure the coverage of a test that is interrupted: an exception in the tracer would keep its lock."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)


def pytest_collection_finish():
    """Spare the garbage collector the modules that stay, and run it less often: compilation is 5 % faster."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
