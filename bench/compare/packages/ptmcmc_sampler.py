"""PTMCMCSampler in one process, which is one chain: its chains at other temperatures are MPI processes."""

import tempfile

import numpy as np
from problem import Counted, Outcome, Problem, Settings, clock
from PTMCMCSampler.PTMCMCSampler import PTSampler

# as in the example of its documentation
STEPS = 100_000
# a default, which short runs cannot have: steps before jumps along differences of earlier states
BURN = 10_000
# seconds of a step without its evaluation, at least
OVERHEAD = 4e-5


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    prior, counted = problem.prior, Counted(problem.plain())
    rng = np.random.default_rng(seed)
    start = prior.draw(rng)
    began = clock()
    for x in prior.draw(rng, 20):
        counted(x)
    cost = (clock() - began) / 20
    steps = 2000 if settings.quick else min(STEPS, int(settings.budget / (cost + OVERHEAD)) // 1000 * 1000)
    spread = np.where(prior.is_normal, prior.second, (prior.second - prior.first) / np.sqrt(12.0))
    with tempfile.TemporaryDirectory() as folder:
        sampler = PTSampler(
            problem.dimension, counted, prior.log_density, np.diag(spread**2), outDir=folder, verbose=False, seed=seed
        )
        sampler.sample(start, steps, burn=min(BURN, steps // 2), thin=1)
    return Outcome(sampler._chain[None, steps // 4 : steps], counted.calls)
