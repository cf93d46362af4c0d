"""The best of several explorers, found while tuning by what each forgets of a chain's state for its cost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from sterna.engine.program import EVALUATIONS, GRADIENTS, LOG_LIKELIHOOD, Program
from sterna.explorers.base import MOST_DIVERGED, Bound, Explorer, all_coordinates
from sterna.explorers.composition import ENTRY, check_explorers, compose, run_part
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import as_pointer, compiled, inlined, offset_pointer
from sterna.ground.streams import Stream, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# Places in a chain's row of parameters: number of parts, the one chosen (-1 while they are on trial), number of
# quantities watched, rounds after which it was tuned; then the centre and scale of each quantity. The first of these is
# the energy, the others are coordinates.
PARTS, CHOSEN, WATCHED, TUNED, CENTRES = 0, 1, 2, 3, 4
ON_TRIAL = -1.0

# Statistics: for every part its calls, evaluations and gradients, and for every quantity the sum of its squared moves;
# then for every quantity the sums of its squashed values and of their squares, and of its distances from the centre and
# of their squares; last, as scratch, its squashed values before the call.
CALLS, COST, SLOPES, MOVES = 0, 1, 2, 3

# Coordinates watched besides the energy, evenly spaced over the block.
MOST_WATCHED = 8
SUMS = 4
# The square of no distance is larger, even summed up.
FARTHEST = 1e140
# A choice is made after a round in which every part was called so often for a chain, in the mean, and which came after
# so many others, however many copies there are: parts must have been tuned before.
ENOUGH_CALLS, ENOUGH_ROUNDS = 24, 4
# A part that forgets less than this share of a quantity counts as if it forgot so much; what no part forgets, as modes
# far apart, tells nothing. A variance as small as this is rounding.
LEAST_FORGOTTEN, LEAST_VARIANCE = 1e-8, 1e-12


@inlined
def squashed(distance: float, scale: float) -> float:
    """Return a distance from the centre in units of the scale, pressed into (-1, 1): heavy tails have a variance."""
    return distance / (scale + abs(distance))


@inlined
def distance_of(
    quantity: int, x: FloatPointer, log_densities: FloatPointer, coordinates: IntPointer, parameters: FloatPointer
) -> float:
    """Return how far the energy, or a coordinate, is from its centre; so that its square is a number."""
    value = log_densities[LOG_LIKELIHOOD] if quantity == 0 else x[coordinates[quantity - 1]]
    return min(max(value - parameters[CENTRES + 2 * quantity], -FARTHEST), FARTHEST)


@compiled
def explore_on_trial(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Run the part chosen; while none is, one drawn evenly, and sum how far it moved and at what cost."""
    table = as_pointer(data[0], types.int64)
    parts, watched = int(parameters[PARTS]), int(parameters[WATCHED])
    if parameters[CHOSEN] != ON_TRIAL:
        run_part(
            program, x, log_densities, beta, parameters, statistics, table, ENTRY * int(parameters[CHOSEN]), stream
        )
        return
    coordinates = as_pointer(data[1], types.int64)
    own = MOVES + watched
    sums = offset_pointer(statistics, parts * own)
    before = offset_pointer(sums, SUMS * watched)
    part = int(uniform(stream) * parts)
    evaluations, gradients = log_densities[EVALUATIONS], log_densities[GRADIENTS]
    for q in range(watched):
        before[q] = squashed(distance_of(q, x, log_densities, coordinates, parameters), parameters[CENTRES + 2 * q + 1])
    run_part(program, x, log_densities, beta, parameters, statistics, table, ENTRY * part, stream)
    record = offset_pointer(statistics, part * own)
    record[CALLS] += 1.0
    record[COST] += log_densities[EVALUATIONS] - evaluations
    record[SLOPES] += log_densities[GRADIENTS] - gradients
    for q in range(watched):
        distance = distance_of(q, x, log_densities, coordinates, parameters)
        small = squashed(distance, parameters[CENTRES + 2 * q + 1])
        record[MOVES + q] += (small - before[q]) ** 2
        sums[SUMS * q] += small
        sums[SUMS * q + 1] += small * small
        sums[SUMS * q + 2] += distance
        sums[SUMS * q + 3] += distance * distance


@dataclass(frozen=True)
class Trial:
    """What tuning needs to choose: how many parts there are, and what an evaluation of theirs costs."""

    names: tuple[str, ...]
    watched: int
    evaluation_cost: float
    gradient_cost: float

    @property
    def n_sums(self) -> int:
        """Numbers in a chain's row of statistics, scratch included."""
        return len(self.names) * (MOVES + self.watched) + (SUMS + 1) * self.watched

    def tune(self, head: FloatArray, sums: FloatArray, diverged: FloatArray) -> FloatArray:
        """Choose a part after a round long enough; else learn centres and scales for the next.

        What diverges looks quick, as it leaves out what is slow. So it is not chosen, or no longer: then the first is.
        """
        head = head.copy()
        head[:, TUNED] += 1
        reliable = np.less_equal(np.max(diverged[:, 1:], axis=1), MOST_DIVERGED)
        if head[0, CHOSEN] != ON_TRIAL:
            if diverged[int(head[0, CHOSEN]), 1:].max() > MOST_DIVERGED:
                head[:, CHOSEN] = 0
            return head
        records, values = self._split(sums[1:])
        calls = records[:, :, CALLS]
        if calls.mean(axis=0).min() >= ENOUGH_CALLS and head[0, TUNED] > ENOUGH_ROUNDS:
            prices = self.prices(records, values)
            head[:, CHOSEN] = int(np.argmin(np.where(reliable, prices, np.inf))) if reliable.any() else 0
            return head
        count = np.maximum(calls.sum(axis=1), 1.0)[:, None]
        distance, square = values[:, :, 2] / count, values[:, :, 3] / count
        centres, scales = head[1:, CENTRES::2], head[1:, CENTRES + 1 :: 2]
        centres += distance
        spread = np.sqrt(np.maximum(square - distance**2, 0.0))
        scales[:] = np.where(spread > 0.0, spread, scales)
        return head

    def prices(self, records: FloatArray, values: FloatArray) -> FloatArray:
        """Cost of an independent draw by every part: of its slowest quantity, in the mean over the chains that it met.

        A quantity of variance v that moves by m in the square mean keeps r = 1 - m / 2v of itself, and (1 + r)/(1 - r)
        calls make an independent draw.
        """
        calls = records[:, :, CALLS]
        count = np.maximum(calls.sum(axis=1), 1.0)[:, None]
        variance = values[:, :, 1] / count - (values[:, :, 0] / count) ** 2
        with np.errstate(all="ignore"):
            forgotten = records[:, :, MOVES:] / calls[:, :, None] / (2.0 * variance[:, None, :])
            # what does not vary is not slow
            forgotten = np.where(variance[:, None, :] > LEAST_VARIANCE, forgotten, 1.0)
            known = np.any(forgotten > LEAST_FORGOTTEN, axis=1, keepdims=True)
            memory = np.where(known, 2.0 / np.clip(forgotten, LEAST_FORGOTTEN, 1.0) - 1.0, 1.0)
            work = self.evaluation_cost * records[:, :, COST] + self.gradient_cost * records[:, :, SLOPES]
            # a call costs something, if only its own overhead
            work = np.maximum(work, self.evaluation_cost * calls)
            prices = np.where(calls[:, :, None] > 0.0, memory * (work / calls)[:, :, None], 0.0)
        return np.asarray((prices.sum(axis=0) / (calls > 0.0).sum(axis=0)[:, None]).max(axis=1))

    def chosen(self, parameters: FloatArray) -> str | None:
        """Return the name of the part chosen, if one is."""
        part = int(parameters[0, CHOSEN])
        return None if part == ON_TRIAL else self.names[part]

    def unreached(self, shares: FloatArray, sums: FloatArray) -> FloatArray:
        """Return the share of the part chosen; while all are on trial the safest of them reaches what others do not."""
        calls = self._split(sums)[0][:, :, CALLS].T
        if calls.sum() == 0:
            return np.asarray(shares.max(axis=0))
        return np.where(calls.any(axis=0), np.where(calls > 0, shares, np.inf).min(axis=0), 0.0)

    def _split(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Divide statistics into the parts' records (chain, part, place) and the sums of quantities."""
        parts, own = len(self.names), MOVES + self.watched
        records = sums[:, : parts * own].reshape(len(sums), parts, own)
        values = sums[:, parts * own : parts * own + SUMS * self.watched].reshape(len(sums), self.watched, SUMS)
        return records, values


class Best:
    """The best of several explorers for a target, found while tuning.

    The first rounds draw one of the explorers at every turn, and measure how much of a chain's energy and of some of
    its coordinates each forgets for its evaluations. After a round of about 24 turns for each, all chains use the one
    whose independent draws cost least. One whose trajectories diverge is not chosen, or given up for the first, which
    should be the safest. A run too short for that goes on drawing one by chance, which is as exact.

    Examples
    --------
    >>> import sterna
    >>> explorer = sterna.Best(sterna.Slice(), sterna.HMC())
    >>> sterna.sample(sterna.models.normal(50), explorer=explorer, n_rounds=8, progress=False).explorer
    'hmc'
    """

    def __init__(self, *explorers: Explorer | Callable[..., Any]) -> None:
        self.explorers = check_explorers("Best", explorers)

    @property
    def name(self) -> str:
        """The names of the parts."""
        return f"best({', '.join(part.name for part in self.explorers)})"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind every part to the same coordinates."""
        block = all_coordinates(target, coordinates)
        places = np.linspace(0, len(block) - 1, min(len(block), MOST_WATCHED)).astype(np.int64)
        watched = 1 + len(places)
        parts = [explorer.bind(target, coordinates) for explorer in self.explorers]
        # a local change costs a part of an evaluation, and more than one coordinate's share
        evaluation_cost = 1.0 if target.program.likelihood_change == 0 else target.dimension**-0.5
        trial = Trial(tuple(part.name for part in self.explorers), watched, evaluation_cost, target.cost.gradient)
        return compose(
            explore_on_trial,
            parts,
            [len(parts), ON_TRIAL if len(parts) > 1 else 0, watched, 0, *np.tile([0.0, 1.0], watched)],
            n_sums=trial.n_sums,
            tune_head=trial.tune,
            chosen=trial.chosen,
            data=(np.ascontiguousarray(block[places]),),
            unreached=trial.unreached,
        )
