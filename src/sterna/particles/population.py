"""A population of weighted particles: their weights, and the families of those that descend from one first draw."""

import math
from typing import NamedTuple

import numpy as np

from sterna.errors import InitialStateError
from sterna.particles.evidence import Evidence
from sterna.particles.exploration import Particles
from sterna.particles.family_growth import FamilyGrowth
from sterna.particles.weights import conditional_ess, effective_size, log_sum, normalised
from sterna.types import FloatArray, IntArray


class Reweighted(NamedTuple):
    """What a change of weights has found."""

    conditional_ess: float
    """Conditional effective sample size relative to the number of particles: 1 if all weights change alike."""
    ess: float
    """Effective sample size relative to the number of particles."""
    log_ratio: float
    """Estimate of the change of log Z."""


class Population:
    """Weighted particles; changes in place."""

    def __init__(self, particles: Particles) -> None:
        """Draw from the reference, and drop the draws whose likelihood is zero.

        Their weight is zero at every beta above 0, however small.
        """
        particles.draw()
        alive = np.flatnonzero(particles.log_likelihood > -np.inf)
        if len(alive) == 0:
            raise InitialStateError(_nothing_alive(particles))
        particles.keep(alive)
        self.particles, self.size = particles, particles.n_particles
        self.zero_share = 1.0 - len(alive) / self.size
        self.families: IntArray = alive
        """Which of the first draws each particle descends from."""
        self.log_weights: FloatArray = np.full(len(alive), -math.log(len(alive)))
        """The weights sum to one."""
        self.log_evidence = math.log(len(alive) / self.size)
        self.growth = FamilyGrowth.of_first_draws(self.size)

    @property
    def weights(self) -> FloatArray:
        """Weights of the particles, which sum to one."""
        return normalised(self.log_weights)

    @property
    def shares(self) -> FloatArray:
        """Weight of each first draw's descendants."""
        return np.asarray(np.bincount(self.families, self.weights, minlength=self.size), dtype=np.float64)

    def reweight(self, step: float) -> Reweighted:
        """Multiply each particle's weight by its likelihood to the power of a step of beta."""
        increments = step * self.particles.log_likelihood
        conditional = conditional_ess(self.log_weights, increments)
        log_weights = self.log_weights + increments
        log_ratio = log_sum(log_weights)
        self.log_weights = log_weights - log_ratio
        self.log_evidence += log_ratio
        return Reweighted(conditional, effective_size(self.weights) / self.size, log_ratio)

    def resample(self, number: int) -> None:
        """Replace the particles by as many of equal weight as there were first draws."""
        growth = self.growth.reweighted(self.shares)
        self.families = self.families[self.particles.resample(self.weights, number)]
        self.log_weights = np.full(self.size, -math.log(self.size))
        self.growth = growth.resampled(self.shares)

    @property
    def evidence(self) -> Evidence:
        """The evidence so far, with what its error is estimated from."""
        return Evidence(self.log_evidence, self.growth.reweighted(self.shares))


def _nothing_alive(particles: Particles) -> str:
    target = particles.runtime.target
    # NaN from a model of another library counts as a likelihood of zero
    zero = "-inf" if target.view is None else "-inf or NaN"
    return (
        f"The likelihood is zero (log_likelihood = {zero}) at all of {particles.n_particles} draws from the reference, "
        "so no particle has a weight. Check the likelihood at a point where it must be positive, give more particles "
        f"(n_particles=), or use a narrower reference.{target.odd_data}"
    )
