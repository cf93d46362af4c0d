"""Rows by name: a row's fields are declared with their sizes, and where each of them begins is computed.

>>> COUNT, ROOM = sizes(2)
>>> @fields
... class Parameters:
...     moves = 1
...     count = 1
...     widths = COUNT
...     points = ROOM.times(3)
>>> Parameters.count, size_of(Parameters, 5, 10)
(1, 37)
>>> row = new_row(Parameters, (5, 10), moves=2, count=5, widths=np.ones(5))
>>> columns(row, Parameters.widths, 5, 10)
array([1., 1., 1., 1., 1.])

Once declared, a field of fixed size is the integer at which it begins, as in `parameters[Parameters.count]`. A field
whose size depends on others, such as the number of coordinates, is found by `columns` in Python and by `field_pointer`
in compiled code; both are given these sizes in the order of `sizes`. Places are constants to compiled code.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sterna.ground.compilation import inlined, offset_pointer
from sterna.types import FloatArray, FloatPointer

Declaration = TypeVar("Declaration")

# The type checker wants the fields of a named tuple written out.
_new_class: Any = namedtuple


class Extent(NamedTuple):
    """A number of entries: a fixed one, and multiples of up to three sizes."""

    fixed: int
    first: int
    second: int
    third: int


class Field(NamedTuple):
    """A field whose place or size depends on sizes; before it belongs to a row, it begins at 0."""

    begin: Extent
    length: Extent

    def times(self, number: int) -> "Field":
        """Return a field of so many times the size."""
        return Field(self.begin, Extent(*(number * part for part in self.length)))


def sizes(number: int) -> tuple[Field, ...]:
    """Return the sizes of which fields of a row are multiples, up to three."""
    nothing = Extent(0, 0, 0, 0)
    return tuple(Field(nothing, Extent(0, *(int(other == k) for other in range(3)))) for k in range(number))


def fields(declaration: type[Declaration]) -> type[Declaration]:
    """Turn the sizes that a class declares into places, from 0 on."""
    return _placed(declaration, Extent(0, 0, 0, 0))


def fields_behind(row: type) -> Callable[[type[Declaration]], type[Declaration]]:
    """Turn the sizes that a class declares into places behind another row, as scratch lies behind statistics."""
    return lambda declaration: _placed(declaration, _end_of(row))


def _placed(declaration: type[Declaration], begin: Extent) -> Any:
    """Return a named tuple of places, which is constant to compiled code."""
    places: dict[str, int | Field] = {}
    lengths: dict[str, Extent] = {}
    for name, size in vars(declaration).items():
        if name.startswith("_"):
            continue
        lengths[name] = size.length if isinstance(size, Field) else Extent(size, 0, 0, 0)
        if isinstance(size, Field) or any(begin[1:]):
            places[name] = Field(begin, lengths[name])
        else:
            places[name] = begin.fixed
        begin = Extent(*(a + b for a, b in zip(begin, lengths[name], strict=True)))
    row = _new_class(declaration.__name__, [*places, "end"])
    row.__doc__, row.lengths = declaration.__doc__, lengths
    return row(*places.values(), begin)


def _end_of(row: Any) -> Extent:
    return row.end


def _total(extent: Extent, given: tuple[int, ...]) -> int:
    return extent.fixed + sum(part * size for part, size in zip(extent[1:], given, strict=False))


def size_of(row: type, *given: int) -> int:
    """Return how many entries a row has, up to and including its last field, for given sizes."""
    return _total(_end_of(row), given)


def columns(rows: FloatArray, field: Field, *given: int) -> FloatArray:
    """Return a view of a field, in one row or in all rows of a table."""
    begin = _total(field.begin, given)
    return rows[..., begin : begin + _total(field.length, given)]


def new_row(row: Any, given: tuple[int, ...] = (), **values: ArrayLike) -> FloatArray:
    """Make a row of zeros, with the values of fields by name."""
    made = np.zeros(size_of(row, *given))
    for name, value in values.items():
        place = getattr(row, name)
        begin = place if isinstance(place, int) else _total(place.begin, given)
        made[begin : begin + _total(row.lengths[name], given)] = value
    return made


@inlined
def field_pointer(row: FloatPointer, field: Field, first: int, second: int = 0, third: int = 0) -> FloatPointer:
    """Return the pointer to a field of a row, in compiled code."""
    begin = field.begin
    return offset_pointer(row, begin.fixed + begin.first * first + begin.second * second + begin.third * third)
