"""The scaled index process: its distribution against a matrix exponential, and its paths and ends against that."""

import numpy as np
import pytest
from distances import law_of
from index_kernels import scaled_law
from plain import load
from scipy import stats

from sterna import theory
from sterna.errors import OptionError

REJECTION = np.array([0.1, 0.6, 0.35, 0.0, 0.2, 0.5, 0.1, 0.0, 0.3, 0.25])
TIMES = {"deo": 0.7, "seo": 0.1}
FALSE_ALARM = 1e-5


def pvalue(ends, distribution):
    """Chi-square of draws against a distribution, with rare positions pooled."""
    counts = law_of(ends, len(distribution) - 1) * len(ends)
    expected = distribution * len(ends)
    rare = expected < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("scheme", ["deo", "seo"])
@pytest.mark.parametrize("direction", [-1, 1])
@pytest.mark.parametrize("time", [0.0, 0.3, 5.0])
def test_law_is_the_exponential_of_the_generator(scheme, direction, time):
    distribution = theory.scaled_index_law(REJECTION, time, 0.3, direction, scheme)
    assert distribution == pytest.approx(scaled_law(REJECTION, time, 3, direction, scheme), abs=1e-12)


def test_law_tends_to_the_uniform_one():
    for scheme in TIMES:
        assert theory.scaled_index_law(REJECTION, 200.0, 0.3, 1, scheme) == pytest.approx(np.full(11, 1 / 11), abs=1e-9)


def test_comparison_catches_a_missing_turn():
    """The planted fault: a rejection keeps the direction."""
    fault = [
        ("after[chain, 0] = (1.0 - acceptance[chain + 1]) * before[chain, 1]", "after[chain, 0] = 0.0"),
        ("after[chain, 1] = (1.0 - acceptance[chain]) * before[chain, 0]", "after[chain, 1] = 0.0"),
    ]
    distribution = load("theory/scaled_index_process.py", fault).scaled_index_law(REJECTION, 0.3, 0.3)
    assert distribution != pytest.approx(scaled_law(REJECTION, 0.3, 3, 1, "deo"), abs=1e-3)


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_ends_have_the_distribution(scheme):
    """Chi-square of 200 000 paths, at 1e-5 each."""
    ends = theory.scaled_index_ends(REJECTION, TIMES[scheme], 200_000, 0.3, -1, scheme)
    distribution = scaled_law(REJECTION, TIMES[scheme], 3, -1, scheme)
    assert pvalue(ends, distribution) > FALSE_ALARM
    # the planted fault: time that runs 5 % too fast
    assert pvalue(ends, scaled_law(REJECTION, 1.05 * TIMES[scheme], 3, -1, scheme)) < FALSE_ALARM


def test_comparison_catches_a_fixed_number_of_scans():
    """The planted fault: scans at equal distances in place of a Poisson process."""
    fault = [("generator.poisson(expected, size)", "np.full(size, round(expected))")]
    ends = load("theory/scaled_index_process.py", fault, compiled=True).scaled_index_ends(
        REJECTION, 0.7, 200_000, 0.3, -1
    )
    assert pvalue(ends, scaled_law(REJECTION, 0.7, 3, -1, "deo")) < FALSE_ALARM


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_paths_have_the_distribution(scheme):
    """Chi-square of 4000 paths at their end and in between, at 1e-5 each."""
    paths = [theory.scaled_index_path(REJECTION, TIMES[scheme], 0.3, 1, scheme, seed) for seed in range(4000)]
    for share in (0.4, 1.0):
        time = share * TIMES[scheme]
        places = [path.place[np.searchsorted(path.time, time, side="right") - 1] for path in paths]
        assert pvalue(np.array(places), scaled_law(REJECTION, time, 3, 1, scheme)) > FALSE_ALARM
    assert all((np.diff(path.time) >= 0).all() for path in paths)


def test_units_of_time():
    assert theory.scans_per_time(101, "deo") == 100
    assert theory.scans_per_time(101, "seo") == 10_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.scaled_index_ends(REJECTION, -1.0, 5), "time=-1.0"),
        (lambda: theory.scaled_index_ends(REJECTION, 1.0, 0), "n_paths=0"),
        (lambda: theory.scaled_index_law(REJECTION, 1.0, start=1.5), "start=1.5"),
        (lambda: theory.scaled_index_path(REJECTION, np.inf), "time=inf"),
        (lambda: theory.scans_per_time(1, "deo"), "n_chains=1"),
    ],
)
def test_what_cannot_work_is_named(call, message):
    with pytest.raises(OptionError, match=message):
        call()
