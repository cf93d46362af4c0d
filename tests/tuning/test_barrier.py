"""The communication barrier from exact rejections, against its closed form."""

import numpy as np
import pytest
from exact import normal_barrier, normal_rejections

from sterna.tuning.barrier import communication_barrier

DIMENSION, PRECISION = 5, 10.0
TOTAL = float(normal_barrier(1.0, DIMENSION, PRECISION))


def exact_barrier(n_chains):
    schedule = np.linspace(0.0, 1.0, n_chains)
    return communication_barrier(schedule, normal_rejections(schedule, DIMENSION, PRECISION))


def worst_error(barrier):
    at = np.linspace(0.0, 1.0, 500)
    return np.abs(barrier.cumulative(at) - normal_barrier(at, DIMENSION, PRECISION)).max()


def test_barrier_of_the_normal_model_converges_to_the_closed_form():
    errors = np.array([worst_error(exact_barrier(n_chains)) for n_chains in (21, 41, 81, 161)])
    # rejections add up to the barrier but for a term of second order in the spacing
    assert (errors[:-1] / errors[1:] > 3).all()
    assert errors[-1] < 1e-3
    assert exact_barrier(161).total == pytest.approx(TOTAL, abs=1e-3)


def test_convergence_check_catches_rejections_one_percent_off():
    schedule = np.linspace(0.0, 1.0, 161)
    wrong = communication_barrier(schedule, 1.01 * normal_rejections(schedule, DIMENSION, PRECISION))
    assert not worst_error(wrong) < 1e-3


def test_cumulative_barrier_is_the_running_sum_at_the_schedule():
    schedule, rejection = np.array([0.0, 0.2, 0.5, 1.0]), np.array([0.3, 0.1, 0.4])
    barrier = communication_barrier(schedule, rejection)
    assert np.allclose(barrier.cumulative(schedule), [0.0, 0.3, 0.4, 0.8], rtol=1e-15)
    assert barrier.total == pytest.approx(0.8, rel=1e-15)
    assert barrier.jump == 0.0


def test_local_barrier_is_the_slope_of_the_cumulative_one():
    barrier = exact_barrier(30)
    at = np.linspace(0.05, 0.95, 40)
    step = 1e-6
    slope = (barrier.cumulative(at + step) - barrier.cumulative(at - step)) / (2 * step)
    assert np.allclose(barrier.local(at), slope, rtol=1e-5)
    # the closed form's own slope, in the limit of many chains
    fine = exact_barrier(321)
    exact = TOTAL / np.log(PRECISION) * (PRECISION - 1) / (1 + at * (PRECISION - 1))
    assert np.allclose(fine.local(at), exact, rtol=2e-3)


def test_local_barrier_is_never_negative():
    rng = np.random.default_rng(5)
    for _ in range(100):
        rejection = rng.random(9) * (rng.random(9) > 0.3)
        barrier = communication_barrier(np.linspace(0.0, 1.0, 10), rejection)
        assert (barrier.local(np.linspace(0.0, 1.0, 200)) >= 0).all()


def with_zeros(rejection, share):
    """Rejections where the likelihood is zero on a share of the reference: those draws are never swapped."""
    mixed = rejection.copy()
    mixed[0] = share + (1 - share) * rejection[0]
    return mixed


def test_zeros_of_the_reference_make_a_jump_and_leave_the_rest_as_it_was():
    schedule = np.linspace(0.0, 1.0, 30)
    rejection = normal_rejections(schedule, DIMENSION, PRECISION)
    plain = communication_barrier(schedule, rejection)
    jumped = communication_barrier(schedule, with_zeros(rejection, 0.25), 0.25)
    at = np.linspace(1e-9, 1.0, 100)
    assert jumped.total == pytest.approx(0.25 + plain.total, rel=1e-12)
    assert np.allclose(jumped.cumulative(at), 0.25 + plain.cumulative(at), rtol=1e-12)
    assert np.allclose(jumped.local(at), plain.local(at), rtol=1e-10)
    assert jumped.cumulative(0.0) == 0.0


def test_zeros_alone_are_the_whole_barrier():
    barrier = communication_barrier(np.array([0.0, 0.5, 1.0]), np.array([0.4, 0.0]), 0.4)
    assert barrier.total == 0.4
    assert (barrier.smooth.y == 0).all()


def test_share_of_zeros_above_the_rejection_is_taken_for_rounding():
    barrier = communication_barrier(np.array([0.0, 0.5, 1.0]), np.array([0.4, 0.1]), 0.4000001)
    assert np.allclose(barrier.smooth.y, [0.0, 0.0, 0.1], rtol=1e-15)


def test_reference_of_zeros_only_has_a_finite_barrier():
    barrier = communication_barrier(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.0]), 1.0)
    assert barrier.total == 1.0


def test_rejections_given_are_left_as_they_were():
    rejection = np.array([0.5, 0.1])
    communication_barrier(np.array([0.0, 0.5, 1.0]), rejection, 0.3)
    assert np.array_equal(rejection, [0.5, 0.1])
