"""A round's batches of all copies: means over scans, and standard errors of estimators built from them.

An estimator is linearised: its *influence* is, for every batch, how far that batch alone would move it. Errors are
computed from the influence on the whole estimator, because swaps correlate the chains, and from its autocorrelation
along the batches, because draws may be correlated over more than one batch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sterna.engine.record import Record
from sterna.errors import OptionError
from sterna.theory.checks import check_number
from sterna.tuning.memory import effective_size
from sterna.types import FloatArray


@dataclass(frozen=True)
class Estimate:
    """A value and its standard error.

    >>> Estimate(-3.2, 0.1).interval(0.95)
    (-3.395..., -3.004...)
    """

    value: float
    error: float
    freedom: float = math.inf
    """Degrees of freedom of the error, for intervals."""
    bias: float = 0.0
    """Bias of the value due to the spacing of the schedule; 0 if the estimator is exact for every schedule."""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        text = f"{_readable(self.value)} ± {_readable(self.error)}"
        return text if self.bias == 0 else f"{text} (bias about {_readable(self.bias)})"

    def __repr__(self) -> str:
        return f"Estimate({self})"

    def __sub__(self, other: "Estimate") -> "Estimate":
        """Difference of two independent estimates, such as a log Bayes factor."""
        error = math.hypot(self.error, other.error)
        return Estimate(self.value - other.value, error, min(self.freedom, other.freedom), self.bias - other.bias)

    @property
    def valid(self) -> bool:
        """Whether the value is finite."""
        return math.isfinite(self.value)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval that covers the true value with probability `level`; a bias widens it on both sides."""
        advice = "give the probability that the interval covers the true value, between 0 and 1, such as 0.95"
        probability = check_number("level", level, 0.0, advice, 1.0)
        if probability in (0.0, 1.0):
            raise OptionError(f"level={level!r} is not valid: {advice}.")
        half = self.error * student_quantile(0.5 + 0.5 * probability, self.freedom) + abs(self.bias)
        return self.value - half, self.value + half

    def to_dict(self) -> dict[str, float | list[float]]:
        """Return plain numbers, for JSON."""
        return {"value": self.value, "error": self.error, "interval": list(self.interval()), "bias": self.bias}


def _readable(number: float) -> str:
    return f"{number:.4f}" if abs(number) < 1e6 else f"{number:.6g}"


def student_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t distribution; of the normal distribution for infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(freedom) else stdtrit(freedom, probability))


@dataclass(frozen=True)
class Batches:
    """Sums over batches, (copies, batches, ...), from the records of all copies in their order."""

    scans: FloatArray
    rejection: FloatArray
    second_rejection: FloatArray
    zeros: FloatArray
    stone_scale: FloatArray
    """(4, copies, batches, pairs)"""
    stone_sum: FloatArray
    bridge: FloatArray
    moments: FloatArray
    """(4, copies, batches, chains)"""

    @property
    def zero_share(self) -> float:
        """Share of the draws from the reference that have zero likelihood."""
        return float(self.zeros.sum() / self.scans.sum())

    def mean(self, sums: FloatArray) -> FloatArray:
        """Mean over all scans of a quantity that is summed in batches."""
        return np.asarray(sums.sum(axis=(0, 1)) / self.scans.sum())

    def influence(self, sums: FloatArray) -> FloatArray:
        """Influence of every batch on the mean of a quantity."""
        scans = self.scans.reshape(self.scans.shape + (1,) * (sums.ndim - 2))
        return np.asarray((sums - scans * self.mean(sums)) / self.scans.mean())


def merge(records: Sequence[Record]) -> Batches:
    """Stack the batches of all copies."""
    return Batches(
        scans=np.stack([record.scans for record in records]).astype(np.float64),
        rejection=np.stack([record.rejection for record in records]),
        second_rejection=np.stack([record.second_rejection for record in records]),
        zeros=np.stack([record.zeros for record in records]).astype(np.float64),
        stone_scale=np.stack([record.stone_scale for record in records], axis=1),
        stone_sum=np.stack([record.stone_sum for record in records], axis=1),
        bridge=np.stack([record.bridge for record in records], axis=1),
        moments=np.stack([record.moments for record in records], axis=1),
    )


def standard_error(influence: FloatArray) -> tuple[float, float]:
    """Standard error of a mean from the influence of its batches (copies, batches), and its degrees of freedom.

    The effective number of batches follows from their autocorrelation (Geyer's initial sequence), so batches may be
    shorter than the autocorrelation time. If a copy has too few batches for that, they count as independent; with fewer
    than four in all the error is NaN.
    """
    if influence.size < 4 or not np.isfinite(influence).all():
        return math.nan, 1.0
    # squares of huge energies would otherwise overflow
    scale = float(np.abs(influence).max()) or 1.0
    series = influence / scale
    size = effective_size(series) if series.shape[1] >= 4 else float(series.size)
    # for simulated autoregressive series of any correlation, errors scatter as with these degrees of freedom
    freedom = max(1.0, 0.25 * min(size, series.size))
    return scale * float(series.std(ddof=1)) / math.sqrt(size), freedom


def standard_errors(influence: FloatArray) -> FloatArray:
    """Standard errors of several means: influence (copies, batches, means)."""
    return np.array([standard_error(influence[:, :, k])[0] for k in range(influence.shape[2])])


def estimate(value: float, influence: FloatArray, bias: float = 0.0, least_variance: float = 0.0) -> Estimate:
    """Return a value with the error that its influence shows, or with the theoretical minimum if that is larger."""
    if not math.isfinite(value):
        return Estimate(value, math.nan, 1.0, bias)
    error, freedom = standard_error(influence)
    # an error of NaN, from too few batches, stays NaN
    least = math.sqrt(least_variance)
    return Estimate(float(value), least if error < least else error, freedom, bias)
