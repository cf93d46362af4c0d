"""Log-densities that explorers keep as sums of changes, compared with whole evaluations from time to time."""

import math

from sterna.engine.program import (
    LARGEST_LIKELIHOOD,
    LARGEST_REFERENCE,
    LOG_LIKELIHOOD,
    LOG_REFERENCE,
    Program,
    log_likelihood,
    log_reference,
)
from sterna.ground.compilation import compiled, inlined
from sterna.types import FloatPointer

# A running log-density may differ from its value by this share of the largest that it has been: sums in single
# precision differ by less after 64 scans, and forgotten terms by more.
MISMATCH_TOLERANCE = 1e-4


class Mismatch(Exception):  # noqa: N818
    """A running sum of changes differs from a whole evaluation, at the state in the arrays of the round."""


@inlined
def remember_largest(log_densities: FloatPointer) -> None:
    """Keep the size of the log-densities, before they change; a likelihood of zero has none."""
    reference, likelihood = abs(log_densities[LOG_REFERENCE]), abs(log_densities[LOG_LIKELIHOOD])
    if reference < math.inf:
        log_densities[LARGEST_REFERENCE] = max(log_densities[LARGEST_REFERENCE], reference)
    if likelihood < math.inf:
        log_densities[LARGEST_LIKELIHOOD] = max(log_densities[LARGEST_LIKELIHOOD], likelihood)


@inlined
def is_beyond_rounding(running: float, value: float, largest: float) -> bool:
    """Return whether a running sum differs from the value itself by more than its rounding errors."""
    return not abs(running - value) <= MISMATCH_TOLERANCE * (1.0 + largest)


@compiled
def refresh_running(program: Program, x: FloatPointer, log_densities: FloatPointer) -> None:
    """Evaluate what explorers keep as sums of changes again, so that rounding errors cannot accumulate.

    A larger difference is no rounding error: a local change is wrong, or a function is not one.
    """
    remember_largest(log_densities)
    reference, running = log_reference(program, x, log_densities), log_densities[LOG_REFERENCE]
    largest = log_densities[LARGEST_REFERENCE]
    if program.log_reference != 0 and is_beyond_rounding(running, reference, largest):
        raise Mismatch("reference's log-density")
    log_densities[LOG_REFERENCE] = reference
    log_densities[LARGEST_REFERENCE] = 0.0
    if program.likelihood_change != 0:
        likelihood, running = log_likelihood(program, x, reference, log_densities), log_densities[LOG_LIKELIHOOD]
        if is_beyond_rounding(running, likelihood, log_densities[LARGEST_LIKELIHOOD]):
            raise Mismatch("log-likelihood")
        log_densities[LOG_LIKELIHOOD] = likelihood
        log_densities[LARGEST_LIKELIHOOD] = 0.0
