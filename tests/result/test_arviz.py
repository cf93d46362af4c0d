"""Results as ArviZ holds them."""

import contextlib
import importlib
import sys

import arviz
import matplotlib as mpl
import numpy as np
import pymc as pm
import pytest
import xarray
from pymc_models import COUNTS, change_point
from scipy import stats

import sterna
from sterna.result.arviz import _import_arviz

mpl.use("Agg")


@pytest.fixture(scope="module")
def run():
    model = change_point()
    return model, sterna.sample(model, n_chains=6, n_rounds=7, n_copies=2, seed=3, explorer="slice", progress=False)


def test_posterior_has_the_names_of_the_model(run):
    _, result = run
    assert list(result.posterior) == ["switch", "early", "late", "rate"]
    rate = result.posterior["rate"]
    assert rate.dims == ("copy", "draw", "year")
    assert rate["year"].values[0] == 1851
    before = result.posterior["switch"] >= rate["year"] - 1851
    np.testing.assert_allclose(rate, result.posterior["early"].where(before, result.posterior["late"]))
    assert "rate[1851]" in result.summary


def test_groups(run):
    _, result = run
    tree = result.to_arviz()
    posterior = tree["posterior"]
    assert posterior["rate"].dims == ("chain", "draw", "year")
    np.testing.assert_array_equal(tree["observed_data"]["disasters"], COUNTS)
    pointwise = tree["log_likelihood"]["disasters"]
    expected = stats.poisson.logpmf(COUNTS, posterior["rate"].values)
    np.testing.assert_allclose(pointwise, expected, rtol=1e-9)
    np.testing.assert_allclose(tree["sample_stats"]["log_likelihood_sum"], expected.sum(-1), rtol=1e-9)
    prior = stats.expon.logpdf(posterior["early"].values) + stats.expon.logpdf(posterior["late"].values)
    # the log-density of a state is that of the logarithms of both rates
    jacobian = np.log(posterior["early"].values) + np.log(posterior["late"].values)
    np.testing.assert_allclose(
        tree["sample_stats"]["lp"], expected.sum(-1) + prior + jacobian - np.log(len(COUNTS)), rtol=1e-7
    )
    assert posterior.attrs["log_evidence"] == result.log_evidence.value


# what these libraries have to say of each other's newer versions, and of few draws
@pytest.mark.filterwarnings("ignore")
def test_arviz_takes_it(run):
    tree = run[1].to_arviz()
    found = arviz.loo(tree)
    assert np.isfinite(getattr(found, "elpd", None) or found.elpd_loo)
    assert {"switch", "early", "late"} <= set(arviz.summary(tree, var_names=["switch", "early", "late"]).index)


@pytest.mark.laws
@pytest.mark.filterwarnings("ignore")
def test_arviz_and_pymc_take_it(run):
    model, result = run
    tree = result.to_arviz()
    with pm.Model() as steady:
        pm.Poisson("disasters", pm.Exponential("rate", 1.0), observed=COUNTS)
    other = sterna.sample(steady, n_chains=4, n_rounds=7, n_copies=2, progress=False).to_arviz()
    change, constant = (getattr(found, "elpd", None) or found.elpd_loo for found in map(arviz.loo, (tree, other)))
    assert change > constant
    assert list(arviz.compare({"change": tree, "constant": other}).index) == ["change", "constant"]
    arviz.plot_trace(tree, var_names=["early"])
    with model:
        predicted = pm.sample_posterior_predictive(tree, progressbar=False, random_seed=1)
    draws = predicted.posterior_predictive["disasters"]
    assert draws.shape == (2, 254, len(COUNTS))


def test_log_likelihood_may_be_left_out(run):
    assert "log_likelihood" not in run[1].to_arviz(log_likelihood=False)


def test_attributes_survive_a_file(run, tmp_path):
    _, result = run
    result.to_arviz().to_netcdf(str(tmp_path / "run.nc"))
    attributes = xarray.open_dataset(tmp_path / "run.nc", group="posterior").attrs
    assert attributes["log_evidence"] == result.log_evidence.value
    assert attributes["restarts"] == result.restarts
    assert attributes["seed"] == 3
    assert np.array_equal(attributes["schedule"], result.schedule)
    assert attributes["warnings"].splitlines() == result.warnings
    assert attributes["notes"].splitlines() == [" ".join(note.split()) for note in result.notes]


def test_without_arviz_the_error_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(sterna.MissingLibraryError, match=r"pip install 'sterna\[arviz\]'") as raised:
        run[1].to_arviz()
    assert isinstance(raised.value, ModuleNotFoundError)
    # a library that ArviZ itself lacks is another matter; sterna's own modules are imported when they are first used
    any_error = sterna.Error
    monkeypatch.setattr(importlib, "import_module", lambda name: __import__("no_such_module"))
    with pytest.raises(ModuleNotFoundError, match="no_such_module") as raised:
        run[1].to_arviz()
    assert not isinstance(raised.value, any_error)


def test_targets_of_sternas_own():
    result = sterna.sample(sterna.models.normal(2), n_chains=4, n_rounds=6, n_copies=2, progress=False)
    tree = result.to_arviz()
    assert tree["posterior"]["x"].shape == (2, 126, 2)
    likelihood = tree["sample_stats"]["log_likelihood_sum"].values
    np.testing.assert_array_equal(likelihood, result.log_likelihood)
    x = tree["posterior"]["x"].values
    np.testing.assert_allclose(tree["sample_stats"]["lp"] - likelihood, stats.norm.logpdf(x).sum(-1), rtol=1e-9)


@pytest.mark.parametrize(
    ("message", "category", "silent"),
    [
        ("\\nArviZ is undergoing a major refactor to improve", FutureWarning, True),
        ("\\nArviZ is undergoing a major refactor to improve", UserWarning, False),
        ("Something else is deprecated", FutureWarning, False),
    ],
)
def test_import_silences_only_the_daily_announcement(monkeypatch, tmp_path, message, category, silent):
    (tmp_path / "arviz.py").write_text(f'import warnings\nwarnings.warn("{message}", {category.__name__})\n')
    monkeypatch.delitem(sys.modules, "arviz")
    monkeypatch.syspath_prepend(tmp_path)
    with contextlib.nullcontext() if silent else pytest.warns(category):
        assert _import_arviz().__file__ == str(tmp_path / "arviz.py")
    monkeypatch.delitem(sys.modules, "arviz")
