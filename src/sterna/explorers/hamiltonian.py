"""Hamiltonian Monte Carlo (Duane and others 1987), and its case of one step, MALA (Roberts and Tweedie 1996)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program
from sterna.errors import OptionError
from sterna.explorers.base import Bound, Draw
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.leapfrog import (
    ACCEPTED,
    DIVERGED,
    FEWEST,
    MOST,
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
from sterna.explorers.metric import first_metric, tuned_metric, tuned_step_size
from sterna.ground.compilation import compiled, inlined
from sterna.ground.streams import Stream, fill_normals, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# A trajectory of unstated length is a quarter turn of a normal law, after which the start is forgotten.
QUARTER_TURN = 0.5 * math.pi
MOST_STEPS = 256
# A trajectory whose energy is off by so much has met a curvature that its step is too long for. With tuned steps the
# error has a deviation of about 1, and one of 30 is instability.
DIVERGENT = 30.0


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
    """Run trajectories, each from a fresh velocity."""
    line, memory = open_line(program, parameters, statistics, data, plain)
    start, point = point_at(line, memory, 0), point_at(line, memory, 1)
    density = begin(program, line, start, x, log_densities, beta)
    for _ in range(int(parameters[TRAJECTORIES])):
        fill_normals(start.velocity, line.size, stream)
        before = density - kinetic_energy(line, start)
        # drawn whatever the state
        steps = int(parameters[FEWEST] + uniform(stream) * (parameters[MOST] - parameters[FEWEST] + 1.0))
        set_out(line, start, point)
        after, reached, reference, likelihood = -math.inf, -math.inf, -math.inf, -math.inf
        leapt = leap(program, line, point, x, log_densities, beta, parameters[STEP_SIZE], steps)
        if leapt:
            after, reached, reference, likelihood = log_joint(program, line, point, x, log_densities, beta)
        probability = math.exp(min(after - before, 0.0)) if after > -math.inf else 0.0
        if uniform(stream) < probability:
            density, log_densities[LOG_REFERENCE], log_densities[LOG_LIKELIHOOD] = reached, reference, likelihood
            store(line, point, x, start)
        statistics[TRIED] += 1.0
        statistics[ACCEPTED] += probability
        # a wall of likelihood zero is no fault of the step size
        if not leapt or -math.inf < after < before - DIVERGENT:
            statistics[DIVERGED] += 1.0
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
class HMC:
    """Hamiltonian Monte Carlo, for real variables of targets with a gradient.

    Every chain learns its metric and its step size, for an acceptance of about 0.8, from round to round.

    Parameters
    ----------
    steps
        Leapfrog steps of a trajectory. By default as many as the chain's step size needs for a quarter turn of a normal
        law of the learned covariance.
    jitter
        The number of steps is drawn from within this share of `steps`, evenly; 0 fixes it, which can lock the
        trajectories to a period of the target.
    metric
        "diagonal" or "dense": whether correlations are learned too, at the cost of the squared number of coordinates.
    trajectories
        How many trajectories a scan has.

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
            check_count("HMC", "steps", self.steps)
        if not 0.0 <= self.jitter <= 1.0:
            raise OptionError(
                f"HMC(jitter={self.jitter!r}): the number of steps is drawn from within this share of it; "
                "give a number from 0 to 1."
            )
        check_metric("HMC", self.metric)
        check_count("HMC", "trajectories", self.trajectories)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for a target: a metric and a step size for each chain."""

        def with_steps(parameters: FloatArray) -> FloatArray:
            """Set the least and greatest number of steps from the step size."""
            lengths = np.clip(np.ceil(QUARTER_TURN / parameters[:, STEP_SIZE]), 1, MOST_STEPS)
            steps = lengths if self.steps is None else np.full(len(parameters), float(self.steps))
            parameters[:, FEWEST] = np.maximum(1.0, np.ceil((1.0 - self.jitter) * steps))
            parameters[:, MOST] = np.maximum(1.0, np.floor((1.0 + self.jitter) * steps))
            return parameters

        return bind_walk("HMC", target, coordinates, self.metric, self.trajectories, 0.8, 2.0, with_steps)


@dataclass(frozen=True)
class MALA:
    """The Metropolis-adjusted Langevin algorithm: trajectories of one leapfrog step.

    Every chain learns its metric and its step size, for an acceptance of about 0.57, from round to round.

    Parameters
    ----------
    metric
        "diagonal" or "dense": whether correlations are learned too, at the cost of the squared number of coordinates.
    trajectories
        How many steps a scan has; by default d^0.35 of d coordinates.

    Examples
    --------
    >>> import sterna
    >>> from sterna.explorers.hamiltonian import MALA
    >>> target = sterna.Target(
    ...     lambda x: -8.0 * x**4, {"x": sterna.Normal(0, 1)}, gradient=lambda x: -32.0 * x**3
    ... )
    >>> sterna.sample(target, explorer=MALA(), n_chains=4, n_rounds=8, progress=False).explorer
    'mala'
    """

    metric: str = "diagonal"
    trajectories: int | None = None
    name = "mala"

    def __post_init__(self) -> None:
        check_metric("MALA", self.metric)
        if self.trajectories is not None:
            check_count("MALA", "trajectories", self.trajectories)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for a target: a metric and a step size for each chain."""
        return bind_walk("MALA", target, coordinates, self.metric, self.trajectories, 0.57, 3.0, lambda row: row)


def bind_walk(
    what: str,
    target: ExplorableTarget,
    coordinates: IntArray | None,
    metric: str,
    trajectories: int | None,
    wanted: float,
    order: float,
    with_steps: Any,
) -> Bound:
    """Bind trajectories whose log acceptance ratio deviates from 0 like the step size to the power `order`."""
    block = block_of(what, target, coordinates)
    count, dense = len(block), metric == "dense"
    way, data = tables(target, block, dense)
    kernel = explore_plain if way == PLAIN else explore

    def tune(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
        sized = tuned_step_size(parameters, statistics, wanted, order)
        return np.asarray(with_steps(tuned_metric(sized, statistics, count)))

    def start(draw: Draw) -> FloatArray:
        head = [trajectories or steps_of_scan(count), count ** (-0.5 / order), 1.0, 1.0, count, way]
        row = np.concatenate([head, first_metric(target, block, dense, draw)])
        return np.asarray(with_steps(row[None])[0])

    return Bound(
        kernel=target.kernels.get(kernel, kernel),
        data=data,
        start=start,
        n_statistics=statistics_size(count, dense),
        n_scratch=scratch_size(count, target.dimension, points=2),
        tune=tune,
        diverged=share_diverged,
    )


def share_diverged(statistics: FloatArray) -> FloatArray:
    """Return the share of every chain's trajectories that diverged; one alone says nothing, and does not count."""
    diverged = statistics[:, DIVERGED]
    return np.where(diverged > 1.0, diverged, 0.0) / np.maximum(statistics[:, TRIED], 1.0)


def steps_of_scan(count: int) -> int:
    """Return how many single steps a scan has by default: so many that its memory hardly grows with the dimension."""
    return math.ceil(count**0.35)


def check_metric(what: str, metric: str) -> None:
    """Check the metric's name."""
    if metric not in ("diagonal", "dense"):
        raise OptionError(f'{what}(metric={metric!r}): the metric is "diagonal" or "dense".')


def check_count(what: str, name: str, value: int) -> None:
    """Check a number of steps or trajectories."""
    if not (isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1):
        raise OptionError(f"{what}({name}={value!r}): give a whole number from 1 up.")
