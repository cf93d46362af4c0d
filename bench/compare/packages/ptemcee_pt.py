"""ptemcee: adaptive parallel tempering of ensembles, down to beta = 0, the "safe bet" of its documentation."""

import math

import numpy as np
from problem import Counted, Outcome, Problem, Settings, clock

# the last release, of 2018, needs names that NumPy has dropped since
for _old, _new in (("float", float), ("trapz", np.trapezoid)):
    setattr(np, _old, _new)

import ptemcee  # noqa: E402

# Its ladder for 20 temperatures and an infinite one has only a few useful ones in few dimensions, which adapt slowly.
TEMPERATURES, WALKERS, STEPS, HOTTEST = 20, 50, 10, 1e-6


def ladder(d: int) -> np.ndarray:
    """Return geometric betas and 0: as close as its own ladder, or closer if 20 suffice."""
    step = ptemcee.sampler.default_beta_ladder(d, ntemps=2)[1]
    number = max(TEMPERATURES - 1, 1 + math.ceil(math.log(HOTTEST) / math.log(step)))
    return np.append(np.geomspace(1.0, HOTTEST, number), 0.0)


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    began = clock()
    counted, rng = Counted(problem.plain()), np.random.default_rng(seed)
    betas, walkers = ladder(problem.dimension), max(WALKERS, 2 * problem.dimension + 2)
    sampler = ptemcee.Sampler(
        walkers,
        problem.dimension,
        counted,
        problem.prior.log_density,
        betas=betas,
        random=np.random.RandomState(seed),
    )
    # no rule says when to stop: half of the time adapts the ladder and is discarded
    start = problem.prior.draw(rng, len(betas), walkers)
    sampler.run_mcmc(start, iterations=STEPS, adapt=True)
    while clock() - began < 0.5 * settings.budget:
        sampler.run_mcmc(iterations=STEPS, adapt=True)
    burnt = sampler.chain.shape[2]
    sampler.run_mcmc(iterations=STEPS)
    while clock() - began < settings.budget:
        sampler.run_mcmc(iterations=STEPS)
    log_z, error = sampler.log_evidence_estimate(fburnin=burnt / sampler.chain.shape[2])
    chains = sampler.chain[0][:, burnt:]
    return Outcome(chains, counted.calls, log_evidence=float(log_z), error=abs(float(error)))
