"""How Python ends a run that is inside compiled code."""

import math

import numpy as np
from numba import types

from sterna.ground.compilation import as_address, caller, compiled, int_pointer
from sterna.ground.rows import fields, size_of
from sterna.types import FloatArray, FloatPointer

# f(handle)
POLL = types.none(types.int64)

call_poll = caller(POLL)


@fields
class Stop:
    """How Python ends a run that is inside compiled code, or takes a moment in it to handle signals.

    No log-likelihood may reach the ceiling, which is +inf; every evaluation is compared with it, which also finds NaN.
    If Python lowers the ceiling to -inf, every value reaches it, and compiled code calls `poll` with the handle
    of a Python function. That function lifts the ceiling again, or raises.
    """

    ceiling = 1
    poll = 1
    handle = 1
    # 1 if log-densities that are NaN or +inf, which only the same comparison finds, count as densities of zero
    rejects = 1


CEILING, REJECTS = Stop.ceiling, Stop.rejects


def new_stop(rejects: bool = False) -> FloatArray:
    """Return the words of `Stop`, with nobody to call yet; address and handle are integers in the same memory."""
    words = np.zeros(size_of(Stop))
    words[CEILING], words[REJECTS] = math.inf, rejects
    return words


@compiled
def poll(stop: FloatPointer) -> None:
    """Call Python if the ceiling was lowered; raises if the run shall end."""
    if stop[CEILING] < math.inf:
        words = int_pointer(as_address(stop))
        call_poll(words[Stop.poll], (words[Stop.handle],))
