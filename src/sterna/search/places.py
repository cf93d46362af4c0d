"""Places where the target was looked at, compared with the mixture that shall describe it."""

from dataclasses import dataclass

import numpy as np

from sterna.search.mixture import Mixture, lacking_nats, with_places
from sterna.types import FloatArray

# Places that are known at most.
MAX_PLACES = 4000

# A place where the target is by more nats denser than the mixture is no likelier a start: there may be other such
# places, where it is less so because less is known of them.
MAX_NATS = 10.0

# Replicas are judged by so many of their last places: at some of them the mixture must lack something, or nearly so.
LAST, LEAST, LESS_NATS = 6, 2, 2.5


def box_of(references: FloatArray, draws: FloatArray) -> FloatArray:
    """Return bounds, (2, dimension), beyond which nothing is looked for, from draws of the reference and the target.

    Where the prior falls off faster than the square of the target, target^2 / mixture grows without end, and replicas
    run to where log-densities are so large that they cancel to rounding errors, from which none returns. What lies
    further out than draws of the reference by their whole span, and than the middle half of the target's draws by four
    times its width, is such a place.
    """
    lowest, highest = references.min(axis=0), references.max(axis=0)
    first, third = np.quantile(draws, [0.25, 0.75], axis=0)
    low = np.minimum(lowest - (highest - lowest), first - 4 * (third - first))
    high = np.maximum(highest + (highest - lowest), third + 4 * (third - first))
    return np.stack([low, high])


@dataclass(frozen=True)
class Places:
    """States, their points on the line, and log-densities there."""

    states: FloatArray
    points: FloatArray
    log_targets: FloatArray
    """Of the target, normalised."""
    log_priors: FloatArray

    def and_others(self, others: "Places") -> "Places":
        """Return these places and others, thinned if they are many."""
        pairs = zip(vars(self).values(), vars(others).values(), strict=True)
        together = [np.concatenate(pair) for pair in pairs]
        every = -(-len(together[0]) // MAX_PLACES)
        return Places(*(values[::every] for values in together))

    def of_those_that_stay(self, mixture: Mixture, count: int) -> "Places":
        """Return the places of those of `count` replicas, in turn, that still were where the mixture lacks something.

        Where the mixture is a little too narrow in a direction, target^2 / mixture may grow without end. Replicas that
        went there come back once they explore the target alone, because these places hold next to none of its mass.
        """
        nats = self.log_targets - mixture.log_density(self.points, self.log_priors)
        lacks = nats > lacking_nats(mixture) - LESS_NATS
        stayed = lacks.reshape(-1, count)[-LAST:].sum(axis=0) >= LEAST
        kept = np.resize(stayed, len(nats))
        return Places(*(values[kept] for values in vars(self).values()))

    def inside(self, box: FloatArray) -> "Places":
        """Return the places inside of a box, (2, dimension), and not beyond all numbers."""
        kept = ((box[0] <= self.points) & (self.points <= box[1])).all(axis=1)
        return Places(*(values[kept] for values in vars(self).values()))

    def covered(self, mixture: Mixture) -> Mixture:
        """Return the mixture with components for those of these places that it lacks."""
        if not len(self.points):
            return mixture
        try:
            return with_places(mixture, self.points, self.log_targets, self.log_priors)
        except np.linalg.LinAlgError:
            return mixture

    def starts(self, mixture: Mixture, count: int, rng: np.random.Generator) -> FloatArray:
        """Return states drawn by the density of the target relative to that of the mixture.

        If the places are draws of the target, these are draws of target^2 / mixture.
        """
        nats = self.log_targets - mixture.log_density(self.points, self.log_priors)
        nats = np.minimum(np.nan_to_num(nats, nan=-np.inf), MAX_NATS)
        highest = nats.max()
        weights = np.exp(nats - highest) if np.isfinite(highest) else np.ones(len(nats))
        sums = np.cumsum(weights)
        # at equal distances, so that a place is drawn twice only if it has much of the weight
        places = np.searchsorted(sums, sums[-1] * (np.arange(count) + rng.random()) / count, side="right")
        return np.asarray(self.states[np.minimum(places, len(sums) - 1)])
