"""One thread for linear algebra while sterna runs, whose own threads run copies."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread, where a library that PyMC brings along can do it.

    Small matrices gain nothing from more, and on busy cores the threads wait for each other: a gradient of a Gaussian
    process of 6 points took 12 microseconds with one thread and from 200 to 30 000 with two.
    """
    if "threadpoolctl" not in sys.modules:
        return nullcontext()
    limits: AbstractContextManager[Any] = sys.modules["threadpoolctl"].threadpool_limits(limits=1, user_api="blas")
    return limits
