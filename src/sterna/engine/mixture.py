"""A mixture of normal distributions on the unconstrained line, as rows of numbers that compiled code reads.

Full covariances have a Cholesky factor, row by row; in high dimensions components have a standard deviation per
coordinate instead.
"""

import math

import numpy as np

from sterna.ground.compilation import compiled, inlined, offset_pointer
from sterna.ground.rows import columns, field_pointer, fields, new_row, size_of, sizes
from sterna.ground.streams import Stream, fill_normals, uniform
from sterna.types import FloatArray, FloatPointer

# A component whose density is smaller than that of another by so many nats adds less than a rounding error to it.
NEGLIGIBLE = 40.0

# Numbers of coordinates, and of entries of a factor.
COORDINATES, ENTRIES = sizes(2)


@fields
class Component:
    """One normal distribution; `constant` is its log-weight plus the constants of its log-density."""

    weight = 1
    constant = 1
    centre = COORDINATES
    factor = ENTRIES


@fields
class Header:
    """What precedes the components: numbers of components, of coordinates, of entries of a factor and of a component.

    Where a mixture is combined with the prior, it also holds the logarithms of the shares of both.
    """

    n_components = 1
    dimension = 1
    entries = 1
    size = 1
    log_prior_share = 1
    log_mixture_share = 1


HEADER = size_of(Header)


def entries_of(dimension: int, full: bool) -> int:
    """Return the number of entries of a factor."""
    return dimension * (dimension + 1) // 2 if full else dimension


def room_for(dimension: int, full: bool, n_components: int) -> int:
    """Return how many numbers a mixture of so many components takes."""
    return HEADER + n_components * size_of(Component, dimension, entries_of(dimension, full))


def write_mixture(
    words: FloatArray, weights: FloatArray, centres: FloatArray, factors: FloatArray, prior_share: float = 0.0
) -> None:
    """Write a mixture in place: weights (k), centres (k, d), factors (k, d, d), or standard deviations (k, d)."""
    (number, dimension), full = centres.shape, factors.ndim == 3
    entries = entries_of(dimension, full)
    size = size_of(Component, dimension, entries)
    words[:HEADER] = new_row(
        Header,
        n_components=number,
        dimension=dimension,
        entries=entries,
        size=size,
        log_prior_share=math.log(prior_share) if prior_share > 0.0 else -math.inf,
        log_mixture_share=math.log1p(-prior_share),
    )
    rows = words[HEADER : HEADER + number * size].reshape(number, size)
    diagonals = np.diagonal(factors, axis1=1, axis2=2) if full else factors
    rows[:, Component.weight] = weights
    rows[:, Component.constant] = (
        np.log(weights) - np.log(diagonals).sum(axis=1) - 0.5 * dimension * math.log(2.0 * math.pi)
    )
    columns(rows, Component.centre, dimension, entries)[:] = centres
    columns(rows, Component.factor, dimension, entries)[:] = (
        factors[:, *np.tril_indices(dimension)] if full else factors
    )


@inlined
def component_of(words: FloatPointer, number: int) -> FloatPointer:
    """Return the row of a component."""
    return offset_pointer(words, HEADER + number * int(words[Header.size]))


@inlined
def centre_of(words: FloatPointer, component: FloatPointer) -> FloatPointer:
    """Return the centre of a component."""
    return field_pointer(component, Component.centre, int(words[Header.dimension]), int(words[Header.entries]))


@inlined
def factor_of(words: FloatPointer, component: FloatPointer) -> FloatPointer:
    """Return the factor of a component."""
    return field_pointer(component, Component.factor, int(words[Header.dimension]), int(words[Header.entries]))


@inlined
def is_full(words: FloatPointer) -> bool:
    """Whether components have full covariances."""
    return words[Header.entries] > words[Header.dimension]


@compiled
def whiten_within(
    words: FloatPointer, component: FloatPointer, line: FloatPointer, white: FloatPointer, limit: float
) -> float:
    """Like `whiten`, but stop as soon as the squared distance is beyond a limit, and return what it is by then."""
    centre, factor = centre_of(words, component), factor_of(words, component)
    full, entry, square = is_full(words), 0, 0.0
    for k in range(int(words[Header.dimension])):
        value = line[k] - centre[k]
        if full:
            for j in range(k):
                value -= factor[entry] * white[j]
                entry += 1
        white[k] = value / factor[entry]
        entry += 1
        square += white[k] * white[k]
        if square > limit:
            break
    return square


@compiled
def whiten(words: FloatPointer, component: FloatPointer, line: FloatPointer, white: FloatPointer) -> float:
    """Write a point in units of a component, in which that is standard normal; return the squared distance."""
    return whiten_within(words, component, line, white, math.inf)


@compiled
def colour(words: FloatPointer, component: FloatPointer, white: FloatPointer, line: FloatPointer) -> None:
    """Write the point that has given coordinates in units of a component: the inverse of `whiten`."""
    centre, factor = centre_of(words, component), factor_of(words, component)
    full, entry = is_full(words), 0
    for k in range(int(words[Header.dimension])):
        total = centre[k]
        if full:
            for j in range(k):
                total += factor[entry] * white[j]
                entry += 1
        line[k] = total + factor[entry] * white[k]
        entry += 1


@inlined
def add_log(total: float, term: float) -> float:
    """Return log(exp(total) + exp(term))."""
    high, low = max(total, term), min(total, term)
    return high + math.log1p(math.exp(low - high)) if low > -math.inf else high


@compiled
def log_mixture(words: FloatPointer, line: FloatPointer, white: FloatPointer) -> float:
    """Return the log-density of the mixture at a point of the line; `white` is working memory.

    Components that add less than a rounding error to those before them are left as soon as that is known: if modes are
    far apart, that is after a coordinate or two.
    """
    highest, total = -math.inf, 0.0
    for number in range(int(words[Header.n_components])):
        component = component_of(words, number)
        constant = component[Component.constant]
        square = whiten_within(words, component, line, white, 2.0 * (constant - highest + NEGLIGIBLE))
        density = constant - 0.5 * square
        if density > highest:
            total = total * math.exp(highest - density) + 1.0
            highest = density
        elif density > highest - NEGLIGIBLE:
            total += math.exp(density - highest)
    return highest + math.log(total) if total > 0.0 else -math.inf


@compiled
def drawn_component(words: FloatPointer, stream: Stream) -> int:
    """Draw a component by weight."""
    last, chosen, rest = int(words[Header.n_components]) - 1, 0, uniform(stream)
    while chosen < last and rest >= component_of(words, chosen)[Component.weight]:
        rest -= component_of(words, chosen)[Component.weight]
        chosen += 1
    return chosen


@compiled
def draw_mixture(words: FloatPointer, line: FloatPointer, white: FloatPointer, stream: Stream) -> None:
    """Write a draw of the mixture."""
    component = component_of(words, drawn_component(words, stream))
    fill_normals(white, int(words[Header.dimension]), stream)
    colour(words, component, white, line)


@compiled
def add_mixture_slope(
    words: FloatPointer, line: FloatPointer, white: FloatPointer, log_total: float, slope: FloatPointer
) -> None:
    """Add the gradient of every component's density at a point, divided by exp(log_total)."""
    dimension, full = int(words[Header.dimension]), is_full(words)
    for number in range(int(words[Header.n_components])):
        component = component_of(words, number)
        factor = factor_of(words, component)
        log_density = component[Component.constant] - 0.5 * whiten(words, component, line, white)
        share = math.exp(log_density - log_total)
        # minus the inverse covariance times the distance, by backward substitution
        for k in range(dimension - 1, -1, -1):
            value, diagonal = white[k], k
            if full:
                diagonal = k * (k + 1) // 2 + k
                for j in range(k + 1, dimension):
                    value -= factor[j * (j + 1) // 2 + k] * white[j]
            white[k] = value / factor[diagonal]
            slope[k] -= share * white[k]
