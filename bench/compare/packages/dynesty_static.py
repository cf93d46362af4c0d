"""dynesty's static nested sampler, which its documentation recommends for the evidence, with all defaults."""

import dynesty
import numpy as np
from problem import Counted, Outcome, Problem, Settings, kish


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    counted = Counted(problem.plain())
    live = {"nlive": 100} if settings.quick else {}
    rng = np.random.default_rng(seed)
    sampler = dynesty.NestedSampler(counted, problem.prior.from_cube, problem.dimension, rstate=rng, **live)
    sampler.run_nested(print_progress=False)
    results = sampler.results
    weights = results.importance_weights()
    log_z, error = float(results.logz[-1]), float(results.logzerr[-1])
    return Outcome(results.samples, counted.calls, kish(weights), weights, log_z, error)
