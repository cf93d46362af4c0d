"""Integrals over the annealing path (paper, section on normalizing constants), and divergences built on them.

With V = -log_likelihood, the divergences between reference and target follow from the path integral of V, which is
minus the log evidence, and from the mean energies at the ends of the path, so they have no discretisation bias. The
Fisher-Rao length is the path integral of the standard deviation of V.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.tuning.batches import estimate
from sterna.tuning.energies import Energies
from sterna.tuning.estimate import Estimate
from sterna.tuning.evidence import Evidence
from sterna.tuning.journey_influence import JourneyInfluence
from sterna.types import FloatArray


def integrate(schedule: FloatArray, values: FloatArray, influence: FloatArray) -> Estimate:
    """Integrate over beta a quantity given at the schedule's betas, by monotone cubics between them.

    The error is linearised by the trapezoidal rule. The bias is Richardson's estimate from every other beta.
    """
    if not np.isfinite(values).all():
        return Estimate(math.nan, math.nan, 1.0, math.nan)
    value = _area(schedule, values)
    step = np.diff(schedule)
    weights = 0.5 * (np.concatenate([step, [0.0]]) + np.concatenate([[0.0], step]))
    coarse = np.unique(np.append(np.arange(0, len(schedule), 2), len(schedule) - 1))
    # two chains have no coarser schedule to compare with
    bias = (_area(schedule[coarse], values[coarse]) - value) / 3.0 if len(schedule) > 2 else math.nan
    return estimate(value, influence @ weights, bias=bias)


def _area(x: FloatArray, y: FloatArray) -> float:
    from scipy.interpolate import PchipInterpolator

    return float(PchipInterpolator(x, y).integrate(x[0], x[-1]))


def path_integral(
    function: Callable[[FloatArray, float], ArrayLike], schedule: FloatArray, log_likelihood: FloatArray, batches: int
) -> Estimate:
    """Integrate E[function(V, beta)] over beta, from log-likelihoods of all chains: (copies, scans, chains)."""
    copies, scans, chains = log_likelihood.shape
    edges = np.arange(batches) * scans // batches
    lengths = np.diff(np.append(edges, scans)).astype(np.float64)
    values, influence = np.empty(chains), np.empty((copies, batches, chains))
    for chain, beta in enumerate(schedule):
        found = np.asarray(function(-log_likelihood[:, :, chain], float(beta)), dtype=np.float64)
        if found.shape not in ((), (copies, scans)):
            raise OptionError(
                f"path_integral: the function returned an array of shape {found.shape} for values of V of shape "
                f"{(copies, scans)}; it must return one number for each value, as lambda v, beta: v**2 does."
            )
        everywhere = np.broadcast_to(found, (copies, scans))
        values[chain] = everywhere.mean()
        with np.errstate(invalid="ignore"):
            sums = np.add.reduceat(everywhere, edges, axis=1)
            influence[:, :, chain] = (sums - lengths * values[chain]) / lengths.mean()
    return integrate(schedule, values, influence)


def kl_reference_to_target(
    evidence: Evidence, energies: Energies, journeys: JourneyInfluence | None = None
) -> Estimate:
    """KL(reference, target) = log Z(1)/Z(0) - E_0[log_likelihood]; infinite if the likelihood is zero on some draws."""
    if energies.zero_share > 0:
        return Estimate(math.inf, math.nan, 1.0)
    value = evidence.best.value - float(energies.mean[0])
    influence = evidence.influence - energies.influence[:, :, 0]
    parts = None if journeys is None else journeys.evidence - journeys.reference
    return _if_known(evidence, estimate(value, influence, 0.0, evidence.least_variance, parts))


def kl_target_to_reference(
    evidence: Evidence, energies: Energies, journeys: JourneyInfluence | None = None
) -> Estimate:
    """KL(target, reference) = E_1[log_likelihood] - log Z(1)/Z(0): the information gained from the data."""
    value = float(energies.mean[-1]) - evidence.best.value
    influence = energies.influence[:, :, -1] - evidence.influence
    parts = None if journeys is None else journeys.target - journeys.evidence
    return _if_known(evidence, estimate(value, influence, 0.0, evidence.least_variance, parts))


def _if_known(evidence: Evidence, found: Estimate) -> Estimate:
    """Return a divergence; its error is unknown if that of the evidence is."""
    return replace(found, error=math.nan) if math.isnan(evidence.best.error) else found


def symmetric_kl(energies: Energies, journeys: JourneyInfluence | None = None) -> Estimate:
    """Sum of both divergences, E_1[log_likelihood] - E_0[log_likelihood]: the path integral of the variance of V."""
    if energies.zero_share > 0:
        return Estimate(math.inf, math.nan, 1.0)
    value = float(energies.mean[-1] - energies.mean[0])
    parts = None if journeys is None else journeys.target - journeys.reference
    return estimate(value, energies.influence[:, :, -1] - energies.influence[:, :, 0], journeys=parts)


def fisher_rao_length(schedule: FloatArray, energies: Energies) -> Estimate:
    """Length of the path in the Fisher-Rao metric, the path integral of the standard deviation of V.

    No path between reference and target is shorter than their Fisher-Rao distance; the annealing path may be longer.
    If a share p0 of the reference has zero likelihood, the path jumps by 2 arccos(sqrt(1 - p0)) at beta = 0.
    """
    deviation = np.sqrt(energies.variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = np.where(deviation > 0, energies.variance_influence / (2.0 * deviation), 0.0)
    smooth = integrate(schedule, deviation, influence)
    jump = 2.0 * math.acos(math.sqrt(1.0 - energies.zero_share))
    return replace(smooth, value=smooth.value + jump)
