"""What to do about a warning, in words that several of them share; options are spelled as in Python."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sterna.result.result import Result

# Another reference must not change the posterior.
SAME_POSTERIOR = "add log(old / new density of the reference) to log_likelihood, so that the posterior stays the same"


def longer_run(result: "Result", factor: float) -> str:
    """Return the options with which the run has at least so many times as many scans.

    More rounds also tune better; but if the user gave the number of sampling scans, that is the one to raise.
    """
    settings = result.settings
    if settings.until is not None and settings.until.is_default:
        # tuning is as long as the first block of sampling
        wanted = factor * max(settings.n_scans, 2 ** (settings.n_rounds + 1) - 2)
        rounds = max(settings.n_rounds + 1, math.ceil(math.log2(wanted + 2)) - 1)
        return f"n_rounds={rounds} ({2 ** (rounds - settings.n_rounds)} times as many tuning scans)"
    if settings.until is None and settings.n_scans == 2 ** (settings.n_rounds + 1) - 2:
        doublings = max(1, math.ceil(math.log2(factor)))
        return f"n_rounds={settings.n_rounds + doublings} ({2**doublings} times as many scans)"
    scans = _rounded_up(factor * settings.n_scans)
    # tuning that is shorter than the sampling phase may be what is missing
    rounds = math.ceil(math.log2(scans + 2)) - 1
    return f"n_scans={scans}" + (f" and n_rounds={rounds}" if rounds > settings.n_rounds else "")


def _rounded_up(number: float) -> int:
    """Return the next larger number of two significant digits."""
    unit = int(10.0 ** max(0, math.floor(math.log10(number)) - 1))
    return math.ceil(number / unit) * unit
