"""One population from the reference to the target: annealed importance sampling, with or without resampling.

A step chooses the next beta, weights every particle by the change of its density, resamples if the weights have become
too unequal, and explores at the new beta (Neal 2001; Del Moral, Doucet and Jasra 2006). The weight is that of the
state before it is explored.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from sterna.engine.interrupts import check_interrupts
from sterna.particles.exploration import Particles
from sterna.particles.next_beta import next_beta
from sterna.particles.population import Population, Reweighted
from sterna.types import BoolArray, FloatArray

# The relative conditional effective sample size that a step leaves, unless a user gives another.
THRESHOLD = 0.9999

# Numbers from here on key the choice of states that are kept, beside those of resampling, which are numbers of steps.
KEPT = 1 << 40


@dataclass(frozen=True)
class Guide:
    """What a population follows: betas and explorer's parameters, each either given or found step by step."""

    first_parameters: FloatArray
    """The row of parameters of the first step."""
    schedule: FloatArray | None = None
    """Betas, or None to choose them by `threshold`."""
    parameters: FloatArray | None = None
    """A row for each beta, or None to tune each row by the step before."""
    threshold: float = THRESHOLD
    resample_below: float = 0.5
    """Resample if the effective sample size, relative to the number of particles, is lower; never if it is 0."""
    keeps_statistics: bool = False
    """Whether to keep what the explorer has summed in every step."""
    n_kept: int = 0
    """How many states to keep of every step, drawn by weight."""


@dataclass(frozen=True)
class Step:
    """What one step has found."""

    beta: float
    weights: Reweighted
    resampled: bool
    memory: float
    """Correlation of the log-likelihoods before and after exploration; NaN if they do not vary."""
    diverged: float
    """Share of the explorer's trajectories that diverged."""
    parameters: FloatArray = field(repr=False)
    statistics: FloatArray = field(repr=False)
    kept: FloatArray = field(repr=False)


Show: TypeAlias = Callable[[int, Step, float], None]
"""Shows (number of steps, the last step, log evidence so far)."""


@dataclass(frozen=True)
class Annealed:
    """The steps that led a population from the reference to the target."""

    steps: tuple[Step, ...]

    @property
    def schedule(self) -> FloatArray:
        """Betas from 0 to 1."""
        return np.array([0.0, *(step.beta for step in self.steps)])

    @property
    def parameters(self) -> FloatArray:
        """The explorer's parameters, a row for each beta; nothing is explored at the first."""
        return np.stack([self.steps[0].parameters, *(step.parameters for step in self.steps)])

    @property
    def statistics(self) -> FloatArray:
        """What the explorer has summed, a row for each beta, if it was kept."""
        return np.stack([np.zeros_like(self.steps[0].statistics), *(step.statistics for step in self.steps)])

    @property
    def ess(self) -> FloatArray:
        """Effective sample size of every step, relative to the number of particles, before it resampled."""
        return np.array([step.weights.ess for step in self.steps])

    @property
    def conditional_ess(self) -> FloatArray:
        """Conditional effective sample size of every step, relative to the number of particles."""
        return np.array([step.weights.conditional_ess for step in self.steps])

    @property
    def log_ratios(self) -> FloatArray:
        """Estimate of the change of log Z in every step; draws of zero likelihood are not in the first."""
        return np.array([step.weights.log_ratio for step in self.steps])

    @property
    def resampled(self) -> BoolArray:
        """Which steps have resampled."""
        return np.array([step.resampled for step in self.steps], dtype=np.bool_)

    @property
    def memory(self) -> FloatArray:
        """Correlation of the log-likelihoods before and after the exploration of every step."""
        return np.array([step.memory for step in self.steps])

    @property
    def diverged(self) -> FloatArray:
        """Share of the explorer's trajectories that diverged, in every step."""
        return np.array([step.diverged for step in self.steps])

    @property
    def kept(self) -> FloatArray:
        """States that were kept of every step: (steps, states, dimension)."""
        return np.stack([step.kept for step in self.steps])


def show_nothing(number: int, step: Step, log_evidence: float) -> None:
    """Show no progress."""


def anneal(population: Population, guide: Guide, show: Show = show_nothing) -> Annealed:
    """Take a population from the reference to the target."""
    steps: list[Step] = []
    beta, row = 0.0, guide.first_parameters
    length = 1.0
    while beta < 1.0:
        number = len(steps) + 1
        new = _next_beta(population, guide, beta, length, number)
        row = row if guide.parameters is None else guide.parameters[number]
        step, statistics = take_step(population, guide, number, beta, new, row)
        steps.append(step)
        if guide.parameters is None:
            row = tuned_row(population.particles, row, statistics)
        beta, length = new, new - beta
        show(number, step, population.log_evidence)
        check_interrupts()
    return Annealed(tuple(steps))


def _next_beta(population: Population, guide: Guide, beta: float, length: float, number: int) -> float:
    if guide.schedule is not None:
        return float(guide.schedule[number])
    log_likelihood = population.particles.log_likelihood
    return next_beta(beta, population.log_weights, log_likelihood, guide.threshold, length)


def take_step(
    population: Population, guide: Guide, number: int, beta: float, new: float, row: FloatArray
) -> tuple[Step, FloatArray]:
    """Weight, resample if necessary, explore; return the step and what the explorer has summed."""
    particles = population.particles
    weights = population.reweight(new - beta)
    resamples = weights.ess < guide.resample_below
    if resamples:
        population.resample(number)
    before = particles.log_likelihood.copy()
    statistics = particles.explore(new, row, number)
    step = Step(
        beta=new,
        weights=weights,
        resampled=resamples,
        memory=correlation(before, particles.log_likelihood),
        diverged=float(particles.runtime.bound.diverged(statistics[None])[0]),
        parameters=row,
        statistics=statistics if guide.keeps_statistics else statistics[:0],
        kept=_kept_states(population, number, guide.n_kept),
    )
    return step, statistics


def tuned_row(particles: Particles, row: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return the explorer's parameters for the next step from what it has summed in this one.

    To tuning, these are the chain of the reference, in which nothing is explored, and one other.
    """
    tuned = particles.runtime.bound.tune(np.stack([row, row]), np.stack([np.zeros_like(statistics), statistics]))
    return np.asarray(tuned[1])


def correlation(before: FloatArray, after: FloatArray) -> float:
    """Return the correlation of two series, or NaN if one does not vary."""
    first, second = _standardised(before), _standardised(after)
    return float(first @ second) if first.any() and second.any() else math.nan


def _standardised(series: FloatArray) -> FloatArray:
    """Return a series with mean zero and sum of squares one, or zeros if it does not vary.

    It is scaled before it is squared, because log-likelihoods of -1e300 have no square.
    """
    scaled = series / max(float(np.abs(series).max()), 1e-300)
    centred = scaled - scaled.mean()
    largest = float(np.abs(centred).max())
    if largest == 0.0:
        return np.zeros(len(series))
    centred = centred / largest
    return np.asarray(centred / math.sqrt(float(centred @ centred)))


def _kept_states(population: Population, number: int, n_kept: int) -> FloatArray:
    """Return copies of some states, drawn by weight."""
    particles = population.particles
    if n_kept == 0:
        return particles.states[:0].copy()
    return particles.states[particles.choose(population.weights, KEPT + number, n_kept)].copy()
