"""Modes are found where they are, and not in skewed or heavy-tailed draws."""

import numpy as np
import pytest

import sterna
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
    "multiples of 3": lambda rng, n: 3.0 * rng.poisson(5.0, n) + 0.5,
    "logarithms of counts": lambda rng, n: np.log1p(rng.poisson(3.0, n)),
    "rounded to a digit": lambda rng, n: np.round(rng.standard_normal(n), 1),
    "binary": lambda rng, n: (rng.random(n) < 0.3).astype(float),
}


@pytest.mark.parametrize("name", UNIMODAL)
def test_no_false_modes(name):
    """At most 3 of 200 at three sizes each: expected 0.5 at worst, so more than 3 with a probability below 2e-3."""
    rng = np.random.default_rng(sum(map(ord, name)))
    found = sum(len(find_modes(UNIMODAL[name](rng, n), n)) > 1 for n in (40, 200, 2000) for _ in range(66))
    assert found <= 3


@pytest.mark.parametrize("size", [1.0, 0.1])
def test_modes_on_a_lattice(size):
    rng = np.random.default_rng(2)
    draws = size * (rng.poisson(4.0, 1000) + 30 * (rng.random(1000) < 0.5))
    first, second = find_modes(draws, 1000)
    assert 12 * size < first.high == second.low < 30 * size


@pytest.mark.parametrize("draws", [[1e308, -1e308], [0.0, 5e-324], [np.inf, 0.0], [1.0, 1.0], [1e17, 1e17 + 16]])
def test_numbers_without_a_histogram_have_one_mode(draws):
    assert len(find_modes(np.array(draws * 50), 100)) == 1


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


def test_categories_have_no_modes():
    """Their order means nothing; that of counts does."""
    shares = [0.45, 0.1, 0.45]
    reference = {"kind": sterna.Categorical(shares, shape=2), "count": sterna.DiscreteUniform(0, 2)}
    result = sterna.sample(
        lambda kind, count: 0.0 if count == 1 else 3.0, reference, n_rounds=8, explorer="slice", progress=False
    )
    assert {name for name, row in result.summary.items() if "modes" in row} == {"count"}
    assert 0.05 < np.mean(result.values["kind"] == 1) < 0.2
