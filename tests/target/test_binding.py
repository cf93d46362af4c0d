"""Binding: which argument comes from where, what compiled code sees of data, and when a function runs as Python."""

import functools
import itertools
import math
from array import array
from typing import NamedTuple

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import special
from ways import WAYS, AsPython

import sterna
from sterna.reference.affine import affine
from sterna.reference.space import space_of
from sterna.reference.sticks import break_stick, join_stick, stick, stick_log_jacobian
from sterna.target import binding
from sterna.target.binding import Argument, arguments_of, as_number

SPACE = space_of({"mu": sterna.Normal(), "k": sterna.Poisson(2.0), "m": sterna.Normal(shape=(2, 3))})
DATA = {"y": np.arange(3.0), "n": 4}
STATE = np.array([0.5, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def scalar_target(function, data=None):
    return sterna.Target(function, {"mu": sterna.Normal()}, data)


def value_of(target, mu=1.5):
    return target.log_densities(mu=mu)[1]


def sources(function, data=DATA, **options):
    return [(a.source, a.name) for a in arguments_of(function, "f", SPACE, data, **options)]


# ------------------------------------------------------------------------------------------------ parameters


def test_parameters_are_variables_and_data_in_any_order():
    assert sources(lambda y, mu, n, k: 0.0) == [("data", "y"), ("variable", "mu"), ("data", "n"), ("variable", "k")]


def test_one_unknown_first_parameter_is_the_flat_vector():
    assert sources(lambda theta: 0.0) == [("flat", "theta")]
    assert sources(lambda theta, y, n: 0.0) == [("flat", "theta"), ("data", "y"), ("data", "n")]


def test_function_without_parameters_takes_nothing():
    assert sources(lambda: 0.0) == []


def test_function_without_a_signature_takes_the_flat_vector():
    class NoSignature:
        __signature__ = "none"

        def __call__(self, x):
            return 0.0

    assert arguments_of(NoSignature(), "f", SPACE, {}) == (Argument("flat", "x"),)


def test_defaults_stay_unless_a_variable_or_datum_has_the_name():
    assert sources(lambda mu, power=2.0: 0.0) == [("variable", "mu")]
    assert sources(lambda mu, n=1: 0.0) == [("variable", "mu"), ("data", "n")]


def test_leading_parameters_are_passed_by_position():
    assert sources(lambda x, i, new, y: 0.0, leading=3) == [("data", "y")]


@WAYS
def test_default_between_two_arguments_keeps_its_value(way):
    def log_likelihood(mu, factor=10.0, y=0.0):
        return factor * mu + y

    assert value_of(scalar_target(way(log_likelihood), {"y": 7.0})) == 22.0
    assert value_of(scalar_target(way(log_likelihood))) == 15.0
    assert value_of(scalar_target(way(log_likelihood), {"y": 7.0, "factor": 2.0})) == 10.0


@WAYS
def test_parameters_by_keyword_only_are_passed_by_keyword(way):
    def log_likelihood(*, y, mu):
        return mu - y

    assert value_of(scalar_target(way(log_likelihood), {"y": 7.0})) == -5.5


@WAYS
def test_parameters_by_position_only_are_passed_by_position(way):
    def log_likelihood(mu, y, /):
        return mu - y

    assert value_of(scalar_target(way(log_likelihood), {"y": 7.0})) == -5.5


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda *values: 0.0, r"f takes \*values; sterna passes arguments by name"),
        (lambda mu, **others: 0.0, r"f takes \*\*others"),
        (lambda mu, z: 0.0, r"parameter 'z', which is neither a variable \(mu, k, m\) nor an entry of data \(y, n\)"),
        (lambda y, theta: 0.0, "parameter 'theta'"),
        (lambda theta, z: 0.0, "parameter 'theta'"),
    ],
)
def test_parameters_that_match_nothing_are_named(function, message):
    with pytest.raises(sterna.TargetError, match=message):
        arguments_of(function, "f", SPACE, DATA)


def test_absence_of_data_is_said():
    with pytest.raises(sterna.TargetError, match=r"nor an entry of data \(none given\)"):
        arguments_of(lambda mu, y: 0.0, "f", SPACE, {})


# ------------------------------------------------------------------------------------------------------ data


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


# ------------------------------------------------------------------------------------- compiled once, for all


def compilations():
    return binding._entry_once.cache_info().misses


def sum_of_squares(mu, y):
    total = 0.0
    for k in range(y.size):
        total -= (y[k] - mu) * (y[k] - mu)
    return total


def test_new_data_of_the_same_type_need_no_compilation():
    scalar_target(sum_of_squares, {"y": np.arange(3.0)})
    before = compilations()
    for size in (1, 3, 10_000_000):
        target = scalar_target(sum_of_squares, {"y": np.full(size, 2.5)})
        assert target.compiled
        assert value_of(target) == -float(size)
    assert compilations() == before


def test_count_of_compilations_sees_another_type():
    """The check above must be able to fail: another type of data is another layout."""
    scalar_target(sum_of_squares, {"y": np.arange(3.0)})
    before = compilations()
    scalar_target(sum_of_squares, {"y": np.arange(3, dtype=np.float32)})
    assert compilations() == before + 1


def test_data_are_read_by_their_address():
    target = scalar_target(sum_of_squares, {"y": np.array([2.5, 2.5])})
    assert target._block[target._data.places["y"]] == target._data.arrays["y"].ctypes.data
    target._data.arrays["y"][:] = 1.5
    assert value_of(target) == 0.0


def test_data_live_as_long_as_their_target():
    targets = [scalar_target(sum_of_squares, {"y": np.full(1000, float(k))}) for k in range(20)]
    assert [value_of(target, 0.0) for target in targets] == [-1000.0 * k * k for k in range(20)]


def test_function_compiled_by_the_user_is_taken_as_it_is():
    function = numba.njit(sum_of_squares)
    target = scalar_target(function, {"y": np.array([2.5])})
    assert target.compiled
    assert value_of(target) == -1.0


# ------------------------------------------------------------------------------------------- captured values

FACTOR = 2.0
TABLE = np.array([1.0, 2.0])


def with_global(mu):
    return FACTOR * mu


def with_global_array(mu):
    return mu * TABLE.ndim + TABLE.sum()


def with_global_in_a_comprehension(mu):
    return np.sum(np.array([FACTOR * mu for _ in range(3)]))


@pytest.mark.parametrize(("function", "times"), [(with_global, 1), (with_global_in_a_comprehension, 3)])
def test_changed_global_is_noticed(monkeypatch, function, times):
    assert value_of(scalar_target(function)) == times * 3.0
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    target = scalar_target(function)
    assert target.compiled
    assert value_of(target) == times * 6.0


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (np.array([1.0, 5.0]), 7.5),
        (np.array([[1.0, 2.0]]), 6.0),
        (np.array([1.0, 2.0]).view(np.int64), 1.5 + float(np.array([1.0, 2.0]).view(np.int64).sum())),
    ],
    ids=["values", "shape", "type"],
)
def test_changed_global_array_is_noticed(monkeypatch, changed, expected):
    assert value_of(scalar_target(with_global_array)) == 4.5
    monkeypatch.setitem(globals(), "TABLE", changed)
    assert value_of(scalar_target(with_global_array)) == expected


def test_changed_attribute_of_a_module_is_noticed(monkeypatch):
    import types

    settings = types.ModuleType("settings")
    settings.level = 2.0

    def log_likelihood(mu):
        return settings.level * mu

    assert value_of(scalar_target(log_likelihood)) == 3.0
    settings.level = 4.0
    assert value_of(scalar_target(log_likelihood)) == 6.0


def test_changed_closure_is_noticed():
    level = 2.0

    def log_likelihood(mu):
        return level * mu

    assert value_of(scalar_target(log_likelihood)) == 3.0
    level = 4.0
    assert value_of(scalar_target(log_likelihood)) == 6.0


def test_unchanged_global_needs_no_compilation():
    scalar_target(with_global)
    before = compilations()
    scalar_target(with_global)
    assert compilations() == before


def test_large_captured_array_runs_as_python_and_says_why():
    observations = np.ones(100_001)

    def log_likelihood(mu):
        return mu * observations[0]

    target = scalar_target(log_likelihood)
    assert not target.compiled
    assert "captures the array 'observations' of 100001 elements" in target.notes[0]
    assert "pass it as data={'observations': observations}" in target.notes[0]
    assert value_of(target) == 1.5


# ---------------------------------------------------------------------------------------------- black boxes

TABLES = {"a": [1.0, 2.0], "b": [3.0]}


def with_dict_of_lists(mu):
    return mu * sum(sum(values) for values in TABLES.values())


def with_scipy(mu):
    return float(special.gammaln(mu))


def with_import(mu):
    import math

    return math.exp(mu)


def with_text(mu):
    return float(f"{mu:.3f}")


def with_class(mu):
    class Holder:
        value = 2.0

    return mu * Holder.value


def with_context(mu):
    with np.errstate(all="ignore") as _:
        return float(np.exp(mu))


def with_recursion(mu):
    def power(n):
        return 1.0 if n == 0 else mu * power(n - 1)

    return power(3)


def with_generator(mu):
    return sum(mu * k for k in range(3))


BLACK_BOXES = [
    (with_dict_of_lists, 9.0),
    (with_scipy, math.lgamma(1.5)),
    (with_import, math.exp(1.5)),
    (with_text, 1.5),
    (with_class, 3.0),
    (with_context, math.exp(1.5)),
    (with_recursion, 3.375),
    (with_generator, 4.5),
]


@pytest.mark.parametrize(("function", "expected"), BLACK_BOXES, ids=lambda part: getattr(part, "__name__", ""))
def test_function_that_numba_cannot_compile_runs_as_python_and_says_why(function, expected):
    target = scalar_target(function)
    assert not target.compiled
    (note,) = target.notes
    assert note.startswith("log_likelihood runs as Python, not compiled: ")
    assert len(note) < 400
    assert "\n" not in note
    assert value_of(target) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (AsPython(with_global), "it is a AsPython object, not a plain function"),
        (functools.partial(lambda mu, c: c * mu, c=2.0), "it is a partial object, not a plain function"),
    ],
)
def test_objects_run_as_python(function, reason):
    target = scalar_target(function)
    assert reason in target.notes[0]
    assert value_of(target) == 3.0


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


def test_a_variable_that_the_likelihood_does_not_take_is_noted():
    """A prior whose name is misspelt, of a parameter with a default; not where variables may depend on each other."""

    def log_likelihood(mu, sigma=1.0):
        return -0.5 * (mu / sigma) ** 2

    target = sterna.Target(log_likelihood, {"mu": sterna.Normal(), "sgima": sterna.HalfNormal()})
    assert target.notes == ["log_likelihood does not take sgima of the reference: sgima keeps its prior."]
    assert sterna.Target(log_likelihood, {"mu": sterna.Normal(), "sigma": sterna.HalfNormal()}).notes == []
    assert sterna.Target(lambda x: -x[0], {"mu": sterna.Normal(), "b": sterna.Normal()}).notes == []
    joint = sterna.Reference(
        lambda rng: (rng.random(), rng.random()),
        lambda mu, tau: 0.0,
        {"mu": sterna.Real(0, 1), "tau": sterna.Real(0, 1)},
    )
    assert sterna.Target(lambda mu: -mu, joint).notes == []


def test_what_counts_its_calls_runs_as_python():
    """Numba compiles it, and never counts."""
    calls = 0

    def log_likelihood(mu):
        nonlocal calls
        calls += 1
        return -mu * mu

    target = sterna.Target(log_likelihood, {"mu": sterna.Normal()})
    reason = "it assigns to calls of the function around it"
    assert target.notes == [f"log_likelihood runs as Python, not compiled: {reason}."]
    value_of(target)
    assert calls == 1


def test_compilation_may_be_turned_off():
    def log_likelihood(mu, y):
        return -(mu**2) * y

    options = {"reference": {"mu": sterna.Normal()}, "data": {"y": 2.0}}
    compiled, plain = (sterna.Target(log_likelihood, compile=compile, **options) for compile in (True, False))
    assert plain.notes == ["log_likelihood runs as Python, not compiled: compile=False."]
    runs = [sterna.sample(one, explorer="slice", n_chains=3, n_rounds=4, progress=False) for one in (compiled, plain)]
    assert np.array_equal(runs[0].states, runs[1].states)


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


def test_entry_that_is_not_used_may_be_anything():
    target = scalar_target(with_global, {"label": "some text", "nothing": None})
    assert target.compiled


def test_numbas_remarks_on_speed_do_not_stop_a_target():
    """Numba warns that products of strided vectors are slow; warnings are errors in these tests."""

    def log_likelihood(x, y):
        return x[::2] @ y[::2]

    target = sterna.Target(log_likelihood, {"x": sterna.Normal(shape=4)}, {"y": np.ones(4)})
    assert target.log_densities(np.arange(4.0))[1] == 2.0


@WAYS
def test_function_that_writes_into_its_vector_does_not_move_the_state(way):
    def log_likelihood(x):
        x *= 2.0
        return x[0] + x[1]

    target = sterna.Target(way(log_likelihood), {"x": sterna.Normal(shape=2)})
    state = np.array([1.0, 2.0])
    assert target.log_densities(state)[1] == 6.0
    assert state.tolist() == [1.0, 2.0]


def test_python_function_keeps_its_vector():
    """What a Python function is given is its own, also after the state has moved on."""
    kept = []

    def log_likelihood(x):
        kept.append(x)
        return 0.0

    target = sterna.Target(AsPython(log_likelihood), {"x": sterna.Normal(shape=2)})
    target.log_densities(np.array([1.0, 2.0]))
    target.log_densities(np.array([3.0, 4.0]))
    assert [x.tolist() for x in kept] == [[1.0, 2.0], [3.0, 4.0]]


# --------------------------------------------------------------------------------------------- what is returned


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.array(1.0), True, np.int64(1)])
def test_numbers_of_all_kinds_are_numbers(value):
    assert as_number(value, "f") == 1.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones(3), r"f returned an array of shape \(3,\); it must return one number \(did you forget a sum\?\)"),
        ([1.0], "f returned a list of 1; it must return one number"),
        ((1.0, 2.0), "f returned a tuple of 2; it must return one number, and nothing beside it"),
        (None, "f returned None; it must return one number"),
        ("abc", "f returned 'abc'"),
        (1j, "f returned 1j"),
        (np.complex128(1j), "f returned "),
        ({}, r"f returned \{\}"),
    ],
)
def test_what_is_no_number_is_named(value, message):
    with pytest.raises(sterna.TargetError, match=message):
        as_number(value, "f")


@pytest.mark.parametrize(
    "function",
    [lambda mu: np.array([mu, mu]), lambda mu: (mu, mu), lambda mu: [mu, mu], lambda mu: None, lambda mu: "text"],
    ids=["array", "tuple", "list", "None", "text"],
)
@WAYS
def test_function_that_returns_no_number_is_refused(way, function):
    target = scalar_target(way(function))
    with pytest.raises(sterna.TargetError, match="log_likelihood returned"):
        value_of(target)


# ----------------------------------------------------------------------------------- simplices and normal vectors


@pytest.mark.parametrize("size", [1, 2, 7])
def test_compiled_stick_has_the_bits_of_the_other(size):
    for fractions in np.random.default_rng(size).random((50, size)):
        assert np.array_equal(stick(fractions), join_stick(fractions))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_jacobian_of_the_stick_is_its_determinant(size):
    """Central differences of all parts but the last; the determinant is exact to their error."""
    step = 1e-6
    for fractions in np.random.default_rng(size).uniform(0.1, 0.9, (20, size)):
        columns = []
        for k in range(size):
            move = step * np.eye(size)[k]
            columns.append((stick(fractions + move) - stick(fractions - move))[:-1] / (2 * step))
        exact = math.log(abs(np.linalg.det(np.array(columns))))
        assert stick_log_jacobian(fractions) == pytest.approx(exact, abs=1e-8)
    # planted fault: one factor too few
    assert size == 1 or stick_log_jacobian(fractions[1:]) != pytest.approx(exact, abs=1e-8)


def test_breaking_a_stick_undoes_joining_it():
    for size in (1, 2, 9):
        for fractions in np.random.default_rng(size).uniform(0.01, 0.99, (50, size)):
            found = np.empty(size)
            break_stick(stick(fractions), found)
            assert np.allclose(found, fractions, rtol=1e-9)


@pytest.mark.parametrize("parts", list(itertools.permutations([1.0, 0.0, 0.0])))
def test_corners_of_the_simplex_break_into_fractions_inside(parts):
    fractions = np.empty(2)
    break_stick(np.array(parts), fractions)
    assert ((fractions > 0) & (fractions < 1)).all()
    assert np.allclose(stick(fractions), parts, atol=1e-15)


def test_compiled_normal_vector_has_the_bits_of_the_other():
    """A target compiled and the same target as Python must see the same numbers."""
    covariance = np.eye(6) + 0.3
    (variable,) = space_of({"v": sterna.MultivariateNormal(np.arange(6.0), covariance)}).variables
    for z in np.random.default_rng(4).standard_normal((50, 6)):
        assert np.array_equal(affine(z, *variable.affine), variable.value(z))


def test_captured_tuples_of_arrays_are_noticed():
    """Numba freezes them, and their text leaves most elements out."""
    scope = {}
    values = []
    # one and the same function, or nothing would be kept from one value to the next
    exec("def likelihood(x):\n    return -captured[0][500] * x", scope)
    for value in (1.0, 2.0, 3.0):
        array = np.ones(2000)
        array[500] = value
        scope["captured"] = (array,)
        values.append(sterna.Target(scope["likelihood"], {"x": sterna.Normal()}).log_densities(x=1.0)[1])
    assert values == [-1.0, -2.0, -3.0]


def test_data_changed_later_do_not_change_the_target():
    y = np.zeros(3)

    def likelihood(x, y):
        return -((y - x) ** 2).sum()

    for function in (likelihood, functools.partial(likelihood)):
        target = sterna.Target(function, {"x": sterna.Normal()}, {"y": y})
        y[:] = 5.0
        assert target.log_densities(x=1.0)[1] == -3.0
        y[:] = 0.0


OFFSET = 1.0


def helper_of_helper(x):
    return x + OFFSET


def helper(x):
    return helper_of_helper(x) ** 2


def with_helpers(x):
    return -helper(x)


def test_plain_helpers_are_compiled_too(monkeypatch):
    target = sterna.Target(with_helpers, {"x": sterna.Normal()})
    assert target.compiled
    assert target.log_densities(x=1.0)[1] == -4.0
    # what a helper captures is frozen too, so a change must be noticed
    monkeypatch.setitem(globals(), "OFFSET", 2.0)
    assert sterna.Target(with_helpers, {"x": sterna.Normal()}).log_densities(x=1.0)[1] == -9.0


def test_helpers_in_a_closure_are_compiled_too():
    def inner(x):
        return 3.0 * x

    def outer(x):
        return -inner(x)

    target = sterna.Target(outer, {"x": sterna.Normal()})
    assert target.compiled
    assert target.log_densities(x=2.0)[1] == -6.0


def test_an_index_out_of_bounds_is_an_error_with_its_point():
    """Without the check compiled code would read foreign memory and sample a plausible wrong answer."""

    def likelihood(mu, z, y):
        total = 0.0
        for i in range(y.size):
            total -= 0.5 * (y[i] - mu[z[i]]) ** 2
        return total

    reference = {"mu": sterna.Normal(0, 3, shape=2), "z": sterna.Categorical([1 / 3] * 3, shape=5)}
    target = sterna.Target(likelihood, reference, {"y": np.arange(5.0)})
    assert target.compiled
    with pytest.raises(sterna.EvaluationError, match=r"IndexError.* z=\["):
        sterna.sample(target, n_chains=4, n_rounds=3, progress=False)


def test_the_flat_vector_is_noted_and_a_slip_is_not_taken_for_it():
    def by_vector(theta):
        return -(theta[0] ** 2)

    def slip(sigm):
        return -(sigm**2)

    reference = {"mu": sterna.Normal(), "sigma": sterna.HalfNormal()}
    assert "theta is no variable" in sterna.Target(by_vector, reference).notes[0]
    with pytest.raises(sterna.TargetError, match="'sigm', which is neither"):
        sterna.Target(slip, reference)


def ping(x):
    return -x if x > 0.0 else pong(x)


def pong(x):
    return ping(-x)


def test_functions_that_call_each_other_still_run():
    """Numba cannot infer mutual recursion without signatures, so they run as Python, with the reason."""
    target = sterna.Target(ping, {"x": sterna.Normal()})
    assert target.log_densities(x=-2.0)[1] == -2.0
    assert target.compiled or "runs as Python" in target.notes[0]


def test_reasons_have_no_colours():
    error = RuntimeError("\x1b[1m\x1b[1mFailed in nopython mode\x1b[0m\n\x1b[1mUnknown attribute 'getpid'\x1b[0m")
    assert binding.short_reason(error) == "Unknown attribute 'getpid'"


@pytest.mark.parametrize("way", [lambda function: function, AsPython])
def test_data_cannot_be_written_to(way):
    """A density that changes with every call has no law to sample."""

    def log_likelihood(mu, y):
        y -= 0.1
        return -0.5 * np.sum((y - mu) ** 2)

    with pytest.raises(sterna.EvaluationError, match="read-only"):
        sterna.sample(way(log_likelihood), {"mu": sterna.Normal()}, {"y": np.ones(2)}, n_rounds=2, progress=False)
