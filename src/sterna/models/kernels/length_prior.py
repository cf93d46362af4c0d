"""The prior of branch lengths: independent Gamma(shape, rate), where shape and rate are Exp(1) or fixed numbers.

A state holds the parents of 2n - 3 nodes, as many lengths, and then shape and rate, each only if it is not fixed. The
pair `fixed` has NaN for what is not fixed.
"""

import math

from sterna.distributions.gamma_draw import log_gamma_draw
from sterna.ground.compilation import compiled, inlined
from sterna.ground.streams import Stream
from sterna.ground.values import HUGE
from sterna.models.kernels.log_slice import TINY, slice_logarithm
from sterna.types import FloatPointer

# Shape and rate, NaN if it is in the state.
Fixed = tuple[float, float] | FloatPointer
# What the density of the shape is conditional on: number, sum and sum of logarithms of the lengths, and the rate.
ShapeGiven = tuple[float, float, float, float]


@inlined
def shape_and_rate(x: FloatPointer, fixed: Fixed, taxa: int) -> tuple[float, float]:
    """Return shape and rate, from the state or fixed."""
    place = 2 * (2 * taxa - 3)
    shape = fixed[0]
    if math.isnan(shape):
        shape = x[place]
        place += 1
    return shape, x[place] if math.isnan(fixed[1]) else fixed[1]


@inlined
def set_shape_and_rate(x: FloatPointer, shape: float, rate: float, fixed: Fixed, taxa: int) -> None:
    """Write into the state what of shape and rate is in it."""
    place = 2 * (2 * taxa - 3)
    if math.isnan(fixed[0]):
        x[place] = min(max(shape, TINY), HUGE)
        place += 1
    if math.isnan(fixed[1]):
        x[place] = min(max(rate, TINY), HUGE)


@compiled
def log_prior(x: FloatPointer, fixed: Fixed, taxa: int) -> float:
    """Log-density of lengths, shape and rate, and of a topology, uniform among all (2n - 5)!!."""
    count = 2 * taxa - 3
    shape, rate = shape_and_rate(x, fixed, taxa)
    total = count * (shape * math.log(rate) - math.lgamma(shape))
    if math.isnan(fixed[0]):
        total -= shape
    if math.isnan(fixed[1]):
        total -= rate
    for v in range(count, 2 * count):
        total += (shape - 1.0) * math.log(x[v]) - rate * x[v]
    for k in range(3, taxa):
        total -= math.log(2.0 * k - 3.0)
    return total


@compiled
def shape_density(shape: float, given: ShapeGiven) -> float:
    """Log-density of the shape, up to a constant; if the rate is NaN, it is integrated out."""
    count, total, log_total, rate = given
    density = -shape + shape * log_total - count * math.lgamma(shape)
    if math.isnan(rate):
        return density + math.lgamma(count * shape + 1.0) - (count * shape + 1.0) * math.log1p(total)
    return density + count * shape * math.log(rate)


@inlined
def draw_shape_and_rate(
    x: FloatPointer, total: float, log_total: float, fixed: Fixed, taxa: int, stream: Stream
) -> None:
    """Draw what of shape and rate is not fixed, given the sums of the lengths and of their logarithms.

    The shape is drawn by slice sampling, with the rate integrated out, and the rate from its exact conditional
    distribution, which is a gamma distribution.
    """
    count = 2 * taxa - 3
    shape, rate = shape_and_rate(x, fixed, taxa)
    if math.isnan(fixed[0]):
        shape = slice_logarithm(shape_density, (float(count), total, log_total, fixed[1]), shape, stream)
    if math.isnan(fixed[1]):
        rate = math.exp(log_gamma_draw(count * shape + 1.0, stream) - math.log1p(total))
    set_shape_and_rate(x, shape, rate, fixed, taxa)
