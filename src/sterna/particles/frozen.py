"""A result whose betas and explorer's parameters another run uses again."""

from sterna.errors import OptionError
from sterna.particles.result import ParticleResult
from sterna.run.runtime import Runtime


def check_frozen(frozen: object, schedule: object, n_rounds: object) -> ParticleResult | None:
    """Check what a user gave as `frozen`, before anything is compiled."""
    ways = [name for name, given in (("schedule", schedule is not None), ("n_rounds", n_rounds != 0)) if given]
    if frozen is not None and not isinstance(frozen, ParticleResult):
        raise OptionError(f"frozen={frozen!r} is not a result of sterna.smc or sterna.ais: give one.")
    if frozen is not None and ways:
        raise OptionError(f"frozen= has the betas of an earlier run, so that {ways[0]}= has no meaning: leave it out.")
    if len(ways) > 1:
        raise OptionError("schedule= gives all betas, and n_rounds= finds them: give one of the two.")
    return frozen


def check_fits(frozen: ParticleResult, runtime: Runtime) -> None:
    """Refuse a result of another target or explorer: compiled code would read beyond its arrays."""
    dimension = frozen.states.shape[2]
    if dimension != runtime.target.dimension:
        raise OptionError(
            f"frozen= is a result of {frozen.target.name} with {dimension} coordinates, and {runtime.target.name} has "
            f"{runtime.target.dimension}: give a result of the same target."
        )
    if frozen.given_explorer != runtime.explorer.name or frozen.parameters.shape[1] != runtime.bound.n_parameters:
        raise OptionError(
            f"frozen= has parameters of the explorer {frozen.given_explorer}, and this run explores by "
            f"{runtime.explorer.name}: give the same explorer."
        )
