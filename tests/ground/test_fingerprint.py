"""Keys of functions: equal for equal content, different for every change, and valid elsewhere only if all is known."""

import collections
import functools
import math
import types

import numba
import numpy as np
import pytest

from sterna.ground.fingerprint import captured_values, digest_of, is_persistent, key_of


def function_of(source, **scope):
    """Return the function `f` of a source, as another process would define it."""
    scope = {"np": np, "math": math, **scope}
    exec(source, scope)
    return scope["f"]


def key(source, **scope):
    return key_of(function_of(source, **scope), "f")


SOURCE = "def f(x, a=1.0):\n    return a * x + np.sum(TABLE) + helper(x) * LEVEL"
HELPER = "def f(x, b=1.0):\n    return DEEP * x * b"


def scope(deep=1.0, helper=HELPER, level=2, table=None):
    return {
        "helper": function_of(helper, DEEP=deep),
        "LEVEL": level,
        "TABLE": np.arange(3.0) if table is None else table,
    }


def test_equal_content_has_equal_keys():
    moved = "\n\n" + SOURCE.replace("return", "return  ")
    assert key(SOURCE, **scope()) == key(moved, **scope())
    assert is_persistent(key(SOURCE, **scope()))


CHANGES = {
    "code": (SOURCE.replace("+ np", "- np"), {}),
    "constant": (SOURCE.replace("a * x", "a * x * 2.0"), {}),
    "default": (SOURCE.replace("a=1.0", "a=2.0"), {}),
    "type of a default": (SOURCE.replace("a=1.0", "a=1"), {}),
    "name of a parameter": (SOURCE.replace("a=1.0", "b=1.0").replace("a *", "b *"), {}),
    "value": (SOURCE, {"level": 3}),
    "type of a value": (SOURCE, {"level": 2.0}),
    "sign of zero": (SOURCE, {"level": -0.0}),
    "array": (SOURCE, {"table": np.array([0.0, 1.0, 3.0])}),
    "shape of an array": (SOURCE, {"table": np.arange(3.0)[None]}),
    "type of an array": (SOURCE, {"table": np.arange(3)}),
    "helper": (SOURCE, {"helper": HELPER.replace("*", "+")}),
    "default of a helper": (SOURCE, {"helper": HELPER.replace("b=1.0", "b=2.0")}),
    "value of a helper": (SOURCE, {"deep": 5.0}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_changes_the_key(change):
    source, parts = CHANGES[change]
    assert key(source, **scope(**parts)) != key(SOURCE, **scope())
    assert key(source, **scope(**parts)) == key(source, **scope(**parts))


def test_keys_that_differ_have_different_digests():
    keys = [key(SOURCE, **scope())] + [key(source, **scope(**parts)) for source, parts in CHANGES.values()]
    assert len({digest_of(one) for one in keys}) == len(CHANGES) + 1


def test_defaults_that_change_later_change_the_key():
    function = function_of(SOURCE, **scope())
    helper = function.__globals__["helper"]
    keys = [key_of(function, "f")]
    function.__defaults__ = (2.0,)
    keys.append(key_of(function, "f"))
    helper.__defaults__ = (2.0,)
    keys.append(key_of(function, "f"))
    assert len({digest_of(one) for one in keys}) == 3


def test_what_a_helper_reads_from_a_module_is_part_of_the_key():
    module = types.ModuleType("settings")
    module.level = 1.0
    helper = function_of("def f(x):\n    return settings.level * x", settings=module)
    first = key("def f(x):\n    return helper(x)", helper=helper)
    module.level = 2.0
    assert first != key("def f(x):\n    return helper(x)", helper=helper)


def test_values_of_a_users_module_are_part_of_the_key():
    source = "def f(x):\n    return settings.level * settings.inner.power(x)"

    def settings(level, power):
        module, inner = types.ModuleType("settings"), types.ModuleType("settings.inner")
        inner.power = numba.njit(function_of(f"def f(x):\n    return {power}"))
        module.level, module.inner = level, inner
        return module

    module = settings(1.0, "x * x")
    first = key(source, settings=module)
    assert first == key(source, settings=module)
    module.level = 2.0
    assert first != key(source, settings=module)
    # the function may hold code that froze other values, so that it is known here only
    assert not is_persistent(first)


def test_options_of_a_function_that_the_user_compiles_are_part_of_the_key():
    function = function_of(HELPER, DEEP=1.0)
    assert key_of(numba.njit(function), "f") == key_of(numba.njit(function), "f")
    assert key_of(numba.njit(function), "f") != key_of(numba.njit(fastmath=True)(function), "f")
    assert key_of(numba.njit(function), "f") != key_of(function, "f")


@pytest.mark.parametrize(
    "source",
    ["def f(x):\n    return OBJECT", "def f(x):\n    g = lambda y: y\n    return g(x)"],
    ids=["object", "inner function"],
)
def test_what_is_not_known_by_content_is_valid_here_only(source):
    unknown = object()
    function = function_of(source, OBJECT=unknown)
    assert not is_persistent(key_of(function, "f"))
    assert key_of(function, "f") == key_of(function, "f")
    if "OBJECT" in source:
        assert key_of(function, "f") != key_of(function_of(source, OBJECT=object()), "f")


def test_a_wrapper_is_not_taken_for_what_it_wraps():
    def wrapped(factor):
        @functools.wraps(np.sum)
        def total(x):
            return factor * np.sum(x)

        return total

    source = "def f(x):\n    return total(x)"
    assert key(source, total=np.sum) == key(source, total=np.sum)
    assert len({key(source, total=total) for total in (np.sum, wrapped(1.0), wrapped(2.0))}) == 3


def test_a_variable_of_an_enclosing_function_hides_a_global():
    """Also if the name of the global is that of an attribute."""
    source = "def make(log):\n    def f(x):\n        return log(x) + np.log(x)\n    return f\n"
    made = function_of(source + "f = make", log=abs)
    assert captured_values(made(math.exp))["log"] is math.exp


def test_values_of_a_subclass_are_not_known_by_their_text():
    class Rounded(float):
        def __repr__(self):
            return "1"

    source = "def f(x):\n    return LEVEL * x"
    assert key(source, LEVEL=Rounded(1.0)) != key(source, LEVEL=Rounded(1.04))


def test_named_tuples_and_subclasses_of_arrays_are_known_by_content():
    Data = collections.namedtuple("Data", "y")
    source = "def f(x):\n    return DATA[0] * x"
    for make in (lambda y: Data(np.array([y])), lambda y: np.array([y]).view(np.matrix)):
        value = make(1.0)
        assert key(source, DATA=value) == key(source, DATA=make(1.0))
        assert key(source, DATA=value) != key(source, DATA=make(2.0))


def test_a_key_of_this_process_has_no_digest():
    with pytest.raises(TypeError, match="has no digest"):
        digest_of(key("def f(x):\n    return OBJECT", OBJECT=object()))


def test_recursion_ends():
    source = "def f(x):\n    return 1 if x < 1 else x * f(x - 1)"
    assert key(source) == key(source)
