"""The likelihood of `copy_number`: a fast forward recursion that sums over the hidden states.

A transition keeps the state with probability e = exp(-steps * rate) and otherwise draws one of the m states uniformly.
So the forward recursion of the weights w_x is w_x <- (e w_x + (1 - e) sum(w) / m) b_x, which takes m operations per
bin, not m^2. The densities b_x of a block of bins are computed state by state, so that the compiler can vectorise over
bins.
"""

import math

import numpy as np

from sterna.ground.compilation import compiled_with_memory, inlined
from sterna.ground.rows import fields
from sterna.types import FloatArray, IntArray

MAX_STATES = 20
# Bins whose densities are computed at once.
BLOCK = 64
# Stands for the logarithm of zero reads: so low that every normal density is zero.
NO_READS = -1e100
DENSITY_OF_STATE_0 = 0.1
# Weights are normalised when their sum leaves this range; one more bin cannot overflow or underflow.
MIN_TOTAL, MAX_TOTAL = 1e-100, 1e100

LOG_2_E, LN_2_HIGH, LN_2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding this to a number below 2^51 rounds it to an integer, which is then in the last bits.
ROUNDING = 6755399441055744.0
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@fields
class State:
    """The state; with `sd_slope`, all fields from `p` on move back by one."""

    switch_rate = 1
    f = 3
    sd = 1
    p = 1
    first_n_states = 1


# The coordinate of `sd_slope`, if there is one.
SD_SLOPE = State.sd + 1


@inlined
def exponential(v: float) -> float:
    """exp(v) within 2 units in the last place, without branches, so that the compiler can vectorise it.

    v must be below 700; values below -700 count as -700.
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
    return float(p * np.int64(power).view(np.float64))


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
    """Write the densities of a block of bins in the states 1 to m - 1; the last row holds residuals that they share."""
    rest = densities[MAX_STATES]
    level, linear, quadratic = x[State.f], x[State.f + 1], x[State.f + 2]
    for k in range(BLOCK):
        rest[k] = log_reads[start + k] - (level + linear * g[start + k] + quadratic * half_square[start + k])
    for state in range(1, m):
        deviation = x[State.sd] + slope * state
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
    rate = x[State.switch_rate]
    keep_one = math.exp(-rate)
    fresh_one = -math.expm1(-rate) / m
    weights[:m] = 1.0 / m
    total, log_total = 1.0, 0.0
    for start in range(starts[c], starts[c + 1], BLOCK):
        fill_densities(densities, m, x, slope, start, g, half_square, log_reads)
        for k in range(min(BLOCK, starts[c + 1] - start)):
            keep, fresh = keep_one, fresh_one
            if steps[start + k] != 1:
                keep = math.exp(-rate * steps[start + k])
                fresh = -math.expm1(-rate * steps[start + k]) / m
            new = fresh * total
            weights[0] = (keep * weights[0] + new) * DENSITY_OF_STATE_0
            # two sums, because each addition to a single sum would wait for the previous one
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
            if not MIN_TOTAL < total < MAX_TOTAL:
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
    """Sum of the log-likelihoods of all chromosomes."""
    densities, weights = np.empty((MAX_STATES + 1, BLOCK)), np.empty(MAX_STATES)
    slope = x[SD_SLOPE] if slopes == 1 else 0.0
    total = 0.0
    for c in range(starts.size - 1):
        m = int(x[State.first_n_states + slopes + c])
        total += chromosome(c, m, x, slope, g, half_square, log_reads, steps, starts, densities, weights)
    return total


@compiled_with_memory
def change(
    x: FloatArray, i: int, new: float, g: FloatArray, half_square: FloatArray, log_reads: FloatArray,
    steps: IntArray,
    starts: IntArray, slopes: int,
) -> float:  # fmt: skip
    """Change of the log-likelihood: of one chromosome for its number of states, of all for shared parameters."""
    first = State.first_n_states + slopes
    if i == first - 1:
        return 0.0
    if i < first - 1:
        moved = x.copy()
        moved[i] = new
        after = log_likelihood(moved, g, half_square, log_reads, steps, starts, slopes)
        return after - log_likelihood(x, g, half_square, log_reads, steps, starts, slopes)
    densities, weights = np.empty((MAX_STATES + 1, BLOCK)), np.empty(MAX_STATES)
    slope = x[SD_SLOPE] if slopes == 1 else 0.0
    c = i - first
    after = chromosome(c, int(new), x, slope, g, half_square, log_reads, steps, starts, densities, weights)
    return after - chromosome(c, int(x[i]), x, slope, g, half_square, log_reads, steps, starts, densities, weights)
