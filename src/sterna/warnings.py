"""Whether to believe a run: each warning says what is wrong, the number, what is normal and what to do."""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from sterna.diagnostics import summary_of
from sterna.theory.rates import optimal_n_chains
from sterna.tuning.barrier import barrier_if_normal
from sterna.tuning.batches import student_quantile
from sterna.tuning.chains import SATURATED, SLOW_SHARE, explores_slowly

if TYPE_CHECKING:
    from sterna.result import Result

# With fewer restarts than this the target chain has hardly heard from the reference.
FEW_RESTARTS = 10

# A run without fault is blamed for estimators that disagree once in so many runs, for each of three pairs of them.
ONCE_IN = 10_000

# R-hat above this means that copies, or the halves of one, tell different stories; it is asked of so many scalars.
HIGH_R_HAT, MOST_SCALARS = 1.05, 20


def warnings_of(result: "Result") -> list[str]:
    """All warnings that a result deserves."""
    checks = (_saturated, _restarts, _stuck, _evidence, _copies)
    return [text for check in checks if (text := check(result)) is not None]


def _saturated(result: "Result") -> str | None:
    # what the reference's zeros reject, more chains cannot mend
    rejection = result.last.rejection_of_possible
    mean, most = float(rejection.mean()), float(rejection.max())
    if mean <= SATURATED and most <= 0.9:
        return None
    if len(rejection) > 2 and rejection[0] > 0.75 and np.delete(rejection, 0).mean() < 0.5:
        return (
            f"The reference is far from its neighbour: {rejection[0]:.0%} of their swaps are rejected, of the others "
            f"{np.delete(rejection, 0).mean():.0%} (normal: all alike). If log_likelihood is hugely negative where it "
            "should be impossible, return -inf there; else take more rounds or a narrower reference."
        )
    wanted = max(2 * result.settings.n_chains, optimal_n_chains(barrier_if_normal(rejection)))
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
    if fewest >= FEW_RESTARTS:
        return None
    possible = result.predicted_restarts / result.settings.n_copies
    return (
        f"Only {fewest} restarts in a copy, where its rejections allow {possible:.0f}: hardly anything travelled from "
        f"the reference to the target, so modes may be missed (normal: at least {FEW_RESTARTS} in each copy). "
        "Take more scans (n_rounds or n_scans), or more exploration."
    )


def _stuck(result: "Result") -> str | None:
    if not explores_slowly(result.last):
        return None
    memory = result.energy_autocorrelation
    worst = int(np.nanargmax(np.where(np.isfinite(memory), memory, -1.0)))
    more = 2 * result.settings.n_chains - 1
    return (
        f"Exploration is slow: {result.restarts} restarts where the rejections would allow "
        f"{result.predicted_restarts:.0f} (normal: more than {SLOW_SHARE:.0%} of it). One scan leaves "
        f"{memory[worst]:.0%} of the energy's fluctuation at beta = {result.schedule[worst]:.3g}, the worst (0 % is "
        "independent). Take more exploration in each scan (a larger `passes` of the explorer), or more chains "
        f"(n_chains={more})."
    )


def _evidence(result: "Result") -> str | None:
    """Compare estimators that agree if chains overlap and draws are enough; thermodynamic ones do not count."""
    for (first, second), difference in result.last.evidence.differences.items():
        if not difference.valid or not np.isfinite(difference.error):
            continue
        allowed = difference.error * student_quantile(1 - 0.5 / ONCE_IN, difference.freedom)
        if abs(difference.value) > allowed:
            says = [f"{name.replace('_', ' ')} {result.evidence[name].value:.3f}" for name in (first, second)]
            return (
                f"Estimators of the evidence disagree: {says[0]}, {says[1]} (normal: within {allowed:.3f}, which their "
                "errors allow). Neighbouring chains hardly overlap, or the run has not settled: take more chains or "
                "more scans."
            )
    return None


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
