"""Metropolis steps of several real coordinates at once, on the whole line: what joint random walks share.

Bounded coordinates move as unbounded ones (`sterna.engine.unconstrained`), whose density has a Jacobian. So no
proposal falls out of the support, a density that is infinite at a bound (a Beta of small shape) holds no state fast,
and half lines are walked in steps of their own size at every scale.
"""

import math

import numpy as np
from scipy.special import ndtri

from sterna.engine.densities import coordinate_log_density
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program, log_likelihood, log_reference
from sterna.engine.unconstrained import from_line, log_jacobian, to_line
from sterna.errors import OptionError
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import compiled, inlined
from sterna.ground.streams import Stream, uniform
from sterna.ground.values import REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

DRAWS_FOR_SPREAD = 100
# The scale of a random walk may change by this factor from one round to the next.
MOST_CHANGE = 10.0


@inlined
def acceptance(beta: float, log_ratio: float, here: float, there: float) -> float:
    """Return the probability of going from one log-likelihood to another; `log_ratio` is that of all other factors."""
    if beta > 0.0:
        if there == -math.inf:
            return 0.0
        log_ratio += beta * (there - here)
    return 1.0 if log_ratio >= 0.0 else math.exp(log_ratio)


@compiled
def block_reference(program: Program, x: FloatPointer, coordinates: IntPointer, count: int) -> float:
    """Log-density of the reference, as far as it depends on the coordinates of the block."""
    if program.log_reference != 0:
        return log_reference(program, x)
    total = 0.0
    for k in range(count):
        i = coordinates[k]
        total += coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, x[i])
    return total


@compiled
def read_line(program: Program, x: FloatPointer, coordinates: IntPointer, count: int, line: FloatPointer) -> float:
    """Write where the coordinates are on the line, and return the log-Jacobian there."""
    total = 0.0
    for k in range(count):
        i = coordinates[k]
        line[k] = to_line(x[i], program.lower[i], program.upper[i])
        total += log_jacobian(line[k], program.lower[i], program.upper[i])
    return total


@inlined
def write_line(program: Program, x: FloatPointer, coordinates: IntPointer, count: int, line: FloatPointer) -> bool:
    """Take the coordinates from the line, and return whether all of them are numbers inside their bounds."""
    inside = True
    for k in range(count):
        i = coordinates[k]
        x[i] = from_line(line[k], program.lower[i], program.upper[i])
        inside = inside and program.lower[i] <= x[i] <= program.upper[i]
    return inside


@compiled
def step(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    coordinates: IntPointer,
    count: int,
    here: FloatPointer,
    there: FloatPointer,
    kept: FloatPointer,
    log_factor: float,
    stream: Stream,
) -> float:
    """Go from `here` on the line to `there`, or stay, by Metropolis' rule; return the acceptance probability.

    `log_factor` is the logarithm of what else belongs into the ratio: of the two proposal densities, say. `kept` is
    working memory. The place on the line is read back from the stored value, so that the rule compares functions of
    states alone, also where rounding near a bound makes several places one value. Costs one evaluation at most.
    """
    log_ratio = log_factor - block_reference(program, x, coordinates, count)
    log_ratio -= read_line(program, x, coordinates, count, here)
    for k in range(count):
        kept[k] = x[coordinates[k]]
    probability, gain, likelihood = 0.0, 0.0, -math.inf
    if write_line(program, x, coordinates, count, there):
        reference = block_reference(program, x, coordinates, count)
        if reference > -math.inf:
            log_ratio += reference + read_line(program, x, coordinates, count, there)
            likelihood = log_likelihood(program, x, log_densities)
            probability = acceptance(beta, log_ratio, log_densities[LOG_LIKELIHOOD], likelihood)
            gain = reference
    if uniform(stream) < probability:
        if program.log_reference != 0:
            log_densities[LOG_REFERENCE] = gain
        else:
            for k in range(count):
                i = coordinates[k]
                gain -= coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, kept[k])
            log_densities[LOG_REFERENCE] += gain
        log_densities[LOG_LIKELIHOOD] = likelihood
        for k in range(count):
            here[k] = there[k]
    else:
        for k in range(count):
            x[coordinates[k]] = kept[k]
    return probability


def on_line(program: Program, block: IntArray, states: FloatArray) -> FloatArray:
    """Read rows of states on the line."""
    rows = [
        [to_line(value, program.lower[i], program.upper[i]) for i, value in zip(block, state[block], strict=True)]
        for state in states
    ]
    return np.array(rows, dtype=np.float64).reshape(len(states), len(block))


def spread_of(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return centre and spread of every column by median and median deviation, which heavy tails do not move."""
    centre = np.median(points, axis=0)
    spread = 1.4826 * np.median(np.abs(points - centre), axis=0)
    return centre, np.where(spread > 0, spread, 1.0)


def best_scale(count: int) -> float:
    """Scale of a random walk, in standard deviations, that is best for a normal law (Roberts and Rosenthal 2001)."""
    return 2.38 / math.sqrt(max(count, 1))


def change_of_scale(count: int, proposed: FloatArray, accepted: FloatArray) -> FloatArray:
    """Return by what factor to change the scale of random walks, from their acceptance.

    A walk of scale s is accepted with probability 2 Phi(-c s), where c depends on the law (Roberts, Gelman and Gilks
    1997). So one measurement shows which s brings the acceptance that is best: 0.44 in one dimension, 0.234 in many.
    What few proposals say counts for less.
    """
    best = 0.234 + 0.206 / max(count, 1)
    share = np.clip(accepted / np.maximum(proposed, 1.0), 1e-6, 1.0 - 1e-6)
    change = np.clip(ndtri(0.5 * best) / ndtri(0.5 * share), 1.0 / MOST_CHANGE, MOST_CHANGE)
    return np.asarray(change ** (proposed / (proposed + 10.0)))


def check_moves(what: str, moves: int | None) -> None:
    """Check the number of proposals in a scan."""
    if moves is None:
        return
    if isinstance(moves, bool) or not isinstance(moves, (int, np.integer)) or moves < 1:
        raise OptionError(
            f"{what}(moves={moves!r}): moves is the number of proposals in a scan, each of which costs one evaluation; "
            "give a whole number from 1 up, or leave it out for one a coordinate."
        )


def check_real(what: str, target: ExplorableTarget, block: IntArray) -> None:
    """Check that all coordinates of a block are real."""
    names = [
        v.name
        for v in target.space.variables
        if any(v.start <= i < v.stop and target.program.value_type[i] != REAL for i in block)
    ]
    if names:
        raise OptionError(
            f"{what} moves real variables along differences of draws, and {', '.join(names)} is not real: give it an "
            f'explorer of its own, explorer={{"{names[0]}": sterna.Slice(), ...}}.'
        )
