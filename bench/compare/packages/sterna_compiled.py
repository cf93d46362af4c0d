"""sterna with its default settings, one copy and one thread; the likelihood is compiled."""

import time

import numpy as np
from problem import FloatArray, Outcome, Problem, Settings, clock

import sterna


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    return sample(problem.target(), seed, settings)


def sample(target: sterna.Target, seed: int, settings: Settings) -> Outcome:
    rounds = {"n_rounds": 6} if settings.quick else {}
    began, wall = clock(), time.perf_counter()
    result = sterna.sample(target, seed=seed, n_copies=1, workers=1, progress=False, **rounds)
    # sterna reports wall time
    clock_per_wall = (clock() - began) / (time.perf_counter() - wall)
    return outcome_of(result, float(result.timing["compile"]) * clock_per_wall)


def outcome_of(result: sterna.Result, compile_seconds: float) -> Outcome:
    parts = [result.posterior[name].values for name in result.posterior.data_vars]
    draws: FloatArray = np.concatenate([part.reshape(part.shape[0] * part.shape[1], -1) for part in parts], axis=1)
    return Outcome(
        draws=draws.astype(float),
        evaluations=result.evaluations,
        ess=min(float(row["ess"]) for row in result.summary.values()),
        log_evidence=float(result.log_evidence.value),
        error=float(result.log_evidence.error),
        compile_seconds=compile_seconds,
        warnings=tuple(map(str, result.warnings)),
    )
