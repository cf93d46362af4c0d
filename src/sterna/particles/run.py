"""A run with particles: populations that place the steps, if there are any, and the population of the result."""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sterna.engine.interrupts import check_interrupts
from sterna.engine.program import EVALUATIONS
from sterna.engine.round import new_copy
from sterna.particles.anneal import Annealed, Guide, anneal
from sterna.particles.display import ParticleDisplay
from sterna.particles.exploration import Particles
from sterna.particles.frozen import check_fits
from sterna.particles.optimised_schedule import optimised_schedule
from sterna.particles.population import Population
from sterna.particles.result import ParticleResult, ParticleRound
from sterna.particles.settings import ParticleSettings
from sterna.particles.start import settled_row
from sterna.result.sampled_target import sampled_target
from sterna.run.checks import check_target
from sterna.run.runtime import Runtime
from sterna.run.start import SECONDS_TO_COMPILE
from sterna.run.tune import ROUNDS_AFTER_TRIALS
from sterna.target.checks.data_names import check_data_names
from sterna.tuning.schedule import uniform_schedule
from sterna.types import FloatArray

# So many of the first particles are starting points for the checks of the target.
CHECKED_PARTICLES = 16


@dataclass(frozen=True)
class Course:
    """What the user gave: betas, or a result whose betas and parameters are used again."""

    schedule: FloatArray | None = None
    frozen: ParticleResult | None = None

    @property
    def first_population(self) -> int:
        """The number of the first population: beyond those of a frozen result, so that it draws other numbers."""
        return 1 if self.frozen is None else self.frozen.population + 1


@dataclass
class Work:
    """Populations of one run, one after the other: the next one's number, evaluations and rounds so far."""

    runtime: Runtime
    settings: ParticleSettings
    display: ParticleDisplay
    next_number: int
    evaluations: tuple[int, int] = (0, 0)
    rounds: tuple[ParticleRound, ...] = ()

    def new_population(self, n_particles: int) -> Population:
        """Draw the next population from the reference."""
        number, self.next_number = self.next_number, self.next_number + 1
        settings = replace(self.settings, n_particles=n_particles)
        return Population(new_particles(self.runtime, settings, number))

    def anneal(self, population: Population, guide: Guide, phase: str) -> Annealed:
        """Take a population to the target."""
        self.display.begin(phase, None if guide.schedule is None else len(guide.schedule) - 1)
        return anneal(population, guide, self.display.step)

    def count(self, population: Population) -> None:
        """Add the evaluations of a population that is done."""
        evaluations, gradients = population.particles.evaluations
        self.evaluations = self.evaluations[0] + evaluations, self.evaluations[1] + gradients

    def finish_round(self, population: Population, annealed: Annealed) -> None:
        """Keep what a round has measured."""
        self.count(population)
        estimate, n_resampled = population.evidence.estimate, int(annealed.resampled.sum())
        self.rounds += (ParticleRound(annealed.schedule, annealed.conditional_ess, estimate, n_resampled),)


def new_particles(runtime: Runtime, settings: ParticleSettings, number: int = 0) -> Particles:
    """Return particles that are not drawn yet."""
    return Particles(runtime, settings.n_particles, settings.explorations, settings.seed, number)


def check_first_particles(runtime: Runtime, population: Population) -> None:
    """Compare the target's functions with each other at some particles, which are draws from the reference."""
    particles = population.particles
    n = min(CHECKED_PARTICLES, particles.n_alive)
    starts = new_copy(max(n, 2), runtime.target.dimension)
    chosen = np.arange(len(starts.states)) % n
    starts.states[:] = particles.states[chosen]
    starts.log_densities[:, :EVALUATIONS] = particles.copy.log_densities[chosen, :EVALUATIONS]
    check_target(runtime, particles.seed, (starts,))


def run_populations(
    runtime: Runtime,
    settings: ParticleSettings,
    course: Course,
    display: ParticleDisplay,
    began: float,
    notes: tuple[str, ...] = (),
) -> ParticleResult:
    """Run all populations; `began` is when the user's call began, for the time of compilation."""
    if course.frozen is not None:
        check_fits(course.frozen, runtime)
    notes += check_data_names(runtime.target)
    with display.working("compiling the engine", SECONDS_TO_COMPILE):
        new_particles(runtime, settings).load()
    work = Work(runtime, settings, display, course.first_population)
    population = work.new_population(settings.n_pilot or settings.n_particles)
    check_first_particles(runtime, population)
    compiled = time.perf_counter()
    population, guide = place_steps(work, population, first_guide(work, course))
    tuned = time.perf_counter()
    annealed = work.anneal(population, guide, "annealing")
    # nothing was adapted on the way: parameters were given, or are not tuned and the betas were given
    untuned = guide.schedule is not None and bool((annealed.parameters == annealed.parameters[0]).all())
    result = finish(work, population, annealed, guide.parameters is not None or untuned, notes)
    seconds = {"compile": compiled - began, "tuning": tuned - compiled, "sampling": time.perf_counter() - tuned}
    return replace(result, timing=seconds)


def first_guide(work: Work, course: Course) -> Guide:
    """Return what the first population follows."""
    settings, bound = work.settings, work.runtime.bound
    if settings.n_rounds == 0:
        row = settled_row(work.runtime, settings.seed)
    else:
        row = bound.start(partial(work.runtime.draw_reference, settings.seed))
    guide = Guide(row, course.schedule, resample_below=settings.resample_below)
    if settings.threshold is not None:
        guide = replace(guide, threshold=settings.threshold)
    if course.frozen is not None:
        return replace(guide, schedule=course.frozen.schedule, parameters=course.frozen.parameters)
    if settings.n_rounds > 0:
        return replace(guide, schedule=uniform_schedule(3), parameters=np.tile(row, (3, 1)), keeps_statistics=True)
    return guide


def place_steps(work: Work, population: Population, guide: Guide) -> tuple[Population, Guide]:
    """Anneal the populations before that of the result, if there are any; return it and what it follows."""
    settings = work.settings
    for number in range(1, settings.n_rounds + 1):
        guide = run_round(work, population, guide, number)
        population = work.new_population(settings.n_particles)
    if settings.n_pilot > 0:
        guide = run_pilot(work, population, guide)
        population = work.new_population(settings.n_particles)
    return population, guide


def run_pilot(work: Work, population: Population, guide: Guide) -> Guide:
    """Let a population choose betas and tune the explorer; return the guide with both.

    A population that chooses its own betas has a bias: the length of a step depends on the spread of its
    log-likelihoods, and the spread of a sample is correlated with its mean if their distribution is skewed.
    """
    annealed = work.anneal(population, guide, "pilot")
    work.finish_round(population, annealed)
    return replace(guide, schedule=annealed.schedule, parameters=annealed.parameters)


def run_round(work: Work, population: Population, guide: Guide, number: int) -> Guide:
    """Anneal a population; return what the next one follows: betas at equal distances, and a tuned explorer."""
    settings, bound = work.settings, work.runtime.bound
    annealed = work.anneal(population, guide, f"round {number}")
    work.finish_round(population, annealed)
    is_last = number == settings.n_rounds
    n_steps = settings.n_steps if is_last else 2 ** (number + 1)
    schedule = optimised_schedule(annealed.schedule, annealed.conditional_ess, n_steps)
    parameters = bound.tune(annealed.parameters, annealed.statistics)
    if number >= settings.n_rounds - ROUNDS_AFTER_TRIALS:
        parameters = bound.settle(parameters, annealed.statistics)
    carried = bound.carry(parameters, annealed.schedule, schedule)
    return replace(guide, schedule=schedule, parameters=carried, keeps_statistics=not is_last)


def finish(
    work: Work, population: Population, annealed: Annealed, frozen: bool, notes: tuple[str, ...]
) -> ParticleResult:
    """Resample to equal weights, rejuvenate at the target, and return the result; its timing is left empty."""
    runtime, particles, evidence = work.runtime, population.particles, population.evidence
    weighted = particles.states.copy(), population.log_weights, particles.log_likelihood.copy()
    population.resample(len(annealed.steps) + 1)
    parameters = annealed.parameters
    for k in range(work.settings.rejuvenations):
        particles.explore(1.0, parameters[-1], len(annealed.steps) + 1 + k)
        check_interrupts()
    work.count(population)
    _, families = np.unique(population.families, return_inverse=True)
    return ParticleResult(
        target=sampled_target(runtime.target),
        explorer=runtime.bound.chosen(parameters) or runtime.explorer.name,
        settings=work.settings,
        frozen=frozen,
        log_evidence=evidence.estimate,
        schedule=annealed.schedule,
        ess=annealed.ess,
        conditional_ess=annealed.conditional_ess,
        resampled=annealed.resampled,
        log_ratios=annealed.log_ratios,
        energy_autocorrelation=annealed.memory,
        diverged=annealed.diverged,
        zero_share=population.zero_share,
        weighted_states=weighted[0],
        log_weights=weighted[1],
        weighted_log_likelihood=weighted[2],
        n_families=evidence.n_families,
        tail_shape=evidence.tail_shape,
        states=particles.states[None].copy(),
        log_likelihood=particles.log_likelihood[None].copy(),
        families=families.reshape(1, -1).astype(np.int64),
        parameters=parameters,
        given_explorer=runtime.explorer.name,
        population=particles.number,
        rounds=work.rounds,
        evaluations=work.evaluations[0],
        gradient_evaluations=work.evaluations[1],
        timing={},
        notes=[
            *runtime.target.notes,
            *runtime.bound.python,
            *runtime.teams.notes,
            *notes,
            *runtime.teams.notes_of_deaths(),
        ],
    )
