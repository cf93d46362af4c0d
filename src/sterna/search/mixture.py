"""The mixture of normal distributions that describes a target: a component for each optimum and each cloud of draws.

It is a reference from which all modes are reached alike, whatever their widths, because a common inflation makes every
mode overlap with its component in the same way.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sterna.search.curvature import Optimum
from sterna.tuning.clusters import centres_of, shrunk
from sterna.types import FloatArray, IntArray

# Components at most, and the largest dimension in which they have full covariances.
MAX_COMPONENTS, MAX_FULL = 50, 100

# The share of the prior in the reference: it bounds weights where no component is.
PRIOR_SHARE = 0.1

# Covariances of components are those of the target times this.
INFLATION = 1.5

# All components together have at least this share of the weight in equal parts, so that none is forgotten.
EQUAL_SHARE = 0.1

# Optima of less mass than the largest, by so many nats, are no components.
NEGLIGIBLE = 12.0

# A component is lacking at a point if the density of the target exceeds that of the mixture by so many nats more than
# at the centre of a normal mode; so often is that looked for.
LACKING_NATS, PASSES = 3.0, 4

# A cloud of fewer points has no covariance.
LEAST_POINTS = 10

# A draw belongs to no component if it is outside the ellipsoid that holds all but this share of each.
OUTSIDE = 1e-4


@dataclass(frozen=True)
class Mixture:
    """Weights (k), centres (k, d) and factors of covariances (k, d, d), or standard deviations (k, d), on the line."""

    weights: FloatArray
    centres: FloatArray
    factors: FloatArray
    prior_share: float = PRIOR_SHARE

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.centres.shape[1])

    def squares(self, points: FloatArray) -> FloatArray:
        """Return the squared distance of every point from every component, in units of the component."""
        result = np.empty((len(points), len(self.weights)))
        for k, (centre, factor) in enumerate(zip(self.centres, self.factors, strict=True)):
            away = points - centre
            white = away / factor if factor.ndim == 1 else away @ np.linalg.inv(factor).T
            result[:, k] = np.einsum("ij,ij->i", white, white)
        return result

    def log_densities(self, points: FloatArray) -> FloatArray:
        """Return the log-density of every component at every point, with its weight."""
        diagonals = np.diagonal(self.factors, axis1=1, axis2=2) if self.factors.ndim == 3 else self.factors
        constants = np.log(self.weights) - np.log(diagonals).sum(axis=1)
        return np.asarray(constants - 0.5 * (self.squares(points) + self.dimension * math.log(2.0 * math.pi)))

    def log_components(self, points: FloatArray) -> FloatArray:
        """Return the log-density of all components together."""
        return np.asarray(np.logaddexp.reduce(self.log_densities(points), axis=1))

    def log_density(self, points: FloatArray, log_priors: FloatArray) -> FloatArray:
        """Return the log-density of the whole mixture, of which the prior is a part."""
        components = self.log_components(points)
        shares = math.log(self.prior_share), math.log1p(-self.prior_share)
        return np.asarray(np.logaddexp(shares[0] + log_priors, shares[1] + components))

    def nearest(self, points: FloatArray) -> IntArray:
        """Return the component to which each point most likely belongs, or -1 if it is outside of all."""
        from scipy.special import chdtri

        outside = (self.squares(points) > float(chdtri(self.dimension, OUTSIDE))).all(axis=1)
        return np.where(outside, -1, self.log_densities(points).argmax(axis=1))


def first_mixture(optima: Sequence[Optimum], points: FloatArray, log_evidence: float) -> Mixture | None:
    """Return the mixture of optima, and of clouds of target draws that belong to none of them; None if there are none.

    Masses of optima are Laplace's; those of clouds are their shares of the draws times the evidence.
    """
    highest = max((one.log_mass for one in optima), default=-math.inf)
    kept = [one for one in optima if one.log_mass > highest - NEGLIGIBLE][:MAX_COMPONENTS]
    log_masses = [one.log_mass for one in kept]
    centres = [one.point for one in kept]
    factors = [_inflated(one.factor, points.shape[1]) for one in kept]
    outside = points
    if kept:
        found = Mixture(weights_of(np.array(log_masses)), np.array(centres), np.array(factors))
        outside = points[found.nearest(points) < 0]
    # an evidence that is not known yet says nothing about masses
    base = log_evidence if math.isfinite(log_evidence) else max(log_masses, default=0.0)
    for cloud in clouds(outside):
        log_masses.append(base + math.log(len(cloud) / len(points)))
        centres.append(cloud.mean(axis=0))
        factors.append(_factor_of_cloud(cloud))
    if not centres:
        return None
    order = np.argsort(-np.array(log_masses), kind="stable")[:MAX_COMPONENTS]
    return Mixture(weights_of(np.array(log_masses)[order]), np.array(centres)[order], np.array(factors)[order])


def refitted(mixture: Mixture, points: FloatArray) -> Mixture:
    """Return the mixture with components fitted to the target draws that belong to them, and new clouds.

    The last component counts as 10 + 2 d draws, too few to determine a covariance.
    """
    nearest, d = mixture.nearest(points), mixture.dimension
    counts = np.array([(nearest == k).sum() for k in range(len(mixture.weights))], dtype=np.float64)
    centres, factors = mixture.centres.copy(), mixture.factors.copy()
    for k, count in enumerate(counts):
        if count > 1:
            centres[k], factors[k] = _moved(mixture, k, points[nearest == k], count / (count + 10.0 + 2.0 * d))
    new = clouds(points[nearest < 0])[: MAX_COMPONENTS - len(counts)]
    if new:
        centres = np.concatenate([centres, [cloud.mean(axis=0) for cloud in new]])
        factors = np.concatenate([factors, [_factor_of_cloud(cloud) for cloud in new]])
        counts = np.concatenate([counts, [len(cloud) for cloud in new]])
    shares = (counts + 0.5) / (counts + 0.5).sum()
    return Mixture(weights_of(np.log(shares)), centres, factors, mixture.prior_share)


def lacking_nats(mixture: Mixture) -> float:
    """Return by how many nats the target must be denser than the mixture at a place that the mixture lacks."""
    return LACKING_NATS + 0.5 * mixture.dimension * math.log(INFLATION)


def with_places(mixture: Mixture, points: FloatArray, log_targets: FloatArray, log_priors: FloatArray) -> Mixture:
    """Return the mixture with components for points where its density is far smaller than the target's, normalised.

    A bent ridge needs several: what one component for a cloud does not explain is cut in two, and so on.
    """
    allowed = lacking_nats(mixture)
    for cuts in range(PASSES):
        lacks = log_targets - mixture.log_density(points, log_priors) > allowed
        new = [piece for cloud in clouds(points[lacks]) for piece in pieces(cloud, cuts)]
        new = new[: MAX_COMPONENTS - len(mixture.weights)]
        if not new:
            break
        mixture = _with_new(mixture, new)
    return mixture


def with_clouds(mixture: Mixture, points: FloatArray) -> Mixture:
    """Return the mixture with a component for each cloud of points that belong to none, such as those of another run.

    Their weights are an equal part, because the points do not tell how much mass they stand for.
    """
    new = clouds(points[mixture.nearest(points) < 0])[: MAX_COMPONENTS - len(mixture.weights)]
    return _with_new(mixture, new) if new else mixture


def _with_new(mixture: Mixture, new: Sequence[FloatArray]) -> Mixture:
    """Return the mixture with a component for each of some clouds, of an equal part of the weight."""
    weights = np.concatenate([mixture.weights, np.full(len(new), EQUAL_SHARE / len(mixture.weights))])
    centres = np.concatenate([mixture.centres, [cloud.mean(axis=0) for cloud in new]])
    factors = np.concatenate([mixture.factors, [_factor_of_cloud(cloud) for cloud in new]])
    return Mixture(weights / weights.sum(), centres, factors, mixture.prior_share)


def with_optima(mixture: Mixture, optima: Sequence[Optimum], log_evidence: float) -> Mixture:
    """Return the mixture with a component for each optimum that is outside of all and has mass, by Laplace's method."""
    new = [one for one in optima if one.log_mass > log_evidence - NEGLIGIBLE]
    new = [one for one in new if mixture.nearest(one.point[None])[0] < 0][: MAX_COMPONENTS - len(mixture.weights)]
    if not new:
        return mixture
    masses = np.array([one.log_mass - log_evidence for one in new])
    return Mixture(
        weights_of(np.concatenate([np.log(mixture.weights), masses])),
        np.concatenate([mixture.centres, [one.point for one in new]]),
        np.concatenate([mixture.factors, [_inflated(one.factor, mixture.dimension) for one in new]]),
        mixture.prior_share,
    )


def _moved(mixture: Mixture, k: int, points: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """Return centre and factor of a component, of which its draws have a share."""
    old = mixture.factors[k]
    centre = (1.0 - share) * mixture.centres[k] + share * points.mean(axis=0)
    away, shift = points - centre, mixture.centres[k] - centre
    if old.ndim == 1:
        variance = (1.0 - share) * (old**2 + shift**2) + share * INFLATION * (away**2).mean(axis=0)
        return centre, np.sqrt(variance)
    covariance = (1.0 - share) * (old @ old.T + np.outer(shift, shift))
    covariance += share * INFLATION * (away.T @ away) / len(points)
    return centre, np.asarray(np.linalg.cholesky(covariance))


def weights_of(log_masses: FloatArray) -> FloatArray:
    """Return weights in proportion to masses, of which each component has at least an equal part of EQUAL_SHARE."""
    weights = np.exp(log_masses - log_masses.max())
    return np.asarray((1.0 - EQUAL_SHARE) * weights / weights.sum() + EQUAL_SHARE / len(weights))


def masses_of(weights: FloatArray) -> FloatArray:
    """Return the shares from which weights were made, without the part that every component has."""
    shares = np.maximum(weights - EQUAL_SHARE / len(weights), 0.0)
    return np.asarray(shares / shares.sum() if shares.sum() > 0.0 else weights)


def clouds(points: FloatArray) -> list[FloatArray]:
    """Return clusters of points that are large enough to have a covariance, the largest first."""
    if len(points) < LEAST_POINTS:
        return []
    units = np.where(points.std(axis=0) > 0, points.std(axis=0), 1.0)
    centres = centres_of(points / units)
    nearest = ((points[:, None] / units - centres) ** 2).sum(axis=2).argmin(axis=1)
    found = [points[nearest == k] for k in range(len(centres))]
    return sorted((one for one in found if len(one) >= LEAST_POINTS), key=len, reverse=True)


def pieces(points: FloatArray, cuts: int) -> list[FloatArray]:
    """Cut a cloud in two across its longest axis, and so each part, `cuts` times if it has enough points."""
    if cuts == 0 or len(points) < 2 * LEAST_POINTS:
        return [points]
    away = points - points.mean(axis=0)
    units = np.where(away.std(axis=0) > 0, away.std(axis=0), 1.0)
    along = away @ (np.linalg.svd(away / units, full_matrices=False)[2][0] / units)
    upper = along > np.median(along)
    return [piece for half in (points[~upper], points[upper]) for piece in pieces(half, cuts - 1)]


def _inflated(factor: FloatArray, dimension: int) -> FloatArray:
    """Return the factor of a component around an optimum; all components of a mixture have factors of one kind."""
    wide = factor * math.sqrt(INFLATION)
    if dimension > MAX_FULL:
        return wide if wide.ndim == 1 else np.sqrt((wide**2).sum(axis=1))
    return np.diag(wide) if wide.ndim == 1 else wide


def _factor_of_cloud(points: FloatArray) -> FloatArray:
    """Return the factor of a cloud's component."""
    # in units of the cloud, because a least variance is added
    units = np.where(points.std(axis=0) > 0, points.std(axis=0), 1.0)
    covariance = shrunk(np.atleast_2d(np.cov((points / units).T)), len(points)) * np.outer(units, units)
    if len(covariance) > MAX_FULL:
        return np.asarray(np.sqrt(INFLATION * np.diag(covariance)))
    return np.asarray(np.linalg.cholesky(INFLATION * covariance))
