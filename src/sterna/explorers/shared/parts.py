"""Several bound explorers as one: their parameters and statistics side by side, each behind its own head."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sterna.engine.program import EXPLORE, Program
from sterna.explorers.base import Bound, Draw, Kernel, Tune, add_up, carry_nearest, choose_nothing
from sterna.ground.compilation import address_of, caller, inlined, int_pointer, offset_pointer
from sterna.ground.rows import fields, size_of
from sterna.ground.streams import Stream
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer


@fields
class Entry:
    """A part's entry in the table: addresses, and where its parameters and statistics begin in a chain's rows."""

    kernel = 1
    data = 1
    parameters = 1
    statistics = 1


ENTRY_SIZE = size_of(Entry)

call_part = caller(EXPLORE)

TuneHead: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Returns the next round's head from (head, its statistics, shares of diverged trajectories by part and chain)."""

Unreached: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""Returns, by chain, the share of diverged trajectories that counts, from (shares by part and chain, statistics of the
head)."""


def largest_share(shares: FloatArray, sums: FloatArray) -> FloatArray:
    """Return the share of the part that diverged most."""
    return np.asarray(shares.max(axis=0))


def keep_head(head: FloatArray, sums: FloatArray, diverged: FloatArray) -> FloatArray:
    """Tune nothing."""
    return head


@inlined
def run_part(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    table: IntPointer,
    part: int,
    stream: Stream,
) -> None:
    """Run one of the parts in the table."""
    entry = ENTRY_SIZE * part
    of_part = offset_pointer(parameters, table[entry + Entry.parameters])
    sums = offset_pointer(statistics, table[entry + Entry.statistics])
    data = int_pointer(table[entry + Entry.data])
    call_part(table[entry + Entry.kernel], (program, x, log_densities, beta, of_part, sums, data, stream))


@dataclass(frozen=True)
class Parts:
    """Bound parts whose parameters and statistics lie side by side, behind those of the composition itself."""

    bound: tuple[Bound, ...]
    head: FloatArray
    """The first round's parameters of the composition itself."""
    n_sums: int
    """Number of statistics of the composition itself."""
    tune_head: TuneHead
    settle_head: TuneHead
    unreached: Unreached

    @property
    def parameters_begin(self) -> list[int]:
        """Where the parameters of each part begin, and where the last ones end."""
        return [int(end) for end in np.cumsum([len(self.head), *(part.n_parameters for part in self.bound)])]

    @property
    def statistics_begin(self) -> list[int]:
        """Where the statistics of each part begin, and where the last ones end."""
        return [int(end) for end in np.cumsum([self.n_sums, *(part.n_row for part in self.bound)])]

    def start(self, draw: Draw) -> FloatArray:
        """Start every part."""
        return np.concatenate([self.head, *(part.start(draw) for part in self.bound)])

    def tune(self, parameters: FloatArray, statistics: FloatArray) -> FloatArray:
        """Tune the head and every part, each by its own statistics."""
        return self._each(parameters, statistics, self.tune_head, [part.tune for part in self.bound])

    def settle(self, parameters: FloatArray, statistics: FloatArray) -> FloatArray:
        """End the trials of the head and of every part."""
        return self._each(parameters, statistics, self.settle_head, [part.settle for part in self.bound])

    def _each(
        self, parameters: FloatArray, statistics: FloatArray, for_head: TuneHead, for_parts: Sequence[Tune]
    ) -> FloatArray:
        """Change the head and every part, each by its own statistics."""
        sums = statistics[:, : self.n_sums]
        head = for_head(parameters[:, : len(self.head)], sums, self._shares(statistics))
        parts = [
            change(self._parameters(k, parameters), self._statistics(k, statistics))
            for k, change in enumerate(for_parts)
        ]
        return np.ascontiguousarray(np.hstack([head, *parts]))

    def carry(self, parameters: FloatArray, old_schedule: FloatArray, new_schedule: FloatArray) -> FloatArray:
        """Carry the parameters of the head and of every part over to a new schedule."""
        head = carry_nearest(parameters[:, : len(self.head)], old_schedule, new_schedule)
        parts = [
            part.carry(self._parameters(k, parameters), old_schedule, new_schedule) for k, part in enumerate(self.bound)
        ]
        return np.ascontiguousarray(np.hstack([head, *parts]))

    def merge(self, statistics: Sequence[FloatArray]) -> FloatArray:
        """Merge the statistics of the head and of every part; their scratch becomes zero."""
        merged = np.zeros_like(statistics[0])
        merged[:, : self.n_sums] = add_up([rows[:, : self.n_sums] for rows in statistics])
        for k, part in enumerate(self.bound):
            self._statistics(k, merged)[:] = part.merge([self._statistics(k, rows) for rows in statistics])
        return merged

    def diverged(self, statistics: FloatArray) -> FloatArray:
        """Return the share of diverged trajectories that counts, by chain."""
        return self.unreached(self._shares(statistics), statistics[:, : self.n_sums])

    def _shares(self, statistics: FloatArray) -> FloatArray:
        """Shares of diverged trajectories by part and chain."""
        return np.array([part.diverged(self._statistics(k, statistics)) for k, part in enumerate(self.bound)])

    def _parameters(self, part: int, parameters: FloatArray) -> FloatArray:
        begin = self.parameters_begin
        return parameters[:, begin[part] : begin[part + 1]]

    def _statistics(self, part: int, statistics: FloatArray) -> FloatArray:
        begin = self.statistics_begin[part]
        return statistics[:, begin : begin + self.bound[part].n_statistics]


def compose(
    kernel: Kernel,
    parts: Sequence[Bound],
    head: FloatArray,
    n_sums: int = 0,
    tune_head: TuneHead = keep_head,
    settle_head: TuneHead = keep_head,
    chosen: Callable[[FloatArray], str | None] = choose_nothing,
    data: tuple[IntArray, ...] = (),
    unreached: Unreached = largest_share,
) -> Bound:
    """Bind several parts as one; the kernel finds the table of parts first among its data, and then `data`."""
    made = Parts(tuple(parts), head, n_sums, tune_head, settle_head, unreached)
    addresses = [np.array([a.ctypes.data for a in part.data] or [0], dtype=np.int64) for part in parts]
    entries = [
        (address_of(part.kernel, EXPLORE), address.ctypes.data, parameters, statistics)
        for part, address, parameters, statistics in zip(
            parts, addresses, made.parameters_begin, made.statistics_begin, strict=False
        )
    ]
    arrays = [array for part in parts for array in part.data]
    return Bound(
        kernel=kernel,
        data=(np.array(entries, dtype=np.int64).ravel(), *data, *addresses, *arrays),
        start=made.start,
        n_parameters=made.parameters_begin[-1],
        n_statistics=made.statistics_begin[-1],
        tune=made.tune,
        settle=made.settle,
        carry=made.carry,
        merge=made.merge,
        diverged=made.diverged,
        chosen=chosen,
        python=tuple(dict.fromkeys(note for part in parts for note in part.python)),
    )
