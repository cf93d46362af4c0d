"""A move of the user's own: one function that changes the state, and that sterna calls in every scan."""

import inspect
import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from sterna.engine import callback, moves
from sterna.engine.moves import (
    BETA,
    COMPLAINT,
    COMPLAINT_HANDLE,
    CONSTANTS,
    COORDINATES,
    COUNT,
    HEAD,
    LOGS,
    MOVE_ADDRESS,
    MOVE_HANDLE,
    NEWEST,
    PROGRAM,
    REMEMBERED,
    REMEMBERED_LOGS,
    STATE,
    STREAM,
    call_complaint,
    call_move,
)
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program, log_likelihood, log_reference, view
from sterna.errors import EvaluationError, OptionError
from sterna.explorers.base import Bound, all_coordinates, annealed
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import address_of, as_address, as_pointer, compiled, inlined
from sterna.ground.streams import Stream
from sterna.ground.values import BINARY, REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# The first of the remembered states is the one from which the move began.
START, MOST_REMEMBERED = 0, 3


@inlined
def is_inside(program: Program, coordinates: IntPointer, values: FloatPointer, count: int) -> bool:
    """Whether values of some coordinates lie in their space; NaN does not."""
    for k in range(count):
        i, value = coordinates[k], values[k]
        if not program.lower[i] <= value <= program.upper[i]:
            return False
        if program.value_type[i] != REAL and value != math.floor(value):
            return False
        if program.value_type[i] == BINARY and value != program.lower[i] and value != program.upper[i]:
            return False
    return True


@inlined
def is_same(a: int, b: int, count: int) -> bool:
    """Compare two vectors at addresses bit by bit."""
    left, right = as_pointer(a, types.int64), as_pointer(b, types.int64)
    k = 0
    while k < count and left[k] == right[k]:
        k += 1
    return k == count


@inlined
def place_of(record: int, slot: int, count: int) -> int:
    """Address of a remembered state; they follow the move's x."""
    return record + 8 * (HEAD + (slot + 1) * count)


@inlined
def write(x: FloatPointer, coordinates: IntPointer, values: int, count: int) -> None:
    """Write values at an address into coordinates of the state."""
    numbers = as_pointer(values, types.float64)
    for k in range(count):
        x[coordinates[k]] = numbers[k]


@inlined
def slot_for_another(record: int, count: int) -> int:
    """Choose where to remember one more state: not at the start nor at the present x, which are asked for again."""
    words = as_pointer(record, types.int64)
    if words[REMEMBERED] < MOST_REMEMBERED:
        slot = words[REMEMBERED]
        words[REMEMBERED] += 1
    else:
        slot = 3 - words[NEWEST]
        if is_same(place_of(record, slot, count), record + 8 * HEAD, count):
            slot = words[NEWEST]
    words[NEWEST] = slot
    return slot


@compiled
def find_or_evaluate(record: int, values: int, count: int) -> int:
    """Return the slot that remembers a state, after an evaluation if need be; -1 where the reference is zero.

    The evaluation takes place in the replica's own memory, so that an error names the point.
    """
    words, numbers = as_pointer(record, types.int64), as_pointer(record, types.float64)
    for slot in range(words[REMEMBERED]):
        if is_same(place_of(record, slot, count), values, count):
            return slot
    program = view(as_pointer(words[PROGRAM], types.int64))
    coordinates = as_pointer(words[COORDINATES], types.int64)
    if not is_inside(program, coordinates, as_pointer(values, types.float64), count):
        return -1
    x, log_densities = as_pointer(words[STATE], types.float64), as_pointer(words[LOGS], types.float64)
    write(x, coordinates, values, count)
    reference, likelihood = log_reference(program, x), 0.0
    if reference > -math.inf:
        likelihood = log_likelihood(program, x, log_densities)
    write(x, coordinates, place_of(record, START, count), count)
    if reference == -math.inf:
        return -1
    slot = slot_for_another(record, count)
    target, source = as_pointer(place_of(record, slot, count), types.float64), as_pointer(values, types.float64)
    for k in range(count):
        target[k] = source[k]
    numbers[REMEMBERED_LOGS + 2 * slot] = reference
    numbers[REMEMBERED_LOGS + 2 * slot + 1] = likelihood
    return slot


@inlined
def density_of(record: int, slot: int) -> float:
    """Annealed log-density of a remembered state."""
    numbers = as_pointer(record, types.float64)
    place = REMEMBERED_LOGS + 2 * slot
    return -math.inf if slot < 0 else annealed(numbers[place], numbers[BETA], numbers[place + 1])


@inlined
def complain(record: int, values: int, size: int) -> None:
    """Raise an error that says what is wrong with values."""
    constants = as_pointer(as_pointer(record, types.int64)[CONSTANTS], types.int64)
    call_complaint(constants[COMPLAINT], (values, size, constants[COMPLAINT_HANDLE]))


@compiled
def annealed_at(record: int, values: int, size: int) -> float:
    """The annealed log-density at a vector, all other coordinates as they are: what a move knows as `log_density`."""
    count = as_pointer(as_pointer(record, types.int64)[CONSTANTS], types.int64)[COUNT]
    if size != count:
        complain(record, values, size)
    return density_of(record, find_or_evaluate(record, values, count))


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
    """Call the move on its coordinates; then both log-densities are those of the state that it left."""
    coordinates, constants = as_pointer(data[0], types.int64), as_pointer(data[1], types.int64)
    record, count = as_address(statistics), constants[COUNT]
    words = as_pointer(record, types.int64)
    words[PROGRAM], words[COORDINATES], words[CONSTANTS] = data[2], data[0], data[1]
    words[STATE], words[LOGS], words[STREAM] = as_address(x), as_address(log_densities), as_address(stream)
    words[REMEMBERED], words[NEWEST] = 1, START
    statistics[BETA] = beta
    statistics[REMEMBERED_LOGS], statistics[REMEMBERED_LOGS + 1] = (
        log_densities[LOG_REFERENCE],
        log_densities[LOG_LIKELIHOOD],
    )
    for k in range(count):
        statistics[HEAD + k] = statistics[HEAD + count + k] = x[coordinates[k]]
    call_move(constants[MOVE_ADDRESS], (as_address(x), record, beta, program.data, constants[MOVE_HANDLE]))
    own = record + 8 * HEAD
    slot = find_or_evaluate(record, own, count)
    if density_of(record, slot) == -math.inf:
        complain(record, own, count)
    write(x, coordinates, own, count)
    log_densities[LOG_REFERENCE] = statistics[REMEMBERED_LOGS + 2 * slot]
    log_densities[LOG_LIKELIHOOD] = statistics[REMEMBERED_LOGS + 2 * slot + 1]


@dataclass(frozen=True)
class Move:
    """A move of your own: a function that sterna calls once in every scan, for every chain.

    `explorer=flip_sign` is short for `explorer=sterna.Move(flip_sign)`, also within `Cycle`, `Mix` and dicts. A move
    alone seldom reaches every state; most go into a `Cycle` with another explorer.

    Parameters
    ----------
    function
        `function(x, log_density, rng)` changes the vector x in place, by `x[:] = new` or `x[i] = value`, and returns
        nothing. It must leave the distribution of log-density `log_density` unchanged, as a Metropolis step does;
        sterna cannot check that.

        x has all coordinates, in the order of the reference; in a dict, `{"mu": move}`, those of its variables alone,
        and all others stay as they are. `target.space.variables` says where each begins (`start`, `stop`). Integers are
        whole numbers in x; a simplex is stored by fractions of a stick, a normal vector by standard normal numbers, and
        all of a `PriorTransform` or `FittedReference` by its uniform or standard normal numbers.

        `log_density(x)` is log-reference + beta * log-likelihood at any vector like x, and -inf outside of the support,
        where the likelihood is not evaluated. The states from which a move began, at which it is, and which it asked
        for last are remembered, so that asking again costs nothing.

        `rng` is a `numpy.random.Generator`. For compiled code `rng.integers` needs both of its bounds.

        Further parameters are entries of data, variables (their values before the move), and `beta`, by name.

    Examples
    --------
    >>> import math, numpy as np, sterna
    >>> def log_likelihood(x, y):
    ...     return -0.5 * np.sum((y - x[0] * x[1]) ** 2)
    >>> def flip_sign(x, log_density, rng):
    ...     other = -x
    ...     if math.log(rng.random()) < log_density(other) - log_density(x):
    ...         x[:] = other
    >>> target = sterna.Target(log_likelihood, {"x": sterna.Normal(0, 3, shape=2)}, {"y": np.array([4.0, 5.0])})
    >>> explorer = sterna.Cycle(sterna.Slice(), flip_sign)
    >>> result = sterna.sample(target, explorer=explorer, n_rounds=6, progress=False)
    >>> result.explorer
    'cycle(slice, flip_sign)'
    """

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.function) or isinstance(self.function, type):
            raise OptionError(f"Move({self.function!r}): give a function, def move(x, log_density, rng).")
        try:
            signature = inspect.signature(getattr(self.function, "py_func", self.function))
        except (TypeError, ValueError):
            raise OptionError(f"Move({self.function!r}): the parameters of this function are not known.") from None
        placed = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(placed) < 3:
            raise OptionError(
                f"The move {self.name}{signature} has too few parameters: it takes the state, the log-density and a "
                f"generator first, def {self.name}(x, log_density, rng), and then data or variables by name."
            )

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Compile the function for coordinates of a target, or make it ready to be called back."""
        block = all_coordinates(target, coordinates)
        what = f"The move {self.name}"
        entry = target.move(self.function, what, len(block))
        complaint = callback.register(complaint_of(target, what, block))
        constants = np.array(
            [
                len(block),
                address_of(annealed_at, moves.EVALUATION),
                entry.address,
                entry.handle,
                address_of(moves.python_complaint, moves.COMPLAINING),
                complaint,
                *moves.drawing_functions(),
            ],
            dtype=np.int64,
        )
        bound = Bound(
            kernel=explore,
            data=(block, constants, target.block),
            start=lambda draw: np.zeros(1),
            n_scratch=HEAD + (1 + MOST_REMEMBERED) * len(block),
            python=entry.notes,
        )
        weakref.finalize(bound, callback.forget, [complaint, entry.handle])
        return bound


def as_move(explorer: Any) -> Any:
    """Turn a function that a user gave as an explorer into a `Move`, and leave all else as it is."""
    plain = callable(explorer) and not isinstance(explorer, type) and not hasattr(explorer, "bind")
    return Move(explorer) if plain else explorer


def complaint_of(target: ExplorableTarget, what: str, block: IntArray) -> Callable[[FloatArray], None]:
    """Return what raises the error for a vector at which a move must not end, or that is not like x."""
    space, program = target.space, target.program

    def name_of(i: int) -> str:
        v = next(v for v in space.variables if v.start <= i < v.stop)
        return v.name if v.shape == () else f"coordinate {i - v.start} of {v.name}"

    def fault_of(i: int, value: float) -> str:
        low, high = program.lower[i], program.upper[i]
        if math.isnan(value):
            return "which is not a number"
        if not low <= value <= high:
            return f"outside of its space from {low:g} to {high:g}"
        if program.value_type[i] != REAL and value != math.floor(value):
            return "which is not an integer"
        if program.value_type[i] == BINARY and value not in (low, high):
            return f"which is neither {low:g} nor {high:g}"
        return ""

    def raise_error(values: FloatArray) -> None:
        if len(values) != len(block):
            raise EvaluationError(
                f"{what} called log_density with a vector of length {len(values)}; it takes one like x, "
                f"of length {len(block)}."
            )
        for i, value in zip(block, values, strict=True):
            if fault_of(i, value):
                raise EvaluationError(f"{what} left {name_of(i)}={value:.17g}, {fault_of(i, value)}. {_ADVICE}")
        point = np.array2string(values, precision=17, threshold=12, max_line_width=10**6, separator=", ")
        raise EvaluationError(f"{what} left x={point}, where the density is zero. {_ADVICE}")

    return raise_error


_ADVICE = "A move may only go where log_density(x) is above -inf: compare before you write into x."
