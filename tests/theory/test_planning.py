"""Plans: by hand, and as conditions that every plan must meet."""

import dataclasses

import numpy as np
import pytest

from sterna import theory
from sterna.errors import OptionError


def test_plan_by_hand():
    """Lambda = 5 needs 11 chains; 64 cores hold five copies, and 12 chains each of four more cores."""
    plan = theory.plan(barrier=5.0, cores=64, seconds_per_scan=0.5)
    assert (plan.n_chains, plan.n_copies, plan.replicas_per_core) == (12, 5, 1)
    assert plan.rejection == pytest.approx(5 / 11)
    # E = 11 r / (1 - r) = 55 / 6
    assert plan.round_trip_rate == pytest.approx(1 / (2 + 110 / 6))
    assert plan.restarts_per_hour == pytest.approx(5 * 7200 / (2 + 110 / 6))


def test_too_few_cores_take_turns():
    """11 chains on 4 cores: three replicas a core, 12 chains, and a scan takes three times as long."""
    plan = theory.plan(barrier=5.0, cores=4, seconds_per_scan=0.5)
    assert (plan.n_chains, plan.n_copies, plan.replicas_per_core) == (12, 1, 3)
    assert plan.scans_per_hour == 2400
    assert theory.plan(5.0, 1, 1.0).n_chains == 11


@pytest.mark.parametrize("barrier", [0.0, 0.2, 1.0, 7.3, 120.0])
def test_every_plan_fits_and_wastes_little(barrier):
    wanted = theory.optimal_n_chains(barrier)
    for cores in (1, 2, 3, 7, 16, 100, 1001):
        plan = theory.plan(barrier, cores, 1.0)
        replicas = plan.n_chains * plan.n_copies
        assert wanted <= plan.n_chains
        assert replicas <= plan.replicas_per_core * cores
        assert plan.n_copies >= 1
        # fewer cores are idle than there are copies, and no further copy would fit
        assert plan.replicas_per_core * cores - replicas < plan.n_copies
        assert (plan.n_copies + 1) * wanted > plan.replicas_per_core * cores
        expected = plan.n_copies * theory.predicted_round_trip_rate(np.full(plan.n_chains - 1, plan.rejection))
        assert plan.restarts_per_hour == pytest.approx(expected * 3600 / plan.replicas_per_core)


def test_plan_reads_well_and_is_frozen():
    plan = theory.plan(5.0, 64, 60.0)
    assert str(plan).startswith("5 copies of 12 chains on 60 of 64 cores, 1 replica per core\n")
    assert "restarts per hour: 14.8" in str(plan)
    assert "efficient local exploration" in str(plan)
    assert "1 copy of 12 chains on 4 of 4 cores, up to 3 replicas per core" in str(theory.plan(5.0, 4, 60.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.cores = 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.plan(-1.0, 4, 1.0), "barrier=-1.0"),
        (lambda: theory.plan(float("nan"), 4, 1.0), "barrier=nan"),
        (lambda: theory.plan(1.0, 0, 1.0), "cores=0"),
        (lambda: theory.plan(1.0, 1.5, 1.0), "cores=1.5"),
        (lambda: theory.plan(1.0, 4, 0.0), "seconds_per_scan=0.0"),
        (lambda: theory.plan(1.0, "four", 1.0), "cores='four'"),
    ],
)
def test_what_cannot_work_is_named(call, message):
    with pytest.raises(OptionError, match=message):
        call()
