"""The limit of DEO: its distribution function against the telegraph equation's solution, its draws against both."""

import math

import numpy as np
import pytest
from plain import load
from scipy import stats
from scipy.integrate import quad
from scipy.special import i0e, i1e

from sterna import theory
from sterna.errors import OptionError
from sterna.ground.streams import new_generator
from sterna.theory import piecewise_deterministic
from sterna.theory.reflection import fold

FALSE_ALARM = 1e-5
CASES = [(3.0, 0.4, 0.3, 1), (3.0, 1.7, 0.3, -1), (0.5, 2.3, 0.9, 1), (20.0, 0.5, 0.0, 1)]
PATH = "theory/piecewise_deterministic.py"

FAULTS = {
    "no turn": ("position, up = turn, 1 - up", "position = turn if 0.0 < turn < 1.0 else 1.0 - turn"),
    "hazard on the way to an end forgotten": ("float(up), budget - room", "float(up), 0.5 * budget"),
    "only the ends turn": ("if budget >= room", "if room >= 0.0"),
    "a hazard half as large": ("np.array([0.0, total])", "np.array([0.0, 0.5 * total])"),
}


def telegraph_density(x, barrier, time):
    """Density on the line of the paths with turns (Goldstein, Kac): velocity 1 at first, turns at rate `barrier`."""
    root = math.sqrt(max(time**2 - x**2, 1e-300))
    # i0e and i1e carry the factor exp(-barrier root)
    damping = math.exp(barrier * (root - time))
    return 0.5 * barrier * damping * (i0e(barrier * root) + (time + x) / root * i1e(barrier * root))


def telegraph_cdf(place, barrier, time, start, direction):
    """P(W <= place), by quadrature of the density over all mirror images, and the atom."""
    total = math.exp(-barrier * time) if fold(start + direction * time) <= place else 0.0
    for image in range(-3, 4):
        low, high = (direction * (2 * image + side * place - start) for side in (-1, 1))
        low, high = np.clip(sorted((low, high)), -time, time)
        total += quad(telegraph_density, low, high, args=(barrier, time))[0]
    return total


@pytest.mark.parametrize(("barrier", "time", "start", "direction"), CASES)
def test_cdf_is_the_solution_of_the_telegraph_equation(barrier, time, start, direction):
    places = np.array([0.05, 0.33, 0.61, 0.88, 0.999])
    expected = [telegraph_cdf(place, barrier, time, start, direction) for place in places]
    assert theory.piecewise_deterministic_cdf(places, barrier, time, start, direction) == pytest.approx(
        expected, abs=1e-8
    )


def test_cdf_at_the_edges():
    places = np.array([-0.1, 0.0, 0.25, 0.5, 1.0, 1.1])
    assert theory.piecewise_deterministic_cdf(places, 2.0, 0.0, 0.25).tolist() == [0, 0, 1, 1, 1, 1]
    assert theory.piecewise_deterministic_cdf(places, 0.0, 0.25, 0.25).tolist() == [0, 0, 0, 1, 1, 1]
    assert theory.piecewise_deterministic_cdf(places, 2.0, 60.0, 0.25) == pytest.approx(np.clip(places, 0, 1), abs=1e-6)
    # just below and at the atom
    below, at = theory.piecewise_deterministic_cdf([0.7 - 1e-12, 0.7 + 1e-12], 2.0, 0.4, 0.3)
    assert at - below == pytest.approx(math.exp(-0.8), abs=1e-9)


def pvalue(ends, barrier, time, start, direction):
    """Chi-square in 24 cells, of which one holds the atom."""
    edges = np.linspace(0.0, 1.0, 25)[1:-1] + 1e-3
    cumulative = theory.piecewise_deterministic_cdf(edges, barrier, time, start, direction)
    expected = np.diff(cumulative, prepend=0.0, append=1.0) * len(ends)
    counts = np.bincount(np.searchsorted(edges, ends), minlength=24)
    likely = expected > 10
    return stats.chisquare(counts[likely], expected[likely] * counts[likely].sum() / expected[likely].sum()).pvalue


@pytest.mark.parametrize(("barrier", "time", "start", "direction"), CASES)
def test_ends_have_the_distribution(barrier, time, start, direction):
    """Chi-square of 200 000 paths and the atom's mass within 4.5 standard errors: below 2e-5 each."""
    ends = theory.piecewise_deterministic_ends(barrier, time, 200_000, start, direction)
    assert pvalue(ends, barrier, time, start, direction) > FALSE_ALARM
    atom = np.isclose(ends, fold(start + direction * time), atol=1e-12).mean()
    mass = math.exp(-barrier * time)
    assert abs(atom - mass) <= 4.5 * math.sqrt(mass * (1 - mass) / len(ends)) + 1e-12


@pytest.mark.parametrize("fault", FAULTS)
def test_comparison_catches(fault):
    ends = load(PATH, [FAULTS[fault]], compiled=True).piecewise_deterministic_ends(3.0, 1.7, 50_000, 0.3, -1)
    inside = (ends >= 0).all() and (ends <= 1).all()
    assert not inside or pvalue(ends, 3.0, 1.7, 0.3, -1) < FALSE_ALARM


def test_paths_have_the_distribution():
    """Ends of 5000 paths, by chi-square at 1e-5; between turns they move at speed 1."""
    paths = [theory.piecewise_deterministic_path(3.0, 1.7, 0.3, -1, seed) for seed in range(5000)]
    assert pvalue(np.array([path.place[-1] for path in paths]), 3.0, 1.7, 0.3, -1) > FALSE_ALARM
    for path in paths[:100]:
        assert path.time[-1] == 1.7
        assert np.diff(path.place) == pytest.approx(path.direction[:-1] * np.diff(path.time), abs=1e-12)


def test_round_trips_of_the_limit_take_two_and_two_barriers():
    """E[T] = 2 + 2 Lambda, the limit of E[T] / N for DEO, whatever the hazard: 4 standard errors, 6e-5 each."""
    for hazard in (3.0, lambda place: 3.0 * place**2):
        path = theory.piecewise_deterministic_path(hazard, 40_000.0)
        ends = np.flatnonzero((path.place == 0) | (path.place == 1))
        bottoms = [k for k, before in zip(ends[1:], ends[:-1], strict=True) if path.place[k] == 0 < path.place[before]]
        times = np.diff(path.time[bottoms])
        assert abs(times.mean() - 8.0) <= 4 * times.std() / math.sqrt(len(times))
        assert abs(times.mean() - 5.0) > 4 * times.std() / math.sqrt(len(times))


@pytest.mark.parametrize("up", [0, 1])
def test_turns_are_where_the_hazard_is_spent(up):
    """Exactly: the hazard between start and turn is the budget, or all up to the end, and the rest is left over."""

    def hazard(place):
        return 4.0 * place**2 + np.sin(3 * place) / 3

    table = piecewise_deterministic._hazard_table(hazard)
    for place in (0.0, 0.2, 0.77, 1.0):
        for budget in (0.01, 0.3, 2.0, 9.0):
            turn, left = piecewise_deterministic.flight(place, up, budget, *table)
            spent = abs(hazard(turn) - hazard(place))
            assert spent + left == pytest.approx(budget, abs=1e-6)
            assert left == 0.0 or turn == up
            assert (turn >= place) if up else (turn <= place)


def test_any_hazard_leaves_the_uniform_distribution_alone():
    """Kolmogorov-Smirnov of 20 000 paths from uniform starts, at 1e-5; with a hazard upwards alone it fails."""
    rng = np.random.default_rng(5)
    table = piecewise_deterministic._hazard_table(lambda place: 6.0 * place**3)
    words, _ = new_generator()
    ends = [piecewise_deterministic.fly(w, up, 0.8, *table, words) for w, up in draws(rng, 20_000)]
    assert stats.kstest(ends, "uniform").pvalue > FALSE_ALARM
    upwards = [piecewise_deterministic.fly(w, 1, 0.8, *table, words) for w, _ in draws(rng, 20_000)]
    assert stats.kstest(upwards, "uniform").pvalue < FALSE_ALARM


def draws(rng, size):
    return zip(rng.random(size), rng.integers(0, 2, size), strict=True)


def uneven_law(last, places):
    """Exact distribution function of the scaled index process whose rejections grow along the chains."""
    rejection = np.diff(5.0 * np.linspace(0, 1, last + 1) ** 2)
    return np.cumsum(theory.scaled_index_law(rejection, 0.9, 0.5, -1))[(places * last).astype(int)]


def test_uneven_hazard_is_the_limit_of_uneven_rejections():
    """Kolmogorov's 2.47 / sqrt(n) for 400 000 paths, a false alarm of 1e-5, and 0.001 for N = 4000 in place of more."""
    ends = theory.piecewise_deterministic_ends(lambda place: 5.0 * place**2, 0.9, 400_000, 0.5, -1)
    # away from the atom at 0.4, which N smears over sqrt(t / N)
    places = np.concatenate([np.linspace(0.02, 0.34, 17), np.linspace(0.46, 0.98, 27)]) + 1e-9
    distribution = uneven_law(4000, places)
    # what is left of an error of order 1/N is as large as its last change
    assert np.abs(distribution - uneven_law(2000, places)).max() < 0.001
    gap = np.abs(np.searchsorted(np.sort(ends), places) / len(ends) - distribution)
    assert gap.max() < 2.47 / math.sqrt(len(ends)) + 0.001
    # the planted fault: the same barrier, spread evenly
    even = theory.piecewise_deterministic_cdf(places, 5.0, 0.9, 0.5, -1)
    assert np.abs(even - distribution).max() > 0.02


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.piecewise_deterministic_ends(-1.0, 1.0, 5), "hazard=-1.0"),
        (lambda: theory.piecewise_deterministic_ends(lambda w: -w, 1.0, 5), "never decrease"),
        (lambda: theory.piecewise_deterministic_ends(lambda w: w + 1, 1.0, 5), "start at 0"),
        (lambda: theory.piecewise_deterministic_path(1.0, 1.0, start=-0.1), "start=-0.1"),
        (lambda: theory.piecewise_deterministic_cdf(0.5, 1.0, -1.0), "time=-1.0"),
    ],
)
def test_what_cannot_work_is_named(call, message):
    with pytest.raises(OptionError, match=message):
        call()
