"""Whether the target chain has converged: R-hat and effective sample sizes, as far as journeys do not explain them.

Copies, and halves of a copy, differ if there are few journeys from the reference. That is no fault: the errors account
for it, and they are reliable if there are enough journeys, however short the copies are.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sterna.result.advice import longer_run
from sterna.result.circular import without_circles
from sterna.result.diagnostics import ess_bulks, plain_r_hats, r_hats, rank_scores, summary_of
from sterna.result.scalars import scalars_of
from sterna.tuning.mean_errors import clustered_errors, split_chains
from sterna.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from sterna.result.result import Result

# A run without fault is warned once in so many runs, for each of its tests: pairs of estimators, and R-hat.
RUNS_PER_FALSE_ALARM = 10_000

# A larger R-hat means that copies, or the halves of one copy, have different distributions.
MAX_R_HAT = 1.05

# With a smaller effective sample size, of at least this many draws, the standard error of a mean is more than a quarter
# of the standard deviation, and not reliable itself: in 267 runs of hard problems, intervals of runs with 20 to 50
# effective draws covered the truth as often as those of more, and with 10 to 20 less often.
MIN_EFFECTIVE_DRAWS, MIN_DRAWS_TO_COUNT = 16, 400

# An error from n effective draws of a series is known as with n / 4 degrees of freedom (`tuning/batches.py`). One from
# journeys with this many is as good as one from 50 effective draws.
MIN_FREEDOM = 12.5

# Journeys that explain a smaller part of the error that the series shows do not vouch for it.
MIN_EXPLAINED = 0.5

# With few journeys, and fewer independent draws for each half of a copy, a larger R-hat is always a warning.
MIN_ESS_OF_HALF = 4

# Of the scalars whose R-hat is larger, so many with the largest are compared with their errors.
MAX_SUSPECTS = 20


def unconverged(result: "Result") -> str | None:
    """Warn if the target chain has not converged, or is too short for its errors to be known."""
    return disagreeing_copies(result) or few_effective_draws(result)


def disagreeing_copies(result: "Result") -> str | None:
    """Check R-hat of the log-likelihood and of all scalars, over all copies and within each."""
    scalars, suspects = 0, list[tuple[float, str, FloatArray]]()
    for names, draws in all_scalars(result):
        scalars += len(names)
        found = np.nan_to_num(r_hats(draws), nan=0.0, posinf=np.inf)
        # only suspicious draws are kept
        suspects += [(float(found[k]), names[k], draws[k].copy()) for k in np.flatnonzero(found > MAX_R_HAT)]
        suspects = sorted(suspects, key=lambda suspect: -suspect[0])[:MAX_SUSPECTS]
    for _, name, draws in suspects:
        row = summary_of(draws, result.journeys)
        if halves_disagree(draws, result.journeys, row["ess"], scalars):
            return _disagreement(result, name, row)
    return None


def halves_disagree(draws: FloatArray, journeys: IntArray, ess: float, scalars: int) -> bool:
    """Whether the R-hat of one of so many scalars exceeds what errors explain; draws and journeys are (copies, draws).

    With enough journeys these are the errors by journeys, of the very scores that R-hat compares; otherwise those that
    the effective sample size implies.
    """
    chains = 2 * len(draws)
    for scores, error, freedom in _scores_by_journey(draws[None], journeys):
        if freedom[0] >= MIN_FREEDOM:
            limit = explained_r_hat(float(scores.var() / error[0] ** 2), float(freedom[0]), chains, scalars)
        elif ess > MIN_ESS_OF_HALF * chains:
            limit = explained_r_hat(ess, max(ess - 1.0, 1.0), chains, scalars)
        else:
            # errors from so few draws explain nothing
            limit = MAX_R_HAT
        if float(plain_r_hats(scores)[0]) > limit:
            return True
    return False


def explained_r_hat(ess: float, freedom: float, chains: int, scalars: int) -> float:
    """Return the largest R-hat that the error bars explain, of so many scalars and halves of copies.

    Means over halves of copies differ, and errors account for that. With an effective sample size n of all, the squared
    R-hat is about 1 + F chains / n, where F scatters as Fisher's F does. What remains is once in RUNS_PER_FALSE_ALARM.
    """
    from scipy.special import fdtri

    chance = 1.0 / (RUNS_PER_FALSE_ALARM * scalars)
    quantile = float(fdtri(chains - 1, freedom, 1.0 - chance))
    return max(MAX_R_HAT, math.sqrt(1.0 + quantile * chains / ess))


def _scores_by_journey(draws: FloatArray, journeys: IntArray) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield normal scores of draws and of their distances from the median, with errors and freedom by journeys."""
    numbers = split_chains(journeys[None])[0].ravel()
    for scores in rank_scores(draws):
        flat = scores.reshape(len(scores), -1)
        yield scores, *clustered_errors(flat - flat.mean(axis=1, keepdims=True), numbers)


def _disagreement(result: "Result", name: str, row: dict[str, float]) -> str:
    several = result.settings.n_copies > 1
    what = "Copies disagree" if several and row["r_hat_within"] <= MAX_R_HAT else "The target chain has not converged"
    where = f"over all copies and {row['r_hat_within']:.2f} within the worst" if several else "between its two halves"
    # R-hat squared minus 1 is inversely proportional to the number of scans
    factor = 2.0 * (min(row["r_hat"], 2.0) ** 2 - 1.0) / (MAX_R_HAT**2 - 1.0)
    return (
        f"{what}: R-hat of {name} is {row['r_hat']:.2f} {where} (normal: below {MAX_R_HAT}), and "
        f"its effective sample size of {row['ess']:.0f} does not explain that. Use {longer_run(result, factor)}."
    )


def all_scalars(result: "Result") -> Iterator[tuple[list[str], FloatArray]]:
    """Yield names and draws of the log-likelihood, and of all scalars, some at a time; angles by cosine and sine."""
    yield ["log_likelihood"], result.log_likelihood[None]
    for some in scalars_of(result.values, result.target):
        yield without_circles(*some)


def few_effective_draws(result: "Result") -> str | None:
    """Warn of a small effective sample size, unless journeys vouch for the errors."""
    n_draws = result.log_likelihood.size
    if n_draws < MIN_DRAWS_TO_COUNT:
        return None
    sizes = {
        names[k]: size for names, draws in all_scalars(result) for k, size in _guesses(draws, result.journeys).items()
    }
    if not sizes:
        return None
    name = min(sizes, key=lambda name: sizes[name])
    factor = 2.0 * MIN_EFFECTIVE_DRAWS / max(float(sizes[name]), 1.0)
    return (
        f"The run is too short: its {n_draws} draws count as {sizes[name]:.0f} independent ones of {name} (normal: at "
        f"least {MIN_EFFECTIVE_DRAWS}), so that the standard error of its mean is large, and rough itself. "
        f"Use {longer_run(result, factor)}."
    )


def _guesses(draws: FloatArray, journeys: IntArray) -> dict[int, float]:
    """Return those scalars whose error is a guess, with the effective sample sizes of their series."""
    sizes = ess_bulks(draws)
    few = np.flatnonzero(sizes < MIN_EFFECTIVE_DRAWS)
    return {int(k): float(sizes[k]) for k in few[error_is_a_guess(draws[few], journeys, sizes[few])]}


def error_is_a_guess(draws: FloatArray, journeys: IntArray, sizes: FloatArray) -> BoolArray:
    """Whether journeys do not vouch for the errors of scalars whose series have so few effective draws."""
    if not len(draws):
        return np.zeros(0, dtype=np.bool_)
    scores, error, freedom = next(_scores_by_journey(draws, journeys))
    explained = error / np.sqrt(scores.var(axis=(1, 2)) / sizes)
    return np.asarray((freedom < MIN_FREEDOM) | (explained < MIN_EXPLAINED))
