"""Numbers as users give them."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sterna.ground import numbers
from sterna.ground.numbers import float_array, in_bytes, machine_memory, real_number, whole_number

NO_NUMBERS = [True, np.bool_(True), "3", b"3", None, [3], np.array([3, 4]), 3j, object(), {}, int]


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float64(3), np.float32(3), np.array(3), np.array(3.0)])
def test_whole_numbers_of_all_kinds(value):
    found = whole_number(value)
    assert found == 3
    assert type(found) is int


def test_large_integers_stay_exact():
    assert whole_number(2**53 + 1) == 2**53 + 1


@pytest.mark.parametrize("value", [*NO_NUMBERS, 3.5, math.nan, math.inf, Fraction(1, 2)])
def test_what_is_no_whole_number(value):
    assert whole_number(value) is None


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5), Fraction(1, 2)])
def test_numbers_of_all_kinds(value):
    assert real_number(value) == 0.5


def test_numbers_beyond_float64_are_infinite():
    assert real_number(10**400) == math.inf
    assert real_number(-(10**400)) == -math.inf
    assert np.array_equal(float_array([10**400, 1]), [np.inf, 1.0])


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number(value):
    assert real_number(value) is None


@pytest.mark.parametrize("value", ["1", ["1"], None, [None, 1.0], [[1], [1, 2]], 1j, {1}, {"a": 1}, Decimal(1)])
def test_what_is_no_array_of_numbers(value):
    """NumPy would read numbers in strings, and NaN for None."""
    assert float_array(value) is None


def test_a_container_may_have_less_memory_than_the_machine(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(numbers, "CONTAINER_LIMIT", limit)
    whole = machine_memory()
    assert whole > 1e8
    limit.write_text("1000\n")
    assert machine_memory() == 1000.0
    limit.write_text("max\n")
    assert machine_memory() == whole


def test_bytes_are_written_with_their_unit():
    found = [in_bytes(n) for n in (12, 2.5e3, 1e9, 24.6e9, 8.44e14, 3e30)]
    assert found == ["12 bytes", "2.5 kB", "1 GB", "25 GB", "844 TB", "3e+15 PB"]
