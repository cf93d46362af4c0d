"""nautilus with its defaults, and without the draws of its exploration, which its documentation says is unbiased."""

import math

import numpy as np
from nautilus import Sampler
from problem import Counted, Outcome, Problem, Settings


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    counted = Counted(problem.plain())
    live = {"n_live": 200, "n_networks": 1} if settings.quick else {}
    sampler = Sampler(problem.prior.from_cube, counted, n_dim=problem.dimension, pass_dict=False, seed=seed, **live)
    ended = sampler.run(discard_exploration=True, verbose=False, **({"n_eff": 500} if settings.quick else {}))
    if not ended:
        raise RuntimeError("nautilus stopped before it was done")
    draws, log_weights, _ = sampler.posterior()
    # nautilus states no error of log Z; its paper takes the effective size of the importance sample
    error = 1.0 / math.sqrt(sampler.n_eff)
    return Outcome(draws, counted.calls, float(sampler.n_eff), np.exp(log_weights), float(sampler.log_z), error)
