"""States, gradients and draws of wrong shapes: an error, never a read beyond the end of an array."""

import math

import numpy as np
import pytest
from ways import WAYS, AsPython

import sterna

REFERENCE = {"x": sterna.Normal(0, 1, shape=3)}
WRONG_STATES = [[1.0], [], [1.0, 2.0, 3.0, 4.0], 3.0, None, "abc", ["1", "2", "3"], [1j, 2, 3], [None, 1, 2]]


def log_likelihood(x):
    return -np.sum(x**2)


def gradient(x):
    return -2.0 * x


TARGET = sterna.Target(log_likelihood, REFERENCE, gradient=gradient)


@pytest.mark.parametrize("method", ["gradient", "log_densities", "values", "describe_point"])
@pytest.mark.parametrize("state", WRONG_STATES, ids=str)
def test_states_of_wrong_shapes_are_refused(method, state):
    with pytest.raises(sterna.TargetError, match=r"A state of log_likelihood|got values for nothing"):
        getattr(TARGET, method)(state)


@pytest.mark.parametrize("method", ["gradient", "log_densities"])
def test_one_state_is_no_matrix(method):
    with pytest.raises(sterna.TargetError, match=r"has 3 coordinates, not \(1, 3\)"):
        getattr(TARGET, method)([[1.0, 2.0, 3.0]])


def test_lists_and_integers_are_states():
    assert np.array_equal(TARGET.gradient([1, 2, 3]), [-3.0, -6.0, -9.0])
    assert np.array_equal(TARGET.gradient([1, 2, 3], 0), [-1.0, -2.0, -3.0])


@pytest.mark.parametrize("beta", ["a", None, math.nan, math.inf, [1.0, 2.0]])
def test_beta_of_a_gradient_is_a_number(beta):
    with pytest.raises(sterna.OptionError, match=r"gradient\(beta="):
        TARGET.gradient([1.0, 2.0, 3.0], beta)


def test_there_is_no_gradient_outside_of_the_support():
    target = sterna.Target(lambda s: -s, {"s": sterna.Exponential(1.0)}, gradient=lambda s: -1.0)
    assert np.array_equal(target.gradient([2.0]), [-2.0])
    with pytest.raises(sterna.TargetError, match=r"There is no gradient at s=-1.0, which is outside of the support"):
        target.gradient([-1.0])


@pytest.mark.parametrize("value", ["a", None, 1j])
def test_values_by_name_are_numbers(value):
    with pytest.raises(sterna.TargetError, match="'x' must be a number or an array of numbers"):
        TARGET.log_densities(x=value)


WRONG_GRADIENTS = {
    "number": (lambda x: -2.0 * x[0], r"gradient returned shape \(\) for x, whose shape is \(3,\)"),
    "one entry": (
        lambda x: -2.0 * x[:1],
        r"returned shape \(1,\) for x, whose shape is \(3,\)|another shape than \(3,\)",
    ),
    "two entries": (lambda x: -2.0 * x[:2], r"returned shape \(2,\) for x, whose|another shape than \(3,\)"),
    "None": (lambda x: None, r"gradient returned None, which is no array of numbers"),
    "with value": (
        lambda x: (0.5, -2.0 * x),
        r"no array of numbers. .* jax.grad\(log_likelihood\) instead of jax.value_and",
    ),
    "complex": (lambda x: 1j * x, r"gradient returned array\(.*which is no array of numbers"),
}


@WAYS
@pytest.mark.parametrize("case", WRONG_GRADIENTS)
def test_gradients_of_wrong_shapes_are_refused(way, case):
    function, words = WRONG_GRADIENTS[case]
    target = sterna.Target(log_likelihood, REFERENCE, gradient=way(function))
    with pytest.raises(sterna.TargetError, match=words):
        target.gradient(np.ones(3))


def test_an_error_of_compiled_code_is_told_with_both_shapes():
    prepared = sterna.Target(log_likelihood, REFERENCE, gradient=WRONG_GRADIENTS["one entry"][0]).prepare()
    with pytest.raises(sterna.TargetError) as caught:
        prepared.gradient(np.ones(3))
    label, error = prepared.failure(np.ones(3), caught.value)
    assert label == "gradient"
    assert str(error) == "gradient returned shape (1,) for x, whose shape is (3,)."


@pytest.mark.parametrize(
    ("reference", "function"),
    [
        ({"p": sterna.Dirichlet([1.0, 2.0, 3.0])}, lambda p: p[:2]),
        ({"m": sterna.Normal(0, 1, shape=(2, 2))}, lambda m: m[:1]),
        ({"v": sterna.MultivariateNormal([0.0, 0.0], np.eye(2))}, lambda v: v[:1]),
    ],
    ids=["simplex", "matrix", "affine"],
)
def test_compiled_gradients_of_all_kinds_of_variables_are_checked(reference, function):
    """The code that stores them would read beyond their ends."""
    target = sterna.Target(lambda x: 0.0, reference, gradient=function)
    with pytest.raises(sterna.TargetError, match="another shape than"):
        target.gradient(np.full(target.dimension, 0.4))


def draw_simplex(rng):
    parts = 3 if rng.random() > 0.6 else 2
    return rng.normal(), np.ones(parts) / parts


def draw_vector(rng):
    return np.ones(3 if rng.random() > 0.6 else 2)


def draw_matrix(rng):
    return (np.ones((2 if rng.random() > 0.6 else 1, 2)),)


@pytest.mark.parametrize(
    ("draw", "space", "name"),
    [
        (draw_simplex, {"a": sterna.Real(), "p": sterna.Simplex(3)}, "for p, "),
        (draw_vector, {"x": sterna.Real(shape=3)}, ""),
        (draw_matrix, {"m": sterna.Real(shape=(2, 2))}, "for m, "),
    ],
    ids=["simplex", "vector", "matrix"],
)
def test_compiled_draws_of_another_shape_are_refused(draw, space, name):
    """The first call, by which the target learns the shape, is good: a generator of seed 0 begins with 0.637."""
    target = sterna.Target(lambda x: 0.0, sterna.Reference(draw, lambda x: 0.0, space))
    assert target.compiled
    with pytest.raises(
        sterna.TargetError, match=rf"^The reference's draw returned.* {name}an array of another shape than"
    ):
        sterna.sample(target, explorer="slice", n_chains=3, n_rounds=3, progress=False)


def test_a_list_is_as_good_as_an_array():
    def draw(rng):
        return [rng.normal(), rng.normal()]

    target = sterna.Target(lambda x: 0.0, sterna.Reference(draw, lambda x: 0.0, {"x": sterna.Real(shape=2)}))
    assert target.compiled


@pytest.mark.parametrize("drawn", ["a", {"x": 1.0}, ("a",), (None,), [[1], [1, 2]]])
def test_draws_that_are_no_numbers_are_named(drawn):
    reference = sterna.Reference(AsPython(lambda rng: drawn), lambda x: 0.0, {"x": sterna.Real(shape=2)})
    with pytest.raises(sterna.TargetError, match=r"The reference's draw returned .*; return a tuple with"):
        sterna.Target(lambda x: 0.0, reference)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (None, "one array for each of x, y, as a tuple"),
        (lambda x, y: -x, "one array for each of x, y, as a tuple"),
        (lambda x, y: (-x[:1], -y), r"returned shape \(1,\) for x of 4 points"),
        (lambda x, y: (-x, 0.0), r"returned shape \(\) for y of 4 points"),
        (lambda x, y: ("a", y), "gradient returned 'a', which is no array of numbers"),
    ],
    ids=["None", "one array", "short", "number", "text"],
)
def test_vectorised_gradients_are_checked(values, words):
    given = values or (lambda x, y: None)
    reference = {"x": sterna.Normal(), "y": sterna.Normal()}
    target = sterna.Target(lambda x, y: -x - y, reference, gradient=given, vectorized=True).prepare()
    target.prepare_gradient()
    evaluate = target.batch_functions[target.gradient_handle].evaluate
    with pytest.raises(sterna.TargetError, match=words):
        evaluate(np.ones((4, 2)), 4)
