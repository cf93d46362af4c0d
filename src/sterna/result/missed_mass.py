"""The warning of mass that a run has missed, and what the report says about the search for it."""

import math
from typing import TYPE_CHECKING

import numpy as np

from sterna.ground.values import REAL
from sterna.result.advice import SAME_POSTERIOR, longer_run
from sterna.result.text import count
from sterna.search.light_reference import MAX_SHAPE

if TYPE_CHECKING:
    from sterna.result.result import Result

# What lets replicas find a place, and the others not lose theirs: with less of it, modes are lost along the path.
NEARBY = (
    "a reference that draws some values from around this point, some from around the draws, and some from the present "
    f"reference (help(sterna.Reference) has an example; {SAME_POSTERIOR})"
)


def missed_mass(result: "Result") -> str | None:
    """Warn if the target has mass that neither the draws nor the evidence account for."""
    missed = [one for one in result.search.discrepancies if one.missed]
    if not missed:
        return None
    worst, others = missed[0], len(missed) - 1
    more = f" and at {count(others, 'other place')}" if others else ""
    share = 1.0 / (1.0 + math.exp(min(result.log_evidence.value - worst.log_mass, 700.0)))
    all_real = all(v.value_type == REAL for v in result.target.space.variables)
    evolution = ', or try explorer="evolution"' if all_real and result.explorer != "evolution" else ""
    fitted = f'path="fitted" and {longer_run(result, 4)}, or ' if _may_be_fitted(result) else ""
    return (
        f"Mass was missed near {point(result, worst.centre)}{more}: the density there has a log mass of at least "
        f"{worst.log_mass:.2f}, by importance sampling around an optimum, and the draws ({worst.share:.2%} of them are "
        f"there) and the evidence ({result.log_evidence}) allow at most {worst.log_allowed:.2f} (normal: the former is "
        f"below the latter). The posterior has about {share:.0%} of its mass there, so neither draws nor evidence can "
        f"be trusted. A longer run rarely helps. Use {fitted}{NEARBY}{evolution}."
    )


def _may_be_fitted(result: "Result") -> bool:
    """Whether the path could have begun at a fitted mixture, and did not."""
    space = result.target.space
    on_lines = all(v.value_type == REAL and not v.periodic for v in space.variables)
    return on_lines and result.other_path is None and (space.map is None or not space.map.mixes)


def evidence_too_large(result: "Result") -> str | None:
    """Warn if evidence and draws claim more mass at some place than there is."""
    claimed = [one for one in result.search.discrepancies if not one.missed]
    if not claimed:
        return None
    worst = claimed[0]
    return (
        f"The evidence is too large, or too many draws are near {point(result, worst.centre)}: the density there has a "
        f"log mass of at most {worst.log_mass:.2f}, by importance sampling, and the evidence ({result.log_evidence}) "
        f"times the share of draws ({worst.share:.0%}) is at least {worst.log_allowed:.2f} (normal: the former is "
        "above the latter). Some chains have found a mode that others have not, which a longer run improves only "
        f"slowly: use {longer_run(result, 4)} or more, or {NEARBY}."
    )


def light_tails(result: "Result") -> str | None:
    """Warn if the draws have missed a tail because the reference has hardly any mass there."""
    advice = (
        "A longer run does not help. Use a reference with heavier tails, such as sterna.StudentT or sterna.Cauchy "
        f"instead of sterna.Normal or sterna.FittedReference ({SAME_POSTERIOR})."
    )
    what, upper = "The tails of the reference are lighter than those of the target", result.search.upper_tail
    if not result.search.tails:
        if not upper.is_heavy:
            return None
        return (
            f"{what}: far out the likelihood grows without bound, and the highest log-likelihoods of the draws have "
            f"a Pareto shape of {upper.shape:.2f} (normal: below {MAX_SHAPE}). So replicas from the reference do not "
            f"know the tails, and tail probabilities and the evidence have larger errors than stated. {advice}"
        )
    worst = result.search.tails[0]
    name = coordinate(result, worst.coordinate)
    sides = [f"{name} < {worst.low:.4g}"] * math.isfinite(worst.low) + [f"{name} > {worst.high:.4g}"] * math.isfinite(
        worst.high
    )
    others = len({tail.coordinate for tail in result.search.tails}) - 1
    more = f" (and in {count(others, 'other coordinate')})" if others else ""
    return (
        f"{what}: {' or '.join(sides)} "
        f"has a probability of at least {worst.probability:.2%} by integrals of the density along "
        f"this coordinate{more}, and {worst.share:.2%} of the draws, which allow at most {worst.allowed:.2%} (normal: "
        "the former is below the latter). So tail probabilities and the evidence are wrong. "
        f"{advice}"
    )


def coordinate(result: "Result", index: int) -> str:
    """Name a coordinate of the state by its variable."""
    if result.target.space.map is None and result.target.view is None:
        for v in result.target.space.variables:
            if v.start <= index < v.stop and v.transform == "none" and v.affine is None:
                entry = ",".join(map(str, np.unravel_index(index - v.start, v.shape))) if v.shape else ""
                return f"{v.name}[{entry}]" if entry else v.name
    return f"coordinate {index} of the state"


def search_line(result: "Result") -> str:
    """Return the report's line about the search for missed mass."""
    search = result.search
    if search.climbs == 0:
        return f"not searched for: {search.skipped or 'the run had too few evaluations to pay for a climb'}"
    found = f"{count(search.climbs, 'climb')} to {search.optima} {'optimum' if search.optima == 1 else 'optima'}"
    return f"{found}; {_comparison(result)}"


def _comparison(result: "Result") -> str:
    """Say what was found at the optima, or why nothing could be."""
    search = result.search
    if search.discrepancies or search.tails:
        return "see the warning"
    if search.skipped:
        return f"the search did not reach its end: {search.skipped}"
    if search.masses > 0:
        return "none missed around them"
    if search.optima == 0:
        return "nothing that could be compared with the draws"
    if not math.isfinite(result.log_evidence.error):
        return "not compared with the draws, because the error of the evidence is unknown"
    return "not compared with the draws, because the run had too few evaluations"


def point(result: "Result", state: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> str:
    """Name a point by its variables, or by its coordinates if the result does not know its variables."""
    try:
        values = result.target.values(state[None])
    except Exception:
        return f"the state {np.array2string(state, precision=3, threshold=6)}"
    parts = [
        f"{name}={np.array2string(np.asarray(value[0]), precision=3, threshold=6, edgeitems=2)}"
        for name, value in list(values.items())[:4]
    ]
    return ", ".join(parts).replace("\n", "") + (", ..." if len(values) > 4 else "")
