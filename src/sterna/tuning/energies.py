"""Energies of all chains: mean and variance of the log-likelihood, and its autocorrelation over one exploration."""

from dataclasses import dataclass

import numpy as np

from sterna.engine.record import Moments
from sterna.tuning.batches import Batches
from sterna.types import FloatArray


@dataclass(frozen=True)
class Energies:
    """Moments of each chain's log-likelihood; for the reference, over its draws of positive likelihood only."""

    mean: FloatArray
    variance: FloatArray
    autocorrelation: FloatArray
    """Correlation of the log-likelihood before and after one scan's exploration: 0 if its draws are independent."""
    influence: FloatArray
    """Influence of every batch on the means: (copies, batches, chains)."""
    variance_influence: FloatArray
    zero_share: float


def energies(batches: Batches, centre: FloatArray) -> Energies:
    """Turn sums of powers around the round's centre into moments."""
    after, before = batches.moments[Moments.after], batches.moments[Moments.before]
    square, product = batches.moments[Moments.square], batches.moments[Moments.product]
    counts = np.repeat(batches.scans[:, :, None], len(centre), axis=2)
    counts[:, :, 0] -= batches.zeros
    with np.errstate(all="ignore"):
        total = counts.sum(axis=(0, 1))
        shift, shift_before = after.sum(axis=(0, 1)) / total, before.sum(axis=(0, 1)) / total
        # rounding can make the variance of a constant energy slightly negative
        variance = np.maximum(square.sum(axis=(0, 1)) / total - shift**2, 0.0)
        covariance = product.sum(axis=(0, 1)) / total - shift * shift_before
        autocorrelation = np.where(variance > 0, np.clip(covariance / variance, -1.0, 1.0), np.nan)
        spread = square - 2.0 * shift * after + counts * shift**2
        typical = counts.mean(axis=(0, 1))
        influence = (after - counts * shift) / typical
        variance_influence = (spread - counts * variance) / typical
    autocorrelation[0] = 0.0
    return Energies(centre + shift, variance, autocorrelation, influence, variance_influence, batches.zero_share)
