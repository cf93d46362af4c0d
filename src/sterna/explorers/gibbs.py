"""Gibbs sampling of finite coordinates: each is drawn from its exact conditional law, given all others."""

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from sterna.engine import callback
from sterna.engine.densities import coordinate_log_density
from sterna.engine.program import (
    CONDITIONAL,
    LOG_LIKELIHOOD,
    LOG_REFERENCE,
    NotANumber,
    Program,
    coordinate_likelihood,
    coordinate_reference,
    log_likelihood,
    log_reference,
    reference_of,
)
from sterna.errors import OptionError
from sterna.explorers.base import Bound, Draw, all_coordinates, annealed, check_passes, first_coordinate, updates_of
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import as_address, as_pointer, caller, compiled, inlined
from sterna.ground.streams import Stream, uniform
from sterna.ground.values import BINARY, REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

MOST_VALUES = 256

# Places in a chain's row of parameters: updates in a scan, and number of coordinates.
UPDATES, COUNT = 0, 1

# A user's conditional law is compared with the target's at so many draws, coordinates of each, and betas.
CHECKED_DRAWS, CHECKED_COORDINATES, CHECKED_BETAS = 3, 4, (1.0, 0.5)
LARGEST_DIFFERENCE = 1e-6

call_conditional = caller(CONDITIONAL)


@inlined
def takes_over(log_total: float, log_weight: float, stream: Stream) -> bool:
    """Decide whether a value takes the place of the one drawn so far, which stands for values of that total weight.

    Asked of one value after the other, this draws by weights that need never be known all at once.
    """
    return uniform(stream) * (1.0 + math.exp(log_total - log_weight)) < 1.0


@inlined
def log_sum(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


@inlined
def number_of_values(program: Program, i: int) -> int:
    """Count the values of a finite coordinate."""
    return 2 if program.value_type[i] == BINARY else int(program.upper[i] - program.lower[i]) + 1


@inlined
def value_at(program: Program, i: int, number: int) -> float:
    """Return a value of a finite coordinate; a binary one has its two bounds, which need not be neighbours."""
    step = program.upper[i] - program.lower[i] if program.value_type[i] == BINARY else 1.0
    return program.lower[i] + step * number


@compiled
def draw_value(
    program: Program, x: FloatPointer, i: int, beta: float, log_densities: FloatPointer, stream: Stream
) -> None:
    """Draw a finite coordinate from its exact conditional law, by evaluating all of its other values."""
    here = x[i]
    reference_here = reference_of(program, x, i, here, log_densities)
    chosen, reference_chosen, likelihood_chosen = here, reference_here, log_densities[LOG_LIKELIHOOD]
    total, last = annealed(reference_here, beta, log_densities[LOG_LIKELIHOOD]), -math.inf
    for number in range(number_of_values(program, i)):
        value = value_at(program, i, number)
        if value == here:
            continue
        reference = coordinate_reference(program, x, i, here, value, log_densities)
        if reference == -math.inf:
            continue
        likelihood = coordinate_likelihood(program, x, i, here, value, log_densities)
        density = annealed(reference, beta, likelihood)
        total = log_sum(total, last)
        if takes_over(total, density, stream):
            chosen, reference_chosen, likelihood_chosen = value, reference, likelihood
        last = density
    x[i] = chosen
    log_densities[LOG_REFERENCE] += reference_chosen - reference_here
    log_densities[LOG_LIKELIHOOD] = likelihood_chosen


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
    """Draw coordinates in turn, each from its conditional law."""
    coordinates = as_pointer(data[0], types.int64)
    updates, count = int(parameters[UPDATES]), int(parameters[COUNT])
    place = first_coordinate(updates, count, stream)
    for _ in range(updates):
        draw_value(program, x, coordinates[place], beta, log_densities, stream)
        place += 1
        if place == count:
            place = 0


@compiled
def draw_by_weights(log_weights: FloatPointer, count: int, stream: Stream) -> int:
    """Draw a number below `count` by weights given as logarithms."""
    chosen, total = -1, -math.inf
    for number in range(count):
        weight = log_weights[number]
        if not weight < math.inf:
            raise NotANumber("log-probability that conditional returned is NaN or +inf")
        if weight == -math.inf:
            continue
        if takes_over(total, weight, stream):
            chosen = number
        total = log_sum(total, weight)
    if chosen < 0:
        raise NotANumber("log-probability that conditional returned is -inf for every value")
    return chosen


@compiled
def explore_by_conditional(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Draw coordinates in turn by the user's conditional laws; without a local change, evaluate once at the end."""
    coordinates, function = as_pointer(data[0], types.int64), as_pointer(data[1], types.int64)
    updates, count = int(parameters[UPDATES]), int(parameters[COUNT])
    place = first_coordinate(updates, count, stream)
    changed = False
    for _ in range(updates):
        i = coordinates[place]
        here, values = x[i], number_of_values(program, i)
        call_conditional(
            function[0],
            (as_address(x), place, beta, as_address(statistics), values, program.data, function[1]),
        )
        value = value_at(program, i, draw_by_weights(statistics, values, stream))
        if value != here:
            changed = True
            if program.log_reference == 0:
                before = coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, here)
                after = coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, value)
                log_densities[LOG_REFERENCE] += after - before
            elif program.reference_change != 0:
                log_densities[LOG_REFERENCE] = coordinate_reference(program, x, i, here, value, log_densities)
            if program.likelihood_change != 0:
                log_densities[LOG_LIKELIHOOD] = coordinate_likelihood(program, x, i, here, value, log_densities)
            x[i] = value
        place += 1
        if place == count:
            place = 0
    if changed:
        if program.log_reference != 0 and program.reference_change == 0:
            log_densities[LOG_REFERENCE] = log_reference(program, x)
        if program.likelihood_change == 0:
            log_densities[LOG_LIKELIHOOD] = log_likelihood(program, x, log_densities)
        if beta > 0.0 and log_densities[LOG_LIKELIHOOD] == -math.inf:
            raise NotANumber("log-likelihood is -inf, though conditional drew that state,")


@dataclass(frozen=True)
class Gibbs:
    """Gibbs sampling: binary, categorical and small integer coordinates, each from its exact conditional law.

    A coordinate of m values costs m - 1 evaluations, or as many local changes where the target has them. `Slice` asks
    for fewer, and is the better choice for many values unless their conditional laws are known.

    Parameters
    ----------
    passes
        How many times each scan updates every coordinate; a fraction updates that share of them.
    conditional
        A function of your own that knows the conditional laws: `conditional(i, beta, ...)` returns the logarithms of
        the probabilities of all values of coordinate i, in increasing order and up to a constant. i counts the
        coordinates that this explorer explores: in `{"z": Gibbs(conditional=...)}` those of z. Further parameters are
        variables and data, by name. A scan then costs one evaluation, or local changes.

        The law at beta is that of reference * likelihood**beta, so log-prior + beta * log-likelihood as a function
        of that coordinate alone. It is used as it is: if it is wrong, so are the draws. A few states are compared with
        the target at the start of every run.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> from sterna.explorers.gibbs import Gibbs
    >>> def log_likelihood(z, mu, y):
    ...     return -0.5 * np.sum((y - mu[z]) ** 2)
    >>> def conditional(i, beta, mu, y):
    ...     return -0.5 * beta * (y[i] - mu) ** 2
    >>> target = sterna.Target(
    ...     log_likelihood,
    ...     {"z": sterna.Categorical([0.5, 0.5], shape=3), "mu": sterna.Normal(0, 3, shape=2)},
    ...     {"y": np.array([-2.0, 1.9, 2.1])},
    ... )
    >>> explorer = {"z": Gibbs(conditional=conditional), "mu": sterna.Slice()}
    >>> sterna.sample(target, explorer=explorer, n_rounds=5, progress=False).explorer
    'z: gibbs, mu: slice'
    """

    passes: float = 1.0
    conditional: Callable[..., Any] | None = None
    name = "gibbs"

    def __post_init__(self) -> None:
        check_passes("Gibbs", self.passes)
        if self.conditional is not None and not callable(self.conditional):
            raise OptionError(f"Gibbs(conditional={self.conditional!r}) is not a function.")

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for coordinates of a target, all of which must have few values."""
        block = all_coordinates(target, coordinates)
        most = check_finite(target, block)
        row = np.array([updates_of(self.passes, len(block)), len(block)], dtype=np.float64)
        if self.conditional is None:
            return Bound(kernel=explore, data=(block,), start=lambda draw: row)
        entry, plain = target.conditional(self.conditional)

        def start(draw: Draw) -> FloatArray:
            check_conditional(target, plain, block, draw)
            return row

        function = np.array([entry.address, entry.handle], dtype=np.int64)
        bound = Bound(
            kernel=explore_by_conditional, data=(block, function), start=start, n_scratch=most, python=entry.notes
        )
        weakref.finalize(bound, callback.forget, [entry.handle])
        return bound


def values_of(program: Program, i: int) -> FloatArray:
    """Return all values of a finite coordinate, as compiled code counts them."""
    lower, upper = program.lower[i], program.upper[i]
    return np.array([lower, upper]) if program.value_type[i] == BINARY else np.arange(lower, upper + 1)


def check_finite(target: ExplorableTarget, block: IntArray) -> int:
    """Check that all coordinates of a block have few values, and return the largest number of them."""
    program = target.program
    for v in target.space.variables:
        own = block[(block >= v.start) & (block < v.stop)]
        if len(own) == 0:
            continue
        if v.value_type == REAL:
            raise OptionError(
                f"Gibbs draws coordinates of finitely many values, and {v.name} is real: give a dict of explorers, "
                f'such as {{"{v.name}": sterna.Slice(), ...}} with Gibbs() for the others.'
            )
        if v.value_type != BINARY and (program.upper[own] - program.lower[own]).max() >= MOST_VALUES:
            raise OptionError(
                f"Gibbs evaluates every value of a coordinate, and {v.name} has more than {MOST_VALUES}: "
                f'explore it by {{"{v.name}": sterna.Slice(), ...}}.'
            )
    return max(values_of(program, i).size for i in block)


def check_conditional(target: ExplorableTarget, plain: Any, block: IntArray, draw: Draw) -> None:
    """Compare a user's conditional laws with those of the target, at a few draws from the reference."""
    step = max(1, len(block) // CHECKED_COORDINATES)
    for state in draw(CHECKED_DRAWS):
        for place in range(0, len(block), step):
            log_densities = _evaluate_values(target, state, int(block[place]))
            for beta in CHECKED_BETAS:
                given = np.empty(len(log_densities))
                plain(state, place, beta, given)
                _compare(target, state, int(block[place]), beta, given, log_densities)


def _evaluate_values(target: ExplorableTarget, state: FloatArray, i: int) -> FloatArray:
    """Both log-densities at all values of coordinate i."""
    values = values_of(target.program, i)
    states = np.repeat(state[None], len(values), axis=0)
    states[:, i] = values
    return np.array([target.log_densities(other) for other in states])


def _compare(
    target: ExplorableTarget, state: FloatArray, i: int, beta: float, given: FloatArray, log_densities: FloatArray
) -> None:
    exact = log_densities[:, 0] + beta * log_densities[:, 1]
    if exact.max() == -np.inf:
        # no chain comes here
        return
    wanted, got = (np.exp(part - part.max()) for part in (exact, given))
    wanted, got = wanted / wanted.sum(), got / got.sum()
    if not np.abs(wanted - got).max() <= LARGEST_DIFFERENCE:
        v = next(v for v in target.space.variables if v.start <= i < v.stop)
        name = v.name if v.shape == () else f"{v.name}[{', '.join(map(str, np.unravel_index(i - v.start, v.shape)))}]"
        raise OptionError(
            f"Gibbs(conditional=...) gives {name} the probabilities {np.array2string(got, precision=6)} at "
            f"beta={beta}, where those of the target are {np.array2string(wanted, precision=6)}: it must return "
            "log-reference + beta * log-likelihood as a function of that coordinate, up to a constant. "
            f"This was at {target.describe_point(state)}."
        )
