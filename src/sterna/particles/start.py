"""Starting points of parallel tempering from a population of particles, instead of draws from the reference.

The paper compares schemes of tuning from such starts: chains begin near their own distributions, and not all at the
reference.
"""

import time
from functools import partial

import numpy as np

from sterna.engine.round import Copy, refresh_some
from sterna.errors import InitialStateError
from sterna.particles.anneal import Guide, anneal
from sterna.particles.exploration import Particles
from sterna.particles.population import Population
from sterna.result.failed_evaluations import FailedEvaluations
from sterna.run.runtime import Runtime
from sterna.types import FloatArray, IntArray
from sterna.workers.point_errors import Place

# A start need not be precise: so many particles, which are weighted in steps that leave this share of them. Then there
# are about ten steps for each unit of the squared length of the path.
START_PARTICLES, START_THRESHOLD = 50, 0.9

STARTING = Place("while replicas were placed at particles")

# Neighbouring chains that are nearest to the same step begin at different states, as long as there are so many.
STATES_PER_STEP = 4

NO_PARTICLES = (
    f'start="smc": the likelihood is zero at all of {START_PARTICLES} particles, so replicas began at draws from the '
    "reference."
)


def settled_row(runtime: Runtime, seed: int) -> FloatArray:
    """Return the explorer's first parameters with every choice between explorers made, since that takes rounds."""
    row = runtime.bound.start(partial(runtime.draw_reference, seed))
    none = np.zeros((2, runtime.bound.n_statistics))
    return np.asarray(runtime.bound.settle(np.tile(row, (2, 1)), none)[1])


def nearest_steps(betas: FloatArray, schedule: FloatArray) -> IntArray:
    """Return for each beta of a schedule the number of the step whose beta is nearest."""
    nearest = np.abs(schedule[:, None] - betas[None, :]).argmin(axis=1)
    return np.asarray(nearest, dtype=np.int64)


def states_for_chains(kept: FloatArray, betas: FloatArray, schedule: FloatArray, n_copies: int) -> FloatArray:
    """Return a state for each chain of each copy, (copies, chains, dimension), from those kept at each step's beta.

    `kept` are (steps, states, dimension), drawn by weight.
    """
    steps = nearest_steps(betas, schedule)
    chains = np.arange(len(schedule))
    chosen = [(copy + n_copies * chains) % kept.shape[1] for copy in range(n_copies)]
    return np.stack([kept[steps, places] for places in chosen])


def start_by_particles(
    runtime: Runtime, seed: int, schedule: FloatArray, copies: tuple[Copy, ...]
) -> tuple[tuple[int, int], FailedEvaluations, tuple[str, ...], float]:
    """Let all replicas but those of the reference begin where particles are.

    Returns the numbers of evaluations, of gradients and of failed evaluations, notes, and the seconds that this took
    besides compilation. If no particle has a positive likelihood, replicas stay where they are.
    """
    particles = Particles(runtime, START_PARTICLES, 1, seed, 0)
    particles.load()
    began = time.perf_counter()
    try:
        population = Population(particles)
    except InitialStateError:
        return particles.evaluations, particles.failed, (NO_PARTICLES,), time.perf_counter() - began
    guide = Guide(settled_row(runtime, seed), threshold=START_THRESHOLD, n_kept=STATES_PER_STEP * len(copies))
    annealed = anneal(population, guide)
    states = states_for_chains(annealed.kept, annealed.schedule[1:], schedule, len(copies))
    for number, copy in enumerate(copies):
        copy.states[1:] = states[number, 1:]
        runtime.on_replicas(number, copy, partial(refresh_some, runtime.target.block), STARTING)
    return particles.evaluations, particles.failed, (), time.perf_counter() - began
