"""Whether to believe a run: each warning says what is wrong, the number, what is normal and what to do."""

from typing import TYPE_CHECKING

import numpy as np

from sterna.tuning.barrier import without_zeros

if TYPE_CHECKING:
    from sterna.result import Result

# With fewer restarts than this the target chain has hardly heard from the reference.
FEW_RESTARTS = 10


def warnings_of(result: "Result") -> list[str]:
    """All warnings that a result deserves."""
    checks = (_saturated, _restarts, _stuck)
    return [text for check in checks if (text := check(result)) is not None]


def _saturated(result: "Result") -> str | None:
    # what the reference's zeros reject, more chains cannot mend
    rejection = without_zeros(result.rejection, result.last.zero_share)
    mean, most = float(rejection.mean()), float(rejection.max())
    if mean <= 0.65 and most <= 0.9:
        return None
    if len(rejection) > 2 and rejection[0] > 0.75 and np.delete(rejection, 0).mean() < 0.5:
        return (
            f"The reference is far from its neighbour: {rejection[0]:.0%} of their swaps are rejected, of the others "
            f"{np.delete(rejection, 0).mean():.0%} (normal: all alike). If log_likelihood is hugely negative where it "
            "should be impossible, return -inf there; else take more rounds or a narrower reference."
        )
    wanted = max(int(np.ceil(2 * result.global_barrier)) + 1, 2 * len(rejection))
    return (
        f"Too few chains: neighbours reject {mean:.0%} of swaps on average and {most:.0%} at most (normal: 30 % to "
        f"60 %). The global barrier is at least {result.global_barrier:.1f}; take n_chains={wanted} or more."
    )


def _restarts(result: "Result") -> str | None:
    fewest = min(int(record.trips[0]) for record in result.records)
    if fewest >= FEW_RESTARTS:
        return None
    return (
        f"Only {fewest} restarts in a copy: hardly anything travelled from the reference to the target, so modes may "
        f"be missed (normal: at least {FEW_RESTARTS} in each copy). "
        "Take more scans (n_rounds or n_scans), or more exploration."
    )


def _stuck(result: "Result") -> str | None:
    predicted, measured = result.predicted_round_trip_rate, result.round_trip_rate
    possible = predicted * result.settings.n_scans * result.settings.n_copies
    if possible < 50 or measured >= 0.25 * predicted:
        return None
    return (
        f"Exploration is slow: {measured:.4f} restarts a scan where the rejections would allow {predicted:.4f} "
        "(normal: more than a quarter of it). Take more exploration in each scan (a larger `passes` of the explorer), "
        "or more chains."
    )
