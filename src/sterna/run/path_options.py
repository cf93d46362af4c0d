"""Whether a run may begin at a fitted mixture, and whether it tries that by default."""

from sterna.errors import OptionError
from sterna.ground.values import REAL
from sterna.result.settings import Settings
from sterna.run.runtime import Runtime
from sterna.target.mixture_target import MixtureTarget
from sterna.target.prepared import PreparedTarget

# The path from the mixture does not begin before this round.
FIRST_ROUND = 2

# By default it is tried in runs of at least so many rounds, fewer if evaluations are expensive.
LEAST_ROUNDS, LEAST_ROUNDS_IF_EXPENSIVE = 9, 5


def check_path(target: PreparedTarget, path: str, n_rounds: int) -> None:
    """Refuse a fitted mixture where there can be none."""
    if path != "fitted":
        return
    reason = reason_for_prior(target, n_rounds)
    if reason:
        raise OptionError(f'path="fitted" is not possible, because {reason}: give path="prior", or leave it out.')


def check_explorer(runtime: Runtime, path: str) -> None:
    """Refuse an explorer that the user has named if it cannot explore along the path from a fitted mixture."""
    if path != "fitted" or runtime.explorer_is_default:
        return
    try:
        runtime.explorer.bind(MixtureTarget(runtime.target))
    except OptionError as error:
        raise OptionError(
            f"explorer={runtime.explorer} cannot explore along the path from a fitted mixture, which is neither normal "
            'nor a set of named distributions: use another explorer, such as sterna.Slice(), or path="prior".'
        ) from error


def reason_for_prior(target: PreparedTarget, n_rounds: int) -> str:
    """Say why no mixture can be fitted; empty if one can."""
    program = target.program
    if n_rounds < FIRST_ROUND + 2:
        return f"a mixture is fitted in several tuning rounds, and n_rounds={n_rounds} is less than {FIRST_ROUND + 2}"
    if target.fitted is not None:
        return "the reference is a FittedReference, which is fitted already"
    names = [v.name for v in target.space.variables if (program.value_type[v.start : v.stop] != REAL).any()]
    if names:
        return f"{', '.join(names)} is not real, and a mixture of normal distributions cannot be fitted to it"
    names = [v.name for v in target.space.variables if v.periodic]
    if names:
        return f"{', '.join(names)} is periodic, and a mixture of normal distributions cannot be fitted to it"
    return target.unnormalized


def reason_against_trial(runtime: Runtime, settings: Settings) -> str:
    """Say why the path from a mixture is not tried by default; empty if it is."""
    target = runtime.target
    reason = reason_for_prior(target, settings.n_rounds)
    if reason:
        return reason
    cost = target.measured_cost
    least = LEAST_ROUNDS_IF_EXPENSIVE if cost is not None and cost.expensive else LEAST_ROUNDS
    if settings.n_rounds < least:
        return f"a search for modes needs more than n_rounds={settings.n_rounds}"
    if not settings.auto_chains:
        return "the number of chains was given"
    if target.program.likelihood_change != 0:
        return "the target has a local change, which is cheaper than an evaluation along another path"
    if not runtime.explorer_is_default or target.explorer is not None:
        return "the explorer was given, and may not suit another path"
    return ""
