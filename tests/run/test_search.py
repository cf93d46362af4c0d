"""The search for missed mass in complete runs: what it finds, what it costs, and that nothing else depends on it."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest

import sterna
from sterna.run import outcome, search, tune
from sterna.search.check import Check
from sterna.search.search import Search

REFERENCE = {"x": sterna.Normal(0, 5, shape=2), "s": sterna.HalfNormal(2.0)}
OPTIONS = {"n_rounds": 7, "explorer": "slice", "progress": False}


def plain(x, s):
    return -8.0 * ((x[0] - 1) ** 2 + (x[1] + 1) ** 2) - 3.0 * (s - 1) ** 2


def rows(x, s):
    return np.array([plain(a, b) for a, b in zip(x, s, strict=True)])


def spike_on_slab(x):
    square = np.sum(x * x)
    spike = np.log(100.0) - 0.5 * square / 1e-4 - x.size * np.log(0.01)
    slab = -0.5 * square / 1e-2 - x.size * np.log(0.1)
    return np.logaddexp(spike, slab) - 0.5 * x.size * np.log(2 * np.pi)


def test_a_spike_on_a_slab_is_found():
    """The slab has log Z = 0, with the spike it is log 101. Found in all of the seeds that were tried."""
    result = sterna.sample(
        spike_on_slab, {"x": sterna.Uniform(-0.5, 0.5, shape=20)}, n_rounds=9, explorer="slice", progress=False
    )
    assert result.log_evidence.value < 1
    (warning,) = [text for text in result.warnings if "Mass was missed" in text]
    (found,) = result.search.discrepancies
    assert math.log(40) < found.log_mass < math.log(100)
    assert np.abs(found.centre).max() < 0.02
    assert f"{found.log_mass:.2f}" in warning
    assert f"{found.log_allowed:.2f}" in warning
    assert 0 < result.search.evaluations < 0.055 * result.evaluations
    assert result.search.optima == 1
    assert f"{result.search.climbs} climbs to 1 optimum; see the warning" in str(result)
    assert result.to_dict()["search"]["discrepancies"][0]["share"] == 0


@pytest.fixture(scope="module")
def compiled_run():
    return sterna.sample(plain, REFERENCE, workers=1, **OPTIONS)


def test_a_run_without_fault(compiled_run):
    search = compiled_run.search
    assert search.climbs > 5
    assert search.optima == 1
    assert (search.discrepancies, search.tails, search.skipped) == ((), (), "")
    assert "none missed around them" in str(compiled_run)
    assert compiled_run.warnings == []


def test_the_run_does_not_depend_on_its_search(compiled_run, monkeypatch):
    monkeypatch.setattr(tune, "search_after_tuning", lambda runtime, state: Search())
    monkeypatch.setattr(outcome, "check_at_end", lambda runtime, state, log_evidence: Check())
    without = sterna.sample(plain, REFERENCE, workers=1, **OPTIONS)
    np.testing.assert_array_equal(without.states, compiled_run.states)
    assert without.log_evidence == compiled_run.log_evidence
    assert without.evaluations == compiled_run.evaluations - compiled_run.search.evaluations


@pytest.mark.parametrize("way", ["threads", "python", "vectorized", pytest.param("processes", marks=pytest.mark.laws)])
def test_the_search_is_the_same_whoever_evaluates(compiled_run, way):
    target = {
        "threads": sterna.Target(plain, REFERENCE),
        "python": sterna.Target(plain, REFERENCE, compile=False),
        "processes": sterna.Target(plain, REFERENCE, compile=False),
        "vectorized": sterna.Target(rows, REFERENCE, vectorized=True),
    }[way]
    workers = None if way in ("python", "vectorized") else 2
    result = sterna.sample(target, workers=workers, **OPTIONS)
    assert result.search.to_dict() == compiled_run.search.to_dict()


def test_a_gradient_makes_climbs_cheaper():
    def gradient(x, s):
        return np.array([-16.0 * (x[0] - 1), -16.0 * (x[1] + 1)]), -6.0 * (s - 1)

    target = sterna.Target(plain, REFERENCE, gradient=gradient)
    result = sterna.sample(target, n_rounds=7, explorer="hmc", progress=False)
    assert result.search.gradients > 0
    assert result.search.optima == 1
    assert result.search.discrepancies == ()


def test_an_evaluation_that_fails_ends_the_search_alone(compiled_run, monkeypatch):
    def fails(*arguments):
        raise sterna.EvaluationError("Far out.")

    monkeypatch.setattr(search, "light_tails", fails)
    result = sterna.sample(plain, REFERENCE, workers=1, **OPTIONS)
    np.testing.assert_array_equal(result.states, compiled_run.states)
    assert result.search.skipped == "an evaluation failed. Far out."
    assert result.search.masses == compiled_run.search.masses
    assert "the search did not reach its end: an evaluation failed" in str(result)


def test_a_fault_of_the_search_does_not_cost_the_run(compiled_run, monkeypatch):
    def fails(*arguments):
        raise ValueError("a fault")

    monkeypatch.setattr(search, "searched", fails)
    result = sterna.sample(plain, REFERENCE, workers=1, **OPTIONS)
    np.testing.assert_array_equal(result.states, compiled_run.states)
    assert "not searched for: it failed with ValueError: a fault" in str(result)


def test_a_report_does_not_claim_what_was_not_compared(compiled_run):
    for changes, text in (
        ({"masses": 0}, "not compared with the draws, because the run had too few evaluations"),
        ({"masses": 0, "optima": 0}, "0 optima; nothing that could be compared"),
    ):
        assert text in str(replace(compiled_run, search=replace(compiled_run.search, **changes)))


def test_a_likelihood_is_not_searched_where_the_reference_has_no_density():
    """An ordered pair: the likelihood raises an exception for any other, so that the search would end."""

    def log_likelihood(x):
        if x[0] > x[1]:
            raise ValueError("not ordered")
        return -2.0 * (x[0] ** 2 + x[1] ** 2)

    def draw(rng):
        return np.sort(rng.standard_normal(2))

    def log_density(x):
        return -0.5 * (x[0] ** 2 + x[1] ** 2) - math.log(math.pi) if x[0] < x[1] else -math.inf

    reference = sterna.Reference(draw, log_density, {"x": sterna.Real(shape=2)})
    target = sterna.Target(log_likelihood, reference, compile=False)
    result = sterna.sample(target, n_rounds=7, explorer="slice", progress=False)
    assert result.search.skipped == ""
    assert result.search.climbs > 5


def test_integers_alone_are_not_searched():
    result = sterna.sample(sterna.models.ising(3), n_rounds=5, progress=False)
    assert result.search.skipped == "there are no real variables"


def test_tails_of_a_light_reference():
    """The missed share of 0.06 is found by integrals of the density, whatever the draws of the seed are."""

    def cauchy(x, sd):
        return 0.5 * (x / sd) ** 2 - np.log1p(x * x) + np.log(sd) + 0.5 * np.log(2 * np.pi) - np.log(np.pi)

    result = sterna.sample(
        cauchy, {"x": sterna.Normal(0, 3)}, {"sd": 3.0}, n_rounds=10, explorer="elliptical", progress=False
    )
    (warning,) = [text for text in result.warnings if "The tails of the reference are lighter" in text]
    assert "sterna.Cauchy" in warning
    (found,) = result.search.tails
    truth = 1 + (math.atan(found.low) - math.atan(found.high)) / math.pi
    assert found.probability == pytest.approx(truth, rel=0.1)
    assert found.share < found.allowed < found.probability


def slow_far_out(x):
    if abs(x) > 50:
        time.sleep(0.5)
    return 0.5 * (x / 3) ** 2 - math.log1p(x * x)


def test_a_solver_that_is_slow_far_out_does_not_hold_the_run_up():
    """The explorer keeps to where the reference is. Only the look at tails leaves it, three times."""
    began = time.perf_counter()
    target = sterna.Target(slow_far_out, {"x": sterna.Normal(0, 3)}, compile=False)
    result = sterna.sample(target, n_rounds=10, explorer="elliptical", workers=1, progress=False)
    assert time.perf_counter() - began < 15
    assert search.SLOW_TAILS in result.search.skipped
    assert np.abs(result.states).max() < 50


@pytest.mark.parametrize("constant", [-3.0, 0.0, 3.0])
def test_a_constant_of_the_references_density_is_no_missed_mass(constant):
    """It cancels from the evidence, but not from the masses around optima."""

    def draw(rng):
        return rng.standard_normal(2)

    def log_density(x):
        return constant - 0.5 * np.sum(x * x) - np.log(2 * np.pi)

    reference = sterna.Reference(draw, log_density, {"x": sterna.Real(shape=2)})
    target = sterna.Target(lambda x: -2.0 * np.sum((x - 1.0) ** 2), reference)
    result = sterna.sample(target, n_rounds=8, explorer="slice", progress=False)
    assert result.search.masses > 0
    assert result.warnings == []
    # the path from the prior, whose evidence is that of the normalised density, within 4 standard errors: 6e-5
    exact = -np.log(5.0) - 2.0 * 2.0 / 5.0
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error


def test_without_the_constant_it_would_be(monkeypatch):
    """A planted fault: masses are compared with the evidence itself."""
    monkeypatch.setattr("sterna.run.search.as_integrated", lambda runtime, seed, log_evidence: log_evidence)
    with pytest.raises(AssertionError):
        test_a_constant_of_the_references_density_is_no_missed_mass(3.0)
