"""The best of several explorers, found while tuning by how much each forgets of a chain's state for its cost."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sterna.engine.circles import shortest
from sterna.engine.program import EVALUATIONS, GRADIENTS, LOG_LIKELIHOOD, Program
from sterna.explorers.base import MAX_DIVERGED, Bound, Draw, Explorer, all_coordinates
from sterna.explorers.composition import check_explorers, draw_part
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.parts import compose, run_part
from sterna.ground.compilation import compiled, inlined, int_pointer, offset_pointer
from sterna.ground.rows import columns, field_pointer, fields, new_row, size_of, sizes
from sterna.ground.streams import Stream
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

ON_TRIAL = -1.0

# Coordinates that are watched besides the energy, evenly spaced over the block.
MAX_WATCHED = 8
# Distances are clipped here, so that even the sum of their squares is finite.
MAX_DISTANCE = 1e140
# A choice is made after a round in which every part was called at least so often per chain on average, and which came
# after so many others, whatever the number of copies, because parts must be tuned first.
MIN_CALLS, MIN_ROUNDS = 24, 4
# Parts of different cost are called equally often in so many rounds: the dearest is usually the safest, and brings the
# chains to where the others can be tuned.
EQUAL_ROUNDS = 3
# A part is given up before the end of the trial if it can only be dearer than another by this factor.
CLEARLY = 2.0
# What a part forgets in a chain is estimated as if it had been called so many times more, with its mean over chains.
SHARED_CALLS = 4
# A part that forgets less than this share of a quantity counts as forgetting this much. A quantity that no part
# forgets, as with distant modes, does not count. A smaller variance than this is rounding error.
MIN_FORGOTTEN, MIN_VARIANCE = 1e-8, 1e-12

# Entries of all parts' records, number of quantities watched (the energy, and then coordinates), and number of parts.
RECORDS, WATCHED, PARTS = sizes(3)
(OF_RECORD,) = sizes(1)


@fields
class Head:
    """Parameters before those of the parts.

    `chosen` is ON_TRIAL until a part is chosen, `rounds` counts the rounds that were tuned. Costs are measured once, at
    the start; if evaluations are expensive, parts are drawn by their cost. Centres and scales are those of the
    quantities watched. Weights add up to 1: while on trial, parts are drawn by them.
    """

    parts = 1
    chosen = 1
    watched = 1
    rounds = 1
    evaluation_cost = 1
    gradient_cost = 1
    expensive = 1
    centres = WATCHED
    scales = WATCHED
    weights = PARTS


@fields
class PartRecord:
    """What a part was seen to do: calls, evaluations, gradients, and the sum of squared moves of each quantity."""

    calls = 1
    evaluations = 1
    gradients = 1
    moves = OF_RECORD


@fields
class Quantity:
    """Sums over the values of a quantity: squashed, their squares, distances from the centre, and their squares."""

    squashed = 1
    squashed_square = 1
    distance = 1
    distance_square = 1


@fields
class Sums:
    """Statistics before those of the parts; `before` is scratch: squashed values before a call."""

    records = RECORDS
    quantities = WATCHED.times(size_of(Quantity))
    before = WATCHED


RECORD_HEAD, QUANTITY_SIZE = size_of(PartRecord, 0), size_of(Quantity)


@inlined
def squashed(distance: float, scale: float) -> float:
    """Return a distance in units of the scale, mapped into (-1, 1) so that heavy tails have a variance."""
    return distance / (scale + abs(distance))


@inlined
def distance_of(
    program: Program,
    quantity: int,
    x: FloatPointer,
    log_densities: FloatPointer,
    coordinates: IntPointer,
    centres: FloatPointer,
) -> float:
    """Return the distance of the energy, or of a coordinate, from its centre, clipped so that its square is finite."""
    if quantity == 0:
        distance = log_densities[LOG_LIKELIHOOD] - centres[0]
    else:
        i = coordinates[quantity - 1]
        distance = shortest(program.circles, i, x[i] - centres[quantity])
    return min(max(distance, -MAX_DISTANCE), MAX_DISTANCE)


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
    """Run the chosen part; while there is none, draw one by weight, and sum how far it moves and at what cost."""
    table, coordinates = int_pointer(data[0]), int_pointer(data[1])
    parts, watched = int(parameters[Head.parts]), int(parameters[Head.watched])
    if parameters[Head.chosen] != ON_TRIAL:
        part = int(parameters[Head.chosen])
        run_part(program, x, log_densities, beta, parameters, statistics, table, part, stream)
        return
    record_size = RECORD_HEAD + watched
    centres = field_pointer(parameters, Head.centres, 0, watched)
    scales = field_pointer(parameters, Head.scales, 0, watched)
    quantities = field_pointer(statistics, Sums.quantities, parts * record_size, watched)
    before = field_pointer(statistics, Sums.before, parts * record_size, watched)
    part = draw_part(field_pointer(parameters, Head.weights, 0, watched, parts), parts, stream)
    evaluations, gradients = log_densities[EVALUATIONS], log_densities[GRADIENTS]
    for q in range(watched):
        before[q] = squashed(distance_of(program, q, x, log_densities, coordinates, centres), scales[q])
    run_part(program, x, log_densities, beta, parameters, statistics, table, part, stream)
    record = offset_pointer(statistics, part * record_size)
    moves = field_pointer(record, PartRecord.moves, watched)
    record[PartRecord.calls] += 1.0
    record[PartRecord.evaluations] += log_densities[EVALUATIONS] - evaluations
    record[PartRecord.gradients] += log_densities[GRADIENTS] - gradients
    for q in range(watched):
        distance = distance_of(program, q, x, log_densities, coordinates, centres)
        after = squashed(distance, scales[q])
        moves[q] += (after - before[q]) ** 2
        sums = offset_pointer(quantities, q * QUANTITY_SIZE)
        sums[Quantity.squashed] += after
        sums[Quantity.squashed_square] += after * after
        sums[Quantity.distance] += distance
        sums[Quantity.distance_square] += distance * distance


@dataclass(frozen=True)
class Trial:
    """How tuning chooses: the names of the parts, and the number of quantities watched."""

    names: tuple[str, ...]
    watched: int

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The sizes on which places in `Head` and `Sums` depend."""
        return len(self.names) * size_of(PartRecord, self.watched), self.watched, len(self.names)

    def tune(self, head: FloatArray, sums: FloatArray, diverged: FloatArray) -> FloatArray:
        """Choose a part after a round that is long enough; otherwise prepare the next round of the trial.

        A part with divergent trajectories seems fast, because it leaves out slow regions. So it is not chosen or, if it
        was, replaced by the first.
        """
        head = head.copy()
        head[:, Head.rounds] += 1
        if head[0, Head.chosen] != ON_TRIAL:
            if diverged[int(head[0, Head.chosen]), 1:].max() > MAX_DIVERGED:
                head[:, Head.chosen] = 0
            return head
        records, quantities = self.split(sums[1:])
        if head[0, Head.rounds] > MIN_ROUNDS and self.called_enough(head, records):
            return self.choose(head, sums, diverged)
        self.learn_scales(head, records, quantities)
        if head[0, Head.expensive] and head[0, Head.rounds] >= EQUAL_ROUNDS:
            self.learn_weights(head, records, quantities)
        return head

    def choose(self, head: FloatArray, sums: FloatArray, diverged: FloatArray) -> FloatArray:
        """Choose the part with the lowest price, whatever is known of it; if nothing is, the first."""
        head = head.copy()
        if head[0, Head.chosen] == ON_TRIAL:
            reliable = np.less_equal(np.max(diverged[:, 1:], axis=1), MAX_DIVERGED)
            prices = self.prices(*self.split(sums[1:]), head[0, Head.evaluation_cost], head[0, Head.gradient_cost])
            head[:, Head.chosen] = int(np.argmin(np.where(reliable, prices, np.inf)))
        return head

    def called_enough(self, head: FloatArray, records: FloatArray) -> bool:
        """Whether each part was called MIN_CALLS times per chain or, if it is drawn less often for its cost, in all."""
        calls, weights = records[:, :, PartRecord.calls], columns(head[0], Head.weights, *self.sizes)
        per_chain = MIN_CALLS * (weights / weights.max())
        in_all = np.where(weights > 0.0, MIN_CALLS, 0.0)
        return bool((calls.mean(axis=0) >= per_chain).all() and (calls.sum(axis=0) >= in_all).all())

    def learn_scales(self, head: FloatArray, records: FloatArray, quantities: FloatArray) -> None:
        """Set the centres and scales of the quantities watched, by chain, for the next round."""
        count = np.maximum(records[:, :, PartRecord.calls].sum(axis=1), 1.0)[:, None]
        distance = quantities[:, :, Quantity.distance] / count
        square = quantities[:, :, Quantity.distance_square] / count
        centres = columns(head[1:], Head.centres, *self.sizes)
        scales = columns(head[1:], Head.scales, *self.sizes)
        centres += distance
        spread = np.sqrt(np.maximum(square - distance**2, 0.0))
        scales[:] = np.where(spread > 0.0, spread, scales)

    def learn_weights(self, head: FloatArray, records: FloatArray, quantities: FloatArray) -> None:
        """Let parts share the evaluations of the next round equally, so that the dearest does not take them all.

        An independent draw costs at least one call. So a part whose calls cost clearly more than another's independent
        draws cannot win, and is not called again.
        """
        weights, price_of = (
            columns(head, Head.weights, *self.sizes),
            head[0, [Head.evaluation_cost, Head.gradient_cost]],
        )
        calls = records[:, :, PartRecord.calls].sum(axis=0)
        tried = weights[0] > 0.0
        if (calls[tried] == 0.0).any():
            return
        costs = np.where(tried, self.work(records, *price_of).sum(axis=0) / np.maximum(calls, 1.0), np.inf)
        if head[0, Head.rounds] > MIN_ROUNDS:
            costs = np.where(costs > CLEARLY * self.prices(records, quantities, *price_of).min(), np.inf, costs)
        weights[:] = (1.0 / costs) / (1.0 / costs).sum()

    def work(self, records: FloatArray, evaluation_cost: float, gradient_cost: float) -> FloatArray:
        """Return the cost of all calls, by chain and part, in evaluations; a call without any has a cost too."""
        work = evaluation_cost * records[:, :, PartRecord.evaluations]
        work = work + gradient_cost * records[:, :, PartRecord.gradients]
        return np.maximum(work, evaluation_cost * records[:, :, PartRecord.calls])

    def prices(
        self, records: FloatArray, quantities: FloatArray, evaluation_cost: float, gradient_cost: float
    ) -> FloatArray:
        """Return each part's cost of an independent draw of its slowest quantity, averaged over chains.

        A quantity of variance v with mean squared move m has autocorrelation r = 1 - m / 2v, and an independent draw
        takes (1 + r)/(1 - r) calls. A part that was never called has an infinite price.
        """
        calls = records[:, :, PartRecord.calls]
        work = self.work(records, evaluation_cost, gradient_cost)
        with np.errstate(all="ignore"):
            forgotten = self.forgotten(records, quantities)
            counts = np.any(forgotten > MIN_FORGOTTEN, axis=1, keepdims=True)
            memory = np.where(counts, 2.0 / np.clip(forgotten, MIN_FORGOTTEN, 1.0) - 1.0, 1.0)
            prices = np.where(calls[:, :, None] > 0.0, memory * (work / calls)[:, :, None], 0.0)
            mean = prices.sum(axis=0) / (calls > 0.0).sum(axis=0)[:, None]
        return np.where(calls.any(axis=0), mean.max(axis=1), np.inf)

    def forgotten(self, records: FloatArray, quantities: FloatArray) -> FloatArray:
        """Return the share of each quantity that a call forgets, by chain, part and quantity."""
        calls = records[:, :, PartRecord.calls]
        count = np.maximum(calls.sum(axis=1), 1.0)[:, None]
        mean = quantities[:, :, Quantity.squashed] / count
        variance = quantities[:, :, Quantity.squashed_square] / count - mean**2
        forgotten = columns(records, PartRecord.moves, self.watched) / (2.0 * variance[:, None, :])
        # a quantity that does not vary is not slow
        forgotten = np.where(variance[:, None, :] > MIN_VARIANCE, forgotten, calls[:, :, None])
        shared = forgotten.sum(axis=0) / np.maximum(calls.sum(axis=0), 1.0)[:, None]
        return (forgotten + SHARED_CALLS * shared) / (calls + SHARED_CALLS)[:, :, None]

    def chosen(self, parameters: FloatArray) -> str | None:
        """Return the name of the chosen part, if there is one."""
        part = int(parameters[0, Head.chosen])
        return None if part == ON_TRIAL else self.names[part]

    def unreached(self, shares: FloatArray, sums: FloatArray) -> FloatArray:
        """Return the share of the chosen part or, while all are on trial, the smallest: that part reaches the most."""
        calls = self.split(sums)[0][:, :, PartRecord.calls].T
        if calls.sum() == 0:
            return np.asarray(shares.max(axis=0))
        return np.where(calls.any(axis=0), np.where(calls > 0, shares, np.inf).min(axis=0), 0.0)

    def split(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return views of the records (chain, part, `PartRecord`) and of the sums (chain, quantity, `Quantity`)."""
        records = columns(sums, Sums.records, *self.sizes).reshape(len(sums), len(self.names), -1)
        quantities = columns(sums, Sums.quantities, *self.sizes).reshape(len(sums), self.watched, QUANTITY_SIZE)
        return records, quantities


class Best:
    """The best of several explorers for a target, found while tuning.

    In the first rounds every call draws one of the explorers, and measures how much it forgets of the chain's energy
    and of some of its coordinates for its evaluations. After a round with about 24 calls of each, all chains use the
    explorer whose independent draws cost least. An explorer with divergent trajectories is not chosen or, if it was,
    replaced by the first, which should be the safest. If an evaluation takes more than 10 microseconds, explorers that
    need many are drawn less often. A short run chooses by what it has seen when two of its tuning rounds are left.

    Examples
    --------
    >>> import sterna
    >>> explorer = sterna.Best(sterna.Slice(), sterna.HMC())
    >>> sterna.sample(sterna.models.normal(50), explorer=explorer, n_rounds=8, progress=False).explorer
    'hmc'
    """

    def __init__(self, *explorers: Explorer | Callable[..., object]) -> None:
        self.explorers = check_explorers("Best", explorers)

    def __repr__(self) -> str:
        return f"Best({', '.join(map(repr, self.explorers))})"

    @property
    def name(self) -> str:
        """The names of the parts."""
        return f"best({', '.join(part.name for part in self.explorers)})"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind every part to the same coordinates."""
        block = all_coordinates(target, coordinates)
        seen = block[np.linspace(0, len(block) - 1, min(len(block), MAX_WATCHED)).astype(np.int64)]
        parts = [explorer.bind(target, coordinates) for explorer in self.explorers]
        trial = Trial(tuple(part.name for part in self.explorers), 1 + len(seen))
        chosen = ON_TRIAL if len(parts) > 1 else 0
        bound = compose(
            explore_on_trial,
            parts,
            new_row(
                Head,
                trial.sizes,
                parts=len(parts),
                chosen=chosen,
                watched=trial.watched,
                scales=1,
                weights=1 / len(parts),
            ),
            n_sums=size_of(Sums, *trial.sizes),
            tune_head=trial.tune,
            settle_head=trial.choose,
            chosen=trial.chosen,
            data=(np.ascontiguousarray(seen),),
            unreached=trial.unreached,
        )

        def start(draw: Draw) -> FloatArray:
            row = bound.start(draw)
            # a local change costs part of an evaluation, but more than one coordinate's share
            row[Head.evaluation_cost] = 1.0 if target.program.likelihood_change == 0 else target.dimension**-0.5
            row[Head.gradient_cost] = target.cost.gradient
            row[Head.expensive] = target.cost.expensive
            return row

        return replace(bound, start=start)
