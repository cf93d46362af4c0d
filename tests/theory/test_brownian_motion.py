"""The limit of SEO: its distribution function against a Fourier series, its draws against both."""

import numpy as np
import pytest
from plain import load
from scipy import stats

from sterna import theory
from sterna.errors import OptionError

FALSE_ALARM = 1e-5
CASES = [(0.02, 0.1), (0.1, 0.3), (0.5, 0.9), (3.0, 0.0)]


def fourier_cdf(place, time, start):
    """Solution of the heat equation with reflecting ends, as a cosine series."""
    n = np.arange(1, 200)[:, None]
    waves = (
        2 * np.sin(n * np.pi * place) / (n * np.pi) * np.cos(n * np.pi * start) * np.exp(-(n**2) * np.pi**2 * time / 2)
    )
    return place + waves.sum(axis=0)


@pytest.mark.parametrize(("time", "start"), [*CASES, (7.9, 0.2), (8.1, 0.2)])
def test_cdf_is_the_solution_of_the_heat_equation(time, start):
    places = np.linspace(0, 1, 41)
    assert theory.brownian_motion_cdf(places, time, start) == pytest.approx(fourier_cdf(places, time, start), abs=1e-12)
    if time < 1:
        # the planted fault: diffusion twice as fast
        assert theory.brownian_motion_cdf(places, 2 * time, start) != pytest.approx(
            fourier_cdf(places, time, start), abs=1e-3
        )


def test_cdf_at_the_edges():
    assert theory.brownian_motion_cdf([-0.1, 1.0, 1.1], 0.3, 0.2).tolist() == [0, 1, 1]
    assert theory.brownian_motion_cdf([0.1, 0.2, 0.3], 0.0, 0.2).tolist() == [0, 1, 1]


def pvalue(ends, time, start):
    return stats.kstest(ends, lambda place: theory.brownian_motion_cdf(place, time, start)).pvalue


@pytest.mark.parametrize(("time", "start"), CASES)
def test_ends_have_the_distribution(time, start):
    """Kolmogorov-Smirnov of 100 000 draws at 1e-5 each."""
    assert pvalue(theory.brownian_motion_ends(time, 100_000, start), time, start) > FALSE_ALARM


@pytest.mark.parametrize(
    "names", [{"fold": lambda place: np.clip(place, 0, 1)}, {"fold": lambda place: np.mod(place, 1.0)}]
)
def test_comparison_catches_ends_that_hold_or_wrap(names):
    """The planted faults: ends that hold what reaches them, and a circle."""
    assert (
        pvalue(load("theory/brownian_motion.py", **names).brownian_motion_ends(0.1, 20_000, 0.3), 0.1, 0.3)
        < FALSE_ALARM
    )


def test_paths_have_independent_increments():
    """Each step's cdf, given the position before it, is uniform: Kolmogorov-Smirnov at 1e-5, twice."""
    times = np.array([0.0, 0.05, 0.05, 0.3])
    paths = np.array([theory.brownian_motion_path(times, 0.4, seed) for seed in range(3000)])
    assert (paths[:, 0] == 0.4).all()
    assert (paths[:, 1] == paths[:, 2]).all()
    assert pvalue(paths[:, 1], 0.05, 0.4) > FALSE_ALARM
    steps = [float(theory.brownian_motion_cdf(end, 0.25, start)) for start, end in paths[:, 2:]]
    assert stats.kstest(steps, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.brownian_motion_path([0.1, 0.0]), "do not decrease, from 0"),
        (lambda: theory.brownian_motion_path([-0.1, 0.0]), "do not decrease, from 0"),
        (lambda: theory.brownian_motion_ends(0.1, 0), "n_paths=0"),
        (lambda: theory.brownian_motion_cdf(0.5, -0.1), "time=-0.1"),
        (lambda: theory.brownian_motion_ends(0.1, 3, seed=-1), "seed=-1"),
    ],
)
def test_what_cannot_work_is_named(call, message):
    with pytest.raises(OptionError, match=message):
        call()
