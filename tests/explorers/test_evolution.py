"""What is special to differential evolution: its archive, and radial moves between clouds."""

import numpy as np
import pytest
from annealed import PRECISION, law
from invariance import CASES, LEVEL, p_values, tuned
from plain import load
from runs import check_bounded_run, check_same_bits

import sterna
from sterna.explorers.evolution import Evolution, Parameters, archive_of
from sterna.ground.rows import columns


def test_a_radial_move_over_the_border_is_caught():
    """Without the test that the way back has the same centre: two modes, and steps long enough to cross."""
    radial = CASES["evolution, radial"]["bimodal"]
    border = tuned(radial.bind(law("bimodal").target), "bimodal", 0.1)
    border[Parameters.n_centres], border[Parameters.stretch] = 2.0, 1.0
    columns(border, Parameters.centres, 0, 1)[:2] = -1.0, 1.0
    old = "if n_centres > 1 and nearest(count, there, centres, n_centres, units) != centre:"
    kernel = load("explorers/evolution.py", [(old, "if n_centres > 100:")], compiled=True).explore
    assert min(p_values(radial, "bimodal", 0.1, 20_000, parameters=border)) > LEVEL
    assert min(p_values(radial, "bimodal", 0.1, 20_000, kernel, parameters=border)) < LEVEL


def test_archive_is_of_the_last_round():
    row = tuned(Evolution().bind(law("gaussian").target), "gaussian", 1.0)
    archive = archive_of(row)
    assert len(archive) == row[Parameters.n_points] > 50
    exact = np.linalg.inv(0.25 * np.eye(3) + PRECISION)
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
        Evolution().bind(law("mixed").target)


@pytest.mark.parametrize("arguments", [{"moves": 0}, {"archive": 3}, {"snooker": -0.1}, {"jump": 0.6, "radial": 0.6}])
def test_bad_options(arguments):
    with pytest.raises(sterna.errors.OptionError, match="Evolution"):
        Evolution(**arguments)
