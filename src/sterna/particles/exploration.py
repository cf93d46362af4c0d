"""Particles on the engine: each is a replica, and all of them are explored at one beta by the ordinary kernels.

The engine has parameters and statistics by chain. Here a "chain" is a group of particles, all of which have the same
beta and the same parameters, so that groups can be explored by different threads and each sums its own statistics.
The size of groups depends on the target alone, and hence no sum depends on the number of threads.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from sterna.engine.program import EVALUATIONS, GRADIENTS, LARGEST_REFERENCE, LOG_LIKELIHOOD, N_LOG_DENSITIES
from sterna.engine.resampling import stratified_parents
from sterna.engine.round import Copy, Plan, explore_some, find_start, new_at_work
from sterna.engine.schemes import SCHEMES
from sterna.ground.compilation import compile_for
from sterna.ground.streams import new_stream
from sterna.result.failed_evaluations import FailedEvaluations, failed_in
from sterna.run.blocks import SHARED_SCAN_SECONDS
from sterna.run.runtime import Runtime
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray, IntArray, WordArray
from sterna.workers.point_errors import Place, errors_at_point

# Particles of a group, unless the target evaluates many points in one call: then each is its own group.
GROUP_SIZE = 16

# Populations have copy numbers that no copy of parallel tempering has, so that their streams are different.
FIRST_POPULATION = 1 << 41

# All steps of a population are scans of one round.
ROUND = 1

GroupFunction: TypeAlias = Callable[[Copy, int, int, WordArray], None]
"""A function of (copy, first particle, last particle + 1, stream)."""


def group_size_of(target: PreparedTarget) -> int:
    """Return how many particles of a target are a group."""
    return 1 if target.batch_functions else GROUP_SIZE


def n_groups_of(target: PreparedTarget, n_particles: int) -> int:
    """Return how many groups there are."""
    return -(-n_particles // group_size_of(target))


def particle_copy(n_particles: int, dimension: int, group_size: int) -> Copy:
    """Allocate particles as the replicas of a copy in which every group is a chain; no group is chain 0.

    The engine draws from the reference in chain 0, and explores in all others.
    """
    n_groups = -(-n_particles // group_size)
    nothing = np.zeros(0, dtype=np.int64)
    return Copy(
        states=np.zeros((n_particles, dimension)),
        log_densities=np.zeros((n_particles, N_LOG_DENSITIES)),
        chain_of=np.arange(n_particles, dtype=np.int64) // group_size + 1,
        replica_of=nothing,
        leg=nothing,
        accepted=np.zeros(0),
        before=np.zeros(n_groups + 1),
        at_work=new_at_work(),
    )


def _call_on_groups(
    function: GroupFunction, copy: Copy, size: int, n_alive: int, part: Copy, first: int, last: int, stream: WordArray
) -> None:
    """Call a function on the particles of some groups; `part` has its own memory of which particle is at work."""
    function(copy._replace(at_work=part.at_work), first * size, min(last * size, n_alive), stream)


@dataclass
class Particles:
    """A population of particles, and what explores it."""

    runtime: Runtime
    n_particles: int
    explorations: int
    seed: int
    number: int
    """Distinguishes the random numbers of several populations with one seed."""
    copy: Copy = field(init=False)
    statistics: FloatArray = field(init=False)
    n_alive: int = field(init=False)
    """Number of particles that have positive weight; they come first, and only they are explored."""
    shared: bool = field(init=False)
    """Whether threads share the particles; only if an exploration takes longer than waking them."""

    def __post_init__(self) -> None:
        self.group_size = group_size_of(self.runtime.target)
        self.copy = particle_copy(self.n_particles, self.runtime.target.dimension, self.group_size)
        self.statistics = np.zeros((len(self.copy.before), self.runtime.bound.n_row))
        self.n_alive, self.shared = self.n_particles, self.runtime.evaluates_elsewhere
        self.copy_number = FIRST_POPULATION + self.number

    @property
    def states(self) -> FloatArray:
        """States of the particles of positive weight, as a view."""
        return self.copy.states[: self.n_alive]

    @property
    def log_likelihood(self) -> FloatArray:
        """Log-likelihoods of the particles of positive weight, as a view."""
        return self.copy.log_densities[: self.n_alive, LOG_LIKELIHOOD]

    @property
    def evaluations(self) -> tuple[int, int]:
        """Numbers of evaluations and gradients so far."""
        counts = self.copy.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0)
        return int(counts[0]), int(counts[1])

    @property
    def failed(self) -> FailedEvaluations:
        """Numbers of failed evaluations so far."""
        return failed_in(self.copy.log_densities)

    def draw(self) -> None:
        """Draw all particles from the reference."""
        block = self.runtime.target.block

        def find(copy: Copy, first: int, last: int, stream: WordArray) -> None:
            find_start(block, self.seed, 1, self.copy_number, copy, first, last, stream)

        self.n_alive = self.n_particles
        self._on_groups(find, Place("while drawing the first particles"))

    def explore(self, beta: float, parameters: FloatArray, step: int) -> FloatArray:
        """Explore all particles at one beta; return the row of what the explorer has summed for its tuning."""
        plan = self._plan(beta, parameters)
        self.statistics[:] = 0.0

        def explore(copy: Copy, first: int, last: int, stream: WordArray) -> None:
            explore_some(plan, self.statistics, step, self.copy_number, copy, first, last, stream)

        began = time.perf_counter()
        self._on_groups(explore, Place(f"in step {step} of a population, at beta={beta:.6g}"))
        self.shared = self.shared or time.perf_counter() - began > SHARED_SCAN_SECONDS
        n_groups = -(-self.n_alive // self.group_size)
        rows = self.statistics[1 : n_groups + 1, : self.runtime.bound.n_statistics]
        return np.asarray(self.runtime.bound.merge([rows[k : k + 1] for k in range(n_groups)])[0])

    def keep(self, particles: IntArray) -> None:
        """Let copies of some particles, which may be fewer or more than now, be the population."""
        self.n_alive = len(particles)
        self.copy.states[: self.n_alive] = self.copy.states[particles]
        # slots keep their counts of evaluations
        for columns in (slice(0, EVALUATIONS), slice(LARGEST_REFERENCE, N_LOG_DENSITIES)):
            self.copy.log_densities[: self.n_alive, columns] = self.copy.log_densities[particles, columns]

    def resample(self, weights: FloatArray, step: int) -> IntArray:
        """Replace the population by equally weighted particles; return the parent of each."""
        parents = self.choose(weights, step, self.n_particles)
        self.keep(parents)
        return parents

    def choose(self, weights: FloatArray, step: int, number: int) -> IntArray:
        """Return the numbers of particles that are drawn by weight, in order."""
        cumulative = np.cumsum(weights)
        parents = np.zeros(number, dtype=np.int64)
        stratified_parents(self.seed, self.copy_number, ROUND, step, cumulative / cumulative[-1], parents)
        return parents

    def load(self) -> None:
        """Compile what a population calls, or load it from disk."""
        plan, copy, stream = self._plan(1.0, np.zeros(self.runtime.bound.n_parameters)), self.copy, new_stream()
        compile_for(find_start, plan.block, self.seed, 1, self.copy_number, copy, 0, 1, stream)
        compile_for(explore_some, plan, self.statistics, 1, self.copy_number, copy, 0, 1, stream)
        none = np.zeros(1), np.zeros(1, dtype=np.int64)
        compile_for(stratified_parents, self.seed, self.copy_number, ROUND, 1, *none)

    def _on_groups(self, function: GroupFunction, place: Place) -> None:
        """Call a function of particles `first` to `last - 1` on all groups, with the team if it is worth it."""
        size, n_alive = self.group_size, self.n_alive
        groups = self.copy._replace(chain_of=np.arange(-(-n_alive // size), dtype=np.int64))
        on_particles = partial(_call_on_groups, function, self.copy, size, n_alive)
        if self.shared:
            self.runtime.on_replicas(0, groups, on_particles, place)
            return
        with errors_at_point(self.runtime.target, groups, place):
            on_particles(groups, 0, len(groups.chain_of), self.runtime.streams[0])

    def _plan(self, beta: float, parameters: FloatArray) -> Plan:
        rows, nothing = len(self.copy.before), np.zeros(1)
        return Plan(
            block=self.runtime.target.block,
            explore=self.runtime.explore,
            explorer_data=self.runtime.explorer_data,
            explorations=self.explorations,
            scheme=SCHEMES["deo"].code,
            schedule=np.full(rows, beta),
            parameters=np.tile(parameters, (rows, 1)),
            pivot=nothing,
            centre=nothing,
            seed=self.seed,
            round_number=ROUND,
            batch_scans=1,
            batches=1,
            thin=1,
        )
