"""Modes are found where they are, and not in skewed or heavy-tailed draws."""

import numpy as np
import pytest

from sterna.result.modes import find_modes
from sterna.result.summary import rows_of, table_of

UNIMODAL = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "uniform": lambda rng, n: rng.random(n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "lognormal": lambda rng, n: np.exp(2 * rng.standard_normal(n)),
    "Poisson": lambda rng, n: rng.poisson(3.0, n).astype(float),
    "geometric": lambda rng, n: rng.geometric(0.1, n).astype(float),
    "binary": lambda rng, n: (rng.random(n) < 0.3).astype(float),
}


@pytest.mark.parametrize("name", UNIMODAL)
def test_no_false_modes(name):
    """At most 3 of 200 at three sizes each: expected 0.5 at worst, so more than 3 with a probability below 2e-3."""
    rng = np.random.default_rng(sum(map(ord, name)))
    found = sum(len(find_modes(UNIMODAL[name](rng, n), n)) > 1 for n in (40, 200, 2000) for _ in range(66))
    assert found <= 3


def two_modes(n, share=0.4):
    rng = np.random.default_rng(n)
    return np.where(rng.random(n) < share, -3.0, 3.0) + 0.4 * rng.standard_normal(n)


@pytest.mark.parametrize("n", [60, 500])
def test_two_modes_are_told_apart(n):
    first, second = find_modes(two_modes(n), n)
    assert -2 < first.high == second.low < 2
    # planted fault: draws that are worth few independent ones do not show it
    assert len(find_modes(two_modes(n), 5)) == 1


def test_a_row_of_several_modes_shows_their_shares():
    draws = two_modes(500)
    (row,) = rows_of(draws[None, None], np.arange(500)[None], np.zeros((1, 2)))
    low, high = row["modes"]
    assert low["share"] + high["share"] == 1
    assert low["share_interval"][0] < np.mean(draws < 0) == low["share"] < low["share_interval"][1]
    assert low["mean"] == pytest.approx(draws[draws < 0].mean())
    lines = table_of([("x", row)]).splitlines()
    assert len(lines) == 4
    assert lines[2].split()[:4] == [f"{low['share']:.0%}", "±", "2", "%"]
