"""What particles need of this process: the runtime of parallel tempering, with a chain for each group of particles."""

from collections.abc import Iterator
from contextlib import contextmanager

from sterna.engine.program import N_LOG_DENSITIES
from sterna.explorers.base import Explorer
from sterna.explorers.slice import Slice
from sterna.ground.numbers import whole_number
from sterna.particles.exploration import n_groups_of
from sterna.particles.settings import ParticleSettings
from sterna.result.settings import Settings
from sterna.run.display import Display
from sterna.run.running import running
from sterna.run.runtime import Runtime
from sterna.target.prepared import PreparedTarget
from sterna.target.target import Target
from sterna.theory.checks import check_whole

# Numbers for each coordinate of a particle: the state, those of the result, and the share of what an explorer learns.
NUMBERS_PER_COORDINATE = 4


def own_explorer(target: Target | PreparedTarget) -> Explorer:
    """Return the target's own explorer, or slice sampling, which suits any step of any target.

    The default of parallel tempering is found by trials in tuning rounds, which a population does not have.
    """
    own: Explorer | None = target.explorer
    return own or Slice()


def explorer_of(explorer: object, target: Target | PreparedTarget) -> object:
    """Return the user's explorer, or the one that needs no trials."""
    return own_explorer(target) if explorer is None else explorer


@contextmanager
def particle_runtime(
    target: PreparedTarget, explorer: object, settings: ParticleSettings, workers: object, display: Display
) -> Iterator[Runtime]:
    """Open what a run needs of this process, and close it at the end."""
    numbers = NUMBERS_PER_COORDINATE * target.dimension + N_LOG_DENSITIES
    check_whole("n_particles", settings.n_particles, 2, "give fewer particles", 8 * numbers)
    as_chains = Settings(
        n_chains=n_groups_of(target, settings.n_particles) + 1,
        n_rounds=0,
        n_scans=1,
        n_copies=1,
        scheme="deo",
        keep="target",
        thin=1,
        seed=settings.seed,
        workers=settings.workers,
        explorations=settings.explorations,
    )
    if whole_number(workers) is not None:
        workers = settings.workers
    with running(target, explorer_of(explorer, target), as_chains, workers, display) as (runtime, _):
        yield runtime
