"""`sterna.smc` and `sterna.ais`: the rivals of parallel tempering that anneal a population of particles."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from sterna.engine.interrupts import holds_interrupts, interruptible
from sterna.explorers.base import Explorer
from sterna.ground.keywords import explains_keywords
from sterna.particles.display import ParticleDisplay
from sterna.particles.frozen import check_frozen
from sterna.particles.result import ParticleResult
from sterna.particles.run import Course, run_populations
from sterna.particles.runtime import particle_runtime
from sterna.particles.settings import ParticleOptions, make_settings
from sterna.run.display import Display, make_display
from sterna.run.given import as_target, is_pymc
from sterna.run.options import check_flag
from sterna.run.start import SECONDS_FOR_PYMC
from sterna.target.target import Target
from sterna.theory.checks import check_schedule

_REJECT = (
    "a log-density that is NaN or +inf or raises ends a run with particles; return -inf where the density is zero, or "
    'use sterna.sample(..., on_error="reject")'
)


@explains_keywords("sterna.smc", {"on_error": _REJECT})
def smc(
    target: Any,
    reference: Any = None,
    data: Mapping[str, Any] | None = None,
    *,
    prior: Any = None,
    n_particles: float = 1000,
    threshold: float | None = None,
    n_pilot: float | None = None,
    resample_below: float = 0.5,
    explorations: float = 1,
    rejuvenations: float = 5,
    schedule: Any = None,
    n_rounds: float = 0,
    n_steps: float | None = None,
    frozen: ParticleResult | None = None,
    explorer: Explorer | Callable[..., Any] | Mapping[Any, Any] | str | None = None,
    seed: float | None = 1,
    workers: Any = None,
    vectorized: bool | str = False,
    progress: bool | Display = True,
) -> ParticleResult:
    """Sample a target by annealed sequential Monte Carlo (Del Moral et al. 2006; the paper's SCM).

    Particles begin as draws from the reference. A step chooses the next beta, weights each particle by the change of
    its density, resamples if the weights have become too unequal, and explores every particle at the new beta. There
    are four ways to the betas: by `threshold` a pilot population chooses them one by one; `n_rounds` places a known
    number of them; `schedule` gives them; and `frozen` repeats a run with its betas and its explorer's parameters. With
    `schedule` the explorer is tuned from step to step. Otherwise the population of the result follows fixed betas and
    parameters, so that its estimate of Z is unbiased. Modes that no particle reached are not seen, and no warning says
    so; `sterna.sample` looks for them.

    Parameters
    ----------
    target, reference, data, prior, vectorized, seed, workers, progress
        As in `sterna.sample`.
    n_particles
        Number of particles.
    threshold
        Relative conditional effective sample size that a step leaves (Zhou et al. 2016), by default 0.9999.
    n_pilot
        Particles of the pilot, by default a quarter of `n_particles`, but at least 100 if there are so many. With 0 the
        population of the result chooses its own betas, as in the paper's SCM. This saves the evaluations of the pilot,
        but biases log Z, by as much as its error where log-likelihoods are skewed, whatever the threshold.
    resample_below
        Relative effective sample size below which particles are resampled (stratified).
    explorations
        How often a step explores each particle.
    rejuvenations
        How often the draws, which are resampled to equal weights at the end, are explored at the target.
    schedule
        Betas, increasing from 0 to 1.
    n_rounds, n_steps
        Rounds of 2, 4, 8, ... steps that measure where betas are needed (Syed et al. 2024) and tune the explorer. Then
        a population with `n_steps` steps, by default as many as all rounds had, runs with everything fixed.
    frozen
        A result of the same target and explorer, whose betas and parameters are used. Nothing is adapted, so that the
        evidence is unbiased.
    explorer
        As in `sterna.sample`, but by default the target's own or slice sampling: there are no rounds of trials.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> def log_likelihood(mu, y):
    ...     return -0.5 * np.sum((y - abs(mu)) ** 2)
    >>> problem = dict(reference={"mu": sterna.Normal(0, 10)}, data={"y": np.array([4.0, 5.0, 6.0])})
    >>> first = sterna.smc(log_likelihood, **problem, threshold=0.99, progress=False)
    >>> bool(abs(first.posterior["mu"].mean()) < 2)  # both modes are visited
    True
    >>> again = sterna.smc(log_likelihood, **problem, frozen=first, seed=2, progress=False)
    >>> again.frozen, np.array_equal(again.schedule, first.schedule)
    (True, True)
    """
    options = ParticleOptions(
        n_particles, threshold, n_pilot, resample_below, explorations, rejuvenations, n_rounds, n_steps, seed, workers
    )
    read_target = partial(as_target, target, reference, data, vectorized, prior, "smc")
    return _run_shown(read_target, is_pymc(target), options, schedule, frozen, explorer, progress)


@explains_keywords("sterna.ais", {"on_error": _REJECT})
def ais(
    target: Any,
    reference: Any = None,
    data: Mapping[str, Any] | None = None,
    *,
    prior: Any = None,
    n_particles: float = 1000,
    threshold: float | None = None,
    n_pilot: float | None = None,
    explorations: float = 1,
    rejuvenations: float = 5,
    schedule: Any = None,
    n_rounds: float = 0,
    n_steps: float | None = None,
    frozen: ParticleResult | None = None,
    explorer: Explorer | Callable[..., Any] | Mapping[Any, Any] | str | None = None,
    seed: float | None = 1,
    workers: Any = None,
    vectorized: bool | str = False,
    progress: bool | Display = True,
) -> ParticleResult:
    """Sample a target by annealed importance sampling (Neal 2001): `sterna.smc` that never resamples on the way.

    All options are those of `sterna.smc`. Particles are independent unless they adapt something themselves (with
    `n_pilot=0`, or with `schedule` and an explorer that is tuned). The draws are resampled once, at the end.

    Examples
    --------
    >>> import sterna
    >>> result = sterna.ais(sterna.models.normal(2), n_particles=200, n_rounds=5, progress=False)
    >>> result.n_steps, result.frozen, bool(result.resampled.any())
    (62, True, False)
    """
    options = ParticleOptions(
        n_particles, threshold, n_pilot, 0.0, explorations, rejuvenations, n_rounds, n_steps, seed, workers
    )
    read_target = partial(as_target, target, reference, data, vectorized, prior, "ais")
    return _run_shown(read_target, is_pymc(target), options, schedule, frozen, explorer, progress)


@holds_interrupts
def _run_shown(
    read_target: Callable[[], Target],
    of_pymc: bool,
    options: ParticleOptions,
    schedule: object,
    frozen: object,
    explorer: object,
    progress: bool | Display,
) -> ParticleResult:
    """Read the target and run it, with a display of both."""
    with progress if isinstance(progress, Display) else make_display(check_flag("progress", progress)) as display:
        with display.working("compiling the model", SECONDS_FOR_PYMC if of_pymc else None):
            target = interruptible(read_target)
        return _run(target, options, schedule, frozen, explorer, display)


def _run(
    target: Target, options: ParticleOptions, schedule: object, frozen: object, explorer: object, display: Display
) -> ParticleResult:
    prepared = target.prepare()
    began = time.perf_counter() - prepared.build_seconds
    notes: tuple[str, ...] = ()
    if options.seed is None:
        options = replace(options, seed=secrets.randbits(32))
        notes = (f"The seed {options.seed} was drawn, because seed=None: give seed={options.seed} for the same run.",)
    workers = options.workers
    if workers is None and prepared.one_thread:
        # a user's Python function is called by one thread alone, unless workers are given
        options = replace(options, workers=1)
    course = Course(
        None if schedule is None else check_schedule(schedule), check_frozen(frozen, schedule, options.n_rounds)
    )
    betas = "schedule" if schedule is not None else "frozen" if frozen is not None else None
    settings = make_settings(options, betas)
    shown = ParticleDisplay(display, settings)
    with particle_runtime(prepared, explorer, settings, workers, shown) as runtime:
        result = run_populations(runtime, settings, course, shown, began, notes)
    shown.end(result)
    return result
