"""Exact draws of the reference's one-dimensional distributions from a stream alone, for kernels.

Chain 0 draws by NumPy's generator (`densities.draw_coordinate`), which kernels do not have.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sterna.engine.compilation import compiled
from sterna.engine.densities import (
    BETA,
    BINOMIAL,
    CATEGORICAL,
    DISCRETE_UNIFORM,
    EXPONENTIAL,
    GAMMA,
    GEOMETRIC,
    HALF_CAUCHY,
    HALF_NORMAL,
    HALF_STUDENT_T,
    INVERSE_GAMMA,
    LOG_NORMAL,
    NEGATIVE_BINOMIAL,
    NORMAL,
    POISSON,
    STUDENT_T,
    TWO_POINT,
    coordinate_log_density,
    draw_by_inversion,
    draw_category,
    inverts,
)
from sterna.engine.streams import Stream, exponential, standard_normal, uniform

Numbers = NDArray[np.float64]

# Probabilities below this are as good as zero in a sum to 1.
NOTHING = 1e-18


@compiled
def log_gamma_draw(shape: float, stream: Stream) -> float:
    """Draw from the gamma distribution of scale 1 (Marsaglia and Tsang 2000), as a logarithm.

    A shape below 1 is raised by 1, and the draw made smaller by U^(1/shape); its logarithm does not underflow.
    """
    lowered = 0.0
    if shape < 1.0:
        lowered = exponential(stream) / shape
        shape += 1.0
    third = shape - 1.0 / 3.0
    while True:
        z = standard_normal(stream)
        root = 1.0 + z / math.sqrt(9.0 * third)
        if root > 0.0:
            cube = root * root * root
            if -exponential(stream) < 0.5 * z * z + third * (1.0 - cube + math.log(cube)):
                return math.log(third * cube) - lowered


@compiled
def draw_around_mode(kind: int, p: Numbers, o: int, table: Numbers, mode: float, last: float, stream: Stream) -> float:
    """Draw an integer by inversion, going through the integers in the order of their distance from the mode.

    Takes about as many steps as the standard deviation.
    """
    rest = uniform(stream) - math.exp(coordinate_log_density(kind, p, o, table, mode))
    distance = 0.0
    while rest >= 0.0:
        distance += 1.0
        below = above = 0.0
        if mode + distance <= last:
            above = math.exp(coordinate_log_density(kind, p, o, table, mode + distance))
            rest -= above
            if rest < 0.0:
                return mode + distance
        if mode - distance >= 0.0:
            below = math.exp(coordinate_log_density(kind, p, o, table, mode - distance))
            rest -= below
            if rest < 0.0:
                return mode - distance
        if max(below, above) < NOTHING:
            # rounding has left a rest of the order of 1e-13 that belongs to no integer
            break
    return mode


@compiled
def draw_real(kind: int, p: Numbers, o: int, stream: Stream) -> float:
    """Draw one real coordinate."""
    if kind == NORMAL:
        return p[o] + standard_normal(stream) / p[o + 1]
    if kind == HALF_NORMAL:
        return abs(standard_normal(stream)) / p[o + 1]
    if kind == LOG_NORMAL:
        return math.exp(p[o] + standard_normal(stream) / p[o + 1])
    if kind == EXPONENTIAL:
        return exponential(stream) / p[o]
    if kind == GAMMA:
        return math.exp(log_gamma_draw(p[o], stream)) / p[o + 1]
    if kind == INVERSE_GAMMA:
        return p[o + 1] * math.exp(-log_gamma_draw(p[o], stream))
    if kind == BETA:
        return 1.0 / (1.0 + math.exp(log_gamma_draw(p[o + 1], stream) - log_gamma_draw(p[o], stream)))
    if kind == STUDENT_T or kind == HALF_STUDENT_T:
        precision = math.exp(0.5 * (log_gamma_draw(0.5 * p[o], stream) - math.log(0.5 * p[o])))
        ratio = standard_normal(stream) / (precision * p[o + 2])
        return abs(ratio) if kind == HALF_STUDENT_T else p[o + 1] + ratio
    # the two Cauchy kinds
    ratio = math.tan(math.pi * (uniform(stream) - 0.5))
    return p[o] + (abs(ratio) if kind == HALF_CAUCHY else ratio) / p[o + 1]


@compiled
def draw_from_stream(kind: int, p: Numbers, o: int, table: Numbers, stream: Stream) -> float:
    """Draw one coordinate of any kind; a draw may round to the edge of an open support."""
    if kind == TWO_POINT:
        return p[o] if uniform(stream) < math.exp(p[o + 2]) else p[o + 1]
    if kind == DISCRETE_UNIFORM:
        return p[o] + math.floor(uniform(stream) * (p[o + 1] - p[o] + 1.0))
    if kind == CATEGORICAL:
        return draw_category(p, o, table, uniform(stream))
    if kind == GEOMETRIC:
        # failures before the first success, at the rate p[o + 1] = log(1 - chance)
        return p[o] + math.floor(exponential(stream) / -p[o + 1])
    if kind == POISSON:
        return draw_around_mode(kind, p, o, table, math.floor(p[o]), math.inf, stream)
    if kind == BINOMIAL:
        mode = min(math.floor((p[o] + 1.0) * math.exp(p[o + 1])), p[o])
        return draw_around_mode(kind, p, o, table, mode, p[o], stream)
    if kind == NEGATIVE_BINOMIAL:
        mode = max(math.floor((p[o] - 1.0) * p[o + 2]), 0.0)
        return draw_around_mode(kind, p, o, table, mode, math.inf, stream)
    if inverts(kind):
        return draw_by_inversion(kind, p, o, table, stream)
    return draw_real(kind, p, o, stream)
