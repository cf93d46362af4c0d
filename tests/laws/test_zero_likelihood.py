"""A likelihood that is zero on most of the reference: a jump of the barrier at beta = 0 that no schedule can remove."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from targets import corner

import sterna
from sterna.tuning.barrier import communication_barrier
from sterna.tuning.schedule import update_schedule


def run(**options):
    return sterna.sample(corner, {"x": sterna.Uniform(0, 1)}, n_rounds=12, progress=False, **options)


@pytest.mark.parametrize("n_chains", [10, 20])
def test_tuned_in_spite_of_zeros(n_chains):
    """Evidence and fraction of zeros within 4 standard errors: a false-alarm rate of 6e-4 for each run."""
    result = run(n_chains=n_chains)
    others = result.rejection[1:]
    assert np.ptp(others) <= 0.05
    assert np.diff(result.schedule).min() > 1e-9
    exact = math.log(quad(lambda x: math.exp(corner(x)), 0, 0.1, points=[0.05])[0])
    assert abs(result.log_evidence.value - exact) <= 4 * result.log_evidence.error
    scans = result.settings.n_scans
    assert abs(result.last.zero_share - 0.9) <= 4 * math.sqrt(0.09 / scans)
    # the reported barrier includes the jump, which counts as one step in the optimal rate
    jump = result.last.zero_share
    assert result.global_barrier == pytest.approx(jump + result.last.barrier.smooth.y[-1])
    assert result.cumulative_barrier(0.0) == 0
    assert result.cumulative_barrier(1e-12) == pytest.approx(jump, abs=1e-6)
    assert result.optimal_round_trip_rate == pytest.approx(
        1 / (2 + 2 * (result.global_barrier - jump + jump / (1 - jump)))
    )
    assert result.round_trip_rate < result.optimal_round_trip_rate
    assert result.warnings == []


def test_draws_stay_where_the_likelihood_is_positive():
    result = run(n_chains=8, keep="all")
    chains = result.chains["x"].values
    assert (chains[:, :, 1:] <= 0.1).all()
    assert (chains[:, :, 0] > 0.1).mean() > 0.8


def test_left_in_the_jump_would_pull_the_schedule_to_zero(monkeypatch):
    """Planted fault: without removing zeros, most chains are near the reference and the others reject more."""
    from sterna.tuning import rounds

    fair = run(n_chains=20)
    monkeypatch.setattr(
        rounds, "placement_barrier", lambda schedule, rejection, *_: communication_barrier(schedule, rejection)
    )
    crowded = run(n_chains=20)
    assert crowded.schedule[5] < 0.01 * fair.schedule[5]
    assert np.ptp(crowded.rejection[1:]) > 0.05


def rare(x):
    if x > 0.0005:
        return -np.inf
    # not flat: without other rejections, a round without information would not change the schedule anyway
    return -0.5 * ((x - 0.00025) / 1e-5) ** 2


def test_rounds_that_saw_only_zeros_do_not_mislead():
    """Short rounds in which all draws of the reference have likelihood zero tell nothing about the first interval.

    Treated as an interval without barrier, they would move beta_1 towards 1. Evidence within 4 standard errors.
    """
    result = sterna.sample(rare, {"x": sterna.Uniform(0, 1)}, n_chains=10, n_rounds=12, progress=False)
    blind = [r for r in result.rounds if r.zero_share == 1]
    assert len(blind) >= 3
    assert max(r.schedule[1] for r in result.rounds) <= 1 / 9 + 1e-9
    assert abs(result.log_evidence.value - math.log(1e-5 * math.sqrt(2 * math.pi))) <= 4 * result.log_evidence.error


def test_a_blind_round_does_not_move_the_second_beta_up():
    schedule = np.linspace(0.0, 1.0, 5)
    barrier = communication_barrier(schedule, np.array([1.0, 0.1, 0.1, 0.1]), zero_share=1.0)
    assert update_schedule(barrier, 5)[1] < schedule[1]


def test_hugely_negative_instead_of_zero_is_named():
    """94 % of the reference's draws are rejected, whatever beta is; more than 90 % is a warning."""

    def soft(x):
        if x > 0.06:
            return -1e300
        return -0.5 * ((x - 0.05) / 0.001) ** 2

    result = sterna.sample(soft, {"x": sterna.Uniform(0, 1)}, n_rounds=12, path="prior", progress=False)
    assert any("return -inf there" in text for text in result.warnings)
