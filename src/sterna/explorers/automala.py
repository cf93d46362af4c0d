"""autoMALA: Langevin steps whose size is chosen at every state (Biron-Lattes and others 2024).

Thresholds apply to the absolute log acceptance ratio, |l|, as in AutoStep MCMC (Liu and others 2024). The way back has
the same |l|, so that it makes the same choice more often, and the step that was taken need not be evaluated again.
"""

import math
from dataclasses import dataclass

import numpy as np

from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program
from sterna.explorers.base import Bound, Draw
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.hamiltonian import steps_per_scan
from sterna.explorers.shared.gradient_block import block_of, tables
from sterna.explorers.shared.leapfrog import (
    PLAIN,
    Line,
    Parameters,
    Point,
    Statistics,
    add_draw,
    begin,
    kinetic_energy,
    leap,
    log_joint,
    open_line,
    point_at,
    put_back,
    scratch_size,
    set_out,
    sizes_of_metric,
    store,
)
from sterna.explorers.shared.metric import STEP_SIZES, first_metric, tuned_metric
from sterna.explorers.shared.options import as_typed, check_metric, take_whole
from sterna.ground.compilation import compiled, inlined
from sterna.ground.rows import new_row, size_of
from sterna.ground.streams import Stream, exponential, fill_normals, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# A step that would need more doublings or halvings is rejected, and so is the way back, which would need as many.
MAX_DOUBLINGS = 30

# How many doublings above the mean choice a step begins: halving once is cheaper than trying twice the size in vain. On
# normal distributions with 10 to 1000 coordinates this saves a quarter of the gradients per independent draw.
HEAD_START = 0.25

# How the size was changed.
SHORTER, SAME, LONGER = -1, 0, 1


@inlined
def try_step(
    program: Program,
    line: Line,
    origin: Point,
    point: Point,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    before: float,
    start_size: float,
    doublings: int,
) -> tuple[float, float, float, float]:
    """Take one leapfrog step from the origin; return its log acceptance ratio, and log-densities as in `log_joint`."""
    set_out(line, origin, point)
    if not leap(program, line, point, x, log_densities, beta, math.ldexp(start_size, doublings), 1):
        return -math.inf, -math.inf, -math.inf, -math.inf
    after, density, reference, likelihood = log_joint(program, line, point, x, log_densities, beta)
    return after - before, density, reference, likelihood


@inlined
def choose_step(
    program: Program,
    line: Line,
    start: Point,
    point: Point,
    chosen: Point,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    before: float,
    size: float,
    short: float,
    long: float,
) -> tuple[int, int, tuple[float, float, float, float]]:
    """Double the size while |l| is below `short`, or halve it until |l| is no longer above `long`.

    Returns the direction, the number of doublings (MAX_DOUBLINGS or its negative if no size was found), and the result
    of `try_step`. The step is stored in `chosen`.
    """
    doublings = 0
    step = try_step(program, line, start, point, x, log_densities, beta, before, size, doublings)
    store(line, point, x, chosen)
    if abs(step[0]) < short:
        while doublings < MAX_DOUBLINGS:
            longer = try_step(program, line, start, point, x, log_densities, beta, before, size, doublings + 1)
            if not abs(longer[0]) < short:
                break
            doublings += 1
            step = longer
            store(line, point, x, chosen)
        return LONGER, doublings, step
    if abs(step[0]) <= long:
        return SAME, 0, step
    while abs(step[0]) > long and doublings > -MAX_DOUBLINGS:
        doublings -= 1
        step = try_step(program, line, start, point, x, log_densities, beta, before, size, doublings)
    store(line, point, x, chosen)
    return SHORTER, doublings, step


@inlined
def same_way_back(
    program: Program,
    line: Line,
    chosen: Point,
    point: Point,
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
    """Return whether the choice from the new point, with its velocity reversed, is the same number of doublings.

    The step of that size leads back and has the same |l|, so that only the other sizes of the choice are tried.
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
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
    plain: bool,
) -> None:
    """Take steps, each with a new velocity and new thresholds a < b, where `long` is -log(a) and `short` -log(b)."""
    line, memory = open_line(program, parameters, statistics, data, plain)
    start, chosen = point_at(line, memory, 0), point_at(line, memory, 1)
    point = point_at(line, memory, 2)
    size = parameters[Parameters.step_size]
    density = begin(program, line, start, x, log_densities, beta)
    for _ in range(int(parameters[Parameters.trajectories])):
        fill_normals(start.velocity, line.size, stream)
        before = density - kinetic_energy(line, start)
        first, second = exponential(stream), exponential(stream)
        short, long = min(first, second), max(first, second)
        direction, doublings, (ratio, reached, reference, likelihood) = choose_step(
            program, line, start, point, chosen, x, log_densities, beta, before, size, short, long
        )
        probability = 0.0
        if abs(doublings) < MAX_DOUBLINGS and ratio > -math.inf:
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
        statistics[Statistics.tried] += 1.0
        statistics[Statistics.accepted] += probability
        statistics[Statistics.doublings] += doublings
    put_back(line, start, x)
    add_draw(program, line, start, statistics)


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
    the way back would choose the same size. So a distribution may have both wide and narrow regions. Every chain learns
    its metric, and the size at which the choice begins, from round to round.

    Parameters
    ----------
    metric
        "diagonal", or "dense" to learn correlations too, at a cost that grows with the squared number of coordinates.
    trajectories
        Steps per scan; by default d^0.35 for d coordinates.

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
        check_metric(self)
        if self.trajectories is not None:
            take_whole(self, "trajectories", 1, "give a positive whole number")

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target, with a metric and a first step size for each chain."""
        block = block_of("AutoMALA", target, coordinates)
        count, dense = len(block), self.metric == "dense"
        way, data = tables(target, block, dense)
        kernel = explore_plain if way == PLAIN else explore
        given = sizes_of_metric(count, dense)

        def start(draw: Draw) -> FloatArray:
            return new_row(
                Parameters,
                given,
                trajectories=self.trajectories or steps_per_scan(count),
                step_size=count ** (-1 / 6),
                min_steps=1,
                max_steps=1,
                count=count,
                way=way,
                **first_metric(target, block, dense, draw),
            )

        return Bound(
            kernel=target.kernels.get(kernel, kernel),
            data=data,
            start=start,
            n_parameters=size_of(Parameters, *given),
            n_statistics=size_of(Statistics, *given),
            n_scratch=scratch_size(count, target.dimension, points=3),
            tune=lambda parameters, statistics: tuned_metric(tuned_start(parameters, statistics), statistics, count),
        )


def tuned_start(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return the parameters with a first size near the mean choice, in doublings."""
    tuned = parameters.copy()
    tried, step_size = statistics[:, Statistics.tried], tuned[:, Parameters.step_size]
    mean = statistics[:, Statistics.doublings] / np.maximum(tried, 1.0)
    sizes = np.clip(step_size * np.exp2(mean + HEAD_START), *STEP_SIZES)
    step_size[:] = np.where(tried > 0, sizes, step_size)
    return tuned
