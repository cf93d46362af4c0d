"""ptemcee: adaptive parallel tempering of ensembles; `Tmax=inf`, which is beta = 0, is its "safe bet"."""

import numpy as np
from problem import Counted, Outcome, Problem, Settings, clock

# the last release, of 2018, needs names that NumPy has dropped since
for _old, _new in (("float", float), ("trapz", np.trapezoid)):
    setattr(np, _old, _new)

import ptemcee  # noqa: E402

TEMPERATURES, WALKERS, STEPS = 20, 100, 10


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    began = clock()
    counted, rng = Counted(problem.plain()), np.random.default_rng(seed)
    sampler = ptemcee.Sampler(
        WALKERS,
        problem.dimension,
        counted,
        problem.prior.log_density,
        ntemps=TEMPERATURES,
        Tmax=np.inf,
        random=np.random.RandomState(seed),
    )
    # no rule says when to stop: half of the time adapts the ladder and is discarded
    start = problem.prior.draw(rng, TEMPERATURES, WALKERS)
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
