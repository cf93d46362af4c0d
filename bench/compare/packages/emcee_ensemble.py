"""emcee with the moves that its documentation recommends for several modes, until its autocorrelation time is known."""

import emcee
import numpy as np
from problem import Counted, Outcome, Problem, Settings, clock

STEPS, MOST = 100, 100_000


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    began, d, prior = clock(), problem.dimension, problem.prior
    counted, rng = Counted(problem.plain()), np.random.default_rng(seed)

    def log_posterior(x):
        log_prior = prior.log_density(x)
        return log_prior + counted(x) if log_prior > -np.inf else -np.inf

    walkers = max(64, 4 * d)
    moves = [(emcee.moves.DEMove(), 0.8), (emcee.moves.DESnookerMove(), 0.2)]
    sampler = emcee.EnsembleSampler(walkers, d, log_posterior, moves=moves)
    sampler._random.seed(seed)
    state, before = prior.draw(rng, walkers), np.inf
    # the rule of its tutorial: 100 autocorrelation times, which have changed by less than 1 %
    while sampler.iteration < MOST and (clock() - began < settings.budget or sampler.iteration == 0):
        state = sampler.run_mcmc(state, STEPS)
        tau = sampler.get_autocorr_time(tol=0)
        if np.all(tau * 100 < sampler.iteration) and np.all(np.abs(before - tau) < 0.01 * tau):
            break
        before = tau
    # twice the autocorrelation time, as there; a quarter if it is unknown
    known = np.isfinite(tau).all() and 8 * tau.max() < sampler.iteration
    chain = sampler.get_chain(discard=int(2 * tau.max()) if known else sampler.iteration // 4)
    return Outcome(chain.transpose(1, 0, 2), counted.calls)
