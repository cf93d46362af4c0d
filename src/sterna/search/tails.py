"""Whether the draws reach the tails of the target: integrals along coordinates against shares of draws.

Along coordinate i through a draw, the density is proportional to that of the coordinate given all others. Its integral
beyond c, averaged over draws, is the probability of the tail, however few draws have got there (Rao and Blackwell). If
it exceeds what the draws in the tail allow, and the reference has far less mass there than the target, the reference is
too light: replicas come from it and do not know the tail.
"""

import math
from dataclasses import dataclass

import numpy as np

from sterna.search.landscape import Landscape
from sterna.search.outwards import Patience, along, values_outwards
from sterna.search.shares import upper_share
from sterna.tuning.estimate import student_quantile
from sterna.types import BoolArray, FloatArray

# Probability that any of the bounds of one run is wrong, if the run is right.
FALSE_ALARM = 0.001

# Points on either side of a draw, at distances that grow by a factor, from the smallest to the largest multiple of the
# width of the draws: structure at a distance is resolved if it is not much narrower than the distance. Most lines end
# long before the last.
N_SIDE, NEAREST, FARTHEST = 32, 1e-2, 1e3

# The largest distance of the logarithm of a variable that is bounded on one side.
MOST_LOGARITHM = 15.0

# The same of a first look, which finds the bulk.
N_COARSE = 12

# Each of them is divided into so many for integrals.
FINE = 8

# Shares of the draws beyond each of the thresholds at which tails are compared.
BEYOND = (0.0, 0.005, 0.025)

# At most so many coordinates are looked at.
MAX_COORDINATES = 25

# How many lines a coordinate has at least, and at most.
MIN_LINES, MAX_LINES = 3, 16

# A tail in which the target has more than so many times the mass of the reference is heavier.
HEAVIER = 3.0


@dataclass(frozen=True)
class Tail:
    """A tail of which the draws have found too little."""

    coordinate: int
    low: float
    high: float
    """It is what lies below the one or above the other, values of the stored coordinate."""
    probability: float
    """Lower bound of its probability under the target."""
    allowed: float
    """Upper bound from the draws."""
    share: float
    """Share of the draws in it."""

    def to_dict(self) -> dict[str, float]:
        """Return numbers that JSON can hold."""
        return {
            "coordinate": self.coordinate,
            "low": self.low,
            "high": self.high,
            "probability": self.probability,
            "allowed": self.allowed,
            "share": self.share,
        }


def light_tails(
    landscape: Landscape, draws: FloatArray, size: float, open_ends: BoolArray, budget: int
) -> tuple[list[Tail], bool]:
    """Return the tails that the draws have missed, the worst first, and whether evaluations far out were too slow.

    `open_ends` says for each coordinate whether it has no bound below and above; `draws` are points on the line, of
    which `size` count as independent.
    """
    coordinates = np.flatnonzero(open_ends.any(axis=1) & landscape.free)
    affordable = max(budget, 0) // (2 * (N_SIDE + N_COARSE) + 2)
    # those with the widest reach first: heavy tails show there
    reach = np.ptp(draws[:, coordinates], axis=0) / _width(draws[:, coordinates])
    coordinates = coordinates[np.argsort(-reach, kind="stable")[: min(affordable // MIN_LINES, MAX_COORDINATES)]]
    if len(coordinates) == 0:
        return [], False
    # several even of a single coordinate: a line sees only the mode of its draw if others are narrow and far
    n_lines = min(MAX_LINES, affordable // len(coordinates), len(draws))
    level = 1.0 - FALSE_ALARM / (len(BEYOND) * len(coordinates))
    lines = draws[np.linspace(0, len(draws) - 1, n_lines).astype(np.int64)]
    patience, found = Patience(), []
    for i in coordinates:
        found += tails_of(landscape, lines, draws, int(i), open_ends[i], size, level, patience)
    return sorted(found, key=lambda tail: tail.allowed - tail.probability), patience.is_over


def _width(points: FloatArray) -> FloatArray:
    """Return half the distance of two quantiles, in every coordinate."""
    low, high = np.quantile(points, [0.16, 0.84], axis=0)
    return np.asarray(np.maximum(0.5 * (high - low), 1e-300))


def tails_of(
    landscape: Landscape,
    lines: FloatArray,
    draws: FloatArray,
    i: int,
    open_ends: BoolArray,
    size: float,
    level: float,
    patience: Patience,
) -> list[Tail]:
    """Return the worst tail of one coordinate that the draws have missed, if there is one."""
    width = float(_width(draws[:, [i]])[0])
    lines = centred(landscape, lines, i, width, draws[:, i])
    farthest = FARTHEST * width if math.isinf(landscape.limits[i]) else max(MOST_LOGARITHM, 10.0 * width)
    distances = np.geomspace(NEAREST * width, farthest, N_SIDE)
    points = along(lines, i, distances)
    known = (points[:, :, i] > draws[:, i].min() - width) & (points[:, :, i] < draws[:, i].max() + width)
    target = values_outwards(landscape, points, known, distances, patience)
    reference = landscape.references(points.reshape(-1, lines.shape[1])).reshape(target.shape)
    found = []
    for beyond in BEYOND:
        low = float(np.quantile(draws[:, i], beyond)) if open_ends[0] else -math.inf
        high = float(np.quantile(draws[:, i], 1.0 - beyond)) if open_ends[1] else math.inf
        inside = (draws[:, i] < low) | (draws[:, i] > high)
        shares = [tail_share(row, distances, low - u, high - u) for row, u in zip(target, lines[:, i], strict=True)]
        others = [tail_share(row, distances, low - u, high - u) for row, u in zip(reference, lines[:, i], strict=True)]
        probability, allowed = lower_mean(np.array(shares), level), upper_share(inside, size, level)
        if probability > allowed and probability > HEAVIER * float(np.mean(others)):
            ends = [landscape.variables(_moved(lines[:1], i, end))[0][0, i] for end in (low, high)]
            found.append(Tail(i, float(ends[0]), float(ends[1]), probability, allowed, float(inside.mean())))
    return sorted(found, key=lambda tail: tail.allowed - tail.probability)[:1]


def centred(landscape: Landscape, lines: FloatArray, i: int, width: float, draws: FloatArray) -> FloatArray:
    """Return the highest place of each line that a first look finds in the range of the draws.

    A draw may lie in the tail, far from the bulk of its line.
    """
    points = along(lines, i, np.geomspace(NEAREST * width, 10.0 * width, N_COARSE))
    points[:, :, i] = np.clip(points[:, :, i], draws.min(), draws.max())
    values = landscape.values(points.reshape(-1, lines.shape[1])).reshape(points.shape[:2])
    return np.asarray(points[np.arange(len(lines)), values.argmax(axis=1)])


def tail_share(log_densities: FloatArray, distances: FloatArray, low: float, high: float) -> float:
    """Return the share of an integral along a line that lies below `low` or above `high`, both from its centre.

    Log-densities are given at the centre and at distances on both sides, in increasing order. Between these they are
    interpolated in the logarithm of the distance, in which that of a heavy tail is a straight line. What is nearer to
    the centre than the first distance counts as bulk.
    """
    logs = np.log(distances)
    fine = np.linspace(logs[0], logs[-1], FINE * (len(logs) - 1) + 1)
    step, away = fine[1] - fine[0], np.exp(fine)
    largest = log_densities.max()
    with np.errstate(invalid="ignore"):
        bounded = np.maximum(log_densities - largest, -1e4)
    n = len(distances)
    total = math.exp(bounded[n]) * 2.0 * distances[0]
    outside = 0.0
    for side, beyond in ((bounded[n + 1 :], away > high), (bounded[:n][::-1], -away < low)):
        weights = np.exp(np.interp(fine, logs, side)) * away * step
        total += float(weights.sum())
        outside += float(weights[beyond].sum())
    return float(outside / total)


def _moved(points: FloatArray, i: int, value: float) -> FloatArray:
    moved = points.copy()
    moved[:, i] = value
    return moved


def lower_mean(values: FloatArray, level: float) -> float:
    """Return the lower bound of a mean of positive numbers, which holds with probability `level`."""
    if len(values) == 1:
        return float(values[0])
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - student_quantile(level, len(values) - 1.0) * error
