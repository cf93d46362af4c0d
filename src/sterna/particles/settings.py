"""The options of a run with particles: what a user gave, checked and filled in."""

from dataclasses import dataclass

from sterna.errors import OptionError
from sterna.particles.anneal import THRESHOLD
from sterna.run.options import MAX_SEED, number_of_workers
from sterna.theory.checks import check_number, check_whole

# Round r has 2**r steps.
MAX_ROUNDS = 24

# The pilot has this share of the particles, and at least so many, but never more than the population of the result.
PILOT_SHARE, MIN_PILOT = 0.25, 100


@dataclass(frozen=True)
class ParticleOptions:
    """What a user gave as options of `sterna.smc` or `sterna.ais`, not yet checked."""

    n_particles: object = 1000
    threshold: object = None
    n_pilot: object = None
    resample_below: object = 0.5
    explorations: object = 1
    rejuvenations: object = 5
    n_rounds: object = 0
    n_steps: object = None
    seed: object = 1
    workers: object = None


@dataclass(frozen=True)
class ParticleSettings:
    """What the user chose for a run with particles, checked."""

    n_particles: int
    threshold: float | None
    """Relative conditional effective sample size of a step, if it chooses the betas."""
    n_pilot: int
    """Particles of the population that chooses betas for that of the result; 0 if there is none."""
    resample_below: float
    """Relative effective sample size below which particles are resampled; 0 for annealed importance sampling."""
    explorations: int
    """How often a step explores each particle."""
    rejuvenations: int
    """How often the resampled draws are explored at the target."""
    n_rounds: int
    """Populations that place the steps of the last."""
    n_steps: int
    """Steps of the last population, if rounds place them; otherwise 0."""
    seed: int
    workers: int

    @property
    def method(self) -> str:
        """ "smc", which resamples, or "ais", which does not."""
        return "ais" if self.resample_below == 0.0 else "smc"


def make_settings(options: ParticleOptions, betas: str | None = None) -> ParticleSettings:
    """Check every option, and fill in those left open; `betas` names the option that gives all betas, if one does."""
    rounds, steps = _rounds_and_steps(options)
    betas = "n_rounds" if rounds > 0 else betas
    n_particles = check_whole("n_particles", options.n_particles, 2, "give at least 2 particles")
    seed = check_whole("seed", options.seed, 0, "give an integer of at least 0, or None to draw one")
    if seed > MAX_SEED:
        raise OptionError(f"seed={seed} is too large: give at most {MAX_SEED}.")
    return ParticleSettings(
        n_particles=n_particles,
        threshold=_threshold(options.threshold, betas),
        n_pilot=_pilot(options.n_pilot, n_particles, betas),
        resample_below=check_number(
            "resample_below",
            options.resample_below,
            0.0,
            "give the relative effective sample size below which to resample, from 0 (never) to 1",
            1.0,
        ),
        explorations=check_whole("explorations", options.explorations, 1, "a step explores at least once"),
        rejuvenations=check_whole("rejuvenations", options.rejuvenations, 0, "give 0 or more explorations at the end"),
        n_rounds=rounds,
        n_steps=steps,
        seed=seed,
        workers=number_of_workers(options.workers),
    )


def _rounds_and_steps(options: ParticleOptions) -> tuple[int, int]:
    """Return the number of rounds, and that of the last population's steps, by default as many as all rounds have."""
    given = options.n_steps
    rounds = check_whole("n_rounds", options.n_rounds, 0, "round r has 2**r steps")
    if rounds > MAX_ROUNDS:
        raise OptionError(f"n_rounds={rounds} is too many, since round r has 2**r steps: give at most {MAX_ROUNDS}.")
    if rounds == 0:
        if given is not None:
            raise OptionError(
                f"n_steps={given!r} needs rounds that place the steps: give n_rounds=, or schedule= with all betas."
            )
        return 0, 0
    default: int = 2 ** (rounds + 1) - 2
    return rounds, check_whole("n_steps", default if given is None else given, 1, "there is at least one step")


def _pilot(value: object, n_particles: int, betas: str | None) -> int:
    """Return the number of particles that choose the betas."""
    if betas is not None:
        if value is not None:
            raise OptionError(f"n_pilot={value!r} has no meaning beside {betas}=, which has the betas: leave it out.")
        return 0
    if value is None:
        return min(n_particles, max(MIN_PILOT, round(PILOT_SHARE * n_particles)))
    advice = "give 2 or more particles, or 0 if the population of the result is to choose its own betas"
    number: int = check_whole("n_pilot", value, 0, advice)
    if number == 1 or number > n_particles:
        raise OptionError(f"n_pilot={value!r} is not valid with n_particles={n_particles}: {advice}, but not more.")
    return number


def _threshold(value: object, betas: str | None) -> float | None:
    """Return the threshold if it chooses the betas."""
    if betas is not None:
        if value is not None:
            raise OptionError(f"threshold={value!r} has no meaning beside {betas}=, which has the betas: leave it out.")
        return None
    if value is None:
        return THRESHOLD
    advice = "give the relative effective sample size that a step leaves, between 0 and 1, such as 0.9999"
    number = check_number("threshold", value, 0.0, advice, 1.0, above=True)
    if number == 1.0:
        raise OptionError(f"threshold={value!r} is not valid: {advice}.")
    return number
