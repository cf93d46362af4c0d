"""Exact draws of the reference's one-dimensional distributions from a stream alone, for kernels.

Chain 0 draws by NumPy's generator (`densities.draw_coordinate`), which kernels do not have.
"""

import math

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
from sterna.ground.compilation import compiled
from sterna.ground.streams import Stream, exponential, standard_normal, uniform
from sterna.types import FloatArray

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
def draw_around_mode(
    family: int, p: FloatArray, o: int, table: FloatArray, mode: float, last: float, stream: Stream
) -> float:
    """Draw an integer by inversion, going through the integers in the order of their distance from the mode.

    Takes about as many steps as the standard deviation.
    """
    rest = uniform(stream) - math.exp(coordinate_log_density(family, p, o, table, mode))
    distance = 0.0
    while rest >= 0.0:
        distance += 1.0
        below = above = 0.0
        if mode + distance <= last:
            above = math.exp(coordinate_log_density(family, p, o, table, mode + distance))
            rest -= above
            if rest < 0.0:
                return mode + distance
        if mode - distance >= 0.0:
            below = math.exp(coordinate_log_density(family, p, o, table, mode - distance))
            rest -= below
            if rest < 0.0:
                return mode - distance
        if max(below, above) < NOTHING:
            # rounding has left a rest of the order of 1e-13 that belongs to no integer
            break
    return mode


@compiled
def draw_real(family: int, p: FloatArray, o: int, stream: Stream) -> float:
    """Draw one real coordinate."""
    if family == NORMAL:
        return p[o] + standard_normal(stream) / p[o + 1]
    if family == HALF_NORMAL:
        return abs(standard_normal(stream)) / p[o + 1]
    if family == LOG_NORMAL:
        return math.exp(p[o] + standard_normal(stream) / p[o + 1])
    if family == EXPONENTIAL:
        return exponential(stream) / p[o]
    if family == GAMMA:
        return math.exp(log_gamma_draw(p[o], stream)) / p[o + 1]
    if family == INVERSE_GAMMA:
        return p[o + 1] * math.exp(-log_gamma_draw(p[o], stream))
    if family == BETA:
        return 1.0 / (1.0 + math.exp(log_gamma_draw(p[o + 1], stream) - log_gamma_draw(p[o], stream)))
    if family == STUDENT_T or family == HALF_STUDENT_T:
        precision = math.exp(0.5 * (log_gamma_draw(0.5 * p[o], stream) - math.log(0.5 * p[o])))
        ratio = standard_normal(stream) / (precision * p[o + 2])
        return abs(ratio) if family == HALF_STUDENT_T else p[o + 1] + ratio
    # the two Cauchy kinds
    ratio = math.tan(math.pi * (uniform(stream) - 0.5))
    return p[o] + (abs(ratio) if family == HALF_CAUCHY else ratio) / p[o + 1]


@compiled
def draw_from_stream(family: int, p: FloatArray, o: int, table: FloatArray, stream: Stream) -> float:
    """Draw one coordinate of any family; a draw may round to the edge of an open support."""
    if family == TWO_POINT:
        return p[o] if uniform(stream) < math.exp(p[o + 2]) else p[o + 1]
    if family == DISCRETE_UNIFORM:
        return p[o] + math.floor(uniform(stream) * (p[o + 1] - p[o] + 1.0))
    if family == CATEGORICAL:
        return draw_category(p, o, table, uniform(stream))
    if family == GEOMETRIC:
        # failures before the first success, at the rate p[o + 1] = log(1 - chance)
        return p[o] + math.floor(exponential(stream) / -p[o + 1])
    if family == POISSON:
        return draw_around_mode(family, p, o, table, math.floor(p[o]), math.inf, stream)
    if family == BINOMIAL:
        mode = min(math.floor((p[o] + 1.0) * math.exp(p[o + 1])), p[o])
        return draw_around_mode(family, p, o, table, mode, p[o], stream)
    if family == NEGATIVE_BINOMIAL:
        mode = max(math.floor((p[o] - 1.0) * p[o + 2]), 0.0)
        return draw_around_mode(family, p, o, table, mode, math.inf, stream)
    if inverts(family):
        return draw_by_inversion(family, p, o, table, stream)
    return draw_real(family, p, o, stream)
