"""The communication barrier from rejections (paper, algorithm CommunicationBarrier)."""

import numpy as np

from sterna.theory.cumulative_barrier import Barrier
from sterna.theory.monotone import monotone_cubic
from sterna.types import FloatArray


def communication_barrier(
    schedule: FloatArray, rejection: FloatArray, zero_share: float = 0.0, second_rejection: FloatArray | None = None
) -> Barrier:
    """Interpolate the running sum of rejections, corrected for saturation if those of chains two apart are given.

    A draw from the reference with zero likelihood is never swapped, however close the next beta is to 0. Only the
    rejections of the other draws shape the schedule.
    """
    steps = without_zeros(rejection, zero_share)
    if second_rejection is not None:
        steps = without_saturation(steps, without_zeros(second_rejection, zero_share))
    jump = zero_share if zero_share < 1 else 0.0
    cumulative = np.concatenate([[0.0], np.cumsum(steps)])
    return Barrier(monotone_cubic(np.asarray(schedule), cumulative), jump)


def without_zeros(rejection: FloatArray, zero_share: float) -> FloatArray:
    """Return rejections, the first of which is only for the reference's draws of positive likelihood.

    If a short round had no such draw, all that is known of the first interval is that every swap was rejected, and the
    jump at 0 cannot be told from what follows.
    """
    steps = np.array(rejection, dtype=np.float64)
    if len(steps) == 0:
        return steps
    if zero_share >= 1:
        steps[0] = 1.0
    elif zero_share > 0:
        steps[0] = max(steps[0] - zero_share, 0.0) / (1.0 - zero_share)
    return steps


def without_saturation(rejection: FloatArray, second_rejection: FloatArray) -> FloatArray:
    """Return each interval's part of the barrier from its rejection r and the rejections between chains two apart.

    Rejections saturate: over an interval with part x of the barrier, r = x - c x**3 + ..., where c depends on the
    distribution of the energies (it is 0 for the two energies of the model `discrete`). Two neighbouring intervals
    reject e more than chains two apart do, and e = 6 c x**3, so x = r + e/6 to first order. The factor 1 + e/r accounts
    for the next order. For normal, exponential, chi-square and two-level energies the remaining error is about 1 % at
    r = 0.45; a barrier that is saturated beyond correction stays too low.
    """
    steps = np.array(rejection, dtype=np.float64)
    if len(steps) < 2:
        return steps
    excess = rejection[:-1] + rejection[1:] - second_rejection
    typical = 0.5 * (rejection[:-1] + rejection[1:])
    # noise may make the excess negative; it keeps its sign so that the sum is unbiased
    next_order = np.divide(np.maximum(excess, 0.0), typical, out=np.zeros_like(excess), where=typical > 0)
    missing = excess / 6.0 * (1.0 + next_order)
    # inner intervals belong to two such pairs of intervals, the first and the last to one
    steps[:-1] += 0.5 * missing
    steps[1:] += 0.5 * missing
    steps[0] += 0.5 * missing[0]
    steps[-1] += 0.5 * missing[-1]
    return np.maximum(steps, 0.0)


# Above this rejection an interval only shows that it holds much of the barrier; it is then divided into pieces.
MAX_INFORMATIVE_REJECTION = 0.9
PIECES_PER_INTERVAL = 16


def placement_barrier(schedule: FloatArray, rejection: FloatArray, zero_share: float, deviation: FloatArray) -> Barrier:
    """Return the barrier from rejections, with uninformative intervals filled in from the energies at their ends.

    If nearly every swap is rejected, rejections show neither how much of the barrier an interval holds nor where. For
    normally distributed energies, the local barrier is their standard deviation over sqrt(pi). Between two chains
    it is assumed to follow a hyperbola, as it does for a posterior much narrower than its reference. This barrier only
    places chains; the reported one rests on rejections.
    """
    steps = without_zeros(rejection, zero_share)
    local = np.asarray(deviation) / np.sqrt(np.pi)
    knots, heights = [np.zeros(1)], [np.zeros(1)]
    for k, step in enumerate(steps):
        betas, parts = schedule[k + 1 : k + 2], np.array([step])
        if step > MAX_INFORMATIVE_REJECTION and np.isfinite(local[k : k + 2]).all() and local[k : k + 2].min() > 0:
            betas, inside = _hyperbola(schedule[k], schedule[k + 1], local[k], local[k + 1])
            parts = np.full(PIECES_PER_INTERVAL, max(inside, step) / PIECES_PER_INTERVAL)
        knots.append(betas)
        heights.append(heights[-1][-1] + np.cumsum(parts))
    x, y = np.concatenate(knots), np.concatenate(heights)
    # the ends of pieces narrower than rounding coincide
    apart = np.append(True, np.diff(x) > 0)
    return Barrier(monotone_cubic(x[apart], y[apart]), zero_share if zero_share < 1 else 0.0)


def _hyperbola(start: float, stop: float, first: float, last: float) -> tuple[FloatArray, float]:
    """Divide the area under a hyperbola through two heights into equal pieces; return their ends and the area."""
    ratio = max(first, last) / min(first, last)
    length = stop - start
    if ratio < 1.0 + 1e-6:
        return np.linspace(start, stop, PIECES_PER_INTERVAL + 1)[1:], first * length
    area = max(first, last) * length * np.log(ratio) / (ratio - 1.0)
    # distances from the higher end grow geometrically from piece to piece
    share = np.expm1(np.linspace(0.0, np.log(ratio), PIECES_PER_INTERVAL + 1)) / (ratio - 1.0)
    betas = start + length * share if first > last else stop - length * share[::-1]
    betas[-1] = stop
    return betas[1:], float(area)
