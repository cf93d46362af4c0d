"""The evidence, log Z(1)/Z(0), by stepping stones, with an error from batch means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sterna.engine.record import Record

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value and its standard error."""

    value: float
    error: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.error:.4f}"


def stepping_stone(records: Sequence[Record]) -> Estimate:
    """Sum over pairs of the log of the mean of exp((beta' - beta) log_likelihood) at the lower beta.

    The error is that of the whole sum, linearised, between batches and copies: swaps correlate the chains, so the
    errors of single pairs would not add up.
    """
    scans = np.concatenate([record.scans for record in records]).astype(np.float64)
    scale = np.concatenate([record.stone_scale for record in records])
    sums = np.concatenate([record.stone_sum for record in records])
    top = scale.max(axis=0)
    if not np.isfinite(top).all():
        return Estimate(-math.inf, math.nan)
    weights = sums * np.exp(scale - top)
    means = weights.sum(axis=0) / scans.sum()
    value = float(np.sum(top + np.log(means)))
    batches = len(scans)
    if batches < 2:
        return Estimate(value, math.nan)
    deviation = ((weights / scans[:, None]) / means - 1.0).sum(axis=1)
    share = scans / scans.sum()
    variance = float(np.sum((share * deviation) ** 2)) * batches / (batches - 1)
    return Estimate(value, math.sqrt(variance))


def batch_means(sums: Numbers, scans: Numbers) -> tuple[Numbers, Numbers]:
    """Mean over all scans and its standard error, from sums over batches (first axis)."""
    total = scans.sum()
    mean = sums.sum(axis=0) / total
    batches = len(scans)
    if batches < 2:
        return mean, np.full(np.shape(mean), np.nan)
    shape = (batches,) + (1,) * (np.ndim(sums) - 1)
    deviation = (sums - scans.reshape(shape) * mean) / total
    return mean, np.sqrt((deviation**2).sum(axis=0) * batches / (batches - 1))
