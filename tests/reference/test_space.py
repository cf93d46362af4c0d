"""The space: where each variable lies in the flat vector, its shape, and its own coordinates."""

import math

import numpy as np
import pytest

import sterna
from sterna.ground.values import BINARY, INTEGER, REAL
from sterna.reference.space import dims_of, space_of
from sterna.reference.sticks import join_stick


def mixed_space():
    return space_of(
        {
            "mu": sterna.Real(),
            "count": sterna.Integer(0, 9, shape=2),
            "share": sterna.Simplex(3),
            "flag": sterna.Binary(shape=(2, 2)),
        }
    )


def test_variables_follow_each_other_in_the_order_given():
    space = mixed_space()
    assert space.names == ["mu", "count", "share", "flag"]
    assert [(v.start, v.stop) for v in space.variables] == [(0, 1), (1, 3), (3, 5), (5, 9)]
    assert [v.value_type for v in space.variables] == [REAL, INTEGER, REAL, BINARY]
    assert [v.shape for v in space.variables] == [(), (2,), (3,), (2, 2)]
    assert space.dimension == 9


def test_values_have_the_shapes_of_the_variables():
    state = np.array([0.5, 3, 4, 0.5, 0.5, 0, 1, 1, 0])
    values = mixed_space().values(state)
    assert values["mu"].shape == ()
    assert values["mu"] == 0.5
    assert values["count"].dtype == np.int64
    assert values["count"].tolist() == [3, 4]
    assert values["share"].tolist() == [0.5, 0.25, 0.25]
    assert values["flag"].dtype == np.int64
    assert values["flag"].tolist() == [[0, 1], [1, 0]]


def test_values_of_many_states_keep_the_leading_axes():
    states = np.random.default_rng(1).random((4, 7, 9))
    space = mixed_space()
    values = space.values(states)
    assert [values[name].shape for name in space.names] == [(4, 7), (4, 7, 2), (4, 7, 3), (4, 7, 2, 2)]
    single = space.values(states[2, 5])
    for name in space.names:
        assert np.array_equal(values[name][2, 5], single[name])


def test_flat_vector_holds_all_variables_in_their_own_coordinates():
    states = np.random.default_rng(2).random((5, 9))
    space = mixed_space()
    flat = space.flat(states)
    assert space.transformed
    assert flat.shape == (5, 10)
    assert np.array_equal(flat[:, 0], states[:, 0])
    assert np.array_equal(flat[:, 3:6], join_stick(states[:, 3:5]))


def test_flat_vector_of_plain_variables_is_the_state_itself():
    space = space_of({"a": sterna.Real(shape=2), "b": sterna.Integer()})
    state = np.array([0.1, 0.2, 3.0])
    assert not space.transformed
    assert space.flat(state) is state


def test_distributions_lay_out_like_kinds():
    space = space_of({"a": sterna.Dirichlet([1, 2, 3]), "b": sterna.Poisson(3.0, shape=2), "c": sterna.Spin()})
    assert [(v.start, v.stop, v.shape) for v in space.variables] == [(0, 2, (3,)), (2, 4, (2,)), (4, 5, ())]
    assert [v.value_type for v in space.variables] == [REAL, INTEGER, BINARY]


def test_normal_vector_is_offset_plus_factor_times_coordinates():
    mean, covariance = np.array([1.0, -1.0]), np.array([[4.0, 1.0], [1.0, 2.0]])
    (variable,) = space_of({"v": sterna.MultivariateNormal(mean, covariance)}).variables
    z = np.random.default_rng(3).standard_normal((6, 2))
    assert np.allclose(variable.value(z), mean + z @ np.linalg.cholesky(covariance).T, rtol=1e-14)


# ------------------------------------------------------------------------------------------------- simplices


def test_stick_by_hand():
    assert join_stick(np.array([0.5])).tolist() == [0.5, 0.5]
    assert join_stick(np.array([0.25, 0.5, 0.5])).tolist() == [0.25, 0.375, 0.1875, 0.1875]


@pytest.mark.parametrize("size", [1, 2, 5, 50])
def test_sticks_lie_on_the_simplex(size):
    parts = join_stick(np.random.default_rng(size).random((1000, size)))
    assert parts.shape == (1000, size + 1)
    assert (parts >= 0).all()
    assert np.abs(parts.sum(axis=-1) - 1).max() < 1e-12


# ----------------------------------------------------------------------------------------------------- kinds


def test_kinds_know_their_bounds():
    assert (sterna.Real().lower, sterna.Real().upper) == (-math.inf, math.inf)
    assert (sterna.Real(0, 2).lower, sterna.Real(0, 2).upper) == (0.0, 2.0)
    assert (sterna.Integer(3, 3).lower, sterna.Integer(3, 3).upper) == (3.0, 3.0)
    assert (sterna.Binary().lower, sterna.Binary().upper) == (0.0, 1.0)
    assert sterna.Real(shape=3).shape == (3,)
    assert sterna.Integer(shape=(2, np.int64(4))).shape == (2, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sterna.Real(1, 1), r"Real\(lower=1, upper=1\): lower must be below upper"),
        (lambda: sterna.Real(2, 1), "lower must be below upper"),
        (lambda: sterna.Real(math.nan), "Real.*lower"),
        (lambda: sterna.Real("a"), "Real.*lower='a'"),
        (lambda: sterna.Real(upper=None), "Real.*upper=None"),
        (lambda: sterna.Integer(2, 1), r"Integer\(lower=2, upper=1\): lower must not exceed upper"),
        (lambda: sterna.Integer(0.5, 3), "Integer.*lower=0.5"),
        (lambda: sterna.Integer(0, 2.5), "Integer.*upper=2.5"),
        (lambda: sterna.Integer("a"), "Integer.*lower='a'"),
        (lambda: sterna.Simplex(1), r"Simplex\(1\)"),
        (lambda: sterna.Simplex(2.5), r"Simplex\(2.5\)"),
        (lambda: sterna.Simplex("a"), r"Simplex\('a'\)"),
        (lambda: sterna.Real(shape=0), "shape=0"),
        (lambda: sterna.Binary(shape=(2, -1)), r"shape=\(2, -1\)"),
        (lambda: sterna.Integer(shape=1.5), "shape=1.5"),
    ],
)
def test_kinds_that_cannot_be_are_named(make, message):
    with pytest.raises(sterna.TargetError, match=message):
        make()


def test_empty_space_is_refused():
    with pytest.raises(sterna.TargetError, match="name at least one variable"):
        space_of({})


@pytest.mark.parametrize("name", ["1a", "a b", "", 3, None])
def test_names_must_be_identifiers(name):
    with pytest.raises(sterna.TargetError, match=rf"{name!r} cannot name a variable"):
        space_of({name: sterna.Real()})


MICRO, MU = "\u00b5", "\u03bc"


def test_names_are_those_that_python_gives_to_parameters():
    """The micro sign of keyboards becomes the Greek letter in the names of parameters."""
    assert space_of({MICRO: sterna.Real()}).names == [MU]
    scope = {}
    exec(f"def log_likelihood({MICRO}, \ufb01): return -{MICRO} * \ufb01", scope)
    target = sterna.Target(scope["log_likelihood"], {MICRO: sterna.Normal()}, {"\ufb01": 2.0})
    assert target.log_densities(**{MICRO: 1.0})[1] == -2.0
    assert list(target.data) == ["fi"]
    with pytest.raises(sterna.TargetError, match=f"two keys that are the same name to Python, '{MU}'"):
        space_of({MICRO: sterna.Real(), MU: sterna.Real()})


@pytest.mark.parametrize("name", ["for", "lambda", "class"])
def test_keywords_of_python_are_no_names(name):
    with pytest.raises(sterna.TargetError, match=f"keyword of Python: use {name}_ instead"):
        space_of({name: sterna.Real()})


def test_dimensions_have_names_that_no_variable_has():
    assert dims_of("x", 2, None) == ["x_dim_0", "x_dim_1"]
    assert dims_of("x", 2, None, ["x", "x_dim_0"]) == ["x_dim_0_", "x_dim_1"]
    assert dims_of("x", 1, None, ["x_dim_0", "x_dim_0_"]) == ["x_dim_0__"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sterna.Integer(0, 2**60), "finite bounds must lie between -2..53 and 2..53"),
        (lambda: sterna.Integer(-(2**53) - 1), "finite bounds must lie between"),
        (lambda: sterna.Real("0"), "bounds must be numbers"),
        (lambda: sterna.Real(None), "bounds must be numbers"),
        (lambda: sterna.Simplex(2.5), "an integer of at least 2"),
    ],
)
def test_wrong_spaces_are_named(make, words):
    with pytest.raises(sterna.TargetError, match=words):
        make()


def test_whole_floats_are_sizes():
    assert sterna.Simplex(3.0) == sterna.Simplex(3)
    assert sterna.Real(shape=(2.0, np.int64(3))) == sterna.Real(shape=(2, 3))
    assert sterna.Integer(0, 2**53) == sterna.Integer(0.0, 2.0**53)
