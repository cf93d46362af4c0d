"""Bennett's acceptance ratio (1976): log Z(beta')/Z(beta) from both chains of a pair."""

import numpy as np

from sterna.engine.record import Bridges
from sterna.tuning.batches import Batches
from sterna.tuning.steps import Steps
from sterna.types import FloatArray


def bennett(batches: Batches, pivot: FloatArray) -> Steps:
    """Bennett's acceptance ratio: weights both chains of a pair where their distributions overlap.

    If the pivot equals log Z(beta')/Z(beta), no other estimator from one pair of chains has a smaller variance; with
    any other pivot it is still consistent. The pivot comes from the previous round, so that sums suffice. Draws from
    the reference with zero likelihood count as zeros.

    Terms that are rare in one chain are common in the other: with F and G = 1 - F, the second moment of F at the
    lower chain is E_lower[F] E_upper[F G] / E_upper[G], and likewise for G. That gives the least variance.
    """
    with np.errstate(all="ignore"):
        up, down, lower, upper = (
            batches.mean(batches.bridge[which])
            for which in (Bridges.forward, Bridges.backward, Bridges.lower_product, Bridges.upper_product)
        )
        value = pivot + np.log(up) - np.log(down)
        influence = batches.influence(batches.bridge[Bridges.forward]) / up
        influence = influence - batches.influence(batches.bridge[Bridges.backward]) / down
        square = (lower + upper) / (up * down) - 2.0
        variance = np.where(np.isnan(square), np.inf, np.maximum(square, 0.0)) / batches.scans.sum()
    return Steps(value, influence, variance)
