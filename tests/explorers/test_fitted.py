"""Fitted independence proposals leave annealed laws unchanged: from exact draws, ten scans, to exact draws.

Each comparison is at 1e-7; with about 120 of them, a false alarm of the whole file has a probability below 1e-4.
"""

import math

import numpy as np
import pytest
from annealed import REAL_CASES, case, check_bounded_run, check_same_bits, invariance, tuned
from kernels import apply_bound
from plain import load
from scipy import stats

import sterna
from sterna.explorers.fitted import FIRST, FREEDOM, LAWS, Fitted, size_of_law, store_laws

LEVEL = 1e-7
BETAS = [0.0, 0.1, 0.5, 1.0]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", [*REAL_CASES, "funnel"])
def test_invariance(name, beta):
    assert invariance(Fitted(moves=2), name, beta) > LEVEL


def two_laws():
    """Parameters of two laws, of unequal shape and weight: those of two clouds, then brought close to each other."""
    rng = np.random.default_rng(4)
    row = Fitted(moves=2).bind(case("normal").target).start(lambda n: rng.standard_normal((n, 3)))
    near, far = rng.standard_normal((300, 3)), 0.5 * rng.standard_normal((100, 3)) + 8.0
    store_laws(row, np.concatenate([near, far]))
    size = size_of_law(3)
    row[FIRST + 2 : FIRST + 5], row[FIRST + size + 2 : FIRST + size + 5] = -0.5, 1.0
    return row


def test_two_laws():
    row = two_laws()
    assert row[LAWS] == 2
    assert invariance(Fitted(moves=2), "normal", 0.1, parameters=row) > LEVEL


FAULTS = {
    "no density of the place before": ("log_factor = log_density_of_laws(", "log_factor = 0.0 * log_density_of_laws("),
    "normal instead of Student draws": ("total / narrow", "total"),
    "no weights": ("laws[law * size + CONSTANT] -", "laws[CONSTANT] -"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    kernel = load("explorers/fitted.py", [FAULTS[fault]], compiled=True).explore
    parameters = two_laws()
    # heavy tails make the difference between Student's law and the normal one larger than the draws can hide
    parameters[FREEDOM] = 3.0
    assert invariance(Fitted(moves=2), "normal", 0.1, kernel, parameters) < LEVEL


def test_fit_is_accepted_and_its_density_is_students():
    chosen = case("normal")
    row = tuned(Fitted(moves=2), "normal", 1.0)
    bound = Fitted(moves=2).bind(chosen.target)
    states = chosen.draw(1.0, 3000, np.random.default_rng(3))
    statistics = apply_bound(chosen.target, bound, states, 1.0, parameters=row, times=1)[2]
    assert statistics[4] / statistics[3] > 0.7
    law = row[FIRST : FIRST + size_of_law(3)]
    factor = np.zeros((3, 3))
    factor[np.tril_indices(3)] = law[5:]
    density = stats.multivariate_t(law[2:5], factor @ factor.T, df=row[FREEDOM])
    assert density.logpdf(law[2:5]) + math.log(law[0]) == pytest.approx(law[1])


def test_few_points_keep_the_old_laws_and_few_of_a_cloud_have_a_factor():
    rng = np.random.default_rng(6)
    bound = Fitted().bind(case("normal").target)
    row = bound.start(lambda n: rng.standard_normal((n, 3)))
    statistics = np.zeros((2, bound.n_statistics))
    statistics[1, [0, 2]] = 2.0
    assert np.array_equal(bound.tune(np.stack([row, row]), statistics)[1], row)
    store_laws(row, np.concatenate([rng.standard_normal((100, 3)), np.full((3, 3), 50.0)]))
    assert row[LAWS] == 2
    assert np.isfinite(row).all()


def test_same_bits_whatever_the_threads():
    check_same_bits(Fitted())


EXPLORERS = {
    "alone": Fitted(moves=3),
    "cycle": sterna.Cycle(Fitted(moves=2), sterna.Slice(passes=0.5)),
    "block": {"w": sterna.Slice(), ("s", "p"): Fitted(moves=2)},
}


@pytest.mark.parametrize("way", EXPLORERS)
def test_in_a_run(way):
    """Evidence and three means at 6e-5 each."""
    check_bounded_run(EXPLORERS[way])


@pytest.mark.parametrize("arguments", [{"moves": 0}, {"archive": 3}, {"freedom": 0.0}])
def test_bad_options(arguments):
    with pytest.raises(sterna.errors.OptionError, match="Fitted"):
        Fitted(**arguments)
