"""Fields of rows: places follow from declared sizes, in Python and in compiled code alike."""

import numba
import numpy as np
import pytest
from numba import types

from sterna.ground.compilation import as_pointer, compiled
from sterna.ground.rows import columns, field_pointer, fields, fields_behind, new_row, size_of, sizes

COUNT, FACTOR, OTHERS = sizes(3)


@fields
class Parameters:
    """Scalars, and fields of three sizes."""

    moves = 1
    count = 1
    index = 1
    pairs = 4
    widths = COUNT
    factor = FACTOR
    reaches = OTHERS
    centres = COUNT.times(3)


@fields_behind(Parameters)
class Scratch:
    """Fields behind them, one of fixed size."""

    here = COUNT
    pair = 2
    there = COUNT


GIVEN = (5, 15, 2)


def test_places_follow_from_sizes():
    assert (Parameters.moves, Parameters.count, Parameters.index, Parameters.pairs) == (0, 1, 2, 3)
    assert size_of(Parameters, *GIVEN) == 7 + 5 + 15 + 2 + 15
    assert size_of(Scratch, *GIVEN) == size_of(Parameters, *GIVEN) + 12


def test_fields_lie_side_by_side():
    row = np.arange(float(size_of(Scratch, *GIVEN)))
    named = [Parameters.widths, Parameters.factor, Parameters.reaches, Parameters.centres]
    parts = [columns(row, field, *GIVEN) for field in [*named, Scratch.here, Scratch.pair, Scratch.there]]
    assert [part.size for part in parts] == [5, 15, 2, 15, 5, 2, 5]
    assert np.array_equal(np.concatenate([row[:7], *parts]), row)


def test_columns_of_a_table_are_a_view():
    table = np.zeros((3, size_of(Parameters, *GIVEN)))
    columns(table, Parameters.reaches, *GIVEN)[:] = 7.0
    assert table.sum() == 42.0
    assert (table[:, 27:29] == 7.0).all()


def test_new_row_takes_values_by_name():
    row = new_row(Parameters, GIVEN, centres=np.arange(15), pairs=[1, 2, 3, 4], count=5)
    assert list(row[:7]) == [0, 5, 0, 1, 2, 3, 4]
    assert np.array_equal(columns(row, Parameters.centres, *GIVEN), np.arange(15))
    with pytest.raises(ValueError, match="could not broadcast"):
        new_row(Parameters, GIVEN, widths=np.ones(6))


@compiled
def read(row, count, factor, others):
    pointer = as_pointer(row.ctypes.data, types.float64)
    widths = field_pointer(pointer, Parameters.widths, count)
    centres = field_pointer(pointer, Parameters.centres, count, factor, others)
    there = field_pointer(pointer, Scratch.there, count, factor, others)
    return pointer[Parameters.count], pointer[Parameters.index], widths[0], centres[1], there[2]


def test_compiled_code_finds_the_same_places():
    row = np.arange(float(size_of(Scratch, *GIVEN)))
    expected = [columns(row, field, *GIVEN)[k] for k, field in enumerate([Parameters.widths, Parameters.centres])]
    assert read(row, *GIVEN) == (1.0, 2.0, *expected, columns(row, Scratch.there, *GIVEN)[2])


def test_places_are_constants_of_the_machine_code():
    """A place that compiled code had to compute would keep the table of places in the module."""

    @numba.njit
    def second(row):
        return row[Parameters.index]

    second(np.zeros(3))
    (code,) = second.inspect_llvm().values()
    assert "getelementptr" in code
    assert "Parameters" not in code.replace("second", "").split("define")[0]
