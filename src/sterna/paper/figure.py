"""A figure of the paper: what is computed for it, how it is drawn, and what its caption claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.errors import OptionError
from sterna.paper.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A table is a column of numbers or words for each name; a figure has one or several tables by name.
Table = dict[str, NDArray[Any]]
Tables = dict[str, Table]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about a figure, beside the number that this run found."""

    claim: str
    found: str
    holds: bool

    def __post_init__(self) -> None:
        # comparisons of elements of arrays are NumPy's booleans
        object.__setattr__(self, "holds", bool(self.holds))


@dataclass(frozen=True)
class PaperFigure:
    """One figure; computing and drawing are separate, with nothing but tables of numbers between them."""

    name: str
    label: str
    """The paper's own label of the figure."""
    caption: str
    """The paper's caption, in short."""
    quick_seconds: float
    """What `--quick` takes on two cores."""
    full_seconds: float
    """What the paper's number of scans takes, or the stated share of it."""
    compute: Callable[[Study], Tables]
    draw: Callable[[Tables], Figure]
    claims: Callable[[Tables], list[Claim]]
    share: str = ""
    """Which part of the paper's budget is run, if not all of it, or what else differs."""


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return rows as a table of columns."""
    if not rows:
        return {name: np.zeros(0) for name in columns}
    return {name: np.array(values) for name, values in zip(columns, zip(*rows, strict=True), strict=True)}


def select(given: Table, **where: object) -> Table:
    """Return the rows in which columns have the given values."""
    chosen = np.ones(len(next(iter(given.values()))), dtype=np.bool_)
    for name, value in where.items():
        chosen &= given[name] == value
    return {name: column[chosen] for name, column in given.items()}


def distinct(column: NDArray[Any]) -> list[Any]:
    """Return the different values of a column, in the order of their first occurrence."""
    return list(dict.fromkeys(column.tolist()))


def require(tables: Tables, figure: str, names: Sequence[str]) -> None:
    """Refuse tables that cannot be those of a figure."""
    missing = [name for name in names if name not in tables]
    if missing:
        raise OptionError(f"{figure}: there is no table {', '.join(missing)}; compute the figure again.")
