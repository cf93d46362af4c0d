"""The normal model: its gradient, and kernels with the likelihood in place."""

import numpy as np
import pytest
from kernels import apply_bound

import sterna
from sterna.explorers.hamiltonian import HMC, explore_plain


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_gradient(beta):
    """In closed form, -(1 + beta (precision - 1)) x, to rounding."""
    target = sterna.models.normal(dim=4, precision=10.0)
    x = np.array([0.3, -2.0, 1e-9, 40.0])
    assert target.gradient(x, beta) == pytest.approx(-(1 + 9 * beta) * x, rel=1e-14)


@pytest.mark.parametrize("dim", [1, 7, 8, 100, 130])
def test_trajectories_in_place_have_the_same_bits(dim):
    target = sterna.models.normal(dim=dim)
    bound = HMC(steps=4).bind(target)
    assert bound.kernel is not explore_plain
    states = np.random.default_rng(1).standard_normal((5, dim))
    in_place, log_densities, sums = apply_bound(target, bound, states, 0.7)
    called, other_logs, other_sums = apply_bound(target, bound, states, 0.7, kernel=explore_plain)
    assert np.array_equal(in_place, called)
    assert np.array_equal(log_densities, other_logs)
    assert np.array_equal(sums, other_sums)
    assert not np.array_equal(in_place, states)
