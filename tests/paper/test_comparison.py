"""The four methods of the comparison, on a small model."""

import math
from types import SimpleNamespace

import pytest

import sterna
from sterna.paper.comparison import METHODS, RIVALS, ess_per_second, run_method

TARGET = sterna.models.normal(3, 20.0)


@pytest.fixture(scope="module")
def results():
    options = {"n_chains": 6, "n_rounds": 5, "n_scans": 400, "max_steps": 3000}
    return {method: run_method(method, TARGET, **options) for method in (*METHODS, "MMV-DEO")}


def test_all_methods_agree_with_the_exact_evidence(results):
    """Within 4.5 errors: a false-alarm rate of 7e-6 each, and a little more with the few restarts of rivals."""
    for result in results.values():
        assert abs(result.log_evidence.value + 1.5 * math.log(20.0)) < 4.5 * result.log_evidence.error


def test_methods_are_those_of_the_paper(results):
    assert [result.settings.scheme for result in results.values()] == ["deo", "deo", "seo", "seo", "deo"]
    assert [result.settings.start for result in results.values()] == ["reference"] + 4 * ["smc"]
    for method, result in results.items():
        assert (result.settings.n_chains == 6) or method in RIVALS
        assert (result.explorer, result.explorations, result.settings.n_scans) == ("slice", 1, 400)
        # a rival's burn-in has as many scans as its draws
        assert [one.n_scans for one in result.rounds] == ([400, 400] if method in RIVALS else [2, 4, 8, 16, 32, 400])


def test_effective_draws_are_per_second_of_tuning_and_sampling():
    rows = {"a": {"ess": 30.0, "ess_series": 60.0}, "b": {"ess": math.nan, "ess_series": math.nan}}
    timing = {"compile": 9.0, "tuning": 1.0, "sampling": 2.0, "search": 9.0}
    result = SimpleNamespace(summary=rows, timing=timing)
    assert ess_per_second(result) == {"a": 10.0, "b": 0.0}
    assert ess_per_second(result, of="ess_series") == {"a": 20.0, "b": 0.0}
