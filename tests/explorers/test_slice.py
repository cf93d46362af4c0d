"""What is special to slice sampling: widths, and their tuning.

Each comparison is at 1e-6, below 1e-4 for the whole file.
"""

import math

import numpy as np
import pytest
from annealed import law
from invariance import BETAS, chi_square, p_values
from kernels import apply, apply_bound
from scipy import stats

import sterna
from sterna.explorers.slice import Slice, explore

DRAWS = 40_000
LEVEL = 1e-6


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("width", [1.0, 3.0, math.inf])
def test_integers(beta, width):
    chosen = law("integers")
    states = chosen.draw(beta, DRAWS, np.random.default_rng(1))
    after, _ = apply(chosen.target, explore, states, beta, np.array([1.0, 1.0, width]))
    assert chi_square(*chosen.cells(beta, after)[0]) > LEVEL


@pytest.mark.parametrize("beta", BETAS)
def test_narrow_widths(beta):
    """Intervals that must be doubled many times: where a wrong test of doubling shows most."""
    assert min(p_values(Slice(), "bimodal", beta, DRAWS, parameters=np.array([1.0, 1.0, 0.5, 0.5]))) > LEVEL


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
    statistics, row = np.zeros(2), np.array([1.0, 1.0, 1.0, 1.0])
    apply_bound(target, bound, states, 1.0, times=1, parameters=row, statistics=statistics)
    return bound.tune(row[None], statistics[None])[0, 2]
