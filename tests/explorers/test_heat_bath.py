"""Heat baths on lattices leave annealed laws unchanged, and their running energies are right."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from kernels import apply_bound
from plain import load
from scipy import stats

import sterna
from sterna.explorers.heat_bath import draw_von_mises, explore_rotors, explore_spins

LEVEL = 1e-6
DRAWS = 60_000


def lattice_law(target, beta):
    """All states of a small lattice and their annealed probabilities."""
    points = np.array(list(itertools.product((-1.0, 1.0), repeat=target.dimension)))
    logs = np.array([target.log_densities(point) for point in points])
    weights = np.exp(logs[:, 0] + beta * logs[:, 1])
    return points, weights / weights.sum()


def spin_p_value(beta, kernel, passes=1.0, periodic=True):
    target = sterna.models.magnetic(size=2, coupling=0.4, field=0.2, periodic=periodic)
    points, law = lattice_law(target, beta)
    chosen = np.random.default_rng(2).choice(len(points), size=DRAWS, p=law)
    bound = replace(target.explorer, passes=passes).bind(target)
    after, logs, _ = apply_bound(target, bound, points[chosen], beta, kernel=kernel)
    for k in range(50):
        assert logs[k, :2] == pytest.approx(target.log_densities(after[k]), abs=1e-9)
    number = ((after > 0) @ (2 ** np.arange(3, -1, -1))).astype(int)
    return stats.chisquare(np.bincount(number, minlength=16), law * DRAWS).pvalue


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("passes", [1.0, 0.25])
@pytest.mark.parametrize("periodic", [True, False])
def test_spins(beta, passes, periodic):
    """Chi-square over all 16 states at 1e-6."""
    assert spin_p_value(beta, explore_spins, passes, periodic) > LEVEL


@pytest.mark.parametrize(
    "fault",
    [("2.0 * (field - beta * coupling", "2.0 * (field - coupling"), ("2.0 * (field -", "2.0 * (0.0 * field -")],
    ids=["not annealed", "field left out"],
)
def test_planted_spin_faults_are_caught(fault):
    assert spin_p_value(0.5, load("explorers/heat_bath.py", [fault], compiled=True).explore_spins) < LEVEL


def rotor_deviation(beta, kernel):
    """Distance of the mean energy from the exact one in standard errors, over independent long runs.

    A periodic 2 x 2 lattice is a ring of four angles with double edges. By symmetry one angle can be 0, and sums over a
    grid are exact to rounding for periodic functions.
    """
    coupling = 0.6
    target = sterna.models.rotor(size=2, coupling=coupling)
    grid = (np.arange(24) + 0.5) * 2 * math.pi / 24
    a, b, c = np.meshgrid(grid, grid, grid, indexing="ij")
    energy = 2 * coupling * (np.cos(a) + np.cos(b) + np.cos(c - a) + np.cos(c - b))
    weights = np.exp(beta * energy)
    exact = float(np.sum(energy * weights) / weights.sum())
    states = np.random.default_rng(4).uniform(-math.pi, math.pi, (20_000, 4))
    after, logs, _ = apply_bound(target, target.explorer.bind(target), states, beta, times=40, kernel=kernel)
    assert (np.abs(after) <= math.pi).all()
    for k in range(50):
        assert logs[k, :2] == pytest.approx(target.log_densities(after[k]), abs=1e-9)
    return abs(logs[:, 1].mean() - exact) / (logs[:, 1].std() / math.sqrt(len(logs)))


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_rotors(beta):
    """Within 5 standard errors: a false alarm of 6e-7."""
    assert rotor_deviation(beta, explore_rotors) < 5


@pytest.mark.parametrize(
    "fault",
    [
        ("abs(beta * coupling) * pull", "abs(coupling) * pull"),
        ("if uniform(stream) < 0.5 else -angle", "if True else 0.0"),
    ],
    ids=["not annealed", "one side only"],
)
def test_planted_rotor_faults_are_caught(fault):
    assert rotor_deviation(0.5, load("explorers/heat_bath.py", [fault], compiled=True).explore_rotors) > 5


@pytest.mark.parametrize("concentration", [0.0, 1e-6, 1e-3, 0.5, 3.0, 200.0])
def test_von_mises_draws(concentration):
    """Kolmogorov-Smirnov at 1e-6 against SciPy's distribution function."""
    import numba
    from numba import types

    from sterna.engine.compilation import as_pointer
    from sterna.engine.streams import new_generator, scan_key, start_stream

    @numba.njit
    def many(concentration, stream, out):
        words = as_pointer(stream.ctypes.data, types.uint64)
        start_stream(words, scan_key(9, 0, 0, 0), 0)
        for k in range(out.size):
            out[k] = draw_von_mises(concentration, words)

    draws = np.zeros(DRAWS)
    many(concentration, new_generator()[0], draws)
    law = stats.vonmises(concentration) if concentration > 0 else stats.uniform(-math.pi, 2 * math.pi)
    assert stats.kstest(draws, law.cdf).pvalue > LEVEL
    other = stats.vonmises(1.3 * concentration + 0.1)
    assert stats.kstest(draws, other.cdf).pvalue < LEVEL
