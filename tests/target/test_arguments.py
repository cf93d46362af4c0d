"""Arguments: which parameter of a user's function is which variable, entry of data, or the flat vector."""

import numpy as np
import pytest
from scalars import scalar_target, value_of
from ways import WAYS

import sterna
from sterna.reference.space import space_of
from sterna.target.arguments import Argument, arguments_of

SPACE = space_of({"mu": sterna.Normal(), "k": sterna.Poisson(2.0), "m": sterna.Normal(shape=(2, 3))})
DATA = {"y": np.arange(3.0), "n": 4}


def sources(function, data=DATA, **options):
    return [(a.source, a.name) for a in arguments_of(function, "f", SPACE, data, **options)]


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


def test_the_flat_vector_is_noted_and_a_slip_is_not_taken_for_it():
    def by_vector(theta):
        return -(theta[0] ** 2)

    def slip(sigm):
        return -(sigm**2)

    reference = {"mu": sterna.Normal(), "sigma": sterna.HalfNormal()}
    assert "theta is not a variable" in sterna.Target(by_vector, reference).notes[0]
    with pytest.raises(sterna.TargetError, match="'sigm', which is neither"):
        sterna.Target(slip, reference)
