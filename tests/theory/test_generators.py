"""Schedule generators against the properties that define them."""

import numpy as np
import pytest

from sterna import theory
from sterna.errors import OptionError
from sterna.tuning.barrier import communication_barrier
from sterna.tuning.schedule import update_schedule


@pytest.mark.parametrize("gamma", [1e-6, 0.1, 0.9, 1 - 1e-9])
def test_geometric_generator_is_the_papers(gamma):
    """gamma + (1 - gamma) beta is a geometric progression from gamma to 1."""
    betas = theory.generated_schedule(theory.geometric_generator(gamma), 9)
    powers = gamma + (1 - gamma) * betas
    assert powers == pytest.approx(gamma ** (1 - np.arange(9) / 8), rel=1e-9)
    if gamma < 0.9:
        assert betas == pytest.approx((gamma ** (1 - np.arange(9) / 8) - gamma) / (1 - gamma), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n_chains", [2, 3, 40])
def test_optimal_generator_divides_the_barrier_equally(n_chains):
    def cumulative(beta):
        return theory.normal_barrier(beta, 7, 1e4)

    betas = theory.generated_schedule(theory.optimal_generator(cumulative), n_chains)
    steps = theory.barrier_rejection(cumulative, betas)
    assert steps == pytest.approx(np.full(n_chains - 1, theory.normal_barrier(1.0, 7, 1e4) / (n_chains - 1)), rel=1e-9)
    # the paper's closed form: standard deviations in geometric progression
    assert 1 + betas * (1e4 - 1) == pytest.approx(1e4 ** np.linspace(0, 1, n_chains), rel=1e-9)


def test_optimal_generator_of_a_run_is_the_tuned_schedule():
    """Up to the floor, 1e-6 of the barrier, that tuning gives to all intervals; a jump at 0 is left out."""
    barrier = communication_barrier(np.array([0.0, 0.02, 0.3, 1.0]), np.array([0.7, 0.4, 0.2]), zero_share=0.3)
    betas = theory.generated_schedule(theory.optimal_generator(barrier), 12)
    shares = [barrier.smooth(schedule) / barrier.smooth.y[-1] for schedule in (betas, update_schedule(barrier, 12))]
    assert shares[0] == pytest.approx(shares[1], abs=1e-6)
    # the planted fault: a jump that counts draws betas to 0
    drawn = theory.optimal_generator(barrier.cumulative)(np.linspace(0, 1, 12))
    assert betas != pytest.approx(drawn, abs=1e-3)


def test_without_a_barrier_the_schedule_is_uniform():
    schedule = theory.generated_schedule(theory.optimal_generator(lambda beta: 0.0 * beta), 5)
    assert schedule == pytest.approx(theory.generated_schedule(theory.uniform_generator(), 5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.geometric_generator(1.0), "gamma=1.0"),
        (lambda: theory.geometric_generator(0.0), "gamma=0.0"),
        (lambda: theory.optimal_generator(lambda beta: beta / 0.0), "finite"),
        (lambda: theory.generated_schedule(theory.uniform_generator(), 1), "n_chains=1"),
        (lambda: theory.generated_schedule(lambda place: 0.5 * place, 4), "exactly 0 to exactly 1"),
    ],
)
def test_what_cannot_work_is_named(call, message):
    with np.errstate(divide="ignore"), pytest.raises(OptionError, match=message):
        call()
