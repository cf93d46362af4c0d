"""What is special to leaps: which components serve, how many are accepted, bounds, and whole runs.

Runs are within 4 standard errors, a false alarm of 6e-5 each; a Kolmogorov-Smirnov test is at 1e-5.
"""

import math

import numpy as np
import pytest
from annealed import law
from invariance import leaps
from kernels import apply_bound, draws_of
from runs import check_bounded_run, check_mean, check_same_bits
from scipy import stats

import sterna
from sterna.engine.program import EVALUATIONS
from sterna.explorers.leaps import Leaps, Statistics
from sterna.search.mixture import Mixture
from sterna.target.mixture_target import MixtureTarget

WEIGHTS = np.array([0.6, 0.3, 0.1])
CENTRES = np.array([[-1.0], [0.4], [2.0]])
SPREADS = np.array([[0.2], [0.05], [0.6]])


def mixture_target():
    """A variable on an interval, whose path begins with three components."""
    target = MixtureTarget(law("bimodal").target.prepare())
    target.set_mixture(Mixture(WEIGHTS, CENTRES, SPREADS, 0.0))
    return target


def test_draws_of_the_mixture_stay_such_and_acceptance_is_exact():
    """If the distribution is the mixture itself, all that is left of the rule is (1 - w_k) / (1 - w_l)."""
    target = mixture_target()
    states = draws_of(target)(20_000)
    bound = Leaps(moves=3).bind(target)
    after, _, statistics = apply_bound(target, bound, states, 0.0, times=1)
    line = np.log((after + 10) / (10 - after))
    places = stats.norm.cdf(line, CENTRES[:, 0], SPREADS[:, 0]) @ WEIGHTS
    assert stats.kstest(places, "uniform", method="asymp").pvalue > 1e-5
    others = 1 - WEIGHTS
    choice = WEIGHTS * (1 - np.eye(3)) / others[:, None]
    expected = WEIGHTS @ (choice * np.minimum(1, others[:, None] / others)).sum(axis=1)
    # the probability of a leap has a standard deviation of at most 1/2, and the three of a state are dependent
    assert abs(statistics[Statistics.accepted] / 60_000 - expected) < 4 * 0.5 / math.sqrt(20_000)
    assert statistics[Statistics.proposed] == 60_000


def test_components_are_read_where_the_target_keeps_them():
    """Equal weights are accepted always; a single component, or none, leaves states alone and costs nothing."""
    target = mixture_target()
    bound = Leaps().bind(target)
    for number, accepted in ((3, 500), (2, 500), (1, 0)):
        target.set_mixture(Mixture(np.full(number, 1 / number), CENTRES[:number], SPREADS[:number], 0.0))
        states = draws_of(target)(500)
        after, log_densities, statistics = apply_bound(target, bound, states, 0.0, times=1)
        assert statistics[Statistics.accepted] == pytest.approx(accepted)
        assert (log_densities[:, EVALUATIONS] == (number > 1)).all()
        assert (after != states).all() == (number > 1)
    unset = MixtureTarget(law("bimodal").target.prepare())
    assert np.array_equal(apply_bound(unset, bound, states, 0.0, parameters=np.ones(2))[0], states)


def test_states_next_to_a_bound_stay():
    """Neighbouring numbers are far apart on the line there, so that a leap from them has no way back."""
    target = law("bounded").target
    states = np.tile([0.5, 1.0, np.nextafter(1.0, 0.0)], (200, 1))
    after, log_densities, _ = apply_bound(target, leaps(3).bind(target), states, 0.0)
    assert np.array_equal(after, states)
    assert (log_densities[:, EVALUATIONS] == 0).all()


def narrow_and_wide(x):
    """Return the log-likelihood of modes of widths 0.2 and 1, of weights 0.4 and 0.6."""
    narrow = np.sum((x + 3.0) ** 2) / 0.04
    wide = np.sum((x - 3.0) ** 2)
    return np.logaddexp(math.log(0.4) - x.size * math.log(0.2) - 0.5 * narrow, math.log(0.6) - 0.5 * wide)


def test_modes_of_unequal_width_exchange_states():
    """In 8 dimensions, tempering alone rarely brings a replica to the narrow mode."""
    explorer = sterna.Cycle(sterna.Slice(), Leaps([[-3.0] * 8, [3.0] * 8], [[0.2] * 8, [1.0] * 8]))
    prior = {"x": sterna.Normal(0.0, 10.0, shape=8)}
    result = sterna.sample(narrow_and_wide, prior, explorer=explorer, n_rounds=10, progress=False)
    # with the normal prior, integrals of both modes are products of normal densities at the centres
    integrals = [8 * stats.norm(0, math.hypot(10, width)).logpdf(3.0) for width in (0.2, 1.0)]
    parts = np.log([0.4, 0.6]) + integrals
    exact = np.logaddexp(*parts) + 4 * math.log(2 * math.pi)
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error
    assert result.log_evidence.error < 0.3
    is_narrow = result.posterior["x"].values[0].mean(axis=1) < 0
    check_mean(is_narrow.astype(float), math.exp(parts[0] - np.logaddexp(*parts)))


def test_in_a_run_with_components_that_fit_nothing():
    """Evidence and three means at 6e-5 each."""
    check_bounded_run(sterna.Cycle(leaps(3), sterna.Slice(passes=0.5)))


def test_same_bits_whatever_the_threads():
    check_same_bits(sterna.Cycle(sterna.Slice(), leaps(3)))


TWO = [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    "arguments",
    [
        {"moves": 0},
        {"centres": TWO},
        {"factors": TWO},
        {"weights": [1, 2]},
        {"centres": [0.0, 1.0], "factors": [1.0, 1.0]},
        {"centres": [[0.0, math.nan]], "factors": [[1.0, 1.0]]},
        {"centres": TWO, "factors": TWO},
        {"centres": TWO, "factors": [np.ones((2, 2))] * 2},
        {"centres": TWO, "factors": [np.eye(3)] * 2},
        {"centres": TWO, "factors": np.ones((2, 2)), "weights": [0.0, 1.0]},
        {"centres": TWO, "factors": np.ones((2, 2)), "weights": [1.0]},
    ],
)
def test_bad_options(arguments):
    with pytest.raises(sterna.errors.OptionError, match=r"Leaps\(.*give"):
        Leaps(**arguments)


def test_what_it_cannot_be_bound_to():
    with pytest.raises(sterna.errors.OptionError, match=r"Leaps\(\) needs components"):
        Leaps().bind(law("gaussian").target)
    with pytest.raises(sterna.errors.OptionError, match=r"of 2 coordinates, and explores 3"):
        leaps(2).bind(law("gaussian").target)
    with pytest.raises(sterna.errors.OptionError, match="is not real"):
        leaps(3).bind(law("mixed").target)
    assert repr(leaps(3)) == "Leaps(3 components, moves=2)"
