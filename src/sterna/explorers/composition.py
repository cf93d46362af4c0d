"""Explorers made of others: one after the other, one of several by chance, and one for each block of variables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from sterna.engine.program import EXPLORE, Program
from sterna.errors import OptionError
from sterna.explorers.base import Bound, Draw, Explorer, add_up, carry_nearest, choose_nothing
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.move import as_move
from sterna.ground.compilation import address_of, as_pointer, caller, compiled, inlined, offset_pointer
from sterna.ground.streams import Stream, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# What a part's entry in the table says: address of its kernel, address of its data's addresses, and where its
# parameters and its statistics begin in a chain's rows.
KERNEL, DATA, PARAMETERS, STATISTICS = 0, 1, 2, 3
ENTRY = 4

call_part = caller(EXPLORE)

# Return the next round's head from (head, its statistics, the shares of trajectories that diverged by part and chain).
TuneHead = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]

# Return the share of diverged trajectories that counts, by chain, from (shares by part and chain, the head's sums).
Unreached = Callable[[FloatArray, FloatArray], FloatArray]


def of_the_worst(shares: FloatArray, sums: FloatArray) -> FloatArray:
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
    entry: IntPointer,
    place: int,
    stream: Stream,
) -> None:
    """Run the part whose entry begins at a place of the table."""
    own = offset_pointer(parameters, entry[place + PARAMETERS])
    sums = offset_pointer(statistics, entry[place + STATISTICS])
    data = as_pointer(entry[place + DATA], types.int64)
    call_part(entry[place + KERNEL], (program, x, log_densities, beta, own, sums, data, stream))


@compiled
def explore_in_turn(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Run all parts, one after the other; the first parameter is their number."""
    table = as_pointer(data[0], types.int64)
    for part in range(int(parameters[0])):
        run_part(program, x, log_densities, beta, parameters, statistics, table, ENTRY * part, stream)


@compiled
def explore_by_chance(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Run one part, drawn by the weights that follow the number of parts; which one does not depend on the state."""
    table = as_pointer(data[0], types.int64)
    parts = int(parameters[0])
    rest, part = uniform(stream), 0
    while part < parts - 1 and rest >= parameters[1 + part]:
        rest -= parameters[1 + part]
        part += 1
    run_part(program, x, log_densities, beta, parameters, statistics, table, ENTRY * part, stream)


@dataclass(frozen=True)
class Parts:
    """Bound parts whose parameters and statistics lie side by side, both behind a head."""

    bound: tuple[Bound, ...]
    head: FloatArray
    n_sums: int
    """Statistics of the composition itself, before those of its parts."""
    tune_head: TuneHead
    lengths: list[int]
    """Lengths of the parts' parameters, known once they have started."""
    unreached: Unreached

    def start(self, draw: Draw) -> FloatArray:
        """Start every part."""
        rows = [part.start(draw) for part in self.bound]
        self.lengths[:] = [len(row) for row in rows]
        return np.concatenate([self.head, *rows])

    def each(self, change: Callable[[int, FloatArray], FloatArray], parameters: FloatArray) -> list[FloatArray]:
        """Change every part's own columns."""
        columns, place = [], len(self.head)
        for number, length in enumerate(self.lengths):
            columns.append(change(number, parameters[:, place : place + length]))
            place += length
        return columns

    def tune(self, parameters: FloatArray, statistics: FloatArray) -> FloatArray:
        """Tune the head and every part, each by its own statistics."""
        sums = statistics[:, : self.n_sums]
        head = self.tune_head(parameters[:, : len(self.head)], sums, self._shares(statistics))
        parts = self.each(lambda k, own: self.bound[k].tune(own, self._statistics(k, statistics)), parameters)
        return np.ascontiguousarray(np.hstack([head, *parts]))

    def carry(self, parameters: FloatArray, old_schedule: FloatArray, new_schedule: FloatArray) -> FloatArray:
        """Carry the head and every part's parameters over."""
        head = carry_nearest(parameters[:, : len(self.head)], old_schedule, new_schedule)
        parts = self.each(lambda k, own: self.bound[k].carry(own, old_schedule, new_schedule), parameters)
        return np.ascontiguousarray(np.hstack([head, *parts]))

    def merge(self, statistics: Sequence[FloatArray]) -> FloatArray:
        """Merge the head's and every part's statistics; nothing is kept of their scratch."""
        merged = np.zeros_like(statistics[0])
        merged[:, : self.n_sums] = add_up([rows[:, : self.n_sums] for rows in statistics])
        for k in range(len(self.bound)):
            own = [self._statistics(k, rows) for rows in statistics]
            self._statistics(k, merged)[:] = self.bound[k].merge(own)
        return merged

    def diverged(self, statistics: FloatArray) -> FloatArray:
        """Return the share that counts, of all parts'."""
        return self.unreached(self._shares(statistics), statistics[:, : self.n_sums])

    def _shares(self, statistics: FloatArray) -> FloatArray:
        return np.array([self.diverged_part(k, statistics) for k in range(len(self.bound))])

    def diverged_part(self, part: int, statistics: FloatArray) -> FloatArray:
        """Return the share of one part's trajectories that diverged."""
        return self.bound[part].diverged(self._statistics(part, statistics))

    def _statistics(self, part: int, statistics: FloatArray) -> FloatArray:
        begin = self.n_sums + sum(other.n_row for other in self.bound[:part])
        return statistics[:, begin : begin + self.bound[part].n_statistics]


def compose(
    kernel: Any,
    parts: Sequence[Bound],
    head: Sequence[float],
    n_sums: int = 0,
    tune_head: TuneHead = keep_head,
    chosen: Callable[[FloatArray], str | None] = choose_nothing,
    data: tuple[IntArray, ...] = (),
    unreached: Unreached = of_the_worst,
) -> Bound:
    """Bind several parts as one, with parameters and statistics of its own before those of its parts."""
    made = Parts(tuple(parts), np.array(head, dtype=np.float64), n_sums, tune_head, [], unreached)
    addresses = [np.array([a.ctypes.data for a in part.data] or [0], dtype=np.int64) for part in parts]
    table = np.zeros(ENTRY * len(parts), dtype=np.int64)

    def start(draw: Draw) -> FloatArray:
        row = made.start(draw)
        place, sums = len(head), n_sums
        for k, part in enumerate(parts):
            entry = (address_of(part.kernel, EXPLORE), addresses[k].ctypes.data, place, sums)
            table[ENTRY * k : ENTRY * (k + 1)] = entry
            place, sums = place + made.lengths[k], sums + part.n_row
        return row

    arrays = [array for part in parts for array in part.data]
    return Bound(
        kernel=kernel,
        data=(table, *data, *addresses, *arrays),
        start=start,
        n_statistics=n_sums + sum(part.n_row for part in parts),
        tune=made.tune,
        carry=made.carry,
        merge=made.merge,
        diverged=made.diverged,
        chosen=chosen,
        python=tuple(dict.fromkeys(note for part in parts for note in part.python)),
    )


class Cycle:
    """Several explorers, one after the other in every scan.

    Examples
    --------
    >>> import sterna
    >>> explorer = sterna.Cycle(sterna.Slice(passes=0.5), sterna.Slice(passes=0.5))
    >>> sterna.sample(sterna.models.normal(2), explorer=explorer, n_rounds=5, progress=False).explorer
    'cycle(slice, slice)'
    """

    def __init__(self, *explorers: Explorer | Callable[..., Any]) -> None:
        self.explorers = check_explorers("Cycle", explorers)

    @property
    def name(self) -> str:
        """The names of the parts."""
        return f"cycle({', '.join(part.name for part in self.explorers)})"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind every part to the same coordinates."""
        parts = [explorer.bind(target, coordinates) for explorer in self.explorers]
        return compose(explore_in_turn, parts, [len(parts)])


class Mix:
    """One of several explorers in every scan, drawn by weights.

    Examples
    --------
    >>> import sterna
    >>> explorer = sterna.Mix(sterna.Slice(passes=1), sterna.Slice(passes=3), weights=[0.9, 0.1])
    >>> sterna.sample(sterna.models.normal(2), explorer=explorer, n_rounds=5, progress=False).explorer
    'mix(slice, slice)'
    """

    def __init__(self, *explorers: Explorer | Callable[..., Any], weights: Sequence[float] | None = None) -> None:
        self.explorers = check_explorers("Mix", explorers)
        given = np.ones(len(explorers)) if weights is None else np.asarray(weights, dtype=np.float64)
        if given.shape != (len(explorers),) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
            raise OptionError(
                f"Mix(weights={weights!r}): give one weight for each of the {len(explorers)} explorers, none negative."
            )
        self.weights = given / given.sum()

    @property
    def name(self) -> str:
        """The names of the parts."""
        return f"mix({', '.join(part.name for part in self.explorers)})"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind every part to the same coordinates."""
        parts = [explorer.bind(target, coordinates) for explorer in self.explorers]
        return compose(explore_by_chance, parts, [len(parts), *self.weights])


class Blocks:
    """An explorer for each block of variables, one after the other; what a dict given as `explorer=` means."""

    def __init__(self, explorers: Mapping[Any, Explorer | Callable[..., Any]]) -> None:
        parts = check_explorers("explorer={...}", tuple(explorers.values()))
        blocks = [(names,) if isinstance(names, str) else tuple(names) for names in explorers]
        self.explorers = dict(zip(blocks, parts, strict=True))

    @property
    def name(self) -> str:
        """The blocks and their explorers."""
        return ", ".join(f"{' and '.join(names)}: {part.name}" for names, part in self.explorers.items())

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind every explorer to its variables, which together must be all of them."""
        if coordinates is not None:
            raise OptionError("A dict of explorers cannot be part of another explorer: it divides all variables.")
        given = [name for names in self.explorers for name in names]
        if target.space.map is not None and target.space.map.mixes:
            raise OptionError(
                "A dict of explorers by variable needs variables with coordinates of their own, and those of this "
                "target are all made of the same ones: give one explorer for all."
            )
        for name in given:
            if name not in target.space.names:
                raise OptionError(f"explorer={{{name!r}: ...}}: the variables are {', '.join(target.space.names)}.")
        missing = [name for name in target.space.names if name not in given]
        if missing:
            raise OptionError(
                f"The dict of explorers leaves out {', '.join(missing)}: every variable needs an explorer, "
                f'such as "{missing[0]}": sterna.Slice().'
            )
        parts = [e.bind(target, _coordinates(target, names)) for names, e in self.explorers.items()]
        return compose(explore_in_turn, parts, [len(parts)])


def _coordinates(target: ExplorableTarget, names: tuple[str, ...]) -> IntArray:
    """Coordinates of some variables."""
    parts = [np.arange(v.start, v.stop) for v in target.space.variables if v.name in names]
    return np.concatenate(parts).astype(np.int64)


def check_explorers(what: str, explorers: tuple[Any, ...]) -> tuple[Explorer, ...]:
    """Check that all parts are explorers, or functions that are moves, and that there are some."""
    if not explorers:
        raise OptionError(f"{what} is empty: give at least one explorer, such as sterna.Slice().")
    parts = tuple(as_move(explorer) for explorer in explorers)
    for explorer in parts:
        if isinstance(explorer, type) or not hasattr(explorer, "bind"):
            raise OptionError(f"{what} was given {explorer!r}, which is no explorer such as sterna.Slice().")
    return parts
