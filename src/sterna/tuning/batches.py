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
from sterna.tuning.estimate import Estimate
from sterna.tuning.journeys import error_of_sum
from sterna.tuning.memory import effective_sizes
from sterna.types import FloatArray


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
    """Standard error of a mean from the influence of its batches (copies, batches), and its degrees of freedom."""
    errors, freedom = errors_and_freedom(influence[None])
    return float(errors[0]), float(freedom[0])


def standard_errors(influence: FloatArray) -> FloatArray:
    """Standard errors of several means: influence (copies, batches, means)."""
    return errors_and_freedom(np.moveaxis(influence, 2, 0))[0]


def errors_and_freedom(influence: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standard errors of means from the influence of their batches (means, copies, batches), and degrees of freedom.

    The effective number of batches follows from their autocorrelation (Geyer's initial sequence), so batches may be
    shorter than the autocorrelation time. If a copy has too few batches for that, they count as independent; with fewer
    than four in all the error is NaN.
    """
    means, copies, batches = influence.shape
    errors, freedom = np.full(means, np.nan), np.ones(means)
    known = np.flatnonzero(np.isfinite(influence).all(axis=(1, 2)) & (copies * batches >= 4))
    if known.size == 0:
        return errors, freedom
    # squares of huge energies would otherwise overflow
    scale = np.abs(influence[known]).max(axis=(1, 2))
    scale = np.where(scale > 0.0, scale, 1.0)
    series = np.ascontiguousarray(influence[known] / scale[:, None, None])
    sizes = effective_sizes(series) if batches >= 4 else np.full(known.size, float(copies * batches))
    # for simulated autoregressive series of any correlation, errors scatter as with these degrees of freedom
    freedom[known] = np.maximum(1.0, 0.25 * np.minimum(sizes, copies * batches))
    errors[known] = scale * series.reshape(known.size, -1).std(axis=1, ddof=1) / np.sqrt(sizes)
    return errors, freedom


def estimate(
    value: float,
    influence: FloatArray,
    bias: float = 0.0,
    least_variance: float = 0.0,
    journeys: FloatArray | None = None,
) -> Estimate:
    """Return a value with the error that its influence shows, or with the theoretical minimum if that is larger.

    `journeys` is the influence of each journey: batches see what is correlated over time, journeys what only a new
    journey changes, which may be too rare for batches. The larger error counts.
    """
    if not math.isfinite(value):
        return Estimate(value, math.nan, 1.0, bias)
    error, freedom = standard_error(influence)
    if journeys is not None:
        clustered, freedom_of_journeys = error_of_sum(journeys)
        # an error of NaN, from too few batches, stays NaN
        if error < clustered:
            error, freedom = float(clustered), float(freedom_of_journeys)
    least = math.sqrt(least_variance)
    return Estimate(float(value), least if error < least else error, freedom, bias)
