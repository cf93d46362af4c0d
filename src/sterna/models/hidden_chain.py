"""The likelihood of `copy_number`: hidden Markov chains whose states are summed out, as fast as can be.

A transition keeps the state with weight e = exp(-steps * rate) and else draws one of the m states anew. So the forward
recursion of the weights w_x is w_x <- (e w_x + (1 - e) sum(w) / m) b_x, which takes m operations a bin, not m^2.
Densities b_x of a block of bins are computed state by state, for which the processor takes several bins at a time.
"""

import math
from typing import Any

import numpy as np

from sterna.ground.compilation import compiled_with_memory, inlined
from sterna.types import FloatArray, IntArray

MOST_STATES, BLOCK = 20, 64
# Stands for the logarithm of no reads, so far out that every normal density is zero.
NO_READS = -1e100
DENSITY_OF_STATE_0 = 0.1
# Weights are brought back to a sum of 1 when it leaves this range; a bin alone cannot leave that of floats.
SMALL, LARGE = 1e-100, 1e100

LOG_2_E, LN_2_HIGH, LN_2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding this to a number below 2^51 rounds it, and leaves the integer in the last bits.
ROUNDING = 6755399441055744.0
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@inlined
def exponential(v: Any) -> Any:
    """exp(v) within 2 units of the last place, without branches, so that several are computed at once.

    v must be below 700; below -700 it counts as -700.
    """
    v = max(v, -700.0)
    t = v * LOG_2_E + ROUNDING
    n = t - ROUNDING
    r = (v - n * LN_2_HIGH) - n * LN_2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = (np.float64(t).view(np.int64) + 1023) << 52
    return p * np.int64(power).view(np.float64)


@compiled_with_memory
def fill_densities(
    densities: FloatArray,
    m: int,
    x: FloatArray,
    slope: float,
    start: int,
    g: FloatArray,
    half_square: FloatArray,
    log_reads: FloatArray,
) -> None:
    """Write the densities of a block of bins in the states 1 to m - 1; the last row is room for what they share."""
    rest = densities[MOST_STATES]
    for k in range(BLOCK):
        rest[k] = log_reads[start + k] - (x[1] + x[2] * g[start + k] + x[3] * half_square[start + k])
    for state in range(1, m):
        deviation = x[4] + slope * state
        top, factor, shift = -math.log(deviation) - HALF_LOG_TWO_PI, 0.5 / (deviation * deviation), math.log(state)
        row = densities[state]
        for k in range(BLOCK):
            away = rest[k] - shift
            row[k] = exponential(top - factor * away * away)


@compiled_with_memory
def chromosome(
    c: int, m: int, x: FloatArray, slope: float, g: FloatArray, half_square: FloatArray, log_reads: FloatArray,
    steps: IntArray,
    starts: IntArray, densities: FloatArray, weights: FloatArray,
) -> float:  # fmt: skip
    """Log-likelihood of one chromosome."""
    keep_one = math.exp(-x[0])
    fresh_one = -math.expm1(-x[0]) / m
    weights[:m] = 1.0 / m
    total, log_total = 1.0, 0.0
    for start in range(starts[c], starts[c + 1], BLOCK):
        fill_densities(densities, m, x, slope, start, g, half_square, log_reads)
        for k in range(min(BLOCK, starts[c + 1] - start)):
            keep, fresh = keep_one, fresh_one
            if steps[start + k] != 1:
                keep = math.exp(-x[0] * steps[start + k])
                fresh = -math.expm1(-x[0] * steps[start + k]) / m
            new = fresh * total
            weights[0] = (keep * weights[0] + new) * DENSITY_OF_STATE_0
            # two sums, as one would wait for itself at every state
            total, other = weights[0], 0.0
            for state in range(1, m - 1, 2):
                weights[state] = (keep * weights[state] + new) * densities[state, k]
                total += weights[state]
                weights[state + 1] = (keep * weights[state + 1] + new) * densities[state + 1, k]
                other += weights[state + 1]
            if m % 2 == 0:
                weights[m - 1] = (keep * weights[m - 1] + new) * densities[m - 1, k]
                total += weights[m - 1]
            total += other
            if not SMALL < total < LARGE:
                log_total += math.log(total)
                for state in range(m):
                    weights[state] /= total
                total = 1.0
    return log_total + math.log(total)


@compiled_with_memory
def log_likelihood(
    x: FloatArray,
    g: FloatArray,
    half_square: FloatArray,
    log_reads: FloatArray,
    steps: IntArray,
    starts: IntArray,
    slopes: int,
) -> float:
    """Sum over chromosomes."""
    densities, weights = np.empty((MOST_STATES + 1, BLOCK)), np.empty(MOST_STATES)
    slope = x[5] if slopes == 1 else 0.0
    total = 0.0
    for c in range(starts.size - 1):
        m = int(x[6 + slopes + c])
        total += chromosome(c, m, x, slope, g, half_square, log_reads, steps, starts, densities, weights)
    return total


@compiled_with_memory
def change(
    x: FloatArray, i: int, new: float, g: FloatArray, half_square: FloatArray, log_reads: FloatArray,
    steps: IntArray,
    starts: IntArray, slopes: int,
) -> float:  # fmt: skip
    """Change of the log-likelihood: of one chromosome for its number of states, of all for what they share."""
    first = 6 + slopes
    if i == first - 1:
        return 0.0
    if i < first - 1:
        moved = x.copy()
        moved[i] = new
        after = log_likelihood(moved, g, half_square, log_reads, steps, starts, slopes)
        return after - log_likelihood(x, g, half_square, log_reads, steps, starts, slopes)
    densities, weights = np.empty((MOST_STATES + 1, BLOCK)), np.empty(MOST_STATES)
    slope = x[5] if slopes == 1 else 0.0
    c = i - first
    after = chromosome(c, int(new), x, slope, g, half_square, log_reads, steps, starts, densities, weights)
    return after - chromosome(c, int(x[i]), x, slope, g, half_square, log_reads, steps, starts, densities, weights)
