"""Maps between a bounded coordinate x and an unbounded one u: exp for a half line, logistic for an interval.

The density of u is the density of x times |dx/du|.
"""

import math

from sterna.ground.compilation import compiled, inlined
from sterna.ground.values import HUGE

TINY = 2.2250738585072014e-308


@inlined
def bounded_below(lower: float) -> bool:
    """Whether there is a lower bound, which otherwise is the lowest float64 number."""
    return lower > -HUGE


@inlined
def bounded_above(upper: float) -> bool:
    """Whether there is an upper bound, which otherwise is the largest float64 number."""
    return upper < HUGE


@inlined
def min_gap(bound: float) -> float:
    """Return how far inside its bound a number on the bound is taken to lie: half of the spacing of floats there."""
    return max(0.5e-16 * abs(bound), TINY)


@compiled
def to_line(x: float, lower: float, upper: float) -> float:
    """Return the u of an x; an x on a bound is taken to lie just inside."""
    if bounded_below(lower):
        if bounded_above(upper):
            return math.log(max(x - lower, min_gap(lower))) - math.log(max(upper - x, min_gap(upper)))
        return math.log(max(x - lower, min_gap(lower)))
    if bounded_above(upper):
        return math.log(max(upper - x, min_gap(upper)))
    return x


@compiled
def from_line(u: float, lower: float, upper: float) -> float:
    """Return the x of a u, never outside the bounds."""
    if bounded_below(lower):
        if bounded_above(upper):
            share = 1.0 / (1.0 + math.exp(-u)) if u >= 0.0 else math.exp(u) / (1.0 + math.exp(u))
            return min(max(lower + (upper - lower) * share, lower), upper)
        return min(max(lower + math.exp(min(u, 700.0)), lower), upper)
    if bounded_above(upper):
        return max(min(upper - math.exp(min(u, 700.0)), upper), lower)
    return u


@compiled
def log_jacobian(u: float, lower: float, upper: float) -> float:
    """Return log |dx/du|."""
    if bounded_below(lower):
        if bounded_above(upper):
            return math.log(upper - lower) - abs(u) - 2.0 * math.log1p(math.exp(-abs(u)))
        return u
    return u if bounded_above(upper) else 0.0


@compiled
def line_slope(slope: float, u: float, lower: float, upper: float) -> float:
    """Return the slope in u of log-density plus log-Jacobian, from the slope of the log-density in x."""
    if bounded_below(lower):
        if bounded_above(upper):
            small = math.exp(-abs(u))
            share = small / ((1.0 + small) * (1.0 + small))
            return slope * (upper - lower) * share - math.tanh(0.5 * u)
        return slope * math.exp(min(u, 700.0)) + 1.0
    if bounded_above(upper):
        return -slope * math.exp(min(u, 700.0)) + 1.0
    return slope


@compiled
def bounded_slope(slope: float, u: float, lower: float, upper: float) -> float:
    """Return the slope in x of a log-density, from that in u of log-density plus log-Jacobian: undoes `line_slope`."""
    if bounded_below(lower):
        if bounded_above(upper):
            small = math.exp(-abs(u))
            share = small / ((1.0 + small) * (1.0 + small))
            return (slope + math.tanh(0.5 * u)) / ((upper - lower) * max(share, TINY))
        return (slope - 1.0) * math.exp(-max(u, -700.0))
    if bounded_above(upper):
        return (1.0 - slope) * math.exp(-max(u, -700.0))
    return slope
