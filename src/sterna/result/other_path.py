"""The path from the prior beside the path from a fitted mixture: what it found, and whether the two agree."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sterna.result.advice import longer_run
from sterna.result.convergence import RUNS_PER_FALSE_ALARM
from sterna.result.settings import MAX_COORDINATES, MAX_SCREENED, MAX_SEARCH, WHOLE_SEARCH
from sterna.result.text import count
from sterna.search.mixture import Mixture
from sterna.search.search import MAX_OPTIMA
from sterna.tuning.estimate import Estimate, student_quantile
from sterna.tuning.rounds import Round

if TYPE_CHECKING:
    from sterna.result.result import Result

# If a larger share of the target's draws belongs to no component, the mixture does not describe the target.
MAX_OUTSIDE = 0.1

# If a larger share of the reference leads to modes that no climb has found, the mixture lacks modes. By the estimate of
# Good and Turing; with fewer climbs there is none.
MAX_UNSEEN, LEAST_CLIMBS = 0.1, 4

# An optimum outside of all components is a mode that the mixture lacks if it has this share of the mass, by Laplace's
# method.
LEAST_MASS = 0.02

# If fewer of the modes that are half as wide as the narrowest known one would be noticed, narrow ones may be missing.
LEAST_NOTICED = 0.25


@dataclass(frozen=True)
class OtherPath:
    """What a run whose path began at a fitted mixture knows besides."""

    mixture: Mixture
    """On the unconstrained line."""
    outside: float
    """Lower bound (99.9 %) of the share of the target that is in no component, by the draws."""
    round: Round
    """The sampling phase of the path from the prior."""
    outside_from_prior: float
    """The same by the draws of the path from the prior."""
    evaluations: int
    """Likelihood evaluations along the path from the prior, which are part of all evaluations."""

    @property
    def log_evidence(self) -> Estimate:
        """The evidence by the path from the prior alone."""
        return self.round.log_evidence

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and lists that JSON can hold."""
        return {
            "weights": self.mixture.weights.tolist(),
            "outside": self.outside,
            "log_evidence": self.log_evidence.to_dict(),
            "schedule": self.round.schedule.tolist(),
            "global_barrier": self.round.barrier.total,
            "restarts": self.round.restarts,
            "n_scans": self.round.n_scans,
            "outside_from_prior": self.outside_from_prior,
            "evaluations": self.evaluations,
        }


def path_lines(result: "Result") -> list[tuple[str, str]]:
    """Return what the report says about the path, as pairs of a name and a text."""
    other, why = result.other_path, result.why_path
    if other is None:
        return [("path", why or "from the reference")]
    found, components = other.round, count(len(other.mixture.weights), "component")
    return [
        ("path", f"from a fitted mixture of {components}{', ' if why else ''}{why}"),
        (
            "",
            f"beside it from the reference: {count(found.n_scans, 'scan')} of {count(found.n_chains, 'chain')}, "
            f"barrier {found.barrier.total:.2f}, {count(found.restarts, 'restart')}, log evidence {other.log_evidence}"
            + ("" if np.isfinite(other.log_evidence.error) else ": too few restarts to compare"),
        ),
    ]


def disagreeing_paths(result: "Result") -> str | None:
    """Warn if the path from the prior has found more mass than the path from the mixture."""
    other = result.other_path
    if other is None:
        return None
    more = other.log_evidence - result.log_evidence
    if not more.valid or not np.isfinite(more.error):
        return None
    allowed = more.error * student_quantile(1 - 1.0 / RUNS_PER_FALSE_ALARM, more.freedom)
    if more.value <= allowed:
        return None
    return (
        f"The path from the reference found more mass than the path from the fitted mixture: a log evidence of "
        f"{other.log_evidence} and of {result.log_evidence} (normal: no more than {allowed:.3f} larger, given their "
        "errors). The mixture lacks a mode, so neither draws nor evidence can be trusted: use "
        f'{longer_run(result, 4)}, which searches for longer, or path="prior".'
    )


def draws_outside_the_mixture(result: "Result") -> str | None:
    """Warn if many draws belong to no component, of either path."""
    other = result.other_path
    if other is None:
        return None
    # hardly any restart: its draws are not the target's
    beside = other.outside_from_prior if np.isfinite(other.log_evidence.error) else 0.0
    share = max(other.outside, beside)
    if share <= MAX_OUTSIDE:
        return None
    where = "drawn along the path from the reference belong" if beside > other.outside else "belong"
    return (
        f"At least {share:.0%} of the draws {where} to no component of the fitted "
        f"mixture (normal: less than {MAX_OUTSIDE:.0%}), so it does not describe the target. Compare with "
        f'path="prior", or use {longer_run(result, 4)}.'
    )


def mode_outside_the_mixture(result: "Result") -> str | None:
    """Warn if the search at the end met a mode with mass that has no component."""
    other, optima = result.other_path, result.search.found.optima
    # as many optima as a search keeps are those of a ridge or a shell, where Laplace's method is wrong
    if other is None or len(optima) >= MAX_OPTIMA or not result.log_evidence.valid:
        return None
    # what draws and evidence contradict has its own warning
    if result.search.discrepancies:
        return None
    new = [one for one in optima if one.log_mass > result.log_evidence.value + math.log(LEAST_MASS)]
    new = [one for one in new if other.mixture.nearest(one.point[None])[0] < 0]
    if not new:
        return None
    mass = min(1.0, math.exp(new[0].log_mass - result.log_evidence.value))
    return (
        f"A mode that the fitted mixture lacks was met while sampling: by its curvature it holds about {mass:.0%} of "
        f"the mass (normal: less than {LEAST_MASS:.0%}). It is reached less often than the others, so compare with "
        f'path="prior", or use {longer_run(result, 4)}, which searches for longer.'
    )


def modes_seen_by_few_climbs(result: "Result") -> str | None:
    """Warn if there are several modes, and so few climbs to each that others are likely."""
    found, number = result.modes.unseen, len(result.modes)
    if result.other_path is None or number < 2 or (found.climbs >= LEAST_CLIMBS and found.share <= MAX_UNSEEN):
        return None
    return (
        f"The target has {number} modes, and others are likely: of {count(found.climbs, 'climb')} from independent "
        f"draws of the reference, {found.once} led to a mode that no other found (normal: at most {MAX_UNSEEN:.0%} of "
        f"at least {LEAST_CLIMBS}), so the mixture probably lacks modes. Use {longer_run(result, 4)}, which searches "
        'for longer, or path="prior".'
    )


def narrow_modes_may_be_missing(result: "Result") -> str | None:
    """Warn if there are several modes, and the search would have overlooked one that is half as wide as the others."""
    planted, number = result.modes.planted, result.modes.with_mass
    if number < 2 or not planted.shares or planted.half_as_wide >= LEAST_NOTICED:
        return None
    if _cannot_search_more(result):
        advice = (
            "No larger search= looks at more draws. If you know of others, let explorer=sterna.Leaps(...) reach them, "
            "or narrow the reference to where they may be."
        )
    else:
        search = min(10 * (result.settings.search or WHOLE_SEARCH), MAX_SEARCH)
        advice = f"If there may be others, use search={search:g}, which evaluates more draws of the reference."
    return (
        f"The target has {number} modes, and narrower ones may be missing: a mode with a tenth of the mass and half "
        f"the width of the narrowest one would have been noticed at {planted.half_as_wide:.0%} of the places (normal: "
        f"at {LEAST_NOTICED:.0%} or more). Weights and evidence are those of the modes that were found. {advice}"
    )


def _cannot_search_more(result: "Result") -> bool:
    """Whether the search had its largest budget, or has looked at as many draws as it ever does."""
    most = min(MAX_SCREENED, MAX_COORDINATES // max(result.states.shape[-1], 1))
    return (result.settings.search or 0.0) >= MAX_SEARCH or result.modes.planted.draws >= most
