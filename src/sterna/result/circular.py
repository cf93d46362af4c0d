"""Summaries of periodic variables, whose first and last values are the same place (Mardia and Jupp 2000, section 2).

The mean is the direction of the mean of unit vectors, and the standard deviation is that of a wrapped normal
distribution whose mean vector is as long. Quantiles are those of the draws cut open where there are fewest, in the turn
of the mean: they are in order, and may lie beyond the ends of the interval.
"""

import cmath
import math

import numpy as np

from sterna.result.diagnostics import summaries_of
from sterna.types import FloatArray, IntArray

# Draws are cut open at the emptiest of so many places, of which each counts those within so many to either side.
PLACES, TO_EITHER_SIDE = 128, 8


def circular_row(draws: FloatArray, journeys: IntArray, first: float, period: float) -> dict[str, float]:
    """Summarise a periodic scalar, (copies, draws), as `sterna.result.diagnostics.summaries_of` does others.

    A draw changes the direction of the mean vector by the sine of its angle from it, divided by the vector's length, so
    that the error is that of the mean of these. R-hat is the larger of those of cosine and sine.
    """
    angles = 2.0 * math.pi * (draws - first) / period
    length, direction = cmath.polar(complex(np.exp(1j * angles).mean()))
    row, cosine, sine = summaries_of(np.sin(np.stack([angles - direction, angles + 0.5 * math.pi, angles])), journeys)
    length = min(max(length, 1e-300), 1.0)
    unit = period / (2.0 * math.pi)
    for name in ("mcse", "mcse_series"):
        # an error as large as the spread of draws all around says nothing about the mean
        row[name] = unit * row[name] / length if row[name] / length < math.pi / math.sqrt(3.0) else math.nan
    for name in ("r_hat", "r_hat_within"):
        row[name] = float(np.fmax(cosine[name], sine[name]))
    mean = first + unit * (direction % (2.0 * math.pi))
    quantiles = np.quantile(cut_open(draws, period), [0.05, 0.5, 0.95])
    row["q5"], row["median"], row["q95"] = (quantiles + whole_turns(mean - quantiles[1], period)).tolist()
    row["mean"] = mean if mean < first + period else first
    row["sd"] = unit * math.sqrt(-2.0 * math.log(length))
    return row


def cut_open(draws: FloatArray, period: float) -> FloatArray:
    """Return draws in one turn that begins where there are fewest of them."""
    turns = np.remainder(draws / period, 1.0)
    counts = np.bincount((PLACES * turns.ravel()).astype(np.int64) % PLACES, minlength=PLACES)
    near = np.sum([np.roll(counts, shift) for shift in range(-TO_EITHER_SIDE, TO_EITHER_SIDE + 1)], axis=0)
    places = (np.arange(PLACES) + 0.5) / PLACES
    mean = cmath.phase(complex(np.exp(2j * math.pi * turns).mean())) / (2.0 * math.pi)
    # of several, the one farthest from the mean
    distance = np.abs(np.remainder(places - mean + 0.5, 1.0) - 0.5)
    cut = places[np.lexsort((-distance, near))[0]]
    return np.asarray(period * (cut + np.remainder(turns - cut, 1.0)))


def whole_turns(difference: float, period: float) -> float:
    """Return the multiple of the period that is nearest to a difference."""
    return period * round(difference / period)


def without_circles(names: list[str], draws: FloatArray, circles: FloatArray) -> tuple[list[str], FloatArray]:
    """Return scalars with the cosine and the sine of each angle in place of the angle, for diagnostics."""
    found_names, found = [], []
    for name, one, (first, period) in zip(names, draws, circles, strict=True):
        angle = 2.0 * math.pi * (one - first) / (period or 1.0)
        found_names += [f"cos({name})", f"sin({name})"] if period else [name]
        found += [np.cos(angle), np.sin(angle)] if period else [one]
    return found_names, np.stack(found)
