"""Expected round-trip times: the theorem, the simulated index process and the engine agree."""

import pytest
from independent import engine_rates, expected_time
from quick import first

from sterna import theory


def check(last, scheme, **size):
    """Compare all three, and check that the time of the other scheme is rejected."""
    rates, rejection = engine_rates(last + 1, scheme, **size)
    expected = theory.expected_round_trip_time(rejection, scheme)
    other = theory.expected_round_trip_time(rejection, "seo" if scheme == "deo" else "deo")
    trips = theory.simulate_round_trips(rejection, 20_000, scheme)
    for time, error in (expected_time(rates, last + 1), (trips.mean, trips.error)):
        assert error < 0.03 * expected
        assert abs(time - expected) <= 5 * error
        # planted fault
        assert abs(time - other) > 5 * error


@pytest.mark.parametrize("scheme", ["deo", "seo"])
@pytest.mark.parametrize("last", first(1, [5, 10]))
def test_theorem_simulation_and_engine_agree(last, scheme):
    """Within 5 standard errors (for the engine, from 24 copies): a false-alarm rate of 5e-5 each, 2e-4 in total."""
    check(last, scheme, n_rounds=10, n_scans=4000, n_copies=24)


@pytest.mark.laws
@pytest.mark.parametrize("scheme", ["deo", "seo"])
@pytest.mark.parametrize("last", [30, 100])
def test_theorem_simulation_and_engine_agree_for_many_chains(last, scheme):
    """Within 5 standard errors (for the engine, from 40 copies): a false-alarm rate of 1e-5 each."""
    check(last, scheme, n_rounds=13, n_scans=20_000, n_copies=40)
