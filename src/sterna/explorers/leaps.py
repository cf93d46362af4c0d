"""Leaps between the components of a mixture of normal distributions, such as the modes of a target.

A state is expressed in units of one component, k, and placed at the same point in units of another, l:
y = m_l + L_l L_k^-1 (x - m_k), where m are centres and L are Cholesky factors. After Tjelmeland and Hegstad (2001) and
Pompe, Holmes and Latuszynski (2020), with k drawn by its responsibility r_k(x), so that no state belongs to one mode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sterna.engine.mixture import (
    Component,
    Header,
    add_log,
    colour,
    component_of,
    log_mixture,
    room_for,
    whiten,
    write_mixture,
)
from sterna.engine.program import Program
from sterna.engine.unconstrained import from_line, log_jacobian, to_line
from sterna.errors import OptionError
from sterna.explorers.base import Bound, all_coordinates
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.line_moves import check_real, read_line, step
from sterna.explorers.shared.options import take_moves
from sterna.ground.compilation import compiled, float_pointer, inlined, int_pointer
from sterna.ground.numbers import float_array
from sterna.ground.rows import field_pointer, fields, fields_behind, new_row, size_of, sizes
from sterna.ground.streams import Stream, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# The largest distance on the line between neighbouring numbers from which, or to which, a state may leap.
RESOLUTION = 1e-3
EPSILON = 2.220446049250313e-16

(COUNT,) = sizes(1)


@fields
class Parameters:
    """A chain's row of parameters: leaps per scan, and number of coordinates."""

    moves = 1
    count = 1


@fields
class Statistics:
    """Numbers of leaps proposed and expected to be accepted."""

    proposed = 1
    accepted = 1


@fields_behind(Statistics)
class Scratch:
    """Working memory."""

    here = COUNT
    there = COUNT
    kept = COUNT
    white = COUNT


@inlined
def draw_by_responsibility(
    words: FloatPointer, line: FloatPointer, white: FloatPointer, stream: Stream
) -> tuple[int, float]:
    """Draw a component by its share of the mixture's density at a point; also return that log-density."""
    chosen, total = 0, -math.inf
    for number in range(int(words[Header.n_components])):
        component = component_of(words, number)
        term = component[Component.constant] - 0.5 * whiten(words, component, line, white)
        total = add_log(total, term)
        # replacing earlier choices needs no memory for all densities
        if uniform(stream) < math.exp(term - total):
            chosen = number
    return chosen, total


@inlined
def weight_of_others(words: FloatPointer, number: int) -> float:
    """Return the sum of the weights of all components but one."""
    total = 0.0
    for other in range(int(words[Header.n_components])):
        if other != number:
            total += component_of(words, other)[Component.weight]
    return total


@inlined
def draw_other(words: FloatPointer, number: int, stream: Stream) -> int:
    """Draw another component by weight."""
    rest, chosen = uniform(stream) * weight_of_others(words, number), number
    for other in range(int(words[Header.n_components])):
        if other != number and (rest >= 0.0 or chosen == number):
            chosen = other
            rest -= component_of(words, other)[Component.weight]
    return chosen


@inlined
def round_line(program: Program, coordinates: IntPointer, count: int, line: FloatPointer) -> bool:
    """Replace a position on the line by that of the stored numbers; return whether those are near to each other there.

    Next to a bound they are not, and a leap to there would lead back to another place.
    """
    resolved = True
    for k in range(count):
        lower, upper = program.lower[coordinates[k]], program.upper[coordinates[k]]
        value = from_line(line[k], lower, upper)
        line[k] = to_line(value, lower, upper)
        resolved = resolved and EPSILON * abs(value) <= RESOLUTION * math.exp(log_jacobian(line[k], lower, upper))
    return resolved


@inlined
def leap(words: FloatPointer, here: FloatPointer, there: FloatPointer, white: FloatPointer, stream: Stream) -> float:
    """Write where a leap leads; return the part of the logarithm of the acceptance ratio that `here` contributes.

    The rule is min(1, pi(y) r_l(y) p(k|l) |L_l| / (pi(x) r_k(x) p(l|k) |L_k|)), where p(l|k) = w_l / (1 - w_k). With
    f the mixture's density, r_k(x) = w_k phi(z) / (|L_k| f(x)) and r_l(y) = w_l phi(z) / (|L_l| f(y)), because x and y
    are the same point z in units of k and l. What is left is f(x) (1 - w_k) / (f(y) (1 - w_l)), besides pi.
    """
    old, log_density = draw_by_responsibility(words, here, white, stream)
    new = draw_other(words, old, stream)
    whiten(words, component_of(words, old), here, white)
    colour(words, component_of(words, new), white, there)
    return log_density + math.log(weight_of_others(words, old) / weight_of_others(words, new))


@compiled
def explore(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Leap repeatedly; with fewer than two components do nothing."""
    coordinates, words, count = int_pointer(data[0]), float_pointer(data[1]), int(parameters[Parameters.count])
    if words[Header.n_components] < 2.0:
        return
    here, there = field_pointer(statistics, Scratch.here, count), field_pointer(statistics, Scratch.there, count)
    kept, white = field_pointer(statistics, Scratch.kept, count), field_pointer(statistics, Scratch.white, count)
    for _ in range(int(parameters[Parameters.moves])):
        read_line(program, x, coordinates, count, here)
        statistics[Statistics.proposed] += 1.0
        if not round_line(program, coordinates, count, here):
            continue
        log_factor = leap(words, here, there, white, stream)
        if not round_line(program, coordinates, count, there):
            continue
        log_factor -= log_mixture(words, there, white)
        # neither is finite where the squared distance overflows
        if math.isfinite(log_factor):
            statistics[Statistics.accepted] += step(
                program, x, log_densities, beta, coordinates, count, here, there, kept, log_factor, False, stream
            )


class Components(NamedTuple):
    """The components that a user gave; weights add up to 1."""

    weights: FloatArray
    centres: FloatArray
    factors: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Leaps:
    """Leaps between modes that are known: from the neighbourhood of one to the same place in that of another.

    The modes are the components of a mixture of normal distributions. A state far from the centre of one component, in
    units of its widths, is as far from that of the other, so that leaps between modes of unequal width and shape are
    accepted, in any dimension, if the components describe them. Where they do not, few are accepted, and the
    distribution that is sampled is still the right one. One evaluation per leap. Leaps do not move within a mode:
    combine them with another explorer, `Cycle(Slice(), Leaps(...))`. For real variables only.

    Centres and factors are those of the variables on the unconstrained line: log(x - lower) or log(upper - x) for a
    variable with one bound, log((x - lower) / (upper - x)) for one with two, x itself otherwise.

    Parameters
    ----------
    centres
        The centres of the components, of shape (components, coordinates).
    factors
        The Cholesky factors of their covariances, of shape (components, coordinates, coordinates), or standard
        deviations, of shape (components, coordinates).
    weights
        Weights of the components; by default equal. Leaps lead to components of large weight more often.
    moves
        Leaps per scan.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> def log_likelihood(x):
    ...     return np.logaddexp(-0.5 * np.sum(((x + 4) / 0.1) ** 2), -0.5 * np.sum((x - 4) ** 2))
    >>> leaps = sterna.Leaps(centres=[[-4, -4], [4, 4]], factors=[[0.1, 0.1], [1, 1]])
    >>> explorer = sterna.Cycle(sterna.Slice(), leaps)
    >>> result = sterna.sample(log_likelihood, {"x": sterna.Normal(0, 5, shape=2)}, explorer=explorer, progress=False)
    >>> result.explorer
    'cycle(slice, leaps)'
    """

    centres: ArrayLike | None = None
    factors: ArrayLike | None = None
    weights: ArrayLike | None = None
    moves: int = 1
    components: Components | None = field(init=False, default=None)
    name = "leaps"

    def __post_init__(self) -> None:
        take_moves(self)
        if self.centres is not None or self.factors is not None or self.weights is not None:
            object.__setattr__(self, "components", components_from(self.centres, self.factors, self.weights))

    def __repr__(self) -> str:
        """Show it without its arrays."""
        number = 0 if self.components is None else len(self.components.weights)
        return f"Leaps({number} components, moves={self.moves})"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target; without components of its own it takes those with which the target's path begins."""
        block = all_coordinates(target, coordinates)
        check_real("Leaps", target, block)
        count = len(block)
        words = self._words(target, count)
        row = new_row(Parameters, moves=self.moves, count=count)
        n_statistics = size_of(Statistics)
        return Bound(
            kernel=explore,
            data=(block, words),
            start=lambda draw: row,
            n_parameters=len(row),
            n_statistics=n_statistics,
            n_scratch=size_of(Scratch, count) - n_statistics,
        )

    def _words(self, target: ExplorableTarget, count: int) -> FloatArray:
        """Return the mixture as compiled code reads it."""
        if self.components is None:
            if target.mixture is None or count != target.dimension:
                raise OptionError(
                    "Leaps() needs components: give their centres and factors, as in "
                    "sterna.Leaps(centres=[[-1, 0], [1, 0]], factors=[[0.1, 0.1], [0.5, 0.5]])."
                )
            return target.mixture
        number, size = self.components.centres.shape
        if size != count:
            raise OptionError(
                f"Leaps(centres=...) has components of {size} coordinates, and explores {count} coordinates of "
                f"{target.name}: give centres of shape (components, {count})."
            )
        words = np.zeros(room_for(size, self.components.factors.ndim == 3, number))
        write_mixture(words, *self.components)
        return words


def components_from(centres: object, factors: object, weights: object) -> Components:
    """Check what describes the components, and return it as arrays; weights add up to 1."""
    middle, shape = float_array(centres), float_array(factors)
    if middle is None or middle.ndim != 2 or 0 in middle.shape or not np.isfinite(middle).all():
        raise OptionError(
            f"Leaps(centres={shown(centres)}): give the centres of the components as finite numbers of shape "
            "(components, coordinates)."
        )
    number, size = middle.shape
    if shape is None or shape.shape not in ((number, size), (number, size, size)) or not are_factors(shape):
        raise OptionError(
            f"Leaps(factors={shown(factors)}): give standard deviations of shape ({number}, {size}), or lower "
            f"triangular Cholesky factors of shape ({number}, {size}, {size}), with positive numbers on the diagonal."
        )
    share = np.ones(number) if weights is None else float_array(weights)
    if share is None or share.shape != (number,) or not (share > 0).all() or not np.isfinite(share.sum()):
        raise OptionError(
            f"Leaps(weights={shown(weights)}): give a positive weight for each of the {number} components."
        )
    return Components(share / share.sum(), middle.copy(), shape.copy())


def shown(given: object) -> str:
    """Show numbers by their shape, and anything else as it is."""
    numbers = float_array(given)
    return repr(given) if numbers is None or not np.isfinite(numbers).all() else f"<numbers of shape {numbers.shape}>"


def are_factors(factors: FloatArray) -> bool:
    """Whether all are standard deviations, or lower triangular with positive diagonals."""
    diagonals = factors if factors.ndim == 2 else np.diagonal(factors, axis1=1, axis2=2)
    triangular = factors.ndim == 2 or not np.triu(factors, 1).any()
    return bool(np.isfinite(factors).all() and (diagonals > 0).all() and triangular)
