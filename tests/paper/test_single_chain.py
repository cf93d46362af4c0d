"""The explorer alone at the target: exact moments and marginals, and the bits."""

import math
import pickle

import numpy as np
import pytest

import sterna
from sterna.paper import single_chain as module
from sterna.paper.single_chain import single_chain

NORMAL = sterna.models.normal(3, 8.0)


def check_moments(result):
    """Within 4.5 errors of the exact mean and variance: a false-alarm rate of 7e-6 for each of six."""
    x = result.values["x"][0]
    for k in range(3):
        row = result.summary[f"x[{k}]"]
        assert abs(row["mean"]) < 4.5 * row["mcse"]
        # the squares of a nearly independent series; 3000 of them are worth at least 1000
        assert abs(x[:, k].var() * 8.0 - 1.0) < 4.5 * math.sqrt(2.0 / 1000)


def run(**options):
    return single_chain(NORMAL, **{"n_scans": 3000, "n_rounds": 6, "workers": 1, "explorer": "slice"} | options)


def test_moments_are_exact():
    result = run()
    check_moments(result)
    assert result.posterior["x"].dims == ("copy", "draw", "x_dim_0")
    assert result.states.shape == (1, 3000, 3)
    exact = [NORMAL.log_densities(x=state)[1] for state in result.states[0, :20]]
    assert np.allclose(result.log_likelihood[0, :20], exact)


@pytest.mark.parametrize("beta", [0.8, 0.0])
def test_a_chain_at_another_beta_is_found(monkeypatch, beta):
    right = module.plan_of

    def wrong(*arguments):
        return right(*arguments)._replace(schedule=np.array([0.0, beta]))

    monkeypatch.setattr(module, "plan_of", wrong)
    with pytest.raises(AssertionError):
        check_moments(run())


def test_marginals_of_a_discrete_model_are_exact():
    """Frequencies of the five states within 5 errors, of at least a tenth of 20 000 draws: 6e-7 each."""
    target = sterna.models.discrete(k=2, a=3.0)
    result = single_chain(target, n_scans=20_000, n_rounds=2, workers=1, explorer="slice")
    x = result.values["x"].ravel()
    for value in range(5):
        exact = (3.0 if value % 2 == 0 else 1.0) / 11.0
        assert abs((x == value).mean() - exact) < 5 * math.sqrt(exact / 2000)


def test_a_chain_stays_in_one_of_two_modes():
    """What the paper shows: the explorer alone does not leave its mode, and its own errors do not tell."""

    def two_wells(x):
        return -0.5 * ((abs(x) - 8.0) / 0.3) ** 2

    target = sterna.Target(two_wells, {"x": sterna.Normal(0, 5)})
    result = single_chain(target, n_scans=500, explorer="metropolis", workers=1)
    x = result.values["x"]
    assert abs(np.sign(x).sum()) == x.size
    assert np.abs(x).mean() == pytest.approx(8.0, abs=0.3)


def test_bits_do_not_depend_on_who_explores():
    one = run(n_scans=40, start="smc")
    assert np.array_equal(one.states, run(n_scans=40, start="smc", workers=3).states)
    assert not np.array_equal(one.states, run(n_scans=40, start="smc", seed=2).states)
    assert not np.array_equal(one.states, run(n_scans=40).states)


def squares(x):
    return -0.5 * float(np.sum((x - 1.0) ** 2))


@pytest.mark.laws
def test_bits_do_not_depend_on_who_evaluates():
    reference = {"x": sterna.Normal(0, 1, shape=2)}
    options = {"n_scans": 20, "n_rounds": 2, "explorer": "metropolis"}
    compiled, python = (sterna.Target(squares, reference, compile=compile) for compile in (True, False))
    one = single_chain(compiled, **options)
    for other in (single_chain(python, **options), single_chain(python, workers=2, **options)):
        assert np.array_equal(one.states, other.states)
        assert one.evaluations == other.evaluations > 20


def test_a_result_can_be_pickled():
    one = run(n_scans=20)
    copy = pickle.loads(pickle.dumps(one))
    assert np.array_equal(copy.values["x"], one.values["x"])
    assert copy.summary["x[0]"] == one.summary["x[0]"]
    assert (copy.explorer, copy.n_scans, copy.seed) == ("slice", 20, 1)


def test_wrong_options_are_refused():
    with pytest.raises(sterna.Error, match="n_rounds"):
        run(n_rounds=-1)
    with pytest.raises(sterna.Error, match="n_scans"):
        run(n_scans=0)
