"""The scaled index process approaches its limits as the number of chains grows (paper, theorem on weak limits)."""

import itertools

import numpy as np
import pytest
from distances import kolmogorov, wasserstein

from sterna import theory

BARRIER, START = 3.0, 0.3
TIMES = {"deo": 0.5, "seo": 0.05}
LIMITS = {
    "deo": lambda place: theory.piecewise_deterministic_cdf(place, BARRIER, TIMES["deo"], START),
    "seo": lambda place: theory.brownian_motion_cdf(place, TIMES["seo"], START),
}


def distribution(last, scheme, time=None):
    """Exact distribution with equal rejections, as an optimal schedule has."""
    return theory.scaled_index_law(np.full(last, BARRIER / last), time or TIMES[scheme], START, 1, scheme)


@pytest.mark.parametrize(("scheme", "order"), [("deo", 0.5), ("seo", 1.0)])
def test_distance_shrinks_with_the_number_of_chains(scheme, order):
    """Wasserstein distance without noise: 1/N for SEO; 1/sqrt(N) for DEO, whose clock makes the fronts that wide."""
    distances = [wasserstein(distribution(last, scheme), LIMITS[scheme]) for last in (10, 100, 1000)]
    for before, after in itertools.pairwise(distances):
        assert before / after > 0.8 * 10**order


def test_distance_of_distribution_functions_shrinks_for_the_diffusion():
    distances = [kolmogorov(distribution(last, "seo"), LIMITS["seo"]) for last in (10, 100, 1000)]
    for before, after in itertools.pairwise(distances):
        assert before / after > 8


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_comparison_catches_a_wrong_clock(scheme):
    """The planted fault: time that runs a tenth too fast has another limit."""
    assert wasserstein(distribution(1000, scheme, 1.1 * TIMES[scheme]), LIMITS[scheme]) > 3 * wasserstein(
        distribution(1000, scheme), LIMITS[scheme]
    )
