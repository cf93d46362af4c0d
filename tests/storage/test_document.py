"""Values as documents: only known classes come back, and nothing is run."""

import json
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sterna
from sterna.storage.document import by_name, put_together, take_apart


@dataclass(frozen=True)
class Point:
    x: float
    draws: object = None
    norm: float = field(init=False, default=0.0)


class Pair(NamedTuple):
    left: int
    right: tuple


class Rows(list):
    pass


CLASSES = by_name(Point, Pair, Rows)


def through(value):
    """Take a value apart, write the document as JSON, and put both together."""
    document, arrays = take_apart(value, CLASSES)
    return put_together(json.loads(json.dumps(document, allow_nan=False)), arrays, CLASSES)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
KEYS = st.text() | st.integers() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(inner).map(Rows)
        | st.dictionaries(KEYS, inner)
        | st.builds(Point, st.floats(), inner)
        | st.builds(Pair, st.integers(), st.tuples(inner))
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(VALUES)
def test_any_value_comes_back(value):
    # NaN is not equal to itself
    assert repr(through(value)) == repr(value)


@pytest.mark.parametrize("value", [np.float64(0.1), np.int64(-3), np.bool_(True), np.float64("nan")])
def test_numbers_of_numpy_become_plain_ones(value):
    found = through(value)
    assert type(found) is type(value.item())
    assert repr(found) == repr(value.item())


def test_arrays_stay_arrays_in_place():
    array = np.arange(3.0)
    document, arrays = take_apart({"a": (array, Point(math.nan, array[:1]))}, CLASSES)
    assert any(one is array for one in arrays.values())
    assert put_together(document, arrays, CLASSES)["a"][0] is array


@pytest.mark.parametrize(
    "array",
    [
        np.array([["a", "bc"]]),
        np.array([None, 1, "x"], dtype=object),
        np.array(["2026-11-19", "NaT"], dtype="datetime64[ns]"),
        np.array([1, 2], dtype="timedelta64[s]"),
    ],
)
def test_arrays_of_texts_and_times(array):
    found = through(array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert repr(found) == repr(array)


@pytest.mark.parametrize("value", [object(), print, {1: {2}}, 1j, math])
def test_other_values_are_refused(value):
    with pytest.raises(TypeError, match=r"value.* cannot be saved"):
        take_apart(value, CLASSES)


def test_a_class_of_the_same_name_is_another():
    other = type("Point", (), {})
    with pytest.raises(TypeError, match="Point"):
        take_apart(other(), CLASSES)


@pytest.mark.parametrize(
    "document",
    [
        {"os.system": ["true"]},
        {"Point": {"y": 1}},
        {"Point": {"x": 1.0}, "Pair": {}},
        {"array": "none"},
        {"float": "one"},
        {"bytes": "xyz"},
        {"times": ["none", "O"]},
        {"texts": [[7], "U", ["a"]]},
        {"dict": [[[1], 2]]},
        {},
    ],
)
def test_damaged_documents_are_errors_of_storage(document):
    with pytest.raises(sterna.StorageError):
        put_together(document, {}, CLASSES)


def test_nesting_without_end():
    document = []
    for _ in range(100_000):
        document = {"list": [document]}
    with pytest.raises(sterna.StorageError, match="RecursionError"):
        put_together(document, {}, CLASSES)
