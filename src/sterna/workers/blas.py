"""One BLAS thread while sterna runs, because its own threads already use the cores."""

import sys
from contextlib import AbstractContextManager, nullcontext


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread, if threadpoolctl is loaded (PyMC imports it).

    Small matrices gain nothing from more threads, which wait for each other on busy cores: a gradient of a Gaussian
    process with 6 points took 12 microseconds with one thread, and from 200 to 30 000 with two.
    """
    if "threadpoolctl" not in sys.modules:
        return nullcontext()
    limits: AbstractContextManager[object] = sys.modules["threadpoolctl"].threadpool_limits(limits=1, user_api="blas")
    return limits
