"""Generated code: compiled once for all data of the same types, and safe against what functions do."""

import numba
import numpy as np
import pytest
from scalars import scalar_target, value_of
from ways import WAYS, AsPython

import sterna
from sterna.target import code


def compilations():
    return code.compile_entry_once.cache_info().misses


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


def test_function_compiled_by_the_user_is_taken_as_it_is():
    function = numba.njit(sum_of_squares)
    target = scalar_target(function, {"y": np.array([2.5])})
    assert target.compiled
    assert value_of(target) == -1.0


def test_compilation_may_be_turned_off():
    def log_likelihood(mu, y):
        return -(mu**2) * y

    options = {"reference": {"mu": sterna.Normal()}, "data": {"y": 2.0}}
    compiled, plain = (sterna.Target(log_likelihood, compile=compile, **options) for compile in (True, False))
    assert plain.notes == ["log_likelihood runs as Python, not compiled: compile=False."]
    runs = [sterna.sample(one, explorer="slice", n_chains=3, n_rounds=4, progress=False) for one in (compiled, plain)]
    assert np.array_equal(runs[0].states, runs[1].states)


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
