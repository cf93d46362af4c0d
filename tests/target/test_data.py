"""Data: what functions receive, compiled or not, and that nobody can change it."""

import functools
from array import array
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scalars import scalar_target, value_of
from ways import AsPython

import sterna


def weighted_sum(mu, y):
    total = 0.0
    for value in y.flat:
        total = 2.0 * total + value
    return mu * total


def exact_weighted_sum(mu, y):
    total = 0.0
    for value in np.asarray(y).ravel():
        total = 2.0 * total + float(value)
    return mu * total


ARRAYS = {
    "vector": np.array([1.0, 2.0, 3.0]),
    "three axes": np.arange(24.0).reshape(2, 3, 4),
    "integers": np.array([1, -2, 3]),
    "small integers": np.array([1, 2, 3], dtype=np.int8),
    "unsigned integers": np.array([1, 2, 3], dtype=np.uint32),
    "truths": np.array([True, False, True]),
    "single precision": np.array([0.5, 1.5], dtype=np.float32),
    "every second": np.arange(10.0)[::2],
    "backwards": np.arange(5.0)[::-1],
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "column order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "read only": np.broadcast_to(np.array([1.0, 2.0]), (3, 2)),
    "empty": np.empty(0),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_of_data_arrive_whole(kind):
    target = scalar_target(weighted_sum, {"y": ARRAYS[kind]})
    assert target.compiled
    assert value_of(target) == exact_weighted_sum(1.5, ARRAYS[kind])
    slow = scalar_target(AsPython(weighted_sum), {"y": ARRAYS[kind]})
    assert value_of(slow) == exact_weighted_sum(1.5, ARRAYS[kind])


def test_lists_of_numbers_are_arrays_to_compiled_code():
    assert value_of(scalar_target(weighted_sum, {"y": [[1, 2], [3, 4]]})) == exact_weighted_sum(1.5, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("number", "expected"),
    [(3, 5), (3.0, 5.0), (np.array(3), 5), (np.float32(3), 5.0), (np.int8(3), 5), (True, 3), (False, 2)],
)
def test_single_numbers_arrive_as_numbers(number, expected):
    def log_likelihood(mu, c):
        return c + 2.0 * mu

    target = scalar_target(log_likelihood, {"c": number})
    assert target.compiled
    assert value_of(target, 1.0) == expected


def test_truth_decides_a_branch():
    def log_likelihood(mu, positive):
        return mu if positive else -mu

    assert [value_of(scalar_target(log_likelihood, {"positive": truth})) for truth in (True, False)] == [1.5, -1.5]


def test_shapes_and_integers_can_be_used_as_such():
    def log_likelihood(mu, y, index):
        return mu * y.shape[0] + y[index, 1] + y.ndim

    y = np.arange(6.0).reshape(3, 2)
    assert value_of(scalar_target(log_likelihood, {"y": y, "index": 2})) == 4.5 + 5.0 + 2


def test_many_entries_do_not_mix():
    def log_likelihood(mu, a, b, c, d, e, f):
        return mu + a[0, 0] + 10 * b[1] + 100 * c + 1000 * d[0, 0, 1] + 10_000 * e + 100_000 * f[2]

    data = {
        "a": np.array([[1.0]]),
        "unused": np.zeros((2, 2, 2, 2)),
        "b": np.array([0, 2]),
        "c": 3,
        "d": np.array([[[0, 4]]], dtype=np.int16),
        "e": 5.0,
        "f": np.array([0, 0, 6], dtype=np.uint8),
    }
    assert value_of(scalar_target(log_likelihood, data), 0.0) == 654321.0


def test_name_of_both_a_variable_and_a_datum_is_refused():
    with pytest.raises(sterna.TargetError, match="'mu' is both a variable of the reference and an entry of data"):
        scalar_target(lambda mu: mu, {"mu": 3.0})


@pytest.mark.parametrize("data", [[1, 2], "abc", np.zeros(3), 3])
def test_data_without_names_are_refused(data):
    with pytest.raises(sterna.TargetError, match="data"):
        scalar_target(lambda mu: mu, data)


def sum_of_squares(mu, y):
    total = 0.0
    for k in range(y.size):
        total -= (y[k] - mu) * (y[k] - mu)
    return total


def test_data_are_read_by_their_address():
    target = scalar_target(sum_of_squares, {"y": np.array([2.5, 2.5])})
    data = target._definition.inputs.data
    assert target._own._data_block[data.slots["y"]] == data.arrays["y"].ctypes.data
    data.arrays["y"][:] = 1.5
    assert value_of(target) == 0.0


def test_data_live_as_long_as_their_target():
    targets = [scalar_target(sum_of_squares, {"y": np.full(1000, float(k))}) for k in range(20)]
    assert [value_of(target, 0.0) for target in targets] == [-1000.0 * k * k for k in range(20)]


NO_NUMBERS = {
    "None": None,
    "text": "text",
    "dict": {"a": [1, 2]},
    "ragged list": [[1, 2], [3]],
    "complex numbers": np.array([1 + 2j]),
    "texts": np.array(["a"]),
    "foreign byte order": np.ones(2, dtype=np.dtype(np.float64).newbyteorder()),
    "object": object(),
}


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], (1, 2, 3), [[1, 2], [3, 4]], range(4), array("d", [1.0, 2.0])])
def test_lists_of_numbers_are_arrays_whether_compiled_or_not(value):
    def log_likelihood(mu, y):
        return mu + np.sum(y * 2)

    def as_python(mu, y):
        return mu + np.sum(y * 2) + 0 * len(str({}))

    compiled, plain = (scalar_target(one, {"y": value}) for one in (log_likelihood, as_python))
    assert compiled.compiled > plain.compiled
    assert value_of(compiled) == value_of(plain) == 1.5 + 2 * np.sum(value)
    if isinstance(value, list):
        value.append(value[0])
        assert value_of(plain) == value_of(compiled)


class Pair(NamedTuple):
    a: float
    b: float


OWN_MEANING = {
    "masked": (np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]), lambda mu, y: mu + np.sum(y), 3.0),
    "named tuple": (Pair(1.0, 2.0), lambda mu, y: mu + y.b, 2.0),
    "series": (pd.Series([1.0, 2.0, 4.0]), lambda mu, y: mu + y.std(), np.std([1.0, 2.0, 4.0], ddof=1)),
}


@pytest.mark.parametrize("kind", OWN_MEANING)
def test_data_that_are_more_than_arrays_keep_their_meaning(kind):
    value, function, expected = OWN_MEANING[kind]
    target = scalar_target(function, {"y": value})
    words = "not an array of numbers" if kind == "named tuple" else "give numpy.asarray of it if an array will do"
    assert words in target.notes[0]
    assert value_of(target) == pytest.approx(1.5 + expected)


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_data_that_are_no_numbers_are_passed_to_python_as_given(kind):
    value = NO_NUMBERS[kind]
    seen = []

    def log_likelihood(mu, y):
        seen.append(y)
        return mu

    target = scalar_target(log_likelihood, {"y": value})
    assert target.notes[0].startswith("log_likelihood runs as Python, not compiled: data['y'] is of type ")
    assert value_of(target) == 1.5
    if isinstance(value, np.ndarray):
        # a copy, which no function can write into, nor the user change
        assert np.array_equal(seen[0], value)
        assert seen[0].dtype == value.dtype
        assert not seen[0].flags.writeable
    else:
        assert seen[0] is value


def plain(mu):
    return 2.0 * mu


def test_entry_that_is_not_used_may_be_anything():
    target = scalar_target(plain, {"label": "some text", "nothing": None})
    assert target.compiled


def test_data_changed_later_do_not_change_the_target():
    y = np.zeros(3)

    def likelihood(x, y):
        return -((y - x) ** 2).sum()

    for function in (likelihood, functools.partial(likelihood)):
        target = sterna.Target(function, {"x": sterna.Normal()}, {"y": y})
        y[:] = 5.0
        assert target.log_densities(x=1.0)[1] == -3.0
        y[:] = 0.0


@pytest.mark.parametrize("way", [lambda function: function, AsPython])
def test_data_cannot_be_written_to(way):
    """A density that changes with every call is no density to sample."""

    def log_likelihood(mu, y):
        y -= 0.1
        return -0.5 * np.sum((y - mu) ** 2)

    with pytest.raises(sterna.EvaluationError, match=r"read-only.*change a copy"):
        sterna.sample(way(log_likelihood), {"mu": sterna.Normal()}, {"y": np.ones(2)}, n_rounds=2, progress=False)


def test_keys_that_cannot_be_names_are_refused():
    for key in (0, "a b", ""):
        with pytest.raises(sterna.TargetError, match="cannot be passed by name: use a Python identifier"):
            scalar_target(lambda mu: 0.0, data={key: 1.0})


@pytest.mark.parametrize("compile", [True, False])
def test_no_name_of_data_is_one_of_sternas_own_arrays(compile):
    vector = {"x": sterna.MultivariateNormal([10.0, 10.0], np.eye(2))}
    given = sterna.Target(lambda x, x__offset: x__offset + x[0], vector, {"x__offset": 3.0}, compile=compile)
    default = sterna.Target(lambda x, x__offset=3.0: x__offset + x[0], vector, compile=compile)
    for target in (given, default):
        assert target.log_densities(np.zeros(2))[1] == 13.0
        assert "offset of x" not in target.data
    data = {"mean": 3.0, "reference__mean": 4.0}
    plain, fitted = (
        sterna.Target(function, sterna.FittedReference(2), data, compile=compile).log_densities(np.zeros(2))[1]
        for function in (lambda x: 0.0, lambda x, mean, reference__mean: mean + reference__mean)
    )
    assert fitted - plain == pytest.approx(7.0)


def test_numbers_that_numba_does_not_know_are_named():
    (note,) = scalar_target(lambda mu, y: -mu * y[0], data={"y": np.ones(2, dtype=np.float16)}).notes
    assert "of float16, which Numba does not compile: give numpy.float64 numbers" in note
