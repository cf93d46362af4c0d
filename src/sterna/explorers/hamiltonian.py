"""Hamiltonian Monte Carlo (Duane and others 1987)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program
from sterna.explorers.base import Bound, Draw
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.gradient_block import block_of, tables
from sterna.explorers.shared.leapfrog import (
    PLAIN,
    Parameters,
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
from sterna.explorers.shared.metric import first_metric, tuned_metric, tuned_step_size
from sterna.explorers.shared.options import as_typed, check_metric, check_number, take_whole
from sterna.ground.compilation import compiled, inlined
from sterna.ground.rows import new_row, size_of
from sterna.ground.streams import Stream, fill_normals, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# By default a trajectory is a quarter turn on a normal distribution, after which the start is forgotten.
QUARTER_TURN = 0.5 * math.pi
MAX_STEPS = 256
# A trajectory whose energy error is larger than this has met a curvature for which its step is too long. With tuned
# steps the error has a standard deviation of about 1, and one of 30 means instability.
MAX_ENERGY_ERROR = 30.0


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
    """Run trajectories, each with a new velocity."""
    line, memory = open_line(program, parameters, statistics, data, plain)
    start, point = point_at(line, memory, 0), point_at(line, memory, 1)
    density = begin(program, line, start, x, log_densities, beta)
    fewest, most = parameters[Parameters.min_steps], parameters[Parameters.max_steps]
    for _ in range(int(parameters[Parameters.trajectories])):
        fill_normals(start.velocity, line.size, stream)
        before = density - kinetic_energy(line, start)
        # this does not depend on the state
        steps = int(fewest + uniform(stream) * (most - fewest + 1.0))
        set_out(line, start, point)
        after, reached, reference, likelihood = -math.inf, -math.inf, -math.inf, -math.inf
        leapt = leap(program, line, point, x, log_densities, beta, parameters[Parameters.step_size], steps)
        if leapt:
            after, reached, reference, likelihood = log_joint(program, line, point, x, log_densities, beta)
        probability = math.exp(min(after - before, 0.0)) if after > -math.inf else 0.0
        if uniform(stream) < probability:
            density, log_densities[LOG_REFERENCE], log_densities[LOG_LIKELIHOOD] = reached, reference, likelihood
            store(line, point, x, start)
        statistics[Statistics.tried] += 1.0
        statistics[Statistics.accepted] += probability
        # entering a region of likelihood zero does not mean that the step is too long
        if not leapt or -math.inf < after < before - MAX_ENERGY_ERROR:
            statistics[Statistics.diverged] += 1.0
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
class HMC:
    """Hamiltonian Monte Carlo, for real variables of targets with a gradient.

    Every chain learns its metric and its step size, for an acceptance of about 0.8, from round to round.

    Parameters
    ----------
    steps
        Leapfrog steps per trajectory; by default as many as the chain's step size requires for a quarter turn on a
        normal distribution with the learned covariance.
    jitter
        The number of steps is uniform within this relative distance of `steps`. With 0 it is fixed, so that
        trajectories can resonate with a period of the target.
    metric
        "diagonal", or "dense" to learn correlations too, at a cost that grows with the squared number of coordinates.
    trajectories
        Trajectories per scan.

    Examples
    --------
    >>> import sterna
    >>> from sterna.explorers.hamiltonian import HMC
    >>> target = sterna.Target(
    ...     lambda x: -8.0 * x**4, {"x": sterna.Normal(0, 1)}, gradient=lambda x: -32.0 * x**3
    ... )
    >>> result = sterna.sample(target, explorer=HMC(), n_chains=4, n_rounds=8, progress=False)
    >>> result.explorer, bool(abs(result.posterior["x"].mean()) < 0.1)
    ('hmc', True)
    """

    steps: int | None = None
    jitter: float = 0.5
    metric: str = "diagonal"
    trajectories: int = 1
    name = "hmc"

    def __post_init__(self) -> None:
        if self.steps is not None:
            take_whole(self, "steps", 1, "give a positive whole number")
        advice = "the number of steps is drawn within this relative distance of steps; give a number from 0 to 1"
        check_number(self, "jitter", advice, upper=1.0)
        check_metric(self)
        take_whole(self, "trajectories", 1, "give a positive whole number")

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target, with a metric and a step size for each chain."""

        def with_steps(parameters: FloatArray) -> FloatArray:
            """Set the bounds of the number of steps from the step size."""
            lengths = np.clip(np.ceil(QUARTER_TURN / parameters[:, Parameters.step_size]), 1, MAX_STEPS)
            steps = lengths if self.steps is None else np.full(len(parameters), float(self.steps))
            parameters[:, Parameters.min_steps] = np.maximum(1.0, np.ceil((1.0 - self.jitter) * steps))
            parameters[:, Parameters.max_steps] = np.maximum(1.0, np.floor((1.0 + self.jitter) * steps))
            return parameters

        return bind_walk("HMC", target, coordinates, self.metric, self.trajectories, 0.8, 2.0, with_steps)


def bind_walk(
    what: str,
    target: ExplorableTarget,
    coordinates: IntArray | None,
    metric: str,
    trajectories: int | None,
    acceptance: float,
    order: float,
    with_steps: Callable[[FloatArray], FloatArray],
) -> Bound:
    """Bind trajectories, tuned to a mean acceptance.

    The standard deviation of log acceptance ratios is proportional to the step size to the power `order`.
    """
    block = block_of(what, target, coordinates)
    count, dense = len(block), metric == "dense"
    way, data = tables(target, block, dense)
    kernel = explore_plain if way == PLAIN else explore
    given = sizes_of_metric(count, dense)

    def tune(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
        sized = tuned_step_size(parameters, statistics, acceptance, order)
        return with_steps(tuned_metric(sized, statistics, count))

    def start(draw: Draw) -> FloatArray:
        row = new_row(
            Parameters,
            given,
            trajectories=trajectories or steps_per_scan(count),
            step_size=count ** (-0.5 / order),
            min_steps=1,
            max_steps=1,
            count=count,
            way=way,
            **first_metric(target, block, dense, draw),
        )
        return np.asarray(with_steps(row[None])[0])

    return Bound(
        kernel=target.kernels.get(kernel, kernel),
        data=data,
        start=start,
        n_parameters=size_of(Parameters, *given),
        n_statistics=size_of(Statistics, *given),
        n_scratch=scratch_size(count, target.dimension, points=2),
        tune=tune,
        diverged=share_diverged,
    )


def share_diverged(statistics: FloatArray) -> FloatArray:
    """Return each chain's share of trajectories that diverged; a single one does not count."""
    diverged = statistics[:, Statistics.diverged]
    return np.where(diverged > 1.0, diverged, 0.0) / np.maximum(statistics[:, Statistics.tried], 1.0)


def steps_per_scan(count: int) -> int:
    """Return the default number of single steps per scan, such that memory hardly grows with the dimension."""
    return math.ceil(count**0.35)
