"""Estimators of the evidence: against direct formulas, and against the exact evidence of independent exact draws.

The draws are of the normal model: at beta its log-likelihood is -(precision - 1) |x|^2 / 2 with x of precision
p(beta) = 1 + beta (precision - 1), so log Z(beta)/Z(0) = -(dim / 2) log p(beta).
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

from sterna.tuning.batches import Batches
from sterna.tuning.bennett import bennett
from sterna.tuning.energies import Energies, energies
from sterna.tuning.estimate import Estimate
from sterna.tuning.evidence import ESTIMATORS, Estimator, best_name, evidence
from sterna.tuning.evidence_curve import EvidenceCurve, convex_slopes, evidence_curve
from sterna.tuning.stepping_stones import backward_stones, combined, forward_stones
from sterna.tuning.steps import Steps
from sterna.tuning.thermodynamic import thermodynamic_integration

FALSE_ALARM = 1e-6
DIMENSION, PRECISION = 4, 20.0
EXCESS = PRECISION - 1.0
N_CHAINS = 7
SCHEDULE = np.expm1(np.linspace(0.0, 1.0, N_CHAINS) * math.log(PRECISION)) / EXCESS
N_BATCHES = 100


def log_z(beta):
    """Return log Z(beta)/Z(0), which is finite for any precision above 0."""
    return -0.5 * DIMENSION * np.log1p(np.asarray(beta) * EXCESS)


EXACT = float(log_z(1.0))
EXACT_STEPS = np.diff(log_z(SCHEDULE))


def draws(rng, copies=1, scans=1000, zeros=0.0, schedule=SCHEDULE):
    """Exact independent log-likelihoods of all chains: (copies, scans, chains); a share of the reference's is -inf."""
    squares = rng.chisquare(DIMENSION, (copies, scans, len(schedule))) / (1.0 + schedule * EXCESS)
    found = -0.5 * EXCESS * squares
    found[rng.random((copies, scans)) < zeros, 0] = -np.inf
    return found


def sums(values, n_batches, add=np.add):
    """Sums over the scans of every batch."""
    starts = np.arange(n_batches) * values.shape[1] // n_batches
    return add.reduceat(values, starts, axis=1)


def scaled(exponents, n_batches):
    """Scales and scaled sums of exponentials of every batch, as a record holds them."""
    scale = sums(exponents, n_batches, np.maximum)
    lengths = sums(np.ones(exponents.shape[1:2])[None], n_batches)[0].astype(int)
    with np.errstate(invalid="ignore"):
        weights = np.exp(exponents - np.repeat(scale, lengths, axis=1))
    return scale, sums(np.nan_to_num(weights), n_batches)


def batches_of(found, pivot=EXACT_STEPS, n_batches=N_BATCHES, schedule=SCHEDULE):
    """Batches of a round with these log-likelihoods."""
    step = np.diff(schedule)
    lower, upper = step * found[:, :, :-1], step * found[:, :, 1:]
    up, down = expit(lower - pivot), expit(pivot - upper)
    n_batches = min(n_batches, found.shape[1])
    ways = [lower, -upper, upper, np.where(np.isneginf(lower), -np.inf, -lower)]
    stones = [scaled(way, n_batches) for way in ways]
    seen = np.where(np.isneginf(found), 0.0, found)
    with np.errstate(over="ignore"):
        moments = [sums(values, n_batches) for values in (seen, seen**2, seen, seen**2)]
    return Batches(
        scans=sums(np.ones(found.shape[:2]), n_batches),
        rejection=np.zeros(0),
        second_rejection=np.zeros(0),
        zeros=sums(np.isneginf(found[:, :, 0]).astype(float), n_batches),
        stone_scale=np.stack([scale for scale, _ in stones]),
        stone_sum=np.stack([total for _, total in stones]),
        bridge=np.stack([sums(terms, n_batches) for terms in (up, down, up * (1 - up), down * (1 - down))]),
        moments=np.stack(moments),
    )


def all_of(found, pivot=EXACT_STEPS):
    """Return every estimator of a round."""
    batches = batches_of(found, pivot)
    return evidence(SCHEDULE, pivot, batches, energies(batches, np.zeros(N_CHAINS)))


def log_mean(exponents):
    with np.errstate(divide="ignore"):
        return logsumexp(exponents.reshape(-1, exponents.shape[-1]), axis=0) - math.log(exponents[:, :, 0].size)


def exponents_of(found):
    step = np.diff(SCHEDULE)
    return step * found[:, :, :-1], step * found[:, :, 1:]


# -------------------------------------------------------------------------------------------- direct formulas

SHAPES = pytest.mark.parametrize(("copies", "scans"), [(1, 1), (1, 7), (1, 1033), (3, 450)])


@SHAPES
def test_stones_are_direct_sums(copies, scans):
    found = draws(np.random.default_rng(1), copies, scans)
    lower, upper = exponents_of(found)
    assert np.allclose(forward_stones(batches_of(found)).value, log_mean(lower), rtol=1e-12)
    assert np.allclose(backward_stones(batches_of(found)).value, -log_mean(-upper), rtol=1e-12)


def test_comparison_catches_a_mean_over_batches_of_unequal_length():
    found = draws(np.random.default_rng(1), 1, 250)
    lower, _ = exponents_of(found)
    batches = batches_of(found)
    means = batches.stone_sum[0] * np.exp(batches.stone_scale[0]) / batches.scans[:, :, None]
    assert not np.allclose(np.log(means.mean(axis=(0, 1))), log_mean(lower), rtol=1e-6)


@SHAPES
def test_bennett_is_the_direct_formula(copies, scans):
    found = draws(np.random.default_rng(2), copies, scans)
    lower, upper = exponents_of(found)
    pivot = EXACT_STEPS + 0.3
    means = [expit(part).mean(axis=(0, 1)) for part in (lower - pivot, pivot - upper)]
    direct = pivot + np.log(means[0] / means[1])
    assert np.allclose(bennett(batches_of(found, pivot), pivot).value, direct, rtol=1e-12)


@pytest.mark.parametrize("shift", [1e3, 1e5])
def test_shift_of_the_log_likelihood_moves_the_values_alone(shift):
    """Z(1) gains a factor exp(shift); every estimator's error stays."""
    found = draws(np.random.default_rng(3))
    plain, moved = all_of(found), all_of(found + shift, EXACT_STEPS + np.diff(SCHEDULE) * shift)
    for name, before in plain.estimates.items():
        after = moved.estimates[name]
        assert after.value == pytest.approx(before.value + shift, rel=1e-12), name
        # variances of sums around a centre so far away lose digits
        assert after.error == pytest.approx(before.error, rel=1e-6), name


def test_huge_energies_do_not_overflow():
    found = 1e300 * draws(np.random.default_rng(3), scans=40)
    batches = batches_of(found, np.zeros(N_CHAINS - 1))
    lower, upper = exponents_of(found)
    assert np.allclose(forward_stones(batches).value, lower.max(axis=(0, 1)), rtol=1e-12)
    assert np.allclose(backward_stones(batches).value, upper.min(axis=(0, 1)), rtol=1e-12)


@pytest.mark.parametrize("away", [60.0, -60.0])
def test_bennett_of_a_far_pivot_is_one_of_the_stones(away):
    """With a large pivot the weights of the lower chain are exponentials and those of the upper one are 1."""
    found = draws(np.random.default_rng(4))
    _, upper = exponents_of(found)
    # exponents reach from about -20 to 0, so that 60 beyond them the rest is below exp(-40)
    pivot = np.full(N_CHAINS - 1, away if away > 0 else away + upper.min())
    batches = batches_of(found, pivot)
    stones = forward_stones(batches) if away > 0 else backward_stones(batches)
    limit = bennett(batches, pivot)
    assert np.allclose(limit.value, stones.value, rtol=1e-10)
    assert np.allclose(limit.influence, stones.influence, rtol=0, atol=1e-10)


def test_constant_likelihood_is_exact():
    batches = batches_of(np.full((2, 300, N_CHAINS), 2.5), 2.5 * np.diff(SCHEDULE))
    moments = energies(batches, np.full(N_CHAINS, 2.5))
    # sums were taken around 0, so give the moments that a centre of 2.5 would have
    moments = Energies(np.full(N_CHAINS, 2.5), np.zeros(N_CHAINS), *list(vars(moments).values())[2:])
    found = evidence(SCHEDULE, 2.5 * np.diff(SCHEDULE), batches, moments)
    for name, one in found.estimates.items():
        assert one.value == pytest.approx(2.5, rel=1e-13), name
        assert one.bias == pytest.approx(0.0, abs=1e-13), name
    for name in ("bennett", "stepping_stone", "stepping_stone_forward", "stepping_stone_backward"):
        assert found.estimates[name].error == pytest.approx(0.0, abs=1e-13)


def test_single_scan_has_values_and_no_errors():
    found = all_of(draws(np.random.default_rng(5), scans=1))
    assert found.best.valid
    assert math.isnan(found.best.error)


# ------------------------------------------------------------------------- exact values, from exact draws

RUNS = 200


@pytest.fixture(scope="module")
def runs():
    """Every estimator of many independent rounds of two copies."""
    rng = np.random.default_rng(17)
    return [all_of(draws(rng, copies=2, scans=1000)) for _ in range(RUNS)]


def p_of_values(estimates, exact):
    """t-test that estimates have this mean."""
    return stats.ttest_1samp([one.value for one in estimates], exact).pvalue


def error_over_scatter(estimates):
    """Root mean square of stated errors over the scatter of the values: 1 if errors are right."""
    scatter = np.std([one.value for one in estimates], ddof=1)
    return math.sqrt(np.mean([one.error**2 for one in estimates])) / scatter


# The scatter of 200 normal values has a relative error of 1/sqrt(398), a chance of 1e-6 lies within 4.9 of them.
SLACK = stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(2 * (RUNS - 1))
EXACT_FOR_ALL_SCHEDULES = ["bennett", "stepping_stone", "stepping_stone_forward", "stepping_stone_backward"]


@pytest.mark.parametrize("name", EXACT_FOR_ALL_SCHEDULES)
def test_values_and_errors_are_right(runs, name):
    """False-alarm rate: 2e-6 each. What the logarithm of a mean is biased by is below a hundredth of its error."""
    estimates = [one.estimates[name] for one in runs]
    assert p_of_values(estimates, EXACT) > FALSE_ALARM
    assert 1 / (1 + SLACK) - 0.05 <= error_over_scatter(estimates) <= 1 / (1 - SLACK) + 0.05


def test_checks_catch_a_value_or_an_error_that_is_off(runs):
    """An evidence with a temperature one step off, and errors of pairs that are added as if independent."""
    wrong = [Estimate(one.best.value * 1.02, one.best.error) for one in runs]
    assert p_of_values(wrong, EXACT) < FALSE_ALARM
    halved = [Estimate(one.best.value, 0.5 * one.best.error) for one in runs]
    assert error_over_scatter(halved) < 1 / (1 + SLACK) - 0.05


def scatter_of_one_pair(estimator, runs=200):
    """Scatter of an estimator of the whole step from 0 to 1, with its exact pivot."""
    rng, ends = np.random.default_rng(19), np.array([0.0, 1.0])
    pivot = np.array([EXACT])
    values = []
    for _ in range(runs):
        batches = batches_of(draws(rng, scans=500, schedule=ends), pivot, schedule=ends)
        values.append(estimator(batches, pivot).value[0])
    return np.std(values, ddof=1)


def test_bennett_has_the_least_error_of_all_from_one_pair():
    """False-alarm rate: 1e-6, as the scatter of 200 values is within a quarter of the truth and theirs are far apart.

    Over several pairs there is no such relation, because neighbouring pairs share a chain.
    """
    best = scatter_of_one_pair(bennett)
    assert best < scatter_of_one_pair(lambda batches, _: forward_stones(batches))
    assert best < scatter_of_one_pair(lambda batches, _: backward_stones(batches))


@pytest.mark.parametrize("off", [-3.0, -1.0, 1.0, 3.0])
def test_bennett_is_consistent_for_any_pivot(off):
    """False-alarm rate: 1e-6 each."""
    rng = np.random.default_rng(23)
    pivot = EXACT_STEPS + off
    estimates = [bennett(batches_of(draws(rng), pivot), pivot).total() for _ in range(60)]
    assert p_of_values(estimates, EXACT) > FALSE_ALARM
    # planted fault: a pivot that is used for the sums and left out of the value
    without = [Estimate(one.value - off, one.error) for one in estimates]
    assert p_of_values(without, EXACT) < FALSE_ALARM


def test_differences_and_their_errors(runs):
    """False-alarm rate: 2e-6 for each pair. The estimators share their draws, so errors do not add up."""
    for pair in runs[0].differences:
        differences = [one.differences[pair] for one in runs]
        for one in runs[:5]:
            first, second = (one.estimates[name] for name in pair)
            assert one.differences[pair].value == pytest.approx(first.value - second.value, abs=1e-12)
        assert p_of_values(differences, 0.0) > FALSE_ALARM
        # an error is never below what theory knows of independent draws, which may be more than the scatter
        assert error_over_scatter(differences) >= 1 / (1 + SLACK) - 0.05
    assert len(runs[0].differences) == 3


def of_errors(**errors):
    """Valid estimates of these errors."""
    names = ("bennett", "stepping_stone", "stepping_stone_backward", "stepping_stone_forward")
    return {name: Estimate(1.0, errors.get(name, 0.0)) for name in names}


def test_best_is_that_of_the_two_best_which_states_the_smaller_error(runs):
    for one in runs:
        rivals = one.estimates["bennett"], one.estimates["stepping_stone"]
        assert one.best is min(rivals, key=lambda estimate: estimate.error)
        assert one.curve.value[-1] == pytest.approx(one.best.value, rel=1e-12)
        assert one.influence.shape == (2, N_BATCHES)
    assert best_name(of_errors(bennett=2.0, stepping_stone=1.0)) == "stepping_stone"
    assert best_name(of_errors(bennett=1.0, stepping_stone=2.0)) == "bennett"


def test_best_of_estimates_without_a_value_or_an_error():
    nothing = Estimate(-math.inf, math.nan)
    single = of_errors(bennett=math.nan, stepping_stone=math.nan)
    assert best_name(single) == "bennett"
    assert best_name({**of_errors(stepping_stone=5.0), "bennett": nothing}) == "stepping_stone"
    worst = dict.fromkeys(single, nothing) | {"stepping_stone_backward": Estimate(1.0, 1.0)}
    assert best_name(worst) == "stepping_stone_backward"
    assert best_name(dict.fromkeys(single, nothing)) == "bennett"


def test_an_estimator_is_one_row_of_the_table(monkeypatch):
    """A new estimator, here the combined stones under another name, is reported."""
    stones = Estimator(ESTIMATORS["stepping_stone"].steps, rank=9, reliable_error=True)
    monkeypatch.setitem(ESTIMATORS, "new", stones)
    found = all_of(draws(np.random.default_rng(31)))
    assert found.estimates["new"].value == found.estimates["stepping_stone"].value


def test_best_covers_as_often_as_its_rivals(runs):
    """False-alarm rate: 1e-6. To choose by the errors may not cost more than 5 % of the 90 % that intervals promise."""
    hits = sum(low < EXACT < high for low, high in (one.best.interval(0.9) for one in runs))
    assert stats.binomtest(hits, RUNS, 0.85, alternative="less").pvalue > FALSE_ALARM


def test_what_is_known_of_the_steps_is_bennetts_or_else_a_stone():
    found = draws(np.random.default_rng(29))
    assert np.array_equal(all_of(found).best_steps, bennett(batches_of(found), EXACT_STEPS).value)
    for off in (1e4, -1e4):
        known = all_of(found, EXACT_STEPS + np.array([0.0, off, 0.0, 0.0, 0.0, 0.0])).best_steps
        assert np.isfinite(known).all()
        assert np.allclose(known, EXACT_STEPS, atol=0.5)


def test_pivots_too_large_and_too_small_are_no_reason_to_warn():
    """So it is in the first rounds of sterna.models.normal(10, 1e4), whose pivots are guesses."""
    found = draws(np.random.default_rng(29))
    known = all_of(found, EXACT_STEPS + np.array([0.0, 1e4, 0.0, 0.0, -1e4, 0.0])).best_steps
    assert np.allclose(known, EXACT_STEPS, atol=0.5)


# ------------------------------------------------------------------------------------------- combined stones


def steps_of(values, variances):
    return Steps(np.array(values), np.array(values)[None, None, :], np.array(variances))


def test_combined_weighs_by_the_inverse_variance():
    found = combined(steps_of([1.0, 2.0], [1.0, 3.0]), steps_of([5.0, 4.0], [3.0, 1.0]))
    assert np.allclose(found.value, [0.75 * 1 + 0.25 * 5, 0.25 * 2 + 0.75 * 4])
    assert np.allclose(found.influence[0, 0], found.value)
    # the variance of the best mean is one over the sum of inverse variances
    assert np.allclose(found.least_variance, [0.75, 0.75])


@pytest.mark.parametrize(
    ("variances", "expected"),
    [((np.inf, 1.0), 4.0), ((1.0, np.inf), 2.0), ((0.0, 0.0), 3.0), ((0.0, 1.0), 2.0)],
)
def test_combined_at_the_borders(variances, expected):
    found = combined(steps_of([2.0], [variances[0]]), steps_of([4.0], [variances[1]]))
    assert found.value[0] == expected


def test_combined_of_two_infinite_variances_is_unknown():
    assert math.isnan(combined(steps_of([2.0], [np.inf]), steps_of([4.0], [np.inf])).value[0])


def test_an_infinite_value_of_infinite_variance_has_no_say():
    found = combined(steps_of([-np.inf], [np.inf]), steps_of([4.0], [1.0]))
    assert found.value[0] == 4.0


# -------------------------------------------------------------------------------------------- known variances


# Ratios of 1.2 between neighbouring precisions, at which weights have moments enough for a mean of their squares.
FINE = np.expm1(np.linspace(0.0, 1.0, 17) * math.log(PRECISION)) / EXCESS


def log_second_moment(forward):
    """Log of the second moment of the weights over their squared mean, for every pair."""
    low, high = FINE[:-1], FINE[1:]
    step = high - low
    if forward:
        return log_z(low + 2 * step) + log_z(low) - 2 * log_z(high)
    return log_z(high - 2 * step) + log_z(high) - 2 * log_z(low)


@pytest.mark.parametrize("forward", [True, False])
def test_variance_is_that_of_the_weights(forward):
    """The mean over 40 rounds within 5 of its standard errors and 5 %: a false alarm of 1e-5 for sixteen pairs."""
    rng, scans = np.random.default_rng(31), 2000
    stones = forward_stones if forward else backward_stones
    rounds = [draws(rng, 1, scans, schedule=FINE) for _ in range(40)]
    found = np.array([stones(batches_of(one, np.zeros(16), schedule=FINE)).least_variance for one in rounds])
    exact = np.expm1(log_second_moment(forward)) / scans
    allowed = 5 * found.std(axis=0, ddof=1) / math.sqrt(40) + 0.05 * exact
    assert (np.abs(found.mean(axis=0) - exact) <= allowed).all()
    # planted fault: the other way's variance
    other = np.expm1(log_second_moment(not forward)) / scans
    assert (np.abs(found.mean(axis=0) - other) > allowed).any()


def test_variance_is_seen_though_the_largest_weights_are_too_rare_to_be_drawn():
    """Two chains, 0 and 1, in which the draws of the lower one never reach where the upper one lives.

    Of energies that are normal, N(0, s^2) at 0 and N(s^2, s^2) at 1, the weights have the variance exp(s^2) - 1. The
    value is missed by more than 6 unless one of 2000 normal numbers is above 5.5: a false alarm of 4e-5.
    """
    spread, scans = 12.0, 2000
    rng = np.random.default_rng(37)
    found = spread * rng.standard_normal((1, scans, 2)) + np.array([0.0, spread**2])
    batches = batches_of(found, np.array([spread**2 / 2]), schedule=np.array([0.0, 1.0]))
    stones = forward_stones(batches)
    error = stones.total().error
    shown = Steps(stones.value, stones.influence, np.zeros(1)).total().error
    missed = abs(stones.value[0] - spread**2 / 2)
    assert missed > 5 * shown
    assert missed < error


def test_variance_of_bennett_is_that_of_its_terms():
    """The mean over 40 rounds within 5 of its standard errors and 2 %: a false alarm of 1e-5 for sixteen pairs.

    Of two chains of n independent draws each, var F / (E F)^2 at the lower and var G / (E G)^2 at the upper one.
    """
    rng, scans, step = np.random.default_rng(33), 2000, np.diff(FINE)
    pivot = np.diff(log_z(FINE)) + 0.3
    rounds = [draws(rng, 1, scans, schedule=FINE) for _ in range(40)]
    found = np.array([bennett(batches_of(one, pivot, schedule=FINE), pivot).least_variance for one in rounds])
    many = draws(rng, 1, 200_000, schedule=FINE)[0]
    up, down = expit(step * many[:, :-1] - pivot), expit(pivot - step * many[:, 1:])
    exact = ((up.std(axis=0) / up.mean(axis=0)) ** 2 + (down.std(axis=0) / down.mean(axis=0)) ** 2) / scans
    allowed = 5 * found.std(axis=0, ddof=1) / math.sqrt(40) + 0.02 * exact
    assert (np.abs(found.mean(axis=0) - exact) <= allowed).all()
    # planted fault: the lower chain's alone
    wrong = (up.std(axis=0) / up.mean(axis=0)) ** 2 / scans
    assert (np.abs(found.mean(axis=0) - wrong) > allowed).all()


# -------------------------------------------------------------------------------------------------------- zeros


def test_zeros_count_as_zero_in_all_estimators():
    """False-alarm rate: 1e-6 for each of four. The likelihood is zero on a quarter: log Z loses log(3/4)."""
    rng = np.random.default_rng(41)
    runs = [all_of(draws(rng, zeros=0.25)) for _ in range(100)]
    exact = EXACT + math.log(0.75)
    for name in EXACT_FOR_ALL_SCHEDULES:
        assert p_of_values([one.estimates[name] for one in runs], exact) > FALSE_ALARM, name


def test_errors_with_zeros():
    """False-alarm rate: 1e-6 for each of four; the scatter of 100 values has a relative error of 1/sqrt(198).

    With four fifths of zeros, chance in their share is most of every error: 0.8 / 0.2 / 1000 of about 0.006.
    """
    rng = np.random.default_rng(43)
    runs = [all_of(draws(rng, zeros=0.8)) for _ in range(100)]
    slack = stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(198)
    for name in EXACT_FOR_ALL_SCHEDULES:
        ratio = error_over_scatter([one.estimates[name] for one in runs])
        assert 1 / (1 + slack) - 0.05 <= ratio <= 1 / (1 - slack) + 0.05, name


def test_influence_of_the_share_of_zeros_on_backward_stones():
    """False-alarm rate: 1e-6, beside 5 % for an estimated memory. Of the first step's variance chance in the share is
    p0 / (1 - p0) / n, fifty times that of the weights on a fine schedule, and no other chain tells of it.
    """
    rng, share, scans = np.random.default_rng(45), 0.8, 1000
    squares = []
    for _ in range(60):
        stones = backward_stones(batches_of(draws(rng, 1, scans, share, FINE), np.zeros(16), schedule=FINE))
        squares.append(Steps(stones.value[:1], stones.influence[:, :, :1], np.zeros(1)).total().error ** 2)
    exact = (share / (1 - share) + np.expm1(log_second_moment(False)[0])) / scans
    ratio = np.array(squares) / exact
    slack = stats.norm.isf(FALSE_ALARM / 2) * ratio.std(ddof=1) / math.sqrt(60)
    assert abs(ratio.mean() - 1) <= 0.05 + slack


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize(
    "steps_of_batches", [forward_stones, backward_stones, lambda batches: bennett(batches, EXACT_STEPS)]
)
def test_influence_is_the_slope_in_the_weight_of_a_batch(steps_of_batches, zeros):
    """Sign and size of every term, also that of the share of zeros, which the variance alone cannot tell."""
    batches = batches_of(draws(np.random.default_rng(46), 2, 90, zeros), n_batches=9)
    influence = steps_of_batches(batches).influence
    step = 1e-5
    for copy, batch in ((0, 0), (1, 4), (1, 8)):
        values = [steps_of_batches(reweighted(batches, copy, batch, 1 + sign * step)).value for sign in (1, -1)]
        slope = (values[0] - values[1]) / (2 * step)
        # the mean of all batches' influences
        assert slope == pytest.approx(influence[copy, batch] / influence[:, :, 0].size, rel=1e-6, abs=1e-9)


def reweighted(batches, copy, batch, factor):
    """Count one batch as if it were longer or shorter."""
    weights = np.ones(batches.scans.shape)
    weights[copy, batch] = factor
    return replace(
        batches,
        scans=weights * batches.scans,
        zeros=weights * batches.zeros,
        stone_sum=weights[None, :, :, None] * batches.stone_sum,
        bridge=weights[None, :, :, None] * batches.bridge,
    )


def test_backward_value_without_its_correction_is_off_by_it():
    """The upper chain never sees the zeros, so its stones are those of the rest of the reference."""
    found = draws(np.random.default_rng(47), zeros=0.25)
    batches = batches_of(found)
    share = np.isneginf(found[:, :, 0]).mean()
    assert batches.zero_share == pytest.approx(share, rel=1e-14)
    _, upper = exponents_of(found)
    uncorrected = -log_mean(-upper)
    corrected = backward_stones(batches).value
    assert corrected[0] == pytest.approx(uncorrected[0] + math.log1p(-share), rel=1e-12)
    assert np.allclose(corrected[1:], uncorrected[1:], rtol=1e-12)


def test_variance_of_backward_weights_is_over_draws_of_positive_likelihood_and_of_their_share():
    """The second moment of the weights is over the draws that have one; the share of the others adds its own."""
    found = draws(np.random.default_rng(53), zeros=0.5)
    lower, upper = exponents_of(found)
    seen = lower[:, :, 0][np.isfinite(lower[:, :, 0])]
    second = logsumexp(-seen) - math.log(seen.size) - log_mean(-upper)[0]
    share = 1 - seen.size / found.shape[1]
    direct = (math.expm1(second) + share / (1 - share)) / found.shape[1]
    assert backward_stones(batches_of(found)).least_variance[0] == pytest.approx(direct, rel=1e-10)
    # planted fault: a mean over all draws, zeros included
    wrong = (math.expm1(second + math.log(0.5)) + share / (1 - share)) / found.shape[1]
    assert wrong != pytest.approx(direct, rel=0.1)


def test_reference_of_zeros_alone_has_no_forward_value():
    found = draws(np.random.default_rng(59), scans=50, zeros=1.0)
    result = all_of(found)
    assert result.estimates["stepping_stone_forward"].value == -math.inf
    assert math.isnan(result.estimates["stepping_stone_forward"].error)
    assert not result.best.valid
    assert np.isfinite(result.best_steps).all()
    assert np.isfinite(result.curve.slope[1:]).all()


def test_thermodynamic_integration_has_no_value_with_zeros():
    found = all_of(draws(np.random.default_rng(61), zeros=0.1))
    for name in ("thermodynamic_sum", "thermodynamic_trapezoid"):
        assert math.isnan(found.estimates[name].value)
        assert not found.estimates[name].valid


# ------------------------------------------------------------------------------------ thermodynamic integration


def exact_energies(schedule):
    """Exact means and variances of the log-likelihood, without noise."""
    p = 1.0 + schedule * EXCESS
    influence = np.zeros((1, 10, len(schedule)))
    variance = 0.5 * DIMENSION * (EXCESS / p) ** 2
    return Energies(-0.5 * DIMENSION * EXCESS / p, variance, np.zeros_like(p), influence, influence, 0.0)


def remainder(schedule):
    """Bound of the corrected trapezoid's error: h^5 / 720 times the largest fourth derivative of the mean."""
    fourth = 12.0 * DIMENSION * EXCESS**5 / (1.0 + schedule[:-1] * EXCESS) ** 5
    return float(np.sum(np.diff(schedule) ** 5 * fourth)) / 720


@pytest.mark.parametrize("n_chains", [5, 10, 40])
def test_thermodynamic_values_and_their_bias(n_chains):
    """Value less the stated bias is the exact evidence, but for the error of the corrected trapezoid."""
    schedule = np.expm1(np.linspace(0.0, 1.0, n_chains) * math.log(PRECISION)) / EXCESS
    found = thermodynamic_integration(schedule, exact_energies(schedule))
    mean, step = exact_energies(schedule).mean, np.diff(schedule)
    assert found["thermodynamic_sum"].value == pytest.approx(float(step @ mean[1:]), rel=1e-13)
    assert found["thermodynamic_trapezoid"].value == pytest.approx(float(step @ (mean[1:] + mean[:-1]) / 2), rel=1e-13)
    for one in found.values():
        assert abs(one.value - one.bias - EXACT) <= remainder(schedule) + 1e-12
        # planted fault: the value itself, as if its bias were nothing
        assert abs(one.value - EXACT) > remainder(schedule)


def test_thermodynamic_bias_falls_with_the_order_of_the_rule():
    """Halving the steps halves the bias of the sum over upper ends and quarters that of the trapezoid."""
    grids = [np.expm1(np.linspace(0.0, 1.0, n) * math.log(PRECISION)) / EXCESS for n in (41, 81)]
    coarse, fine = (thermodynamic_integration(grid, exact_energies(grid)) for grid in grids)
    assert coarse["thermodynamic_sum"].bias / fine["thermodynamic_sum"].bias == pytest.approx(2.0, rel=0.02)
    ratio = coarse["thermodynamic_trapezoid"].bias / fine["thermodynamic_trapezoid"].bias
    assert ratio == pytest.approx(4.0, rel=0.02)


@pytest.mark.parametrize("name", ["thermodynamic_sum", "thermodynamic_trapezoid"])
def test_thermodynamic_integration_of_draws(runs, name):
    """False-alarm rate: 2e-6 each, around the value that exact means give."""
    estimates = [one.estimates[name] for one in runs]
    exact = thermodynamic_integration(SCHEDULE, exact_energies(SCHEDULE))[name].value
    assert p_of_values(estimates, exact) > FALSE_ALARM
    assert 1 / (1 + SLACK) - 0.05 <= error_over_scatter(estimates) <= 1 / (1 - SLACK) + 0.05


# ---------------------------------------------------------------------------------------------------- the curve


def hermite_bound(schedule, beta):
    """h^4 / 384 times the largest fourth derivative of log Z, at the lower end of the interval that holds beta."""
    k = np.clip(np.searchsorted(schedule, beta, side="right") - 1, 0, len(schedule) - 2)
    fourth = 3.0 * DIMENSION * EXCESS**4 / (1.0 + schedule[k] * EXCESS) ** 4
    return (schedule[k + 1] - schedule[k]) ** 4 / 384 * fourth


BETAS = np.linspace(0.0, 1.0, 401)


def test_curve_of_exact_values_is_within_the_bound_of_hermite_interpolation():
    curve = EvidenceCurve(SCHEDULE, log_z(SCHEDULE), np.zeros(N_CHAINS), exact_energies(SCHEDULE).mean, 0.0)
    assert np.array_equal(curve(SCHEDULE), log_z(SCHEDULE))
    assert (np.abs(curve(BETAS) - log_z(BETAS)) <= hermite_bound(SCHEDULE, BETAS) + 1e-12).all()
    # planted fault: straight lines between the betas
    lines = np.interp(BETAS, SCHEDULE, log_z(SCHEDULE))
    assert (np.abs(lines - log_z(BETAS)) > hermite_bound(SCHEDULE, BETAS) + 1e-12).any()


def test_curve_of_draws_at_the_betas_of_the_schedule(runs):
    """False-alarm rate: 1e-6 for each of six betas, and 1e-6 for each of their errors."""
    values = np.array([one.curve.value for one in runs])
    errors = np.array([one.curve.error for one in runs])
    assert (values[:, 0] == 0).all()
    assert (errors[:, 0] == 0).all()
    for k in range(1, N_CHAINS):
        assert stats.ttest_1samp(values[:, k], log_z(SCHEDULE[k])).pvalue > FALSE_ALARM
        ratio = math.sqrt(np.mean(errors[:, k] ** 2)) / values[:, k].std(ddof=1)
        assert 1 / (1 + SLACK) - 0.05 <= ratio <= 1 / (1 - SLACK) + 0.05


def test_curve_of_draws_between_the_betas(runs):
    """The mean curve of all rounds within 5 standard errors and the bound of the interpolation: 2e-4 for 401 betas."""
    curves = np.array([one.curve(BETAS) for one in runs])
    error = curves.std(axis=0, ddof=1) / math.sqrt(RUNS)
    # slopes kept between noisy secants are pulled by no more than the noise of one round's steps
    pulled = 0.1 * curves.std(axis=0, ddof=1)
    allowed = 5 * error + hermite_bound(SCHEDULE, BETAS) + pulled + 1e-12
    assert (np.abs(curves.mean(axis=0) - log_z(BETAS)) <= allowed).all()


def test_slopes_of_a_convex_curve_stay():
    exact = exact_energies(SCHEDULE).mean
    assert np.array_equal(convex_slopes(EXACT_STEPS / np.diff(SCHEDULE), exact), exact)


def test_slopes_that_noise_moved_beyond_the_secants_are_brought_back():
    secants = np.array([-3.0, -2.0, 1.0])
    bounded = convex_slopes(secants, np.array([-50.0, 7.0, -9.0, 90.0]))
    assert np.array_equal(bounded[1:3], [-2.0, -2.0])
    assert -5.0 <= bounded[0] <= -3.0
    assert 1.0 <= bounded[3] <= 7.0


def second_differences(curve):
    values = curve(np.linspace(0.0, 1.0, 2001))
    return np.diff(values, 2)


def test_curve_is_convex_at_its_ends_whatever_the_slopes():
    """A reference under which the log-likelihood has no mean must not bend the curve down."""
    schedule = np.array([0.0, 0.5, 1.0])
    for wild in (-1e9, -np.inf):
        slopes = convex_slopes(np.array([-3.0, -1.0]), np.array([wild, -2.0, -0.5]))
        curve = EvidenceCurve(schedule, np.array([0.0, -1.5, -2.0]), np.zeros(3), slopes, 0.0)
        assert second_differences(curve)[:995].min() >= -1e-12
    assert np.isfinite(convex_slopes(np.array([-3.0, -1.0]), np.array([np.nan, -2.0, -0.5]))).all()
    # the planted fault: the wild slope as it is
    bent = EvidenceCurve(schedule, np.array([0.0, -1.5, -2.0]), np.zeros(3), np.array([-1e9, -2.0, -0.5]), 0.0)
    assert second_differences(bent).min() < -1.0


def test_curve_with_zeros_jumps_at_the_reference():
    """Just above 0 the evidence is log(1 - p0), within 0.05: thirty standard errors of a share of 20 000 draws."""
    curve = all_of(draws(np.random.default_rng(67), 1, 20_000, zeros=0.75)).curve
    assert curve(1e-6) == pytest.approx(math.log(0.25), abs=0.05)


def test_best_estimate_of_chains_that_do_not_overlap_does_not_state_a_small_error():
    """Energies of N(0, 12^2) at 0 and N(144, 12^2) at 1, whose evidence is 72, with a pivot of 0 from a first guess."""
    rng, ends = np.random.default_rng(71), np.array([0.0, 1.0])
    found = 12.0 * rng.standard_normal((1, 2000, 2)) + np.array([0.0, 144.0])
    batches = batches_of(found, np.zeros(1), schedule=ends)
    best = evidence(ends, np.zeros(1), batches, energies(batches, np.zeros(2))).best
    assert abs(best.value - 72.0) <= 5 * best.error


def test_infinite_steps_of_both_signs_make_no_curve_and_no_warning():
    """A short round may see no positive likelihood on one side of a pair, and nothing else on another."""
    none = np.zeros((1, 4, 3))
    steps = Steps(np.array([-np.inf, np.inf, 0.5]), none, np.zeros(3))
    means = Energies(np.zeros(4), np.ones(4), np.zeros(4), np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), 1.0)
    curve = evidence_curve(np.linspace(0, 1, 4), steps, means)
    assert curve.value[:2].tolist() == [0.0, -np.inf]
    assert np.isnan(curve.value[2:]).all()
