"""Whether to believe a run: each warning says what is wrong, the number, what is normal and what to do."""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from sterna.explorers.base import MOST_DIVERGED
from sterna.result.diagnostics import summary_of
from sterna.result.text import count
from sterna.tuning.batches import student_quantile
from sterna.tuning.chains import MAX_MEAN_REJECTION, SLOW_SHARE, explores_slowly, saturated

if TYPE_CHECKING:
    from sterna.result.result import Result

# With fewer restarts than this the target chain has hardly heard from the reference.
FEW_RESTARTS = 10

# A run without fault is blamed for estimators that disagree once in so many runs, for each of three pairs of them.
ONCE_IN = 10_000

# Shorter tuning rounds are not compared with the sampling phase.
LEAST_SCANS_TO_COMPARE = 256

# R-hat above this means that copies, or the halves of one, tell different stories; it is asked of so many scalars.
HIGH_R_HAT, MOST_SCALARS = 1.05, 20


def warnings_of(result: "Result") -> list[str]:
    """All warnings that a result deserves."""
    checks = (_unknown, _uninformed, _saturated, _restarts, _stuck, _diverged, _evidence, _rounds, _copies)
    return [text for check in checks if (text := check(result)) is not None]


def _unknown(result: "Result") -> str | None:
    """Nothing at all is known where no draw of the reference, or no weight, has been of use."""
    found, share = result.log_evidence, result.last.zero_share
    if share == 1:
        return (
            f"The likelihood is zero at all {result.settings.n_scans * result.settings.n_copies} draws from the "
            "reference (normal: at less than 99 %), so nothing travelled and the evidence is unknown. Take many more "
            "rounds (n_rounds), or a narrower reference."
        )
    if found.valid and found.error <= 1:
        return None
    return (
        f"The evidence is hardly known: {found} (normal: an error below 1). Neighbouring chains do not overlap, or "
        "there are too few scans: take more rounds (n_rounds) and more chains, or a narrower reference."
    )


def _uninformed(result: "Result") -> str | None:
    """A likelihood that never varied, which is what forgotten data look like."""
    energies = result.log_likelihood
    if result.rejection.max() > 0 or not (energies == energies[0, 0]).all():
        return None
    return (
        f"The log-likelihood is {energies[0, 0]:.6g} at all draws (normal: it varies), so the posterior is the "
        "reference. Check that the data reach the likelihood."
    )


def _saturated(result: "Result") -> str | None:
    if result.last.zero_share == 1:
        return None
    # what the reference's zeros reject, more chains cannot mend
    rejection = result.last.rejection_of_possible
    mean, most = float(rejection.mean()), float(rejection.max())
    if mean <= MAX_MEAN_REJECTION and most <= 0.9:
        return None
    if len(rejection) > 2 and rejection[0] > 0.75 and np.delete(rejection, 0).mean() < 0.5:
        return (
            f"The reference is far from its neighbour: {rejection[0]:.0%} of their swaps are rejected, of the others "
            f"{np.delete(rejection, 0).mean():.0%} (normal: all alike). If log_likelihood is hugely negative where it "
            "should be impossible, return -inf there; else take more rounds or a narrower reference."
        )
    wanted = result.recommended_n_chains
    advice = (
        f'take more rounds (n_rounds), so that n_chains="auto" can grow, or n_chains={wanted} or more'
        if result.settings.auto_chains
        else f'take n_chains={wanted} or more, or n_chains="auto"'
    )
    return (
        f"Too few chains: neighbours reject {mean:.0%} of swaps on average and {most:.0%} at most (normal: 30 % to "
        f"60 %). The global barrier is at least {result.global_barrier:.1f}; {advice}."
    )


def _restarts(result: "Result") -> str | None:
    fewest = min(result.last.restarts_of_copies)
    if fewest >= FEW_RESTARTS or result.last.zero_share == 1:
        return None
    possible = result.predicted_restarts / result.settings.n_copies
    advice = "Take more scans (n_rounds or n_scans)"
    if fewest < 0.5 * possible:
        advice += f", or more exploration (explorations={2 * result.explorations})"
    elif saturated(result.last):
        advice = "Take more chains"
    return (
        f"Only {count(fewest, 'restart')} in a copy (normal: at least {FEW_RESTARTS}; the rejections allow "
        f"{possible:.0f}): hardly anything travelled from the reference to the target, so modes may be missed. "
        f"{advice}."
    )


def _stuck(result: "Result") -> str | None:
    if not explores_slowly(result.last):
        return None
    memory = result.energy_autocorrelation
    # the reference's own is 0 by nature
    worst = 1 + int(np.argmax(np.nan_to_num(memory[1:], nan=-1.0)))
    more = 2 * result.settings.n_chains - 1
    return (
        f"Exploration is slow: {result.restarts} restarts where the rejections would allow "
        f"{result.predicted_restarts:.0f} (normal: more than {SLOW_SHARE:.0%} of it). One scan leaves "
        f"{memory[worst]:.0%} of the energy's fluctuation at beta = {result.schedule[worst]:.3g}, the worst (0 % is "
        "independent). Take more exploration in each scan "
        f"(explorations={2 * result.explorations}), another explorer, or more chains (n_chains={more})."
    )


def _diverged(result: "Result") -> str | None:
    """Trajectories that diverge cannot enter regions of high curvature, and everything else looks well."""
    worst = int(result.diverged.argmax())
    share = float(result.diverged[worst])
    if share <= MOST_DIVERGED:
        return None
    return (
        f"Of the trajectories at beta = {result.schedule[worst]:.3g}, {share:.1%} diverged (normal: less than "
        f"{MOST_DIVERGED:.1%}), so the explorer {result.explorer} may not reach narrow parts of the target, such as "
        'the neck of a funnel. Take explorer="slice", or for real variables "automala", which adapt to them.'
    )


def _evidence(result: "Result") -> str | None:
    """Compare estimators that agree if chains overlap and draws are enough; thermodynamic ones do not count."""
    for (first, second), difference in result.last.evidence.differences.items():
        if not difference.valid or not np.isfinite(difference.error):
            continue
        allowed = difference.error * student_quantile(1 - 0.5 / ONCE_IN, difference.freedom)
        # a likelihood that hardly varies leaves rounding alone
        if abs(difference.value) > allowed + 1e-9 * max(1.0, abs(result.evidence[first].value)):
            says = [f"{name.replace('_', ' ')} {result.evidence[name].value:.3f}" for name in (first, second)]
            return (
                f"Estimators of the evidence disagree: {says[0]}, {says[1]} (normal: within {allowed:.3f}, which their "
                "errors allow). Neighbouring chains hardly overlap, or the run has not settled: take more chains or "
                "more scans."
            )
    return None


def _rounds(result: "Result") -> str | None:
    """Compare with the last tuning round: a mode that was found, or lost, in between moves the evidence."""
    if len(result.rounds) < 2 or result.rounds[-2].n_scans < LEAST_SCANS_TO_COMPARE:
        return None
    before, now = result.rounds[-2].log_evidence, result.log_evidence
    moved = now - before
    if not moved.valid or not np.isfinite(moved.error):
        return None
    allowed = moved.error * student_quantile(1 - 0.5 / ONCE_IN, moved.freedom)
    if abs(moved.value) <= allowed + 1e-9 * max(1.0, abs(now.value)):
        return None
    return (
        f"The run has not settled: the last tuning round had log evidence {before}, sampling {now} (normal: within "
        f"{allowed:.3f}, which their errors allow). A mode was found or lost in between: take more scans (n_rounds)."
    )


def _copies(result: "Result") -> str | None:
    """R-hat of the log-likelihood and of the first scalars: all of a large posterior would take too long."""
    scalars = itertools.chain(
        [("log_likelihood", summary_of(result.log_likelihood))], itertools.islice(result.summary_rows(), MOST_SCALARS)
    )
    name, row = max(scalars, key=lambda entry: np.nan_to_num(entry[1]["r_hat"], nan=0.0))
    if not row["r_hat"] > HIGH_R_HAT:
        return None
    settled = result.settings.n_copies > 1 and row["r_hat_within"] <= HIGH_R_HAT
    what = "Copies disagree" if settled else "The target chain has not settled"
    return (
        f"{what}: R-hat of {name} is {row['r_hat']:.2f} over all copies and {row['r_hat_within']:.2f} within the worst "
        f"(normal: below {HIGH_R_HAT}), for an effective sample of {row['ess_bulk']:.0f}. "
        "Take more scans (n_rounds or n_scans)."
    )
