"""What functions return: one number, or an error that names what was returned."""

import numpy as np
import pytest
from scalars import scalar_target, value_of
from ways import WAYS

import sterna
from sterna.target.returned import as_number


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.array(1.0), np.int64(1)])
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
        ("1.0", "f returned '1.0'"),
        (True, "f returned True, a truth value"),
        (np.bool_(False), "f returned False, a truth value"),
        (-(10**400), "f returned an integer beyond 1.8e308"),
    ],
)
def test_what_is_no_number_is_named(value, message):
    with pytest.raises(sterna.TargetError, match=message):
        as_number(value, "f")


@pytest.mark.parametrize(
    "function",
    [
        lambda mu: np.array([mu, mu]),
        lambda mu: (mu, mu),
        lambda mu: [mu, mu],
        lambda mu: None,
        lambda mu: "1",
        lambda mu: mu > 0,
    ],
    ids=["array", "tuple", "list", "None", "text", "truth"],
)
@WAYS
def test_function_that_returns_no_number_is_refused(way, function):
    target = scalar_target(way(function))
    with pytest.raises(sterna.TargetError, match="log_likelihood returned"):
        value_of(target)
