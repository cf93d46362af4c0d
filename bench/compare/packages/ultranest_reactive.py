"""UltraNest's reactive nested sampler; from 10 dimensions on with the slice sampler of its documentation."""

import numpy as np
import ultranest
import ultranest.stepsampler as steps
from problem import Counted, Outcome, Problem, Settings, kish

SLICES_FROM = 10


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    np.random.seed(seed)  # noqa: NPY002 - the only generator that UltraNest knows
    counted = Counted(problem.plain())
    names = [f"x{i}" for i in range(problem.dimension)]
    sampler = ultranest.ReactiveNestedSampler(names, counted, problem.prior.from_cube)
    if problem.dimension >= SLICES_FROM:
        sampler.stepsampler = steps.SliceSampler(
            nsteps=2 * problem.dimension, generate_direction=steps.generate_mixture_random_direction
        )
    live = {"min_num_live_points": 100, "dlogz": 1.0, "dKL": 1.0, "min_ess": 50} if settings.quick else {}
    # as in the tour of its documentation
    result = sampler.run(max_num_improvement_loops=3, show_status=False, viz_callback=False, **live)
    weighted = result["weighted_samples"]
    weights = np.asarray(weighted["weights"])
    return Outcome(
        np.asarray(weighted["points"]), counted.calls, kish(weights), weights, result["logz"], result["logzerr"]
    )
