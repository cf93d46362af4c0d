"""Particles: their overhead over the explorer alone, calibration of the error, and the paper's mixture model.

`python bench/particles.py overhead` (seconds), `calibration` (minutes), `mixture` (ten minutes; numbers of
observations, particles and seeds may follow).
"""

import math
import sys
import time
from pathlib import Path

import numpy as np

import sterna
from sterna.engine.round import explore_some
from sterna.particles.anneal import Guide, anneal
from sterna.particles.population import Population
from sterna.particles.run import new_particles
from sterna.particles.runtime import particle_runtime
from sterna.particles.settings import ParticleOptions, make_settings
from sterna.run.display import Display

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tools"))

# Particles may take at most this many times as long as the explorer alone.
MAX_OVERHEAD = 1.3
# The least time of so many repeats counts; CPU time of one thread, because other programs may run.
REPEATS = 5


def microsecond(x, terms):
    """Return a log-likelihood that takes about a microsecond, as its caller sets the number of terms."""
    total = 0.0
    for k in range(terms):
        total += math.sin(k + x[0])
    return -0.5 * (x[0] ** 2 + x[1] ** 2) * 10.0 + 1e-9 * total


def overhead(evaluations=1_000_000):
    """Compare a run of so many evaluations with the same exploration without steps, weights and resampling."""
    target = sterna.Target(microsecond, {"x": sterna.Normal(0, 1, shape=2)}, {"terms": 70})
    settings = make_settings(ParticleOptions(workers=1))
    with particle_runtime(target.prepare(), "slice", settings, 1, Display()) as runtime:
        first = runtime.bound.start(lambda n: runtime.draw_reference(1, n))
        for threshold in (0.9999, 0.99):
            guide, seconds, alone = Guide(first, threshold=threshold), math.inf, math.inf
            for _ in range(REPEATS):
                population = Population(new_particles(runtime, settings))
                began = time.process_time()
                annealed = anneal(population, guide)
                seconds = min(seconds, time.process_time() - began)
                alone = min(alone, explorer_alone(runtime, settings, annealed))
            done = population.particles.evaluations[0]
            ratio = seconds / alone
            print(
                f"threshold {threshold}: {done / 1e6:.2f} million evaluations in {len(annealed.steps)} steps, "
                f"{1e9 * alone / done:.0f} ns each by the explorer alone; for {evaluations / 1e6:.0f} million "
                f"{evaluations * seconds / done:.3f} s against {evaluations * alone / done:.3f} s: {ratio:.3f} times "
                f"{'ok' if ratio <= MAX_OVERHEAD else 'MISS'}"
            )


def explorer_alone(runtime, settings, annealed):
    """Return the seconds that the compiled exploration of all steps takes, called once per step."""
    population = Population(new_particles(runtime, settings))
    particles = population.particles
    plans = [particles._plan(step.beta, step.parameters) for step in annealed.steps]
    began = time.process_time()
    for number, (step, plan) in enumerate(zip(annealed.steps, plans, strict=True), 1):
        if step.resampled:
            population.resample(number)
        explore_some(
            plan, particles.statistics, number, particles.copy_number, particles.copy, 0, particles.n_alive,
            runtime.streams[0],
        )  # fmt: skip
    return time.process_time() - began


def calibration(runs=1000):
    """Compare stated errors of the log evidence with its scatter, and the mean of Z with its exact value."""
    import exact
    from populations import run_many
    from targets import CONJUGATE_LOG_EVIDENCE, conjugate

    cases = {
        "normal": (sterna.models.normal(5), np.linspace(0, 1, 9) ** 2, -2.5 * math.log(5)),
        "conjugate": (conjugate(), np.linspace(0, 1, 9) ** 3, CONJUGATE_LOG_EVIDENCE),
        "ising": (sterna.models.ising(size=3), np.linspace(0, 1, 13), exact.log_evidence(*exact.ising_levels(3))),
    }
    print("case        resample  particles   sd     stated  unknown  distance  95 % interval covers")
    for name, (target, schedule, truth) in cases.items():
        for below in (0.0, 0.5, 1.0):
            for n_particles in (100, 1000):
                many = run_many(
                    target, schedule, runs, "slice" if name == "conjugate" else None,
                    n_particles=n_particles, resample_below=below,
                )  # fmt: skip
                known = np.isfinite(many.errors)
                stated = math.sqrt(np.mean(many.errors[known] ** 2))
                covered = np.mean([low <= truth <= high for low, high in many.intervals])
                print(
                    f"{name:11} {below:8} {n_particles:10} {many.values.std():6.3f} {stated:8.3f} "
                    f"{1 - known.mean():8.3f} {many.distance(truth):9.2f} {covered:8.3f}",
                    flush=True,
                )


def mixture(size=150, n_particles=1000, seeds=1):
    """Run the paper's mixture: sequential Monte Carlo with 5, 20 and 100 rejuvenations, and AIS.

    Runs of one seed differ only after the last step. The paper had 2000 particles, and 2500 for AIS.
    """
    target = sterna.models.mixture(size=size)
    names = {f"smc-{k}": (sterna.smc, {"rejuvenations": k, "n_particles": n_particles}) for k in (5, 20, 100)}
    names["ais"] = (sterna.ais, {"n_particles": n_particles})
    print("method     seconds  steps  resampled  families  log evidence            labelling (exact: 0.5)")
    for name, (method, options) in names.items():
        for seed in range(1, seeds + 1):
            began = time.perf_counter()
            result = method(target, seed=seed, progress=False, **options)
            seconds = time.perf_counter() - began
            share = result.mean(lambda posterior: posterior["mu"][..., 0] < posterior["mu"][..., 1])
            print(
                f"{name:9} {seconds:8.1f} {result.n_steps:6} {int(result.resampled.sum()):10} "
                f"{result.n_families:9.1f}  {result.log_evidence!s:22}  {share.value:.3f} ± {share.error:.3f}"
                f"  {len(result.warnings)} warnings",
                flush=True,
            )


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["overhead"]
    {"overhead": overhead, "calibration": calibration, "mixture": mixture}[what](*map(int, rest))
