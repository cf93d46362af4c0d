"""Metropolis steps of several real coordinates at once, on the unconstrained line.

Bounded coordinates are transformed to unbounded ones (`sterna.engine.unconstrained`), whose density includes a
Jacobian. So no proposal leaves the support, a density that is infinite at a bound (a Beta of small shape) does not trap
a state, and steps on a half line are relative to its scale.
"""

import math

import numpy as np

from sterna.engine.circles import is_lifted, wrapped
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
# The largest factor by which the scale of a random walk may change from one round to the next.
MAX_CHANGE = 10.0


@inlined
def acceptance(beta: float, log_ratio: float, here: float, there: float) -> float:
    """Return the acceptance probability from both log-likelihoods and the logarithm of all other factors."""
    if beta > 0.0:
        if there == -math.inf:
            return 0.0
        log_ratio += beta * (there - here)
    return 1.0 if log_ratio >= 0.0 else math.exp(log_ratio)


@compiled
def block_reference(
    program: Program, x: FloatPointer, log_densities: FloatPointer, coordinates: IntPointer, count: int
) -> float:
    """Return the reference's log-density, up to terms that do not depend on the coordinates of the block."""
    if program.log_reference != 0:
        return log_reference(program, x, log_densities)
    total = 0.0
    for k in range(count):
        i = coordinates[k]
        total += coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, x[i])
    return total


@compiled
def read_line(program: Program, x: FloatPointer, coordinates: IntPointer, count: int, line: FloatPointer) -> float:
    """Write the coordinates' positions on the line, and return the log-Jacobian there."""
    total = 0.0
    for k in range(count):
        i = coordinates[k]
        line[k] = to_line(x[i], program.lower[i], program.upper[i])
        total += log_jacobian(line[k], program.lower[i], program.upper[i])
    return total


@inlined
def write_line(
    program: Program, x: FloatPointer, coordinates: IntPointer, count: int, line: FloatPointer, wraps: bool
) -> bool:
    """Set the coordinates from their positions on the line, and return whether all of them are within their bounds.

    Periodic ones wrap around, or have the ends of their interval for bounds.
    """
    inside = True
    for k in range(count):
        i = coordinates[k]
        x[i] = wrapped(program.circles, i, from_line(line[k], program.lower[i], program.upper[i]))
        inside = inside and (wraps or not is_lifted(program.circles, i, line[k]))
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
    wraps: bool,
    stream: Stream,
) -> float:
    """Go from `here` on the line to `there`, or stay, by the Metropolis rule; return the acceptance probability.

    `log_factor` is the logarithm of other factors of the ratio, such as the two proposal densities. `kept` is working
    memory. `wraps` says that the proposal is a step whose distribution does not depend on `here`, so that periodic
    coordinates may wrap around. The position on the line is read back from the stored value, so that the rule compares
    functions of states alone, even if several positions near a bound round to one value. Costs at most one evaluation.
    """
    # that of a joint reference is known at the state, and may be expensive
    is_joint, before = program.log_reference != 0, log_densities[LOG_REFERENCE]
    if not is_joint:
        before = block_reference(program, x, log_densities, coordinates, count)
    log_ratio = log_factor - before
    log_ratio -= read_line(program, x, coordinates, count, here)
    for k in range(count):
        kept[k] = x[coordinates[k]]
    probability, gain, likelihood = 0.0, 0.0, -math.inf
    if write_line(program, x, coordinates, count, there, wraps):
        reference = block_reference(program, x, log_densities, coordinates, count)
        if reference > -math.inf:
            log_ratio += reference + read_line(program, x, coordinates, count, there)
            likelihood = log_likelihood(program, x, reference, log_densities)
            probability = acceptance(beta, log_ratio, log_densities[LOG_LIKELIHOOD], likelihood)
            gain = reference
    if uniform(stream) < probability:
        if is_joint:
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
    """Return the positions on the line of many states."""
    rows = [
        [to_line(value, program.lower[i], program.upper[i]) for i, value in zip(block, state[block], strict=True)]
        for state in states
    ]
    return np.array(rows, dtype=np.float64).reshape(len(states), len(block))


def spread_of(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return centre and spread of every column by its median and median deviation, which resist heavy tails."""
    centre = np.median(points, axis=0)
    spread = 1.4826 * np.median(np.abs(points - centre), axis=0)
    return centre, np.where(spread > 0, spread, 1.0)


def best_scale(count: int) -> float:
    """Return the best scale of a random walk on a normal distribution, in standard deviations.

    From Roberts and Rosenthal (2001).
    """
    return 2.38 / math.sqrt(max(count, 1))


def change_of_scale(count: int, proposed: FloatArray, accepted: FloatArray) -> FloatArray:
    """Return the factor by which to change the scale of random walks, from their acceptance.

    A walk of scale s is accepted with probability 2 Phi(-c s), where c depends on the distribution (Roberts, Gelman and
    Gilks 1997). So one measurement determines the s of the best acceptance: 0.44 in one dimension, 0.234 in many. A
    small number of proposals counts for less.
    """
    from scipy.special import ndtri

    best = 0.234 + 0.206 / max(count, 1)
    share = np.clip(accepted / np.maximum(proposed, 1.0), 1e-6, 1.0 - 1e-6)
    change = np.clip(ndtri(0.5 * best) / ndtri(0.5 * share), 1.0 / MAX_CHANGE, MAX_CHANGE)
    return np.asarray(change ** (proposed / (proposed + 10.0)))


def check_real(what: str, target: ExplorableTarget, block: IntArray) -> None:
    """Check that all coordinates of a block are real."""
    names = [
        v.name
        for v in target.space.variables
        if any(v.start <= i < v.stop and target.program.value_type[i] != REAL for i in block)
    ]
    if names:
        raise OptionError(
            f"{what} moves real variables, and {', '.join(names)} is not real: give it its own explorer, "
            f'explorer={{"{names[0]}": sterna.Slice(), ...}}.'
        )
