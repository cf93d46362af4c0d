"""Explorers made of others: one after the other, one of several by chance, and one for each block of variables."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sterna.engine.program import Program
from sterna.errors import OptionError
from sterna.explorers.base import Bound, Explorer
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.move import as_move
from sterna.explorers.shared.parts import compose, run_part
from sterna.ground.compilation import compiled, inlined, int_pointer
from sterna.ground.numbers import float_array
from sterna.ground.rows import field_pointer, fields, new_row, sizes
from sterna.ground.streams import Stream, uniform
from sterna.types import FloatPointer, IntArray, IntPointer

(PARTS,) = sizes(1)


@fields
class InTurn:
    """Parameters of parts that run one after the other, before the parts' own."""

    parts = 1


@fields
class ByChance:
    """Parameters of parts one of which runs per scan, before the parts' own; weights add up to 1."""

    parts = 1
    weights = PARTS


@inlined
def draw_part(weights: FloatPointer, parts: int, stream: Stream) -> int:
    """Draw the number of a part by weight; weights add up to 1."""
    rest, part = uniform(stream), 0
    while part < parts - 1 and rest >= weights[part]:
        rest -= weights[part]
        part += 1
    return part


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
    """Run all parts, one after the other."""
    table = int_pointer(data[0])
    for part in range(int(parameters[InTurn.parts])):
        run_part(program, x, log_densities, beta, parameters, statistics, table, part, stream)


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
    """Run one part, drawn by weight; which one does not depend on the state."""
    table, parts = int_pointer(data[0]), int(parameters[ByChance.parts])
    part = draw_part(field_pointer(parameters, ByChance.weights, parts), parts, stream)
    run_part(program, x, log_densities, beta, parameters, statistics, table, part, stream)


def compose_in_turn(parts: Sequence[Bound]) -> Bound:
    """Bind parts that run one after the other as one."""
    return compose(explore_in_turn, parts, new_row(InTurn, parts=len(parts)))


class Cycle:
    """Several explorers, which run one after the other in every scan.

    Examples
    --------
    >>> import sterna
    >>> explorer = sterna.Cycle(sterna.Slice(passes=0.5), sterna.Slice(passes=0.5))
    >>> sterna.sample(sterna.models.normal(2), explorer=explorer, n_rounds=5, progress=False).explorer
    'cycle(slice, slice)'
    """

    def __init__(self, *explorers: Explorer | Callable[..., object]) -> None:
        self.explorers = check_explorers("Cycle", explorers)

    def __repr__(self) -> str:
        return f"Cycle({', '.join(map(repr, self.explorers))})"

    @property
    def name(self) -> str:
        """The names of the parts."""
        return f"cycle({', '.join(part.name for part in self.explorers)})"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind every part to the same coordinates."""
        return compose_in_turn([explorer.bind(target, coordinates) for explorer in self.explorers])


class Mix:
    """Several explorers, one of which is drawn by weight in every scan.

    Examples
    --------
    >>> import sterna
    >>> explorer = sterna.Mix(sterna.Slice(passes=1), sterna.Slice(passes=3), weights=[0.9, 0.1])
    >>> sterna.sample(sterna.models.normal(2), explorer=explorer, n_rounds=5, progress=False).explorer
    'mix(slice, slice)'
    """

    def __init__(self, *explorers: Explorer | Callable[..., object], weights: Sequence[float] | None = None) -> None:
        self.explorers = check_explorers("Mix", explorers)
        self.given_weights = weights
        given = np.ones(len(explorers)) if weights is None else float_array(weights)
        if given is None or given.shape != (len(explorers),) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
            raise OptionError(
                f"Mix(weights={weights!r}): give one weight for each of the {len(explorers)} explorers, "
                "none negative and not all 0."
            )
        self.weights = given / given.sum()

    def __repr__(self) -> str:
        weights = [] if self.given_weights is None else [f"weights={np.asarray(self.given_weights).tolist()}"]
        return f"Mix({', '.join([*map(repr, self.explorers), *weights])})"

    @property
    def name(self) -> str:
        """The names of the parts."""
        return f"mix({', '.join(part.name for part in self.explorers)})"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind every part to the same coordinates."""
        parts = [explorer.bind(target, coordinates) for explorer in self.explorers]
        head = new_row(ByChance, (len(parts),), parts=len(parts), weights=self.weights)
        return compose(explore_by_chance, parts, head)


class Blocks:
    """An explorer for each block of variables, one after the other: a dict that was given as `explorer=`."""

    def __init__(self, explorers: Mapping[str | tuple[str, ...], Explorer | Callable[..., object]]) -> None:
        parts = check_explorers("explorer={...}", tuple(explorers.values()))
        blocks = [_block(names) for names in explorers]
        for names in blocks:
            if blocks.count(names) > 1:
                raise OptionError(f"explorer={{...}} has two keys for {' and '.join(names)}: give one.")
        self.explorers = dict(zip(blocks, parts, strict=True))

    def __repr__(self) -> str:
        blocks = {names[0] if len(names) == 1 else names: part for names, part in self.explorers.items()}
        return repr(blocks)

    @property
    def name(self) -> str:
        """The blocks and their explorers."""
        return ", ".join(f"{' and '.join(names)}: {part.name}" for names, part in self.explorers.items())

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind every explorer to its variables; together these must be all of them."""
        if coordinates is not None:
            raise OptionError(
                "A dict of explorers cannot be part of another explorer, because it must cover all variables: give the "
                "dict itself as explorer=, with the other explorer as one of its values."
            )
        given = [name for names in self.explorers for name in names]
        if target.space.map is not None and target.space.map.mixes:
            raise OptionError(
                "A dict of explorers needs variables that have their own coordinates, and in this target every "
                "variable depends on all coordinates: give one explorer for all variables."
            )
        for name in given:
            if name not in target.space.names:
                raise OptionError(
                    f"explorer={{{name!r}: ...}}: there is no such variable; the variables are "
                    f"{', '.join(target.space.names)}."
                )
        missing = [name for name in target.space.names if name not in given]
        if missing:
            raise OptionError(
                f"The dict of explorers leaves out {', '.join(missing)}: every variable needs an explorer, "
                f'such as "{missing[0]}": sterna.Slice().'
            )
        parts = [e.bind(target, _coordinates(target, names)) for names, e in self.explorers.items()]
        return compose_in_turn(parts)


def _block(names: object) -> tuple[str, ...]:
    """Read a key of a dict of explorers: a variable or a tuple of them, by the names that Python gives them."""
    block = (names,) if isinstance(names, str) else names
    if not isinstance(block, tuple) or not block or not all(isinstance(name, str) for name in block):
        raise OptionError(
            f"explorer={{{names!r}: ...}}: a key is the name of a variable, or a tuple of names such as "
            '("mu", "sigma").'
        )
    return tuple(unicodedata.normalize("NFKC", name) for name in block)


def _coordinates(target: ExplorableTarget, names: tuple[str, ...]) -> IntArray:
    """Return the coordinates of some variables."""
    parts = [np.arange(v.start, v.stop) for v in target.space.variables if v.name in names]
    return np.concatenate(parts).astype(np.int64)


def check_explorers(what: str, explorers: tuple[Any, ...]) -> tuple[Explorer, ...]:
    """Check that there is at least one part, and that all parts are explorers, or functions that are moves."""
    if not explorers:
        raise OptionError(f"{what} is empty: give at least one explorer, such as sterna.Slice().")
    parts = tuple(as_move(explorer) for explorer in explorers)
    for explorer in parts:
        if isinstance(explorer, type) or not hasattr(explorer, "bind"):
            hint = f"sterna.{explorer.__name__}()" if isinstance(explorer, type) else "sterna.Slice()"
            name = " (a name alone can only be the whole explorer=)" if isinstance(explorer, str) else ""
            raise OptionError(
                f"{what} was given {explorer!r}, which is not an explorer: give one such as {hint}{name}."
            )
    return parts
