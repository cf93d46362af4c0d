"""Many populations with one schedule and one explorer, whose mean evidence is compared with the exact one."""

import math
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from sterna.particles.anneal import Guide, anneal
from sterna.particles.display import ParticleDisplay
from sterna.particles.population import Population
from sterna.particles.run import Course, Work, first_guide, new_particles, place_steps
from sterna.particles.runtime import particle_runtime
from sterna.particles.settings import ParticleOptions, make_settings
from sterna.run.display import Display


@contextmanager
def opened(target, explorer=None, **options):
    """Yield what runs populations of a target, and their settings."""
    settings = make_settings(ParticleOptions(**{"workers": 1, **options}))
    with particle_runtime(target.prepare(), explorer, settings, 1, Display()) as runtime:
        yield runtime, settings


@dataclass(frozen=True)
class Many:
    """Log evidences of independent populations, with their errors."""

    values: np.ndarray
    errors: np.ndarray
    intervals: list[tuple[float, float]]

    def distance(self, exact):
        """Return how many standard errors the mean of Z is away from its exact value."""
        ratio = np.exp(self.values - exact)
        return (ratio.mean() - 1.0) / (ratio.std(ddof=1) / math.sqrt(len(ratio)))


def frozen_guide(runtime, settings, schedule):
    """Return a guide whose parameters were tuned by a population of another seed along the schedule."""
    first = runtime.bound.start(lambda n: runtime.draw_reference(settings.seed + 10**6, n))
    guide = Guide(first, np.asarray(schedule), resample_below=settings.resample_below)
    population = Population(new_particles(runtime, replace(settings, seed=settings.seed + 10**6, n_particles=500)))
    return replace(guide, parameters=anneal(population, guide).parameters)


def many_of(estimates):
    """Return the estimates of independent runs together."""
    values, errors = (np.array([getattr(one, name) for one in estimates]) for name in ("value", "error"))
    return Many(values, errors, [one.interval() for one in estimates])


def run_as_users_do(target, runs, explorer=None, **options):
    """Run whole runs of seeds 1, 2, ..., with the populations that place the steps."""
    estimates = []
    with opened(target, explorer, **options) as (runtime, settings):
        for seed in range(1, runs + 1):
            work = Work(runtime, replace(settings, seed=seed), ParticleDisplay(Display(), settings), 1)
            population = work.new_population(settings.n_pilot or settings.n_particles)
            population, guide = place_steps(work, population, first_guide(work, Course()))
            anneal(population, guide)
            estimates.append(population.evidence.estimate)
    return many_of(estimates)


def run_many(target, schedule, runs, explorer=None, **options):
    """Run populations of seeds 1, 2, ... with everything frozen."""
    estimates = []
    with opened(target, explorer, **options) as (runtime, settings):
        guide = frozen_guide(runtime, settings, schedule)
        for seed in range(1, runs + 1):
            population = Population(new_particles(runtime, replace(settings, seed=seed)))
            anneal(population, guide)
            estimates.append(population.evidence.estimate)
    return many_of(estimates)
