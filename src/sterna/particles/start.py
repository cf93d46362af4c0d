"""Starting points of parallel tempering from a population of particles, instead of draws from the reference.

The paper compares schemes of tuning from such starts: chains begin near their own distributions, and not all at the
reference.
"""

import time
from functools import partial

import numpy as np

from sterna.engine.round import Copy, refresh_some
from sterna.particles.anneal import Guide, anneal
from sterna.particles.exploration import Particles
from sterna.particles.population import Population
from sterna.run.runtime import Runtime
from sterna.types import FloatArray, IntArray

# A start need not be precise: so many particles, which are weighted in steps that leave this share of them.
START_PARTICLES, START_THRESHOLD = 200, 0.99

# Neighbouring chains that are nearest to the same step begin at different states, as long as there are so many.
STATES_PER_STEP = 4


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
) -> tuple[tuple[int, int], float]:
    """Let all replicas but those of the reference begin where particles are.

    Returns the numbers of evaluations and of gradients, and the seconds that this took besides compilation.
    """
    particles = Particles(runtime, START_PARTICLES, 1, seed, 0)
    particles.load()
    began = time.perf_counter()
    guide = Guide(settled_row(runtime, seed), threshold=START_THRESHOLD, n_kept=STATES_PER_STEP * len(copies))
    annealed = anneal(Population(particles), guide)
    states = states_for_chains(annealed.kept, annealed.schedule[1:], schedule, len(copies))
    for number, copy in enumerate(copies):
        copy.states[1:] = states[number, 1:]
        runtime.on_replicas(number, copy, partial(refresh_some, runtime.target.block))
    return particles.evaluations, time.perf_counter() - began
