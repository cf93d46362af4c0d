"""Log-likelihoods of neighbouring chains, whose densities have the ratio exp((beta' - beta) log L) up to a factor.

With F = 1 / (1 + exp(pivot - (beta' - beta) log L)) that means rho E'[(1 - F) g] = E[F g] for every function g of the
log-likelihood, where E and E' are means at beta and beta' and rho is one number for all g. Bennett's sums give rho for
g = 1, F and 1 - F, from means of terms between 0 and 1. The three must agree.
"""

import numpy as np

from sterna.engine.record import Bridges, Record
from sterna.result.check_report import NOT_CHECKED, OK, PROBLEM
from sterna.run.check.recorded import LEVEL, Recorded
from sterna.run.goals import MIN_RESTARTS
from sterna.tuning.batches import Batches, errors_and_freedom, merge
from sterna.tuning.estimate import student_quantile
from sterna.types import BoolArray, FloatArray

# Means of fewer effective terms, and errors with fewer degrees of freedom, say too little.
MIN_TERMS, MIN_FREEDOM = 30.0, 5.0


def check_energies(recorded: Recorded) -> tuple[str, str]:
    """The log-likelihoods of all neighbours are related as their betas say."""
    if recorded.restarts < MIN_RESTARTS * len(recorded.records):
        return NOT_CHECKED, f"{recorded.restarts} restarts are too few to compare neighbouring chains"
    batches = merge(_of_equal_length(recorded))
    scores, limits, judged = _scores(batches)
    n_pairs = recorded.n_chains - 1
    if not judged.any():
        return NOT_CHECKED, "neighbouring chains hardly overlap, so that nothing can be compared"
    over = np.where(judged, np.abs(scores) / limits, 0.0)
    _, pair = np.unravel_index(int(over.argmax()), over.shape)
    score, limit = float(scores.flat[int(over.argmax())]), float(limits.flat[int(over.argmax())])
    if over.max() > 1:
        low, high = recorded.schedule[pair], recorded.schedule[pair + 1]
        return PROBLEM, (
            f"the log-likelihoods at beta {low:.4g} and {high:.4g} are not related as their betas say: two estimates "
            f"of the ratio of their evidences are {abs(score):.1f} standard errors apart (normal: below {limit:.1f}). "
            "Chains do not have their distributions: exploration does not reach all of them, a function is not one of "
            "its arguments alone, or swaps are wrong."
        )
    return OK, (
        f"those of {int(judged.any(axis=0).sum())} of {n_pairs} pairs of chains are related as their betas say: "
        f"estimates differ by at most {abs(score):.1f} standard errors (normal: below {limit:.1f})"
    )


def _of_equal_length(recorded: Recorded) -> list[Record]:
    """Return the records of copies that have as many batches as the first."""
    n = len(recorded.records[0].scans)
    return [record for record in recorded.records if len(record.scans) == n]


def _scores(batches: Batches) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return differences in standard errors, (2, pairs), how large these may be, and whether they count."""
    bridge = batches.bridge
    up, down = bridge[Bridges.forward], bridge[Bridges.backward]
    lower, upper = bridge[Bridges.lower_product], bridge[Bridges.upper_product]
    n = float(batches.scans.sum())
    first, terms = _log_ratio(batches, up, down)
    found = []
    # g = F: F^2 at the lower chain and F (1 - F) at the upper one; g = 1 - F: F (1 - F) and (1 - F)^2
    for above, below in ((up - lower, upper), (lower, down - upper)):
        other, some = _log_ratio(batches, above, below)
        difference, influence = other[0] - first[0], other[1] - first[1]
        errors, freedom = errors_and_freedom(np.moveaxis(influence, 2, 0))
        enough = (np.minimum(terms, some) * n >= MIN_TERMS) & (freedom >= MIN_FREEDOM)
        with np.errstate(all="ignore"):
            score = difference / errors
        found.append((score, freedom, enough & np.isfinite(score)))
    scores, judged = np.stack([one[0] for one in found]), np.stack([one[2] for one in found])
    freedoms: FloatArray = np.stack([one[1] for one in found])
    share = LEVEL / (2 * scores.size)
    limits = np.array([-student_quantile(share, float(one)) for one in freedoms.ravel()]).reshape(scores.shape)
    return scores, limits, judged


def _log_ratio(
    batches: Batches, above: FloatArray, below: FloatArray
) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
    """Return the logarithm of the ratio of two means with its influence, and the smaller of the means.

    Terms are between 0 and 1, so that their mean times their number is at most how many count.
    """
    with np.errstate(all="ignore"):
        top, bottom = batches.mean(above), batches.mean(below)
        influence = batches.influence(above) / top - batches.influence(below) / bottom
        return (np.log(top) - np.log(bottom), influence), np.minimum(top, bottom)
