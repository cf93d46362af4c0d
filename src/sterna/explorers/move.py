"""The user's own move: a function that changes the state, and that sterna calls in every scan."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sterna.engine import callback, moves
from sterna.engine.circles import wrapped
from sterna.engine.moves import (
    MAX_REMEMBERED,
    N_CONSTANTS,
    RECORD_SIZE,
    MoveConstants,
    MoveRecord,
    call_move,
    call_refusal,
)
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program, log_likelihood, log_reference, view
from sterna.errors import EvaluationError, OptionError
from sterna.explorers.base import Bound, all_coordinates, annealed
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.options import name_of
from sterna.ground.compilation import (
    address_of,
    as_address,
    compiled,
    float_pointer,
    inlined,
    int_pointer,
    offset_pointer,
)
from sterna.ground.streams import Stream, drawing_functions
from sterna.ground.values import BINARY, REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# The first of the remembered states is the one from which the move began.
START = 0


@inlined
def is_inside(program: Program, coordinates: IntPointer, values: FloatPointer, count: int) -> bool:
    """Return whether the values of some coordinates lie in their space; NaN does not."""
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
    """Return whether the vectors at two addresses have the same bits."""
    left, right = int_pointer(a), int_pointer(b)
    k = 0
    while k < count and left[k] == right[k]:
        k += 1
    return k == count


@inlined
def remembered_state(record: int, slot: int, count: int) -> int:
    """Return the address of a remembered state; they follow the move's x."""
    return record + 8 * (RECORD_SIZE + (slot + 1) * count)


@inlined
def log_densities_of(record: int, slot: int) -> FloatPointer:
    """Return the pointer to both log-densities of a remembered state."""
    return offset_pointer(float_pointer(record), MoveRecord.remembered_log_densities + 2 * slot)


@inlined
def write(program: Program, x: FloatPointer, coordinates: IntPointer, values: int, count: int) -> None:
    """Write the values at an address into coordinates of the state; periodic ones wrap around."""
    new = float_pointer(values)
    for k in range(count):
        x[coordinates[k]] = wrapped(program.circles, coordinates[k], new[k])


@inlined
def slot_for_another(record: int, count: int) -> int:
    """Return the slot for another state; the start and the current x keep theirs, because they are needed again."""
    words = int_pointer(record)
    if words[MoveRecord.remembered] < MAX_REMEMBERED:
        slot = words[MoveRecord.remembered]
        words[MoveRecord.remembered] += 1
    else:
        slot = 3 - words[MoveRecord.newest]
        if is_same(remembered_state(record, slot, count), record + 8 * RECORD_SIZE, count):
            slot = words[MoveRecord.newest]
    words[MoveRecord.newest] = slot
    return slot


@compiled
def find_or_evaluate(record: int, values: int, count: int) -> int:
    """Return the slot that remembers a state, after evaluating it if necessary; -1 if the reference is zero.

    The evaluation takes place in the replica's own memory, so that an error can report the state.
    """
    words = int_pointer(record)
    for slot in range(words[MoveRecord.remembered]):
        if is_same(remembered_state(record, slot, count), values, count):
            return slot
    program = view(int_pointer(words[MoveRecord.program]))
    coordinates = int_pointer(words[MoveRecord.coordinates])
    if not is_inside(program, coordinates, float_pointer(values), count):
        return -1
    x, log_densities = float_pointer(words[MoveRecord.state]), float_pointer(words[MoveRecord.log_densities])
    write(program, x, coordinates, values, count)
    reference, likelihood = log_reference(program, x, log_densities), 0.0
    if reference > -math.inf:
        likelihood = log_likelihood(program, x, reference, log_densities)
    write(program, x, coordinates, remembered_state(record, START, count), count)
    if reference == -math.inf:
        return -1
    slot = slot_for_another(record, count)
    target, source = float_pointer(remembered_state(record, slot, count)), float_pointer(values)
    for k in range(count):
        target[k] = source[k]
    found = log_densities_of(record, slot)
    found[LOG_REFERENCE] = reference
    found[LOG_LIKELIHOOD] = likelihood
    return slot


@inlined
def density_of(record: int, slot: int) -> float:
    """Return the annealed log-density of a remembered state, or -inf if the slot is -1."""
    if slot < 0:
        return -math.inf
    found, beta = log_densities_of(record, slot), float_pointer(record)[MoveRecord.beta]
    return annealed(found[LOG_REFERENCE], beta, found[LOG_LIKELIHOOD])


@inlined
def refuse(record: int, values: int, size: int) -> None:
    """Raise the error for values to which a move must not go."""
    constants = int_pointer(int_pointer(record)[MoveRecord.constants])
    call_refusal(constants[MoveConstants.refuse], (values, size, constants[MoveConstants.refuse_handle]))


@compiled
def annealed_at(record: int, values: int, size: int) -> float:
    """Return the annealed log-density at a vector, given all other coordinates: the move's `log_density`."""
    count = int_pointer(int_pointer(record)[MoveRecord.constants])[MoveConstants.count]
    if size != count:
        refuse(record, values, size)
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
    """Call the move on its coordinates, and set both log-densities to those of its new state.

    The row of statistics is working memory: the move's record, its x, and remembered states.
    """
    coordinates, constants = int_pointer(data[0]), int_pointer(data[1])
    record, count = as_address(statistics), constants[MoveConstants.count]
    words = int_pointer(record)
    words[MoveRecord.coordinates], words[MoveRecord.constants], words[MoveRecord.program] = data[0], data[1], data[2]
    words[MoveRecord.state], words[MoveRecord.log_densities] = as_address(x), as_address(log_densities)
    words[MoveRecord.stream] = as_address(stream)
    words[MoveRecord.remembered], words[MoveRecord.newest] = 1, START
    statistics[MoveRecord.beta] = beta
    before = log_densities_of(record, START)
    before[LOG_REFERENCE], before[LOG_LIKELIHOOD] = log_densities[LOG_REFERENCE], log_densities[LOG_LIKELIHOOD]
    x_of_move, start = record + 8 * RECORD_SIZE, remembered_state(record, START, count)
    for k in range(count):
        float_pointer(x_of_move)[k] = float_pointer(start)[k] = x[coordinates[k]]
    move_data, handle = constants[MoveConstants.move_data], constants[MoveConstants.move_handle]
    call_move(constants[MoveConstants.move], (as_address(x), record, beta, move_data, handle))
    slot = find_or_evaluate(record, x_of_move, count)
    if density_of(record, slot) == -math.inf:
        refuse(record, x_of_move, count)
    write(program, x, coordinates, x_of_move, count)
    after = log_densities_of(record, slot)
    log_densities[LOG_REFERENCE], log_densities[LOG_LIKELIHOOD] = after[LOG_REFERENCE], after[LOG_LIKELIHOOD]


@dataclass(frozen=True)
class Move:
    """Your own move: a function that sterna calls once per scan and chain.

    `explorer=flip_sign` is short for `explorer=sterna.Move(flip_sign)`, also within `Cycle`, `Mix` and dicts. A move
    alone seldom reaches every state, so that most are combined with another explorer in a `Cycle`.

    Parameters
    ----------
    function
        `function(x, log_density, rng)` changes the vector x in place, by `x[:] = new` or `x[i] = value`, and returns
        nothing. It must leave the distribution with log-density `log_density` unchanged, as a Metropolis step does;
        sterna cannot check that.

        x contains all coordinates, in the order of the reference; in a dict, `{"mu": move}`, those of its variables
        only, while all others stay fixed. `target.space.variables` tells where each variable begins and ends (`start`,
        `stop`). Integers are stored as whole numbers, a simplex by stick-breaking fractions, a normal vector by
        standard normal coordinates, and a `PriorTransform` or `FittedReference` by its uniform or standard normal
        coordinates. A periodic variable that leaves its interval wraps around, which is right for steps that do not
        depend on where they begin; a proposal from a fixed distribution must stay in the interval.

        `log_density(x)` is log-reference + beta * log-likelihood at any vector like x, and -inf outside the support,
        where the likelihood is not evaluated. The state from which the move began, its current state and the last state
        that it evaluated are remembered, so that evaluating them again costs nothing.

        `rng` is a `numpy.random.Generator`. In compiled code `rng.integers` needs both bounds.

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

    function: Callable[..., object]

    def __post_init__(self) -> None:
        if not callable(self.function) or isinstance(self.function, type):
            raise OptionError(f"Move({self.function!r}): give a function, def move(x, log_density, rng).")
        try:
            signature = inspect.signature(getattr(self.function, "py_func", self.function))
        except (TypeError, ValueError):
            raise OptionError(
                f"Move({self.function!r}): the parameters of this function are not known: wrap it in a function "
                "of your own, def move(x, log_density, rng)."
            ) from None
        placed = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(placed) < 3:
            raise OptionError(
                f"The move {self.name}{signature} has too few parameters: it takes the state, the log-density and a "
                f"generator first, def {self.name}(x, log_density, rng), and then data or variables by name."
            )

    def __repr__(self) -> str:
        return f"Move({name_of(self.function)})"

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to coordinates of a target: compile the function for them, or prepare to call it as Python."""
        block = all_coordinates(target, coordinates)
        what = f"The move {self.name}"
        entry = target.move(self.function, what, len(block))
        refusal = callback.register(refusal_of(target, what, block))
        constants = np.zeros(N_CONSTANTS, dtype=np.int64)
        constants[MoveConstants.count] = len(block)
        constants[MoveConstants.evaluate] = address_of(annealed_at, moves.EVALUATION)
        constants[MoveConstants.move], constants[MoveConstants.move_handle] = entry.address, entry.handle
        constants[MoveConstants.move_data] = entry.data
        constants[MoveConstants.refuse] = address_of(moves.python_refusal, moves.REFUSAL)
        constants[MoveConstants.refuse_handle] = refusal
        drawing = [MoveConstants.next_64, MoveConstants.next_32, MoveConstants.next_double]
        constants[drawing] = drawing_functions()
        bound = Bound(
            kernel=explore,
            data=(block, constants, target.block),
            start=lambda draw: np.zeros(1),
            n_parameters=1,
            n_scratch=RECORD_SIZE + (1 + MAX_REMEMBERED) * len(block),
            python=entry.notes,
        )
        callback.forget_with(bound, refusal)
        callback.forget_with(bound, entry.handle)
        return bound


def as_move(explorer: Any) -> Any:
    """Return a function that a user gave as an explorer as a `Move`, and anything else as it is."""
    plain = callable(explorer) and not isinstance(explorer, type) and not hasattr(explorer, "bind")
    return Move(explorer) if plain else explorer


def refusal_of(target: ExplorableTarget, what: str, block: IntArray) -> Callable[[FloatArray], None]:
    """Return the function that raises the error for a vector that is not like x, or at which a move must not end."""
    space, program = target.space, target.program

    def name_of(i: int) -> str:
        v = next(v for v in space.variables if v.start <= i < v.stop)
        return v.name if v.shape == () else f"coordinate {i - v.start} of {v.name}"

    def fault_of(i: int, value: float) -> str:
        low, high = program.lower[i], program.upper[i]
        if math.isnan(value):
            return "which is not a number"
        if not low <= value <= high:
            return f"outside its space from {low:g} to {high:g}"
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


_ADVICE = "A move may only go to states with log_density(x) above -inf: compare before you write into x."
