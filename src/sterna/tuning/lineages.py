"""Which replicas descend from the same state at the beginning of a round.

If tuning changes the number of chains, new chains begin at the states of their nearest old ones, so that several
replicas may be copies of one. Until they visit the reference, they know no more than the one did.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sterna.engine.round import nearest_chains
from sterna.types import FloatArray, IndexArray, IntArray

if TYPE_CHECKING:
    from sterna.tuning.rounds import Round


def ancestors_of(rounds: Sequence["Round"], schedule: FloatArray) -> list[IntArray] | None:
    """Return for each copy the ancestor of every replica after these rounds, if the next one has this schedule.

    Replicas with the same ancestor were copied from one state and have not been at the reference since. Before the
    first round there are none: all replicas are draws from the reference.
    """
    if not rounds:
        return None
    found = [np.arange(rounds[0].n_chains) for _ in rounds[0].positions]
    schedules = [*(one.schedule for one in rounds[1:]), schedule]
    for one, following in zip(rounds, schedules, strict=True):
        sources = None
        if len(following) != one.n_chains:
            barrier = one.placement_barrier.smooth
            sources = nearest_chains(barrier(one.schedule), barrier(following))
        found = [next_ancestors(*pair, sources) for pair in zip(found, one.positions, strict=True)]
    return found


def next_ancestors(ancestors: IntArray, positions: IndexArray, sources: IntArray | None) -> IntArray:
    """Return the ancestors after a round, given its index process, (scans, replicas), and which chains are copied."""
    fresh = ancestors.max() + 1 + np.arange(len(ancestors))
    after = np.where((positions == 0).any(axis=0), fresh, ancestors)
    return after if sources is None else after[np.argsort(positions[-1])[sources]]
