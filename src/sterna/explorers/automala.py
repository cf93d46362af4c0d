"""autoMALA: Langevin steps whose size is chosen anew at every state (Biron-Lattes and others 2024).

Thresholds are on the size of the log acceptance ratio, |l|, as in AutoStep MCMC (Liu and others 2024): the way back has
the same |l|, so it more often makes the same choice, and that at the step taken need not be evaluated again.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program
from sterna.explorers.base import Bound, Draw
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.hamiltonian import check_count, check_metric, steps_of_scan
from sterna.explorers.leapfrog import (
    ACCEPTED,
    DOUBLINGS,
    PLAIN,
    STEP_SIZE,
    TRAJECTORIES,
    TRIED,
    add_draw,
    begin,
    block_of,
    kinetic_energy,
    leap,
    log_joint,
    open_line,
    point_at,
    put_back,
    scratch_size,
    set_out,
    statistics_size,
    store,
    tables,
)
from sterna.explorers.metric import STEP_SIZES, first_metric, tuned_metric
from sterna.ground.compilation import compiled, inlined
from sterna.ground.streams import Stream, exponential, fill_normals, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# A step that would need more is rejected. So is the way back, which must need as many.
MOST_DOUBLINGS = 30

# By how many doublings a step begins above the size that is chosen on the mean: halving once is cheaper than trying
# twice the size in vain. On normal laws of 10 to 1000 coordinates this saves a quarter of the gradients per independent
# draw.
HEAD_START = 0.25

# Which way the size was changed.
SHORTER, SAME, LONGER = -1, 0, 1


@inlined
def try_step(
    program: Any,
    line: Any,
    origin: Any,
    point: Any,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    before: float,
    start_size: float,
    doublings: int,
) -> Any:
    """Take one leapfrog step from the origin; return its log acceptance ratio, and log-densities like `log_joint`."""
    set_out(line, origin, point)
    if not leap(program, line, point, x, log_densities, beta, math.ldexp(start_size, doublings), 1):
        return -math.inf, -math.inf, -math.inf, -math.inf
    after, density, reference, likelihood = log_joint(program, line, point, x, log_densities, beta)
    return after - before, density, reference, likelihood


@inlined
def choose_step(
    program: Any,
    line: Any,
    start: Any,
    point: Any,
    chosen: Any,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    before: float,
    size: float,
    short: float,
    long: float,
) -> Any:
    """Double the size while |l| is below `short`, or halve it until |l| is no more above `long`.

    Returns the direction, the number of doublings (MOST_DOUBLINGS or its negative: none was found), and what
    `try_step` says of the step, which is left in `chosen`.
    """
    doublings = 0
    step = try_step(program, line, start, point, x, log_densities, beta, before, size, doublings)
    store(line, point, x, chosen)
    if abs(step[0]) < short:
        while doublings < MOST_DOUBLINGS:
            longer = try_step(program, line, start, point, x, log_densities, beta, before, size, doublings + 1)
            if not abs(longer[0]) < short:
                break
            doublings += 1
            step = longer
            store(line, point, x, chosen)
        return LONGER, doublings, step
    if abs(step[0]) <= long:
        return SAME, 0, step
    while abs(step[0]) > long and doublings > -MOST_DOUBLINGS:
        doublings -= 1
        step = try_step(program, line, start, point, x, log_densities, beta, before, size, doublings)
    store(line, point, x, chosen)
    return SHORTER, doublings, step


@inlined
def same_way_back(
    program: Any,
    line: Any,
    chosen: Any,
    point: Any,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    after: float,
    size: float,
    short: float,
    long: float,
    direction: int,
    doublings: int,
) -> bool:
    """Whether the choice from the point reached, with its velocity reversed, is the same number of doublings.

    The step of that size leads back, with the same |l|. So only the others are tried that the choice would pass.
    """
    if direction == LONGER:
        if abs(try_step(program, line, chosen, point, x, log_densities, beta, after, size, doublings + 1)[0]) < short:
            return False
        for passed in range(doublings):
            if not abs(try_step(program, line, chosen, point, x, log_densities, beta, after, size, passed)[0]) < short:
                return False
    if direction == SHORTER:
        for passed in range(0, doublings, -1):
            if not abs(try_step(program, line, chosen, point, x, log_densities, beta, after, size, passed)[0]) > long:
                return False
    return True


@inlined
def walk(
    program: Any,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
    plain: bool,
) -> None:
    """Take steps, each with a fresh velocity and fresh thresholds a < b, of which `long` and `short` are -log."""
    line, memory = open_line(program, parameters, statistics, data, plain)
    start, chosen = point_at(line, memory, 0), point_at(line, memory, 1)
    point = point_at(line, memory, 2)
    size = parameters[STEP_SIZE]
    density = begin(program, line, start, x, log_densities, beta)
    for _ in range(int(parameters[TRAJECTORIES])):
        fill_normals(start.velocity, line.size, stream)
        before = density - kinetic_energy(line, start)
        first, second = exponential(stream), exponential(stream)
        short, long = min(first, second), max(first, second)
        direction, doublings, (ratio, reached, reference, likelihood) = choose_step(
            program, line, start, point, chosen, x, log_densities, beta, before, size, short, long
        )
        probability = 0.0
        if abs(doublings) < MOST_DOUBLINGS and ratio > -math.inf:
            for k in range(line.size):
                chosen.velocity[k] = -chosen.velocity[k]
            if same_way_back(
                program,
                line,
                chosen,
                point,
                x,
                log_densities,
                beta,
                before + ratio,
                size,
                short,
                long,
                direction,
                doublings,
            ):
                probability = math.exp(min(ratio, 0.0))
        if uniform(stream) < probability:
            density, log_densities[LOG_REFERENCE], log_densities[LOG_LIKELIHOOD] = reached, reference, likelihood
            put_back(line, chosen, x)
            store(line, chosen, x, start)
        statistics[TRIED] += 1.0
        statistics[ACCEPTED] += probability
        statistics[DOUBLINGS] += doublings
    put_back(line, start, x)
    add_draw(line, start, statistics)


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
    """Explore one replica: the kernel for any target."""
    walk(program, x, log_densities, beta, parameters, statistics, data, stream, False)


@compiled
def explore_plain(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Explore one replica on a plain line."""
    walk(program, x, log_densities, beta, parameters, statistics, data, stream, True)


@dataclass(frozen=True)
class AutoMALA:
    """Langevin steps that choose their size at every state, for real variables of targets with a gradient.

    The size is doubled or halved until the acceptance ratio lies between two random thresholds; a step is taken only if
    the way back would choose the same. So laws with wide and narrow regions need no one size for all. Every chain
    learns its metric, and the size to begin with, from round to round.

    Parameters
    ----------
    metric
        "diagonal" or "dense": whether correlations are learned too, at the cost of the squared number of coordinates.
    trajectories
        How many steps a scan has; by default d^0.35 of d coordinates.

    Examples
    --------
    >>> import sterna
    >>> from sterna.explorers.automala import AutoMALA
    >>> target = sterna.Target(
    ...     lambda x: -8.0 * x**4, {"x": sterna.Normal(0, 1)}, gradient=lambda x: -32.0 * x**3
    ... )
    >>> sterna.sample(target, explorer=AutoMALA(), n_chains=4, n_rounds=8, progress=False).explorer
    'automala'
    """

    metric: str = "diagonal"
    trajectories: int | None = None
    name = "automala"

    def __post_init__(self) -> None:
        check_metric("AutoMALA", self.metric)
        if self.trajectories is not None:
            check_count("AutoMALA", "trajectories", self.trajectories)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for a target: a metric and a first step size for each chain."""
        block = block_of("AutoMALA", target, coordinates)
        count, dense = len(block), self.metric == "dense"
        way, data = tables(target, block, dense)
        kernel = explore_plain if way == PLAIN else explore

        def start(draw: Draw) -> FloatArray:
            head = [self.trajectories or steps_of_scan(count), count ** (-1 / 6), 1.0, 1.0, count, way]
            return np.concatenate([head, first_metric(target, block, dense, draw)])

        return Bound(
            kernel=target.kernels.get(kernel, kernel),
            data=data,
            start=start,
            n_statistics=statistics_size(count, dense),
            n_scratch=scratch_size(count, target.dimension, points=3),
            tune=lambda parameters, statistics: tuned_metric(tuned_start(parameters, statistics), statistics, count),
        )


def tuned_start(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return the parameters with a first size near the one that the steps chose on the mean, in doublings."""
    tuned = parameters.copy()
    tried = statistics[:, TRIED]
    mean = statistics[:, DOUBLINGS] / np.maximum(tried, 1.0)
    sizes = np.clip(tuned[:, STEP_SIZE] * np.exp2(mean + HEAD_START), *STEP_SIZES)
    tuned[:, STEP_SIZE] = np.where(tried > 0, sizes, tuned[:, STEP_SIZE])
    return tuned
