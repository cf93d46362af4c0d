"""Standard errors of posterior means, from the series of draws and from the journeys to which they belong."""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sterna.tuning.estimate import Estimate
from sterna.tuning.journeys import effective_number, error_of_sum, sizes_of, sums_by_journey
from sterna.tuning.memory import effective_sizes
from sterna.tuning.share import Share
from sterna.types import BoolArray, FloatArray, IntArray

Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True)
class MeanErrors:
    """Errors of the means of several quantities."""

    error: FloatArray
    """Standard error; NaN of a quantity that never varied, about which the draws say nothing."""
    freedom: FloatArray
    """Degrees of freedom of the error."""
    series: FloatArray
    """What the autocorrelation of the series alone would give."""


def split_chains(draws: NDArray[Number]) -> NDArray[Number]:
    """Halve every chain: (..., chains, draws) to (..., 2 chains, draws / 2), without the middle of an odd number."""
    half = draws.shape[-1] // 2
    return np.concatenate([draws[..., :half], draws[..., -half:]], axis=-2)


def mean_errors(draws: FloatArray, journeys: IntArray, sizes: FloatArray | None = None) -> MeanErrors:
    """Return the errors of means of draws, (quantities, copies, draws), whose journeys are (copies, draws).

    The series shows what is correlated within a copy, whatever the reason; the journeys show what only a new journey
    changes, which is rare. Each understates what the other sees, so the larger variance counts. `sizes` are effective
    sample sizes of the quantities from elsewhere, such as those of their ranks: no more is claimed.
    """
    flat = draws.reshape(len(draws), -1)
    known = np.isfinite(flat).all(axis=1) & (flat.min(axis=1) < flat.max(axis=1)) & (draws.shape[2] >= 4)
    error, freedom, series = (np.full(len(draws), np.nan) for _ in range(3))
    if not known.any():
        return MeanErrors(error, freedom, series)
    centred = flat[known] - flat[known].mean(axis=1, keepdims=True)
    variance = centred.var(axis=1, ddof=1)
    effective = effective_sizes(split_chains(draws[known]))
    series[known] = np.sqrt(variance / effective)
    if sizes is not None:
        effective = np.minimum(effective, sizes[known])
    clustered, freedom[known] = clustered_errors(centred, journeys.ravel())
    error[known] = np.maximum(np.sqrt(variance / effective), clustered)
    return MeanErrors(error, freedom, series)


def clustered_errors(centred: FloatArray, journeys: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return errors of means, (quantities, draws) centred at them, by journeys alone, and their degrees of freedom."""
    sizes = sizes_of(journeys)
    parts = sums_by_journey(centred, journeys) / len(journeys)
    # numbers of journeys without a draw, such as those of dropped draws
    sizes = sizes[sizes > 0]
    error, unequal = error_of_sum(parts, sizes / sizes.sum())
    return error, np.maximum(np.minimum(unequal, effective_number(sizes) - 1.0), 1.0)


def mean_of(draws: FloatArray, journeys: IntArray) -> Estimate:
    """Return the mean of draws, (copies, draws), with its error."""
    errors = mean_errors(draws[None], journeys)
    freedom = float(errors.freedom[0])
    return Estimate(float(draws.mean()), float(errors.error[0]), 1.0 if math.isnan(freedom) else freedom)


def share_of(event: BoolArray, journeys: IntArray) -> Share:
    """Return the share of draws in which an event is true, (copies, draws).

    Draws that alternate, as leaps between two modes make them, are worth more than as many independent ones. If the
    event is true in none or in all of them, each journey counts as one draw, because nothing else is known.
    """
    value = float(event.mean())
    if 0.0 < value < 1.0:
        errors = mean_errors(event[None].astype(np.float64), journeys)
        if np.isfinite(errors.error[0]):
            size = value * (1.0 - value) / float(errors.error[0]) ** 2
            return Share.of(value, size, float(errors.freedom[0]))
    return Share.of(value, effective_number(sizes_of(journeys)))
