"""The communication barrier from exact rejections, against its closed form."""

import numpy as np
import pytest
from exact import discrete_levels, level_barrier, level_rejections, normal_barrier, normal_rejections
from scipy.special import erf, erfinv

from sterna.tuning.barrier import (
    communication_barrier,
    placement_barrier,
    without_saturation,
    without_zeros,
)

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


# --------------------------------------------------------------------------------------------------- saturation


def erf_rejection(part):
    """Rejection over an interval with this part of the barrier, where energies are normal: erf(sqrt(pi) x / 2)."""
    return erf(0.5 * np.sqrt(np.pi) * part)


# How a rejection follows from the interval's part of the barrier: normal energies, exponential energies (the normal
# model of dimension 2, where r = (q - 1)/(q + 1) for precisions of ratio q and x = log(q)/2), and two energies.
DISTRIBUTIONS = {"normal": erf_rejection, "exponential": np.tanh, "two levels": lambda part: part}
MAX_REJECTION = 0.47


def part_for(distribution, rejection):
    """Part of the barrier that gives this rejection."""
    return {"normal": 2 / np.sqrt(np.pi) * erfinv(rejection), "exponential": np.arctanh(rejection)}.get(
        distribution, rejection
    )


def corrected(distribution, parts):
    """Parts of the barrier from the exact rejections of these parts."""
    parts = np.asarray(parts)
    reject = DISTRIBUTIONS[distribution]
    return without_saturation(reject(parts), reject(parts[:-1] + parts[1:]))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("rejection", [1e-6, 0.1, 0.3, 0.4, MAX_REJECTION])
@pytest.mark.parametrize("intervals", [2, 3, 10])
def test_saturation_is_undone_for_equal_intervals(distribution, rejection, intervals):
    parts = np.full(intervals, part_for(distribution, rejection))
    assert np.allclose(corrected(distribution, parts), parts, rtol=0.012)


@pytest.mark.parametrize("distribution", ["normal", "exponential"])
def test_saturation_is_undone_for_unequal_intervals_in_sum(distribution):
    """Half of a neighbourhood's shortfall goes to either side, so that single parts may be off and the sum is not."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        rejection = rng.uniform(0.3, MAX_REJECTION, 12)
        parts = part_for(distribution, rejection)
        assert corrected(distribution, parts).sum() == pytest.approx(parts.sum(), rel=0.012)


@pytest.mark.parametrize("distribution", ["normal", "exponential"])
def test_without_the_correction_the_barrier_is_five_percent_off(distribution):
    parts = np.full(10, part_for(distribution, MAX_REJECTION))
    assert DISTRIBUTIONS[distribution](parts).sum() < 0.95 * parts.sum()


def test_laws_of_rejection_are_those_of_the_models():
    """Exponential energies are the normal model of dimension 2, normal ones its limit, two levels the discrete one."""
    schedule = np.expm1(np.linspace(0.0, 1.0, 9) * np.log(50.0)) / 49.0
    parts = np.diff(normal_barrier(schedule, 2, 50.0))
    assert np.allclose(normal_rejections(schedule, 2, 50.0), DISTRIBUTIONS["exponential"](parts), rtol=1e-10)
    parts = np.diff(normal_barrier(schedule, 1000, 1.5))
    assert np.allclose(normal_rejections(schedule, 1000, 1.5), DISTRIBUTIONS["normal"](parts), rtol=2e-3)
    levels = discrete_levels(2, 100.0)
    parts = np.diff(level_barrier(schedule, *levels))
    assert np.allclose(level_rejections(schedule, *levels), parts, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(
    ("dim", "precision", "n_chains"), [(2, 100.0, 6), (5, 10.0, 5), (20, 10.0, 10), (100, 10.0, 20)]
)
def test_barrier_of_the_normal_model_from_few_chains(dim, precision, n_chains):
    """Within 1.2 %, on the optimal schedule of about the optimal number of chains; uncorrected, over 5 % is missing."""
    schedule = np.expm1(np.linspace(0.0, 1.0, n_chains) * np.log(precision)) / (precision - 1)
    rejection = normal_rejections(schedule, dim, precision)
    second = np.array([normal_rejections(schedule[[k, k + 2]], dim, precision)[0] for k in range(n_chains - 2)])
    assert 0.4 < rejection.mean() <= MAX_REJECTION
    exact = normal_barrier(1.0, dim, precision)
    barrier = communication_barrier(schedule, rejection, 0.0, second)
    assert barrier.total == pytest.approx(exact, rel=0.012)
    assert communication_barrier(schedule, rejection).total < 0.95 * exact
    # zeros of the reference reject what they reject, in both; the rest is corrected as before
    jumped = communication_barrier(schedule, with_zeros(rejection, 0.3), 0.3, with_zeros(second, 0.3))
    assert jumped.total == pytest.approx(0.3 + barrier.total, rel=1e-12)
    assert np.allclose(jumped.smooth.y, barrier.smooth.y, rtol=1e-12)


def test_noise_moves_the_correction_both_ways_and_never_below_zero():
    """Chains two apart may seem to reject more than both their intervals. Without a bias in the sum: 1e-6, a t-test."""
    rng = np.random.default_rng(9)
    sums = []
    for _ in range(2000):
        # two energies, of which the rejections need no correction, with the noise of a short round
        rejection, second = rng.normal(0.3, 0.03, 6), rng.normal(0.6, 0.03, 5)
        sums.append(without_saturation(rejection, second).sum() - rejection.sum())
    allowed = 4.9 * np.std(sums) / np.sqrt(2000)
    # the next order, which has no sign, adds 0.5 / 6 * 0.05**2 / 0.3 for each of five
    assert abs(np.mean(sums)) <= allowed + 5 * 0.5 / 6 * 0.05**2 / 0.3
    for _ in range(500):
        rejection = rng.random(6) * (rng.random(6) > 0.2)
        assert (without_saturation(rejection, rng.random(5)) >= 0).all()


def test_nothing_rejected_has_no_correction():
    assert np.array_equal(without_saturation(np.zeros(4), np.zeros(3)), np.zeros(4))


def test_one_interval_stays_as_it_is():
    assert np.array_equal(without_saturation(np.array([0.4]), np.zeros(0)), [0.4])
    barrier = communication_barrier(np.array([0.0, 1.0]), np.array([0.4]), 0.0, np.zeros(0))
    assert barrier.total == 0.4


def test_correction_leaves_what_it_was_given():
    rejection, second = np.full(3, 0.4), np.full(2, 0.6)
    without_saturation(rejection, second)
    communication_barrier(np.linspace(0.0, 1.0, 4), rejection, 0.1, second)
    assert np.array_equal(rejection, np.full(3, 0.4))
    assert np.array_equal(second, np.full(2, 0.6))


def test_rejections_without_zeros():
    assert np.allclose(without_zeros(np.array([0.6, 0.2]), 0.2), [0.5, 0.2], rtol=1e-15)
    assert np.array_equal(without_zeros(np.array([0.6, 0.2]), 0.0), [0.6, 0.2])
    assert np.array_equal(without_zeros(np.array([1.0, 0.2]), 1.0), [1.0, 0.2])
    assert without_zeros(np.zeros(0), 0.5).size == 0


# ----------------------------------------------------------------------------------------------- blind intervals


def normal_deviation(schedule, dim, precision):
    """Standard deviation of the normal model's energy, which falls with beta as a hyperbola."""
    return np.sqrt(0.5 * dim) * (precision - 1) / (1.0 + np.asarray(schedule) * (precision - 1))


@pytest.mark.parametrize("precision", [1e2, 1e6, 1e-4])
@pytest.mark.parametrize("n_chains", [2, 3, 5])
def test_blind_intervals_of_the_normal_model_are_filled_exactly(precision, n_chains):
    """In many dimensions Lambda(beta) = sqrt(d / (2 pi)) log p(beta), whatever the schedule, with nothing swapped."""
    schedule, dim = np.linspace(0.0, 1.0, n_chains), 1000
    barrier = placement_barrier(
        schedule, np.ones(n_chains - 1), 0.0, np.abs(normal_deviation(schedule, dim, precision))
    )
    knots = barrier.smooth.x
    exact = np.sqrt(dim / (2 * np.pi)) * np.abs(np.log1p(knots * (precision - 1)))
    assert np.allclose(barrier.smooth.y, exact, rtol=1e-9)
    # planted fault: the trapezoid between the ends
    local = np.abs(normal_deviation(schedule, dim, precision)) / np.sqrt(np.pi)
    assert np.trapezoid(local, schedule) > 1.2 * exact[-1]


def test_intervals_that_see_are_left_to_their_rejections():
    schedule, rejection = np.array([0.0, 0.2, 0.5, 1.0]), np.array([0.3, 0.5, 0.4])
    found = placement_barrier(schedule, rejection, 0.0, np.full(4, 1e3))
    assert np.allclose(found.smooth.y, communication_barrier(schedule, rejection).smooth.y, rtol=1e-15)


@pytest.mark.parametrize("deviation", [0.0, np.nan, np.inf])
def test_blind_intervals_without_a_deviation_keep_their_rejection(deviation):
    schedule = np.array([0.0, 0.5, 1.0])
    found = placement_barrier(schedule, np.ones(2), 0.0, np.array([deviation, 1.0, 1.0]))
    assert found.smooth(0.5) == pytest.approx(1.0)
    assert found.total >= 2.0


def test_blind_intervals_with_zeros_keep_the_jump():
    schedule = np.array([0.0, 0.5, 1.0])
    found = placement_barrier(schedule, np.array([1.0, 0.4]), 0.3, np.full(3, 20.0))
    assert found.jump == 0.3
    assert found.total == pytest.approx(0.3 + 20.0 / np.sqrt(np.pi) * 0.5 + 0.4, rel=1e-9)
