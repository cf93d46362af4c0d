"""pocoMC with all defaults."""

import pocomc
from problem import Counted, Outcome, Problem, Settings, kish
from scipy import stats


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    prior = problem.prior
    families = [
        stats.norm(a, b) if normal else stats.uniform(a, b - a)
        for normal, a, b in zip(prior.is_normal, prior.first, prior.second, strict=True)
    ]
    counted = Counted(problem.plain())
    small = {"n_effective": 128, "n_active": 64, "flow": "maf3"} if settings.quick else {}
    sampler = pocomc.Sampler(
        pocomc.Prior(families), counted, n_dim=problem.dimension, vectorize=False, random_state=seed, **small
    )
    sampler.run(progress=False, **({"n_total": 256, "n_evidence": 256} if settings.quick else {}))
    draws, weights, _, _ = sampler.posterior()
    log_z, error = sampler.evidence()
    return Outcome(draws, counted.calls, kish(weights), weights, float(log_z), float(error))
