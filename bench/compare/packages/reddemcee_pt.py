"""reddemcee: adaptive parallel tempering of ensembles; its own ladder, down to a millionth."""

import math

import numpy as np
import reddemcee
from problem import Counted, Outcome, Problem, Settings, clock
from reddemcee.utils import set_temp_ladder

# of its quickstart; a ladder must reach the prior, which its evidence does not correct for
WALKERS, SWEEPS, STEPS, HOTTEST = 50, 10, 2, 1e-6


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    began, d = clock(), problem.dimension
    walkers = max(WALKERS, 2 * d + 2)
    counted = Counted(problem.plain())
    ratio = set_temp_ladder(2, d)[1]
    temperatures = 1 + math.ceil(math.log(HOTTEST) / math.log(ratio))
    sampler = reddemcee.PTSampler(walkers, d, counted, problem.prior.log_density, ntemps=temperatures)
    sampler._random.seed(seed)
    rng = np.random.default_rng(seed)
    state = problem.prior.draw(rng, temperatures, walkers)
    # no rule says when to stop: half of the time adapts the ladder and is discarded
    burnt = 0
    while clock() - began < 0.5 * settings.budget or burnt == 0:
        state = sampler.run_mcmc(state, SWEEPS, STEPS)
        burnt += SWEEPS * STEPS
    sampler.select_adjustment("NONE")
    while clock() - began < settings.budget or sampler.backend[0].iteration == burnt:
        state = sampler.run_mcmc(state, SWEEPS, STEPS)
    chains = np.asarray(sampler.get_chain(discard=burnt))[0].transpose(1, 0, 2)
    log_z, error = sampler.get_evidence_hybrid(discard=burnt)
    return Outcome(chains, counted.calls, log_evidence=float(log_z), error=float(error))
