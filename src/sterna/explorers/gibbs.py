"""Gibbs sampling of finite coordinates: each is drawn from its exact conditional distribution given all others."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

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
from sterna.errors import Error, EvaluationError, OptionError, describe
from sterna.explorers.base import Bound, Draw, all_coordinates, annealed, first_coordinate, updates_of
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.options import as_typed, check_passes
from sterna.ground.compilation import as_address, caller, compiled, inlined, int_pointer
from sterna.ground.rows import fields, new_row, size_of
from sterna.ground.streams import Stream, uniform
from sterna.ground.values import BINARY, REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

MAX_VALUES = 256

# A user's conditional distribution is compared with the target at so many draws and betas, and at so many values of a
# coordinate, with so many evaluations in all.
CHECKED_DRAWS, CHECKED_BETAS, CHECKED_VALUES, CHECKED_EVALUATIONS = 3, (1.0, 0.5), 4, 12
MAX_DIFFERENCE = 1e-6


@fields
class Parameters:
    """A chain's row of parameters: updates per scan, and number of coordinates."""

    updates = 1
    count = 1


@fields
class Function:
    """The user's conditional distributions among the kernel's data."""

    address = 1
    handle = 1
    data = 1


call_conditional = caller(CONDITIONAL)


@inlined
def takes_over(log_total: float, log_weight: float, stream: Stream) -> bool:
    """Draw whether a value replaces the one chosen so far among values of the given total weight.

    Applied to one value after the other, this draws by weights that are never needed all at once.
    """
    return uniform(stream) * (1.0 + math.exp(log_total - log_weight)) < 1.0


@inlined
def log_sum(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


@inlined
def number_of_values(program: Program, i: int) -> int:
    """Return how many values a finite coordinate has."""
    return 2 if program.value_type[i] == BINARY else int(program.upper[i] - program.lower[i]) + 1


@inlined
def value_at(program: Program, i: int, number: int) -> float:
    """Return a value of a finite coordinate; those of a binary one are its bounds, which need not be neighbours."""
    step = program.upper[i] - program.lower[i] if program.value_type[i] == BINARY else 1.0
    return program.lower[i] + step * number


@compiled
def draw_value(
    program: Program, x: FloatPointer, i: int, beta: float, log_densities: FloatPointer, stream: Stream
) -> None:
    """Draw a finite coordinate from its exact conditional distribution, by evaluating all of its other values."""
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
        likelihood = coordinate_likelihood(program, x, i, here, value, reference, log_densities)
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
    """Draw coordinates in turn, each from its conditional distribution."""
    coordinates = int_pointer(data[0])
    updates, count = int(parameters[Parameters.updates]), int(parameters[Parameters.count])
    k = first_coordinate(updates, count, stream)
    for _ in range(updates):
        draw_value(program, x, coordinates[k], beta, log_densities, stream)
        k += 1
        if k == count:
            k = 0


@compiled
def draw_by_weights(log_weights: FloatPointer, count: int, stream: Stream) -> int:
    """Draw an integer below `count` by the logarithms of its weights."""
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
def evaluate_conditional(
    address: int, x: FloatArray, k: int, beta: float, log_weights: FloatArray, data: int, handle: int
) -> None:
    """Write what a conditional distribution at an address returns, called from Python."""
    arguments = (x.ctypes.data, k, beta, log_weights.ctypes.data, log_weights.size, data, handle)
    call_conditional(address, arguments)


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
    """Draw coordinates in turn by the user's conditional distributions.

    The row of statistics is working memory. Without a local change, the state is evaluated once, at the end.
    """
    coordinates, function = int_pointer(data[0]), int_pointer(data[1])
    updates, count = int(parameters[Parameters.updates]), int(parameters[Parameters.count])
    k = first_coordinate(updates, count, stream)
    changed = False
    for _ in range(updates):
        i = coordinates[k]
        here, values = x[i], number_of_values(program, i)
        weights, own_data, handle = as_address(statistics), function[Function.data], function[Function.handle]
        call_conditional(function[Function.address], (as_address(x), k, beta, weights, values, own_data, handle))
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
                reference = log_densities[LOG_REFERENCE]
                log_densities[LOG_LIKELIHOOD] = coordinate_likelihood(
                    program, x, i, here, value, reference, log_densities
                )
            x[i] = value
        k += 1
        if k == count:
            k = 0
    if changed:
        if program.log_reference != 0 and program.reference_change == 0:
            log_densities[LOG_REFERENCE] = log_reference(program, x, log_densities)
        if program.likelihood_change == 0:
            log_densities[LOG_LIKELIHOOD] = log_likelihood(program, x, log_densities[LOG_REFERENCE], log_densities)
        if beta > 0.0 and log_densities[LOG_LIKELIHOOD] == -math.inf:
            raise NotANumber("log-likelihood is -inf, though conditional drew that state,")


@dataclass(frozen=True)
class Gibbs:
    """Gibbs sampling: binary, categorical and small integer coordinates, each from its exact conditional distribution.

    A coordinate with m values costs m - 1 evaluations, or as many local changes if the target has them. `Slice` needs
    fewer, and is the better choice for many values unless their conditional distributions are known.

    Parameters
    ----------
    passes
        Updates of each coordinate per scan; a fraction updates that share of the coordinates.
    conditional
        Your own function for the conditional distributions: `conditional(i, beta, ...)` returns the logarithms of the
        probabilities of all values of coordinate i, in increasing order of the values and up to a constant. The index i
        counts the coordinates of this explorer: in `{"z": Gibbs(conditional=...)}` those of z. Further parameters are
        variables and data, by name. A scan then costs one evaluation, or local changes.

        The distribution at beta is reference * likelihood**beta, so that these are log-prior + beta * log-likelihood as
        a function of that coordinate alone. If they are wrong, so are the draws. They are compared with the target at a
        few states at the start of every run.

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
    conditional: Callable[..., object] | None = None
    name = "gibbs"

    def __post_init__(self) -> None:
        check_passes(self)
        if self.conditional is not None and not callable(self.conditional):
            raise OptionError(
                f"Gibbs(conditional={self.conditional!r}) is not a function: give def conditional(i, beta, ...)."
            )

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to coordinates of a target, all of which must have few values."""
        block = all_coordinates(target, coordinates)
        max_values = check_finite(target, block)
        row = new_row(Parameters, updates=updates_of(self.passes, len(block)), count=len(block))
        if self.conditional is None:
            return Bound(kernel=explore, data=(block,), start=lambda draw: row, n_parameters=len(row))
        entry, plain = target.conditional(self.conditional)

        def start(draw: Draw) -> FloatArray:
            check_conditional(target, entry, plain, block, draw)
            return row

        function = np.zeros(size_of(Function), dtype=np.int64)
        function[Function.address], function[Function.handle] = entry.address, entry.handle
        function[Function.data] = entry.data
        bound = Bound(
            kernel=explore_by_conditional,
            data=(block, function),
            start=start,
            n_parameters=len(row),
            n_scratch=max_values,
            python=entry.notes,
        )
        callback.forget_with(bound, entry.handle)
        return bound


def values_of(program: Program, i: int) -> FloatArray:
    """Return all values of a finite coordinate, in the order of `value_at`."""
    lower, upper = program.lower[i], program.upper[i]
    return np.array([lower, upper]) if program.value_type[i] == BINARY else np.arange(lower, upper + 1)


def check_finite(target: ExplorableTarget, block: IntArray) -> int:
    """Check that all coordinates of a block have few values, and return the largest number of values."""
    program = target.program
    for v in target.space.variables:
        inside = block[(block >= v.start) & (block < v.stop)]
        if len(inside) == 0:
            continue
        if v.value_type == REAL:
            raise OptionError(
                f"Gibbs draws coordinates with finitely many values, and {v.name} is real: give a dict of explorers, "
                f'such as {{"{v.name}": sterna.Slice(), ...}} with Gibbs() for the others.'
            )
        if v.value_type != BINARY and (program.upper[inside] - program.lower[inside]).max() >= MAX_VALUES:
            raise OptionError(
                f"Gibbs evaluates every value of a coordinate, and {v.name} has more than {MAX_VALUES}: "
                f'explore it by {{"{v.name}": sterna.Slice(), ...}}.'
            )
    return max(values_of(program, i).size for i in block)


def check_conditional(
    target: ExplorableTarget, entry: callback.Entry, plain: Callable[..., None], block: IntArray, draw: Draw
) -> None:
    """Compare a user's conditional distributions with those of the target, at a few draws from the reference.

    Both forms are compared: Python names its errors, and the compiled form is the one that the run uses.
    """
    states, left = draw(CHECKED_DRAWS), CHECKED_EVALUATIONS
    for turn in range(CHECKED_EVALUATIONS):
        # another coordinate at every turn, far from the last
        k, state = (turn * (1 + len(block) // 2)) % len(block), states[turn % CHECKED_DRAWS]
        i = int(block[k])
        values = values_of(target.program, i)
        places = np.unique(np.linspace(0, len(values) - 1, CHECKED_VALUES).astype(np.int64))
        left -= len(places)
        if left < 0:
            return
        log_densities = _evaluate_values(target, state, i, values[places])
        for beta in CHECKED_BETAS:
            given, compiled_form = np.empty(len(values)), np.empty(len(values))
            try:
                plain(state, k, beta, given)
                evaluate_conditional(entry.address, state.copy(), k, beta, compiled_form, entry.data, entry.handle)
            except Exception as error:
                if isinstance(error, Error):
                    raise
                where = f"i={k} and beta={beta}, {target.describe_point(state)}"
                raise EvaluationError(f"conditional raised {describe(error)} at {where}.") from error
            for form in (given, compiled_form):
                _compare(target, state, i, beta, form[places], log_densities)


def _evaluate_values(target: ExplorableTarget, state: FloatArray, i: int, values: FloatArray) -> FloatArray:
    """Return both log-densities at some values of coordinate i."""
    states = np.repeat(state[None], len(values), axis=0)
    states[:, i] = values
    return np.array([target.log_densities(other) for other in states])


def _compare(
    target: ExplorableTarget, state: FloatArray, i: int, beta: float, given: FloatArray, log_densities: FloatArray
) -> None:
    """Compare probabilities among some values of a coordinate."""
    exact = log_densities[:, 0] + beta * log_densities[:, 1]
    if exact.max() == -np.inf or given.max() == -np.inf:
        # no chain visits these values, or the run says that no value is possible
        return
    right, got = (np.exp(part - part.max()) for part in (exact, given))
    right, got = right / right.sum(), got / got.sum()
    if not np.abs(right - got).max() <= MAX_DIFFERENCE:
        v = next(v for v in target.space.variables if v.start <= i < v.stop)
        name = v.name if v.shape == () else f"{v.name}[{', '.join(map(str, np.unravel_index(i - v.start, v.shape)))}]"
        raise OptionError(
            f"Gibbs(conditional=...) gives {name} the probabilities {np.array2string(got, precision=6)} at "
            f"beta={beta}, and those of the target are {np.array2string(right, precision=6)}: it must return "
            "log-reference + beta * log-likelihood as a function of that coordinate, up to a constant. "
            f"The state was {target.describe_point(state)}."
        )
