"""The modes of a target: components of a mixture without a dip between them. And what climbs may have missed."""

from dataclasses import dataclass

import numpy as np

from sterna.search.mixture import INFLATION, Mixture
from sterna.types import FloatArray, IntArray

# Components are one mode if the density between their centres dips by less than this, in nats.
DIP = 2.0

# Modes have parted if they are so many standard deviations away from each other.
PARTED = 4.0

# Where that is looked at, on the way from one centre to the other.
BETWEEN = np.linspace(0.0, 1.0, 21)[1:-1]


@dataclass(frozen=True)
class Unseen:
    """The share of the reference from which climbs lead to modes that no climb has found (Good and Turing)."""

    climbs: int = 0
    """Climbs from independent draws of the reference that ended at a known mode."""
    once: int = 0
    """Modes to which exactly one of them led."""
    checked: int = 0
    """Climbs that one evaluation had ended, and that were then made to the end."""
    elsewhere: int = 0
    """How many of these led to another optimum than the evaluation said."""

    @property
    def share(self) -> float:
        """Good and Turing's estimate: the share of climbs that were alone at their mode; 1 if there was no climb."""
        return self.once / self.climbs if self.climbs else 1.0

    @property
    def upper(self) -> float:
        """The upper 95 % bound: Poisson's for the number of such climbs, which is 3 if there was none."""
        from scipy.special import chdtri

        return min(1.0, 0.5 * float(chdtri(2.0 * (self.once + 1), 0.05)) / self.climbs) if self.climbs else 1.0


def modes_of(mixture: Mixture) -> IntArray:
    """Return the number of the mode of every component; modes are numbered from 0, the one of largest weight first.

    Components are joined over the highest saddles first. Two groups become one if the lower of their peaks is less than
    DIP above the saddle, so that a low and wide component between two modes joins one of them, but not both.
    """
    number = len(mixture.weights)
    pairs = [(i, j) for j in range(number) for i in range(j)]
    densities = [between(mixture, i, j) for i, j in pairs]
    # a component's own peak, where others may be higher
    peak = mixture.log_densities(mixture.centres).max(axis=1)
    label = np.arange(number)
    for k in sorted(range(len(pairs)), key=lambda k: -densities[k]):
        first, second = label[list(pairs[k])]
        tops = [peak[label == one].max() for one in (first, second)]
        if first != second and min(tops) - densities[k] < DIP:
            label[label == second] = first
    found, label = np.unique(label, return_inverse=True)
    weights = np.bincount(label, weights=mixture.weights, minlength=len(found))
    rank = np.empty(len(found), dtype=np.int64)
    rank[np.argsort(-weights, kind="stable")] = np.arange(len(found))
    return np.asarray(rank[label])


def between(mixture: Mixture, first: int, second: int) -> float:
    """Return the lowest log-density of two components on the way from one centre to the other, ends included."""
    two = [first, second]
    ends = mixture.centres[two]
    points = np.concatenate([ends, ends[0] + BETWEEN[:, None] * (ends[1] - ends[0])])
    pair = Mixture(mixture.weights[two], ends, mixture.factors[two])
    return float(pair.log_components(points).min())


def unseen(basins: IntArray, checked: int = 0, elsewhere: int = 0) -> Unseen:
    """Return what the numbers of climbs that led to each mode say about modes that were not found."""
    return Unseen(int(basins.sum()), int((basins == 1).sum()), checked, elsewhere)


def shares_when_modes_part(mixture: Mixture, mode_of: IntArray, log_priors: FloatArray) -> FloatArray:
    """Return the share of each mode on the path from the prior at the beta where it parts from the others.

    At beta a component of weight W and volume V has a mass in proportion to W**beta (p V)**(1 - beta), where p is the
    density of the prior at its centre (`log_priors`). It has parted from the others if the nearest of them is PARTED
    standard deviations away, which are larger by a factor of beta**-0.5 than those of the target.
    """
    diagonals = np.diagonal(mixture.factors, axis1=1, axis2=2) if mixture.factors.ndim == 3 else mixture.factors
    log_volumes, log_weights = np.log(diagonals).sum(axis=1), np.log(mixture.weights)
    squares = mixture.squares(mixture.centres)
    # in units of the wider of two components
    apart = np.minimum(squares, squares.T)
    shares = []
    for mode in range(mode_of.max() + 1):
        own = mode_of == mode
        nearest = apart[np.ix_(own, ~own)].min(initial=np.inf)
        beta = min(1.0, PARTED**2 / (nearest * INFLATION)) if np.isfinite(nearest) else 1.0
        log_masses = beta * log_weights + (1.0 - beta) * (log_priors + log_volumes)
        masses = np.exp(log_masses - log_masses.max())
        shares.append(float(masses[own].sum() / masses.sum()))
    return np.array(shares)
