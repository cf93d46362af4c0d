"""Whether to believe a run: each warning says what is wrong, the number, what is normal and what to do."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sterna.result import Result

# With fewer restarts than this the target chain has hardly heard from the reference.
FEW_RESTARTS = 10


def warnings_of(result: "Result") -> list[str]:
    """All warnings that a result deserves."""
    checks = (_saturated, _restarts, _stuck)
    return [text for check in checks if (text := check(result)) is not None]


def _saturated(result: "Result") -> str | None:
    last = result.last
    rejection = last.rejection.copy()
    if last.zero_share > 0:
        # what the reference's zeros reject, more chains cannot mend
        rejection[0] = max(rejection[0] - last.zero_share, 0.0) / max(1.0 - last.zero_share, 1e-300)
    mean = float(rejection.mean())
    if mean <= 0.65 and rejection.max() <= 0.9:
        return None
    wanted = int(np.ceil(2 * max(result.global_barrier, len(rejection) / 2.0))) + 1
    return (
        f"Too few chains: neighbours reject {mean:.0%} of swaps on average and {rejection.max():.0%} at most "
        f"(normal: 30 % to 60 %). The global barrier is at least {result.global_barrier:.1f}; "
        f"take n_chains={max(wanted, 2 * len(rejection))} or more."
    )


def _restarts(result: "Result") -> str | None:
    settings = result.settings
    if result.restarts >= FEW_RESTARTS * settings.n_copies:
        return None
    expected = result.predicted_round_trip_rate * settings.n_scans * settings.n_copies
    return (
        f"Only {result.restarts} restarts: hardly anything travelled from the reference to the target, so modes may be "
        f"missed (normal: at least {FEW_RESTARTS} in each copy; {expected:.0f} were possible). "
        "Take more scans (n_rounds or n_scans), or more exploration."
    )


def _stuck(result: "Result") -> str | None:
    predicted, measured = result.predicted_round_trip_rate, result.round_trip_rate
    possible = predicted * result.settings.n_scans * result.settings.n_copies
    if possible < 50 or measured >= 0.25 * predicted:
        return None
    return (
        f"Exploration is slow: {measured:.4f} restarts a scan where the rejections would allow {predicted:.4f} "
        "(normal: at least half of it). Take more exploration in each scan, such as explorer=sterna.Slice(passes=5), "
        "or more chains."
    )
