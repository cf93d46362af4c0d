"""What is special to slice sampling: widths, and their tuning.

Each comparison is at 1e-6, below 1e-4 for the whole file.
"""

import math

import numpy as np
import pytest
from annealed import law
from invariance import BETAS, chi_square, p_values
from kernels import apply, apply_bound, slice_row
from scipy import stats

import sterna
from sterna.explorers.shared.slice_widths import MAX_DOUBLINGS, Parameters
from sterna.explorers.slice import Slice, explore
from sterna.ground.rows import columns

DRAWS = 40_000
LEVEL = 1e-6


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("width", [1.0, 3.0, math.inf])
def test_integers(beta, width):
    chosen = law("integers")
    states = chosen.draw(beta, DRAWS, np.random.default_rng(1))
    after, _ = apply(chosen.target, explore, states, beta, slice_row([width]))
    assert chi_square(*chosen.cells(beta, after)[0]) > LEVEL


@pytest.mark.parametrize("doublings", [2, MAX_DOUBLINGS])
@pytest.mark.parametrize("beta", BETAS)
def test_narrow_widths(beta, doublings):
    """Intervals that must be doubled many times: where a wrong test of doubling shows most; also if they end early."""
    row = slice_row([0.5], doublings=doublings)
    assert min(p_values(Slice(), "bimodal", beta, DRAWS, parameters=row)) > LEVEL


def test_no_passes_leave_states_alone():
    target = law("mixed").target
    states = np.array([[0.0, 1.5, 3.0], [1.0, -0.5, 8.0]])
    after, _, _ = apply_bound(target, Slice(passes=0).bind(target), states, 1.0)
    assert np.array_equal(after, states)


def test_tuned_widths_follow_the_slices():
    """For a standard normal the mean slice is 2 E sqrt(x^2 + 2 Exp) = 2 E sqrt(chi-square with 3) long."""
    result = sterna.sample(sterna.models.normal(dim=1, precision=1.0), n_chains=3, n_rounds=10, progress=False)
    assert result.rejection.max() == 0
    exact = 2 * stats.chi(3).mean()
    widths = widths_after_tuning(sterna.models.normal(dim=1, precision=1.0))
    assert widths == pytest.approx(exact, rel=0.1)


def widths_after_tuning(target):
    states, bound = np.random.default_rng(1).standard_normal((20_000, 1)), Slice().bind(target)
    statistics, row = np.zeros(2), slice_row([1.0])
    apply_bound(target, bound, states, 1.0, times=1, parameters=row, statistics=statistics)
    return columns(bound.tune(row[None], statistics[None])[0], Parameters.widths, 1)[0]


def test_whole_evaluations_in_the_place_of_local_changes():
    """A local change that is wrong shows whether it is used; energies are integers, so that running sums are exact."""

    def pairs(k):
        return k[0] * k[1] - 2.0 * k[1] * k[2]

    def wrong(x, i, new):
        return new - x[i]

    reference = {"k": sterna.DiscreteUniform(-3, 3, shape=3)}
    local, whole = sterna.Target(pairs, reference, local_change=wrong), sterna.Target(pairs, reference)
    states = np.random.default_rng(1).integers(-3, 4, size=(50, 3)).astype(float)

    def explored(target, explorer):
        return apply_bound(target, explorer.bind(target), states, 0.5)[:2]

    exact = explored(whole, sterna.Slice())
    assert all(np.array_equal(a, b) for a, b in zip(explored(local, sterna.Slice(local=False)), exact, strict=True))
    assert not np.array_equal(explored(local, sterna.Slice())[1], exact[1])
