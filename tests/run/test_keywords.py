"""Options by the names that other samplers give them."""

import inspect
import re

import pytest

import sterna
from sterna.run.keywords import HINTS
from sterna.target.target import HINTS as HINTS_OF_TARGET

OPTIONS = set(inspect.signature(sterna.sample).parameters)


@pytest.mark.parametrize(
    ("keyword", "option"),
    [
        ("chains", "n_copies"), ("draws", "n_scans"), ("random_seed", "seed"), ("tune", "n_rounds"),
        ("cores", "workers"), ("nwalkers", "n_copies"), ("nlive", "n_scans"), ("n_samples", "n_scans"),
        ("num_warmup", "n_rounds"), ("num_chains", "n_copies"), ("rng_key", "seed"), ("iter_sampling", "n_scans"),
        ("parallel_chains", "workers"), ("progressbar", "progress"), ("ntemps", "n_chains"), ("betas", "schedule"),
        ("step", "explorer"), ("priors", "reference"), ("args", "data"), ("thin_by", "thin"), ("n_chian", "n_chains"),
    ],
)  # fmt: skip
def test_names_of_other_samplers_lead_to_sternas_own(keyword, option):
    with pytest.raises(sterna.OptionError, match=rf"sterna.sample has no option {keyword}=: .*\b{option}="):
        sterna.sample(sterna.models.normal(), **{keyword: 4})


@pytest.mark.parametrize(("hints", "function"), [(HINTS, sterna.sample), (HINTS_OF_TARGET, sterna.Target)])
def test_hints_name_options_that_exist_and_hide_none(hints, function):
    known = set(inspect.signature(function).parameters)
    assert not known & set(hints)
    of_explorers = {"steps"}
    for hint in hints.values():
        named = set(re.findall(r"\b(\w+)=", hint))
        assert named <= known | of_explorers, hint


def test_targets_explain_their_arguments():
    with pytest.raises(sterna.OptionError, match=r"sterna.Target has no option grad=: give gradient="):
        sterna.Target(lambda mu: 0.0, {"mu": sterna.Normal()}, grad=lambda mu: 0.0)
    with pytest.raises(sterna.OptionError, match=r"n_chains=: it is an option of sterna.sample"):
        sterna.Target(lambda mu: 0.0, {"mu": sterna.Normal()}, n_chains=3)


@pytest.mark.parametrize(
    ("make", "given", "words"),
    [
        (sterna.Normal, {"loc": 0.0}, "sterna.Normal has no parameter loc=: give mu=, as in PyMC"),
        (
            sterna.Gamma,
            {"alpha": 2.0, "scale": 3.0},
            "has no parameter scale=: beta= is a rate, so give beta=1 / scale",
        ),
        (sterna.Exponential, {"scale": 3.0}, "has no parameter scale=: lam= is a rate, so give lam=1 / scale"),
        (sterna.LogNormal, {"s": 1.0}, "has no parameter s=: SciPy's s is sigma="),
        (sterna.Uniform, {"scale": 1.0}, "has no parameter scale=: give upper=, which is SciPy's loc"),
        (sterna.Gamma, {"alpha": 1.0, "rate": 2.0}, "no parameter rate=: give beta="),
        (sterna.Normal, {"size": 3}, "no parameter size=: give shape="),
        (sterna.Normal, {"sigm": 3}, r"did you mean sigma=\? Its parameters are mu, sigma, shape"),
    ],
)
def test_distributions_explain_their_parameters(make, given, words):
    with pytest.raises(sterna.OptionError, match=words):
        make(**given)
