"""Compilation of users' functions: values that they capture, functions that they call, and why some run as Python."""

import functools
import math
import re
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from scalars import scalar_target, value_of
from scipy import special
from ways import AsPython

import sterna
from sterna.ground.user_function import short_reason
from sterna.target import code


def compilations():
    return code.compile_entry_once.cache_info().misses


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


OBSERVATIONS = np.ones(100_001)


def with_large_global_array(mu):
    return mu * OBSERVATIONS[0]


def test_large_global_array_runs_as_python_and_says_why():
    target = scalar_target(with_large_global_array)
    assert not target.compiled
    assert "captures the array 'OBSERVATIONS' of 100001 elements" in target.notes[0]
    assert "pass it as data={'OBSERVATIONS': OBSERVATIONS}" in target.notes[0]
    assert value_of(target) == 1.5


def capturing(level, table):
    """Return a function that captures a number, an array and a truth value, also in a comprehension."""
    negative = False

    def log_likelihood(mu, power=2):
        total = 0.0
        for value in [level * entry for entry in table]:
            total += value
        return -total if negative else total + (mu - level) ** power

    return log_likelihood


def test_captured_numbers_are_data():
    """Functions of the same code are compiled once, whatever the numbers that they capture."""
    scalar_target(capturing(0.5, np.ones(3)))
    before = compilations()
    for level in np.linspace(1.0, 2.0, 20):
        target = scalar_target(capturing(level, np.full(100_001, level)))
        assert target.compiled
        assert value_of(target) == capturing(level, np.full(100_001, level))(1.5)
    assert compilations() == before


def test_captured_numbers_of_other_types_are_compiled_again():
    for level, table in ((2, np.ones(3)), (2.0, np.ones((3, 1))[:, 0]), (0.5, np.arange(3))):
        assert value_of(scalar_target(capturing(level, table))) == capturing(level, table)(1.5)


def test_captured_number_that_types_depend_on_is_frozen():
    def entry(place):
        def log_likelihood(mu):
            return mu * (1, 2.5)[place]

        return log_likelihood

    for place, expected in ((1, 3.75), (0, 1.5)):
        target = scalar_target(entry(place))
        assert target.compiled
        assert value_of(target) == expected


def test_two_functions_of_a_target_capture_different_numbers_under_one_name():
    def scaled(scale):
        def function(mu):
            return scale * mu

        return function

    def constant(scale):
        def gradient(mu):
            return scale

        return gradient

    target = sterna.Target(scaled(2.0), {"mu": sterna.Normal(0, 1)}, gradient=constant(3.0))
    assert value_of(target) == 3.0
    assert target.gradient(np.array([0.0]))[0] == 3.0


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


def test_what_counts_its_calls_runs_as_python():
    """Numba compiles it, and never counts."""
    calls = 0

    def log_likelihood(mu):
        nonlocal calls
        calls += 1
        return -mu * mu

    target = sterna.Target(log_likelihood, {"mu": sterna.Normal()})
    reason = "it assigns to calls of the enclosing function"
    assert target.notes == [f"log_likelihood runs as Python, not compiled: {reason}."]
    value_of(target)
    assert calls == 1


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
    assert short_reason(error) == "Unknown attribute 'getpid'"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            "Unknown attribute 'norm' of type Module(<module 'scipy.stats'>)",
            "it uses scipy.stats.norm, which cannot be",
        ),
        (
            "Untyped global name 'foo': Cannot determine Numba type of <class '__main__.Foo'>",
            "it uses foo, a Foo, which",
        ),
        (
            "No implementation of function Function(<function sort at 0x7f8b>) found for signature",
            "it uses sort in a way",
        ),
        ("No implementation of function Function(<built-in function add>) found for signature", "it uses add in a way"),
        ("The 'with' construct is not supported.. Raised from None", "it uses with, which cannot be compiled"),
        (
            "Cannot unify float64 and Literal[str](a) for '$phi8.2', defined at a.py (4)",
            "it has a .* float64 .* and str",
        ),
        ("NameError: name 'z' is not defined", "NameError: name 'z' is not defined$"),
    ],
)
def test_reasons_are_in_plain_words(message, reason):
    assert re.match(reason, short_reason(RuntimeError(f"Failed in nopython mode\n{message}.")))


def test_a_return_that_is_no_number_is_named_as_the_reason():
    error = RuntimeError("No implementation of function Function(<function log_value at 0x7>)\n >>> log_value(bool)\n ")
    assert short_reason(error) == "it returns bool, not a number"
    assert "it returns bool, not a number" in sterna.Target(lambda x: x > 0, {"x": sterna.Normal()}).notes[0]


def test_an_array_that_changes_later_does_not_change_code_for_other_types():
    table = np.array([1.0])
    scope = {"TABLE": table}
    exec("def log_likelihood(mu, y):\n    return mu * TABLE[0] + y[0]", scope)
    function = scope["log_likelihood"]

    def value(y):
        return value_of(sterna.Target(function, {"mu": sterna.Normal(0, 1)}, {"y": y}))

    assert value(np.array([0])) == 1.5
    table[0] = 2.0
    assert value(np.array([0])) == 3.0
    table[0] = 1.0
    assert value(np.array([0.0])) == 1.5


def test_threads_that_make_the_same_target():
    def compile_in_turn(level):
        def log_likelihood(mu):
            return level * mu - 0.25

        return sterna.Target(log_likelihood, {"mu": sterna.Gumbel(0, 1)})

    with ThreadPoolExecutor(4) as pool:
        targets = list(pool.map(compile_in_turn, [1.0, 2.0, 3.0, 4.0]))
    assert [value_of(target) for target in targets] == [1.25, 2.75, 4.25, 5.75]
    assert len({int(target.program.family[0]) for target in targets}) == 1


@pytest.mark.parametrize("level", [10**30, np.float16(2.0), np.array([2.0], dtype=">f8")])
def test_captured_numbers_that_compiled_code_cannot_hold_run_as_python(level):
    def log_likelihood(mu):
        return mu * float(np.sum(level))

    target = scalar_target(log_likelihood)
    assert value_of(target) == log_likelihood(1.5)


def test_captured_number_beside_parameters_without_names():
    level = 2.0

    def log_likelihood(mu, /):
        return level * mu

    target = scalar_target(log_likelihood)
    assert target.compiled
    assert value_of(target) == 3.0


def test_a_function_that_the_user_compiled_keeps_its_signature():
    third = numba.njit("float32(float64)")(lambda mu: mu / 3.0)

    def log_likelihood(mu):
        return third(mu)

    assert value_of(scalar_target(log_likelihood), 1.0) == float(np.float32(1.0 / 3.0))
