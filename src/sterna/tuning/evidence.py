"""The evidence, log Z(1)/Z(0): stepping stones, Bennett's acceptance ratio and thermodynamic integration.

The first two are sums over neighbouring pairs of estimates of log Z(beta')/Z(beta), exact for every schedule.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.engine.record import (
    BACKWARD,
    BACKWARD_SQUARE,
    FORWARD,
    FORWARD_SQUARE,
    LOWER_PRODUCT,
    UPPER_PRODUCT,
)
from sterna.theory.monotone import PiecewiseCubic
from sterna.tuning.batches import Batches, Estimate, estimate, standard_errors
from sterna.tuning.energies import Energies
from sterna.types import FloatArray

# From the most robust to the last resort, where errors do not decide.
PREFERENCE = ("bennett", "stepping_stone", "stepping_stone_backward", "stepping_stone_forward")


@dataclass(frozen=True)
class Steps:
    """Estimates of log Z(beta')/Z(beta) for every pair, with the influence of every batch on them."""

    value: FloatArray
    influence: FloatArray
    """(copies, batches, pairs)"""
    least_variance: FloatArray
    """Variance of every pair's estimate if all draws were independent, as the other chain of the pair knows it."""

    def total(self) -> Estimate:
        """Return their sum."""
        with np.errstate(invalid="ignore"):
            value, influence = float(self.value.sum()), self.influence.sum(axis=2)
        return estimate(value, influence, least_variance=float(np.sum(self.least_variance)))


@dataclass(frozen=True)
class EvidenceCurve:
    """log Z(beta)/Z(0) at the betas of the schedule, and in between by its slope, which is the mean log-likelihood."""

    schedule: FloatArray
    value: FloatArray
    error: FloatArray
    slope: FloatArray
    jump: float
    """log(1 - p0): how far the curve falls at 0, where the likelihood is zero on a share p0 of the reference."""

    def __call__(self, beta: ArrayLike) -> FloatArray:
        """Value at any beta from 0 to 1."""
        at = np.asarray(beta, dtype=np.float64)
        beyond = np.concatenate([[self.jump], self.value[1:]])
        with np.errstate(invalid="ignore"):
            return np.where(at > 0, PiecewiseCubic(self.schedule, beyond, self.slope)(at), 0.0)


def forward_stones(batches: Batches) -> Steps:
    """Stepping stones up: the mean of exp((beta' - beta) log_likelihood) at the lower beta.

    Of their variance the draws show little where the largest weights are too rare to be drawn. The second moment
    of the weights is a mean over the upper chain, to which they are common.
    """
    value, influence = _log_of_mean(batches, FORWARD)
    square, _ = _log_of_mean(batches, FORWARD_SQUARE)
    return Steps(value, influence, _variance(square - value, batches))


def backward_stones(batches: Batches) -> Steps:
    """Stepping stones down: one over the mean of exp(-(beta' - beta) log_likelihood) at the upper beta.

    Where the likelihood is zero, the upper chain never is: what it says of the reference is true of a share
    1 - p0 of it.
    """
    value, influence = _log_of_mean(batches, BACKWARD)
    square, _ = _log_of_mean(batches, BACKWARD_SQUARE)
    square -= value
    value, influence = -value, -influence
    share = batches.zero_share
    if share > 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            value[0] += np.log1p(-share)
            square[0] -= np.log1p(-share)
            influence[:, :, 0] -= batches.influence(batches.zeros) / (1.0 - share)
    variance = _variance(square, batches)
    variance[0] += share / (1.0 - share) / batches.scans.sum() if share < 1 else np.inf
    return Steps(value, influence, variance)


def _variance(log_square: FloatArray, batches: Batches) -> FloatArray:
    """Variance of the log of a mean, from the log of the second moment of weights of mean one."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = np.maximum(np.expm1(log_square), 0.0) / batches.scans.sum()
    return np.where(np.isnan(variance), np.inf, variance)


def _log_of_mean(batches: Batches, way: int) -> tuple[FloatArray, FloatArray]:
    """Log of the mean of scaled sums, and its influence."""
    scale, sums = batches.stone_scale[way], batches.stone_sum[way]
    top = scale.max(axis=(0, 1))
    with np.errstate(all="ignore"):
        weights = np.where(sums > 0, sums * np.exp(scale - top), 0.0)
        mean = batches.mean(weights)
        return np.where(mean > 0, top + np.log(mean), -np.inf), batches.influence(weights) / mean


def combined(first: Steps, second: Steps) -> Steps:
    """Mean of two estimates, pair by pair, each with the weight that the other one's variance gives it.

    Where both have an infinite variance, nothing is known.
    """
    variances = first.least_variance, second.least_variance
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(variances[1] / (variances[0] + variances[1]), nan=0.5)
    share = np.where(np.isinf(variances[1]) & np.isfinite(variances[0]), 1.0, share)
    unknown = np.isinf(variances[0]) & np.isinf(variances[1])
    return Steps(
        np.where(unknown, np.nan, _weighted(share, first.value, second.value)),
        _weighted(share, first.influence, second.influence),
        _weighted(share**2, variances[0], 0.0) + _weighted((1.0 - share) ** 2, variances[1], 0.0),
    )


def _weighted(share: FloatArray, first: Any, second: Any) -> FloatArray:
    """Return share * first + (1 - share) * second, where nothing times infinity is nothing."""
    with np.errstate(invalid="ignore"):
        return np.where(share > 0, share * first, 0.0) + np.where(share < 1, (1.0 - share) * second, 0.0)


def bennett(batches: Batches, pivot: FloatArray) -> Steps:
    """Bennett's acceptance ratio: both chains of a pair, each where the other one has mass too.

    For a pivot equal to log Z(beta')/Z(beta) no other estimator from one pair of chains has a smaller variance; for any
    other it is still consistent. It comes from the previous round, so that sums suffice. Reference draws of likelihood
    zero count as zeros.

    Terms that are rare in one chain are common in the other: with F and G = 1 - F, the second moment of F at the
    lower chain is E_lower[F] E_upper[F G] / E_upper[G], and so for G. That gives the least variance.
    """
    with np.errstate(all="ignore"):
        means = [batches.mean(batches.bridge[place]) for place in range(4)]
        up, down = means[FORWARD], means[BACKWARD]
        value = pivot + np.log(up) - np.log(down)
        influence = batches.influence(batches.bridge[FORWARD]) / up - batches.influence(batches.bridge[BACKWARD]) / down
        square = (means[LOWER_PRODUCT] + means[UPPER_PRODUCT]) / (up * down) - 2.0
        variance = np.where(np.isnan(square), np.inf, np.maximum(square, 0.0)) / batches.scans.sum()
    return Steps(value, influence, variance)


def thermodynamic_integration(schedule: FloatArray, energies: Energies) -> dict[str, Estimate]:
    """Integrate the mean log-likelihood over beta: the paper's sum over upper ends, and the trapezoid.

    Their bias is how far they are from the trapezoid corrected by its slopes, which are variances of the
    log-likelihood. Where the likelihood is zero on a part of the reference, the integrand is infinite at 0.
    """
    if energies.zero_share > 0:
        invalid = Estimate(math.nan, math.nan, 1.0, math.nan)
        return {"thermodynamic_sum": invalid, "thermodynamic_trapezoid": invalid}
    step = np.diff(schedule)
    upper = np.concatenate([[0.0], step])
    both = 0.5 * (upper + np.concatenate([step, [0.0]]))
    with np.errstate(invalid="ignore", over="ignore"):
        correction = float(np.sum(step**2 / 12.0 * np.diff(energies.variance)))
    truth = float(both @ energies.mean) - correction
    found = {}
    for name, weights in (("thermodynamic_sum", upper), ("thermodynamic_trapezoid", both)):
        value = float(weights @ energies.mean)
        found[name] = estimate(value, energies.influence @ weights, bias=value - truth)
    return found


@dataclass(frozen=True)
class Evidence:
    """Every estimator of one round, and what follows from the best of them."""

    estimates: dict[str, Estimate]
    curve: EvidenceCurve
    differences: dict[tuple[str, str], Estimate]
    """Differences between estimators that must agree, with errors of their own: the estimators share their draws."""
    known: FloatArray
    """The best that is known of every step log Z(beta')/Z(beta), for the next round's pivots."""
    influence: FloatArray
    """Influence of the batches on the best estimate."""
    least_variance: float
    """The least variance of the best estimate."""

    best_name: str

    @property
    def best(self) -> Estimate:
        """The best estimate that there is."""
        return self.estimates[self.best_name]


def evidence(schedule: FloatArray, pivot: FloatArray, batches: Batches, energies: Energies) -> Evidence:
    """Estimate the evidence by every way there is."""
    forward, backward = forward_stones(batches), backward_stones(batches)
    steps = {
        "bennett": bennett(batches, pivot),
        "stepping_stone": combined(forward, backward),
        "stepping_stone_forward": forward,
        "stepping_stone_backward": backward,
    }
    estimates = {name: part.total() for name, part in steps.items()}
    name = _best_name(estimates)
    best = steps[name]
    known = steps["bennett"].value
    for other in PREFERENCE[1:]:
        known = np.where(np.isfinite(known), known, steps[other].value)
    return Evidence(
        estimates=estimates | thermodynamic_integration(schedule, energies),
        curve=_curve(schedule, best, energies),
        differences={pair: _difference(*(steps[name] for name in pair)) for pair in _MUST_AGREE},
        known=np.where(np.isfinite(known), known, pivot),
        influence=best.influence.sum(axis=2),
        least_variance=float(np.sum(best.least_variance)),
        best_name=name,
    )


def _best_name(estimates: dict[str, Estimate]) -> str:
    """Return the one with the smaller error of the two whose errors can be trusted, or else what there is.

    Their errors come from the same draws and rise and fall together, so that to choose by them hardly moves coverage.
    """
    known = [name for name in PREFERENCE[:2] if estimates[name].valid and math.isfinite(estimates[name].error)]
    if known:
        return min(known, key=lambda name: estimates[name].error)
    return next((name for name in PREFERENCE if estimates[name].valid), PREFERENCE[0])


_MUST_AGREE = (
    ("stepping_stone_forward", "stepping_stone_backward"),
    ("stepping_stone_forward", "bennett"),
    ("stepping_stone_backward", "bennett"),
)


def _difference(first: Steps, second: Steps) -> Estimate:
    with np.errstate(invalid="ignore"):
        least = first.least_variance + second.least_variance
        return Steps(first.value - second.value, first.influence - second.influence, least).total()


def _curve(schedule: FloatArray, steps: Steps, energies: Energies) -> EvidenceCurve:
    """Add the steps up; between them the curve follows its slopes at the betas, which are mean log-likelihoods."""
    with np.errstate(invalid="ignore"):
        # steps of a short round may be infinite, in both directions
        value = np.concatenate([[0.0], np.cumsum(steps.value)])
    drawn = standard_errors(np.cumsum(steps.influence, axis=2))
    error = np.concatenate([[0.0], np.maximum(drawn, np.sqrt(np.cumsum(steps.least_variance)))])
    jump = math.log1p(-energies.zero_share) if energies.zero_share < 1 else -math.inf
    with np.errstate(invalid="ignore"):
        secants = np.diff(np.concatenate([[jump], value[1:]])) / np.diff(schedule)
    return EvidenceCurve(schedule, value, error, _convex_slopes(secants, energies.mean), jump)


def _convex_slopes(secants: FloatArray, slopes: FloatArray) -> FloatArray:
    """Keep slopes between the secants on either side, and those at the ends where they do not bend the curve too far.

    The true curve is convex. Only noise, or a reference under which log-likelihoods have no mean, leave these bounds.
    """
    secants = np.where(np.isfinite(secants), secants, 0.0)
    low, high = np.minimum(secants[:-1], secants[1:]), np.maximum(secants[:-1], secants[1:])
    bounded = np.array(slopes, dtype=np.float64)
    bounded[1:-1] = np.clip(slopes[1:-1], low, high)
    first, last = secants[0], secants[-1]
    bounded[0] = np.clip(slopes[0], min(3.0 * first - 2.0 * bounded[1], first), first)
    bounded[-1] = np.clip(slopes[-1], last, max(3.0 * last - 2.0 * bounded[-2], last))
    return np.where(np.isfinite(bounded), bounded, np.append(secants, last))
