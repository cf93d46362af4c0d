"""What is special to fitted proposals: the laws that are fitted."""

import math

import numpy as np
import pytest
from annealed import law
from invariance import LEVEL, p_values, tuned
from kernels import apply_bound
from runs import check_bounded_run, check_same_bits
from scipy import stats

import sterna
from sterna.explorers.fitted import Component, Fitted, Parameters, Statistics, components_of, store_mixture
from sterna.ground.rows import columns


def test_three_laws():
    """Of unequal shape and weight: those of three clouds, then brought close to each other."""
    rng = np.random.default_rng(4)
    row = Fitted(moves=2).bind(law("gaussian").target).start(lambda n: rng.standard_normal((n, 3)))
    clouds = [rng.normal(centre, spread, (n, 3)) for centre, spread, n in ((0, 1, 300), (9, 0.5, 100), (90, 2, 100))]
    store_mixture(row, np.concatenate(clouds))
    assert row[Parameters.n_components] == 3
    for number, centre in enumerate((-0.5, 1.0, 2.0)):
        columns(components_of(row)[number], Component.centre, 3, 6)[:] = centre
    assert min(p_values(Fitted(moves=2), "gaussian", 0.1, 20_000, parameters=row)) > LEVEL


def test_fit_is_accepted_and_its_density_is_students():
    chosen = law("gaussian")
    bound = Fitted(moves=2).bind(chosen.target)
    row = tuned(bound, "gaussian", 1.0)
    states = chosen.draw(1.0, 3000, np.random.default_rng(3))
    statistics = apply_bound(chosen.target, bound, states, 1.0, parameters=row, times=1)[2]
    assert statistics[Statistics.accepted] / statistics[Statistics.proposed] > 0.7
    fit = components_of(row)[0]
    centre, factor = columns(fit, Component.centre, 3, 6), np.zeros((3, 3))
    factor[np.tril_indices(3)] = columns(fit, Component.factor, 3, 6)
    density = stats.multivariate_t(centre, factor @ factor.T, df=row[Parameters.freedom])
    assert density.logpdf(centre) + math.log(fit[Component.weight]) == pytest.approx(fit[Component.constant])


def test_few_points_keep_the_old_laws_and_few_of_a_cloud_have_a_factor():
    rng = np.random.default_rng(6)
    bound = Fitted().bind(law("gaussian").target)
    row = bound.start(lambda n: rng.standard_normal((n, 3)))
    statistics = np.zeros((2, bound.n_statistics))
    statistics[1, [Statistics.scans, Statistics.kept]] = 2.0
    assert np.array_equal(bound.tune(np.stack([row, row]), statistics)[1], row)
    store_mixture(row, np.concatenate([rng.standard_normal((100, 3)), np.full((3, 3), 50.0)]))
    assert row[Parameters.n_components] == 2
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
