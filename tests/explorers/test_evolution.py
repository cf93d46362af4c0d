"""Differential evolution leaves annealed laws unchanged: from exact draws, ten scans, to exact draws.

Each comparison is at 1e-7; with about 150 of them, a false alarm of the whole file has a probability below 1e-4.
"""

import numpy as np
import pytest
from annealed import REAL_CASES, case, check_bounded_run, check_same_bits, invariance, tuned
from plain import load

import sterna
from sterna.explorers.evolution import CENTRES, POINTS, Evolution, archive_of

LEVEL = 1e-7
BETAS = [0.0, 0.1, 0.5, 1.0]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", [*REAL_CASES, "funnel"])
def test_invariance(name, beta):
    assert invariance(Evolution(moves=4), name, beta) > LEVEL


MOVES = {
    "snooker": Evolution(moves=4, snooker=1.0, jump=0.0, radial=0.0),
    "jump": Evolution(moves=4, snooker=0.0, jump=1.0, radial=0.0),
    "radial": Evolution(moves=4, snooker=0.0, jump=0.0, radial=1.0),
    "plain": Evolution(moves=4, snooker=0.0, jump=0.0, radial=0.0),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("name", ["normal", "bounded", "two widths"])
def test_every_move_by_itself(move, name):
    assert invariance(MOVES[move], name, 0.5) > LEVEL


FAULTS = {
    "snooker without its factor": ("snooker", "return (count - 1) * math.log(abs(stretch))", "return 0.0"),
    "snooker with one power too many": ("snooker", "return (count - 1) * math.log", "return count * math.log"),
    "differences in one order": ("plain", "+ size * difference", "+ size * abs(difference)"),
    "radial moves without their factor": ("radial", "return count * stretch", "return 0.0"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    move, old, new = FAULTS[fault]
    kernel = load("explorers/evolution.py", [(old, new)], compiled=True).explore
    assert invariance(MOVES[move], "bounded", 0.5, kernel) < LEVEL


def test_a_radial_move_over_the_border_is_caught():
    """Without the test that the way back has the same centre: two modes, and steps long enough to cross."""
    row = tuned(MOVES["radial"], "two widths", 0.1)
    border = row.copy()
    border[CENTRES], border[7] = 2.0, 1.0
    # one coordinate: its unit, and the centres behind it
    border[11:13] = -1.0, 1.0
    old = "if n_centres > 1 and nearest(count, there, centres, n_centres, units) != centre:"
    kernel = load("explorers/evolution.py", [(old, "if n_centres > 100:")], compiled=True).explore
    assert invariance(MOVES["radial"], "two widths", 0.1, parameters=border) > LEVEL
    assert invariance(MOVES["radial"], "two widths", 0.1, kernel, parameters=border) < LEVEL


def test_archive_is_of_the_last_round():
    row = tuned(Evolution(), "normal", 1.0)
    archive = archive_of(row)
    assert len(archive) == row[POINTS] > 50
    exact = np.linalg.inv(0.25 * np.eye(3) + case("normal").precision)
    assert np.cov(archive.T) == pytest.approx(exact, abs=0.6 * exact.max())


def test_same_bits_whatever_the_threads():
    check_same_bits(Evolution())


EXPLORERS = {
    "alone": Evolution(moves=6),
    "cycle": sterna.Cycle(Evolution(moves=4), sterna.Slice(passes=0.5)),
    "block": {"w": sterna.Slice(), ("s", "p"): Evolution(moves=4)},
}


@pytest.mark.parametrize("way", EXPLORERS)
def test_in_a_run(way):
    """Evidence and three means at 6e-5 each."""
    check_bounded_run(EXPLORERS[way])


def test_integers_are_refused():
    with pytest.raises(sterna.errors.OptionError, match="z, k is not real"):
        Evolution().bind(case("mixed").target)


@pytest.mark.parametrize("arguments", [{"moves": 0}, {"archive": 3}, {"snooker": -0.1}, {"jump": 0.6, "radial": 0.6}])
def test_bad_options(arguments):
    with pytest.raises(sterna.errors.OptionError, match="Evolution"):
        Evolution(**arguments)
