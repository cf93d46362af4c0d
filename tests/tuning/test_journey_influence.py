"""The influence of journeys on the evidence, against draws whose dependence is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from sterna.engine.record import Bridges
from sterna.tuning.journey_influence import journey_influence, journeys_at_chains
from sterna.tuning.journeys import error_of_sum

SCHEDULE, PIVOT = np.array([0.0, 0.4, 1.0]), np.array([0.1, -0.2])
SCANS, CHAINS = 4000, 3


def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def terms_of(energies):
    """Terms of Bennett's sums at the lower and at the upper chain of each pair: (pairs, scans)."""
    steps = np.diff(SCHEDULE)
    lower = [logistic(step * energies[:, k] - PIVOT[k]) for k, step in enumerate(steps)]
    upper = [logistic(PIVOT[k] - step * energies[:, k + 1]) for k, step in enumerate(steps)]
    return np.array(lower), np.array(upper)


def influence_of(energies, positions):
    lower, upper = terms_of(energies)
    bridge = {Bridges.forward: lower, Bridges.backward: upper}
    batches = SimpleNamespace(bridge=bridge, mean=lambda terms: terms.mean(axis=1), scans=np.array([SCANS]))
    records = [SimpleNamespace(energies=energies, positions=positions)]
    return journey_influence(SCHEDULE, PIVOT, records, batches)


def error_of_independent_draws(energies):
    """Standard error of the linearised log evidence if all draws are independent."""
    lower, upper = terms_of(energies)
    by_chain = np.zeros((CHAINS, SCANS))
    by_chain[:-1] += lower / lower.mean(axis=1, keepdims=True) - 1.0
    by_chain[1:] -= upper / upper.mean(axis=1, keepdims=True) - 1.0
    return np.sqrt(np.square(by_chain).sum()) / SCANS


@pytest.fixture
def walk():
    """Replicas at random chains, and independent energies."""
    rng = np.random.default_rng(5)
    positions = np.argsort(rng.random((SCANS, CHAINS)), axis=1).astype(np.int16)
    return rng, positions, rng.standard_normal((SCANS, CHAINS))


def test_a_draw_counts_for_the_journey_that_held_its_chain_before_the_swaps():
    positions = np.array([[1, 0, 2], [0, 1, 2], [1, 0, 2]], dtype=np.int16)
    # journeys by replica: 0 and 1; 2, 3 and (from the third scan on) 3; 4
    found = journeys_at_chains(SimpleNamespace(positions=positions))
    assert found.tolist() == [[2, 0, 4], [3, 0, 4], [1, 3, 4]]


def test_independent_draws_have_the_error_of_independent_draws(walk):
    """Some 4000 journeys: the ratio scatters by 1 %, and 8 % is exceeded by chance less than once in 1e12 runs."""
    _, positions, energies = walk
    found = influence_of(energies, positions)
    assert found.evidence.sum() == pytest.approx(0.0, abs=1e-12)
    assert error_of_sum(found.evidence)[0] == pytest.approx(error_of_independent_draws(energies), rel=0.08)
    assert found.curve_error[-1] == error_of_sum(found.evidence)[0]
    assert found.target.sum() == pytest.approx(0.0, abs=1e-12)
    assert error_of_sum(found.target)[0] == pytest.approx(energies[:, -1].std() / np.sqrt(SCANS), rel=0.08)


def test_draws_that_share_a_journeys_mode_have_a_larger_error(walk):
    """Journeys last three scans on average, and what they share moves all chains to the same side."""
    rng, positions, _ = walk
    holders = journeys_at_chains(SimpleNamespace(positions=positions))
    shared = rng.standard_normal(holders.max() + 1)[holders]
    found = error_of_sum(influence_of(shared, positions).target)[0]
    assert found > 1.3 * shared[:, -1].std() / np.sqrt(SCANS)
