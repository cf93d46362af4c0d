"""Schedules from barriers: equal parts of the barrier in every interval, and order under all circumstances."""

import numpy as np
import pytest
from exact import normal_barrier, normal_rejections

import sterna
from sterna.theory.checks import check_schedule
from sterna.tuning.barrier import communication_barrier
from sterna.tuning.schedule import _strictly_increasing, uniform_schedule, update_schedule


def geometric_schedule(n_chains, precision):
    """Optimal schedule of the normal model: precisions 1 + beta (precision - 1) in geometric progression."""
    return np.expm1(np.linspace(0.0, 1.0, n_chains) * np.log(precision)) / (precision - 1)


def log_precisions(schedule, precision):
    return np.log1p(schedule * (precision - 1))


def is_geometric(schedule, precision, allowed):
    """Whether the log-precisions are equally spaced, in units of the spacing."""
    exact = np.linspace(0.0, np.log(precision), len(schedule))
    return np.abs(log_precisions(schedule, precision) - exact).max() <= allowed * exact[1]


def assert_proper(schedule, n_chains):
    assert schedule.shape == (n_chains,)
    assert schedule[0] == 0.0
    assert schedule[-1] == 1.0
    assert (np.diff(schedule) > 0).all()


def test_uniform_schedule():
    assert np.allclose(uniform_schedule(5), [0.0, 0.25, 0.5, 0.75, 1.0], rtol=1e-15)
    assert np.array_equal(uniform_schedule(2), [0.0, 1.0])


@pytest.mark.parametrize("precision", [1.5, 10.0, 1000.0])
@pytest.mark.parametrize("n_chains", [2, 3, 10, 57])
def test_exact_barrier_of_the_normal_model_gives_the_geometric_schedule(precision, n_chains):
    fine = geometric_schedule(4001, precision)
    barrier = communication_barrier(fine, np.diff(normal_barrier(fine, 5, precision)))
    schedule = update_schedule(barrier, n_chains)
    assert_proper(schedule, n_chains)
    # each interval is given a millionth of the barrier for order's sake
    assert is_geometric(schedule, precision, 1e-4)


def test_check_catches_rejections_that_are_one_pair_off():
    fine = uniform_schedule(1001)
    steps = np.diff(normal_barrier(fine, 5, 10.0))
    right = update_schedule(communication_barrier(fine, steps), 10)
    wrong = update_schedule(communication_barrier(fine, np.roll(steps, 1)), 10)
    assert is_geometric(right, 10.0, 1e-4)
    assert not is_geometric(wrong, 10.0, 1e-4)
    assert not is_geometric(uniform_schedule(10), 10.0, 1e-4)


def test_schedule_of_equal_rejections_stays():
    schedule = geometric_schedule(12, 50.0)
    rejection = normal_rejections(schedule, 5, 50.0)
    assert np.ptp(rejection) < 1e-12
    updated = update_schedule(communication_barrier(schedule, rejection), 12)
    assert is_geometric(updated, 50.0, 1e-4)


@pytest.mark.parametrize("precision", [10.0, 1e6, 1e12])
def test_repeated_updates_with_exact_rejections_find_the_geometric_schedule(precision):
    """At a precision of 1e12 the optimal betas begin at 1e-11, from which the uniform schedule is far away."""
    schedule = uniform_schedule(25)
    for _ in range(30):
        rejection = normal_rejections(schedule, 2, precision)
        schedule = update_schedule(communication_barrier(schedule, rejection), 25)
        assert_proper(schedule, 25)
    assert np.ptp(normal_rejections(schedule, 2, precision)) < 0.01


def test_zero_barrier_gives_equal_spacing():
    uneven = np.array([0.0, 1e-9, 0.9, 1.0])
    schedule = update_schedule(communication_barrier(uneven, np.zeros(3)), 7)
    assert np.array_equal(schedule, uniform_schedule(7))


def test_zeros_of_the_reference_alone_give_equal_spacing():
    barrier = communication_barrier(uniform_schedule(4), np.array([0.3, 0.0, 0.0]), 0.3)
    assert np.array_equal(update_schedule(barrier, 4), uniform_schedule(4))


def test_everything_rejected_keeps_the_schedule():
    old = np.array([0.0, 0.1, 0.4, 1.0])
    schedule = update_schedule(communication_barrier(old, np.ones(3)), 4)
    assert np.allclose(schedule, old, atol=1e-5)
    assert_proper(update_schedule(communication_barrier(old, np.ones(3)), 40), 40)


def test_flat_pieces_get_no_beta_inside():
    old = uniform_schedule(11)
    rejection = np.zeros(10)
    rejection[[0, 9]] = 0.5
    schedule = update_schedule(communication_barrier(old, rejection), 9)
    assert_proper(schedule, 9)
    # the middle one shares the flat piece with the floor; all others go where rejections are
    inside = (schedule > 0.1 + 1e-9) & (schedule < 0.9 - 1e-9)
    assert inside.sum() <= 1


def test_number_of_chains_may_change():
    old = geometric_schedule(8, 20.0)
    barrier = communication_barrier(old, normal_rejections(old, 5, 20.0))
    for n_chains in (2, 3, 8, 100):
        assert_proper(update_schedule(barrier, n_chains), n_chains)


def random_schedule(rng, size):
    """Betas over up to three hundred orders of magnitude."""
    exponents = rng.uniform(-rng.choice([1, 12, 300]), 0, size - 2)
    inner = np.unique(10.0**exponents)
    inner = inner[inner < 1]
    return np.concatenate([[0.0], inner, [1.0]])


def test_schedules_are_proper_whatever_was_rejected():
    rng = np.random.default_rng(19)
    for _ in range(1000):
        old = random_schedule(rng, rng.integers(2, 40))
        rejection = rng.choice([0.0, 1.0, 1e-300, 1e-17, 0.5, rng.random()], len(old) - 1)
        n_chains = int(rng.integers(2, 60))
        assert_proper(update_schedule(communication_barrier(old, rejection), n_chains), n_chains)


@pytest.mark.parametrize("n_chains", [3, 10, 1000])
def test_rejections_at_the_first_pair_only_stay_proper_through_all_rounds(n_chains):
    """All betas hurry towards 0 by a factor of about n_chains a round; a run has at most 40 rounds."""
    schedule = uniform_schedule(n_chains)
    rejection = np.zeros(n_chains - 1)
    rejection[0] = 1.0
    for _ in range(40):
        schedule = update_schedule(communication_barrier(schedule, rejection), n_chains)
        assert_proper(schedule, n_chains)


def test_betas_that_fell_together_are_parted():
    tied = np.array([0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 1.0])
    assert_proper(_strictly_increasing(tied.copy()), 8)
    proper = np.array([0.0, 0.3, 1.0])
    assert np.array_equal(_strictly_increasing(proper.copy()), proper)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("abc", "schedule='abc' is not numeric; give a list of numbers"),
        ([0.0, None, 1.0], "is not numeric"),
        ([0.0, 1.0], r"schedule has shape \(2,\); with n_chains=3 give 3 numbers"),
        ([[0.0, 0.5, 1.0]], "is not a list of betas"),
        (0.5, "is not a list of betas"),
        ([0.1, 0.5, 1.0], "from exactly 0 to exactly 1"),
        ([0.0, 0.5, 0.9], "from exactly 0 to exactly 1"),
        ([0.0, 1.0, 1.0], "must increase strictly"),
        ([0.0, -0.5, 1.0], "must increase strictly"),
        ([0.0, np.nan, 1.0], "must increase strictly"),
    ],
)
def test_schedules_of_users_are_checked(schedule, message):
    with pytest.raises(sterna.OptionError, match=message):
        check_schedule(schedule, 3)


def test_schedule_of_a_user_is_copied():
    given = np.array([0.0, 0.3, 1.0])
    taken = check_schedule(given, 3)
    taken[1] = 0.5
    assert given[1] == 0.3
    assert np.array_equal(check_schedule([0, 0.5, 1], 3), [0.0, 0.5, 1.0])
