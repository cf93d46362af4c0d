"""Log-densities and exact draws of the reference's one-dimensional distributions, by family.

Each coordinate of an independent reference has a family and up to four numbers, `p`, in which its constants are
worked out beforehand (see `sterna.reference.distributions`); they begin at place `o`. Probability tables lie in one
shared array.
"""

import math
from typing import Any

from sterna.ground.compilation import compiled, compiled_with_memory, inlined
from sterna.ground.streams import Stream, exponential, standard_normal, uniform
from sterna.types import FloatArray

NORMAL = 0
UNIFORM = 1
LOG_UNIFORM = 2
EXPONENTIAL = 3
GAMMA = 4
INVERSE_GAMMA = 5
BETA = 6
CAUCHY = 7
STUDENT_T = 8
LOG_NORMAL = 9
TWO_POINT = 10
CATEGORICAL = 11
POISSON = 12
GEOMETRIC = 13
BINOMIAL = 14
HALF_NORMAL = 15
HALF_CAUCHY = 16
DISCRETE_UNIFORM = 17
LAPLACE = 18
LOGISTIC = 19
GUMBEL = 20
WEIBULL = 21
PARETO = 22
TRUNCATED_NORMAL = 23
HALF_STUDENT_T = 24
NEGATIVE_BINOMIAL = 25

# On an interval around its mode that is this long, half of all normal draws or more hit where uniform ones waste more.
LONG = 2.5


@compiled
def log1p_square(z: float, nu: float) -> float:
    """log(1 + z^2 / nu), also in tails so far out that z^2 is beyond the largest number."""
    return math.log1p(z * z / nu) if abs(z) < 1e150 else 2.0 * math.log(abs(z)) - math.log(nu)


@inlined
def normal_log_density(p: FloatArray, o: int, x: float) -> float:
    """Log-density of a normal coordinate, the most common family, on its own."""
    z = (x - p[o]) * p[o + 1]
    return p[o + 2] - 0.5 * z * z


@compiled
def coordinate_log_density(family: int, p: FloatArray, o: int, table: FloatArray, x: float) -> float:
    """Log-density of one coordinate inside its support; the caller has checked the bounds."""
    if family == NORMAL or family == HALF_NORMAL:
        return normal_log_density(p, o, x)
    if family == UNIFORM or family == DISCRETE_UNIFORM:
        return p[o + 2]
    if family == LOG_UNIFORM:
        return p[o + 2] - math.log(x)
    if family == EXPONENTIAL:
        return p[o + 1] - p[o] * x
    if family == GAMMA:
        return p[o + 2] + (p[o] - 1.0) * math.log(x) - p[o + 1] * x
    if family == INVERSE_GAMMA:
        return p[o + 2] - (p[o] + 1.0) * math.log(x) - p[o + 1] / x
    if family == BETA:
        return p[o + 2] + (p[o] - 1.0) * math.log(x) + (p[o + 1] - 1.0) * math.log1p(-x)
    if family == CAUCHY or family == HALF_CAUCHY:
        z = (x - p[o]) * p[o + 1]
        return p[o + 2] - log1p_square(z, 1.0)
    if family == STUDENT_T or family == HALF_STUDENT_T:
        z = (x - p[o + 1]) * p[o + 2]
        return p[o + 3] - 0.5 * (p[o] + 1.0) * log1p_square(z, p[o])
    if family == LOG_NORMAL:
        log_x = math.log(x)
        z = (log_x - p[o]) * p[o + 1]
        return p[o + 2] - 0.5 * z * z - log_x
    if family == TWO_POINT:
        return p[o + 2] if x == p[o] else p[o + 3]
    if family == CATEGORICAL:
        return table[int(p[o]) + int(x)]
    if family == POISSON:
        return x * p[o + 1] - p[o] - math.lgamma(x + 1.0)
    if family == GEOMETRIC:
        return p[o + 2] + (x - p[o]) * p[o + 1]
    if family == LAPLACE:
        return p[o + 2] - abs(x - p[o]) * p[o + 1]
    if family == LOGISTIC:
        z = abs(x - p[o]) * p[o + 1]
        return p[o + 2] - z - 2.0 * math.log1p(math.exp(-z))
    if family == GUMBEL:
        z = (x - p[o]) * p[o + 1]
        return p[o + 2] - z - math.exp(-z)
    if family == WEIBULL:
        return p[o + 2] + (p[o] - 1.0) * math.log(x) - (x * p[o + 1]) ** p[o]
    if family == PARETO:
        return p[o + 2] - (p[o] + 1.0) * math.log(x)
    if family == TRUNCATED_NORMAL:
        return normal_log_density(p, o + 1, x)
    if family == NEGATIVE_BINOMIAL:
        return p[o + 3] + math.lgamma(x + p[o]) - math.lgamma(x + 1.0) + x * p[o + 1]
    # BINOMIAL
    return p[o + 3] - math.lgamma(x + 1.0) - math.lgamma(p[o] - x + 1.0) + x * p[o + 1] + (p[o] - x) * p[o + 2]


@compiled
def coordinate_slope(family: int, p: FloatArray, o: int, x: float) -> float:
    """Slope of the log-density of one real coordinate inside its support; 0 for the flat and for integers."""
    if family == NORMAL or family == HALF_NORMAL:
        return -(x - p[o]) * p[o + 1] * p[o + 1]
    if family == LOG_UNIFORM:
        return -1.0 / x
    if family == EXPONENTIAL:
        return -p[o]
    if family == GAMMA:
        return (p[o] - 1.0) / x - p[o + 1]
    if family == INVERSE_GAMMA:
        return (p[o + 1] / x - (p[o] + 1.0)) / x
    if family == BETA:
        return (p[o] - 1.0) / x - (p[o + 1] - 1.0) / (1.0 - x)
    if family == CAUCHY or family == HALF_CAUCHY:
        return student_slope((x - p[o]) * p[o + 1], 1.0) * p[o + 1]
    if family == STUDENT_T or family == HALF_STUDENT_T:
        return student_slope((x - p[o + 1]) * p[o + 2], p[o]) * p[o + 2]
    if family == LOG_NORMAL:
        return -((math.log(x) - p[o]) * p[o + 1] * p[o + 1] + 1.0) / x
    if family == LAPLACE:
        return -math.copysign(p[o + 1], x - p[o])
    if family == LOGISTIC:
        return -math.tanh(0.5 * (x - p[o]) * p[o + 1]) * p[o + 1]
    if family == GUMBEL:
        return math.expm1(-(x - p[o]) * p[o + 1]) * p[o + 1]
    if family == WEIBULL:
        return (p[o] - 1.0 - p[o] * (x * p[o + 1]) ** p[o]) / x
    if family == PARETO:
        return -(p[o] + 1.0) / x
    if family == TRUNCATED_NORMAL:
        return -(x - p[o + 1]) * p[o + 2] * p[o + 2]
    return 0.0


@compiled
def student_slope(z: float, nu: float) -> float:
    """Slope of Student's log-density in its standard coordinate, also where z^2 is beyond the largest number."""
    if abs(z) < 1e150:
        return -(nu + 1.0) * z / (nu + z * z)
    return -(nu + 1.0) / z


@compiled
def draw_category(p: FloatArray, o: int, table: FloatArray, u: float) -> float:
    """Find the category whose cumulated probability first exceeds u."""
    start, size = int(p[o]), int(p[o + 1])
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if table[start + size + middle] > u:
            high = middle
        else:
            low = middle + 1
    return float(low)


@compiled_with_memory
def draw_continuous(family: int, p: FloatArray, o: int, rng: Any) -> float:
    """Draw one real coordinate by NumPy's methods."""
    if family == NORMAL:
        return p[o] + rng.standard_normal() / p[o + 1]
    if family == HALF_NORMAL:
        return abs(rng.standard_normal()) / p[o + 1]
    if family == EXPONENTIAL:
        return rng.standard_exponential() / p[o]
    if family == GAMMA:
        return rng.standard_gamma(p[o]) / p[o + 1]
    if family == INVERSE_GAMMA:
        return p[o + 1] / rng.standard_gamma(p[o])
    if family == BETA:
        return rng.beta(p[o], p[o + 1])
    if family == CAUCHY:
        return p[o] + rng.standard_cauchy() / p[o + 1]
    if family == HALF_CAUCHY:
        return abs(rng.standard_cauchy()) / p[o + 1]
    if family == HALF_STUDENT_T:
        return abs(rng.standard_t(p[o])) / p[o + 2]
    if family == STUDENT_T:
        return p[o + 1] + rng.standard_t(p[o]) / p[o + 2]
    # LOG_NORMAL
    return math.exp(p[o] + rng.standard_normal() / p[o + 1])


@compiled_with_memory
def draw_integer(family: int, p: FloatArray, o: int, rng: Any) -> float:
    """Draw one unbounded or counted coordinate by NumPy's methods."""
    if family == POISSON:
        return float(rng.poisson(p[o]))
    if family == GEOMETRIC:
        return p[o] - 1.0 + float(rng.geometric(-math.expm1(p[o + 1])))
    if family == NEGATIVE_BINOMIAL:
        # a Poisson variable whose mean is a gamma variable
        return float(rng.poisson(rng.standard_gamma(p[o]) * p[o + 2]))
    # BINOMIAL
    return float(rng.binomial(int(p[o]), math.exp(p[o + 1])))


@compiled
def draw_in_tail(low: float, high: float, stream: Stream) -> float:
    """Draw a standard normal number in 0 <= low < high, below an exponential curve (Robert 1995)."""
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    while True:
        z = low + exponential(stream) / rate
        if z <= high and 2.0 * exponential(stream) >= (z - rate) * (z - rate):
            return z


@compiled
def draw_in_interval(low: float, high: float, stream: Stream) -> float:
    """Draw a standard normal number between two bounds, also in tails, in a few tries."""
    if high <= 0.0:
        return -draw_in_interval_above(-high, -low, stream)
    if low >= 0.0:
        return draw_in_interval_above(low, high, stream)
    if high - low > LONG:
        while True:
            z = standard_normal(stream)
            if low <= z <= high:
                return z
    return draw_below_mode(low, high, 0.0, stream)


@compiled
def draw_in_interval_above(low: float, high: float, stream: Stream) -> float:
    """Draw a standard normal number in 0 <= low < high: from a tail, or if the interval is short, from within."""
    if (high - low) * (low + math.sqrt(low * low + 4.0)) > 2.0:
        return draw_in_tail(low, high, stream)
    return draw_below_mode(low, high, low, stream)


@compiled
def draw_below_mode(low: float, high: float, mode: float, stream: Stream) -> float:
    """Draw a standard normal number in a short interval by rejection from a uniform one."""
    while True:
        z = low + (high - low) * uniform(stream)
        if 2.0 * exponential(stream) >= (z - mode) * (z + mode):
            return z


@compiled
def draw_by_inversion(family: int, p: FloatArray, o: int, table: FloatArray, stream: Stream) -> float:
    """Draw one real coordinate whose law is easily had from a uniform or an exponential number."""
    if family == UNIFORM:
        return p[o] + (p[o + 1] - p[o]) * uniform(stream)
    if family == LOG_UNIFORM:
        return math.exp(p[o] + (p[o + 1] - p[o]) * uniform(stream))
    if family == TRUNCATED_NORMAL:
        place = int(p[o])
        return p[o + 1] + draw_in_interval(table[place], table[place + 1], stream) / p[o + 2]
    number = exponential(stream)
    if family == WEIBULL:
        return number ** (1.0 / p[o]) / p[o + 1]
    if family == PARETO:
        return p[o + 1] * math.exp(number / p[o])
    if family == GUMBEL:
        return p[o] - math.log(number) / p[o + 1]
    if family == LOGISTIC:
        return p[o] + math.log(math.expm1(number)) / p[o + 1]
    # LAPLACE
    return p[o] + (number if uniform(stream) < 0.5 else -number) / p[o + 1]


@inlined
def inverts(family: int) -> bool:
    """Whether `draw_by_inversion` draws a family."""
    return family == UNIFORM or family == LOG_UNIFORM or LAPLACE <= family <= TRUNCATED_NORMAL


@compiled
def draw_coordinate(family: int, p: FloatArray, o: int, table: FloatArray, stream: Stream, rng: Any) -> float:
    """Draw one coordinate from its distribution."""
    if inverts(family):
        return draw_by_inversion(family, p, o, table, stream)
    if family == TWO_POINT:
        return p[o] if uniform(stream) < math.exp(p[o + 2]) else p[o + 1]
    if family == DISCRETE_UNIFORM:
        return p[o] + math.floor(uniform(stream) * (p[o + 1] - p[o] + 1.0))
    if family == CATEGORICAL:
        return draw_category(p, o, table, uniform(stream))
    if family == POISSON or family == GEOMETRIC or family == BINOMIAL or family == NEGATIVE_BINOMIAL:
        return draw_integer(family, p, o, rng)
    return draw_continuous(family, p, o, rng)
