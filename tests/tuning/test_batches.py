"""Standard errors from batches: against exact errors of independent and of autoregressive input."""

import math

import numpy as np
import pytest
from scipy import stats

from sterna.engine.record import layout_of, new_record
from sterna.tuning.batches import estimate, merge, standard_error, standard_errors
from sterna.tuning.estimate import Estimate

FALSE_ALARM = 1e-6


def autoregression(memory, runs, copies, batches, seed=5):
    """Stationary AR(1) batches of unit noise: (runs, copies, batches)."""
    noise = np.random.default_rng(seed).standard_normal((batches, runs, copies))
    chain = np.empty_like(noise)
    chain[0] = noise[0] / math.sqrt(1 - memory**2)
    for k in range(1, batches):
        chain[k] = memory * chain[k - 1] + noise[k]
    return np.moveaxis(chain, 0, -1)


def exact_error(memory, copies, batches):
    """Standard error of the mean of an AR(1) process of unit noise, from its autocovariance."""
    lags = np.arange(1, batches)
    inflation = 1 + 2 * np.sum((1 - lags / batches) * memory**lags)
    return math.sqrt(inflation / (1 - memory**2) / batches / copies)


def errors_of(series):
    """Standard errors and degrees of freedom for every run, from its influence."""
    centred = series - series.mean(axis=(1, 2), keepdims=True)
    found = np.array([standard_error(run) for run in centred])
    return found[:, 0], found[:, 1]


def covered(series, errors, freedom, level=0.9):
    """How many intervals around the runs' means hold the true mean, 0."""
    means = series.mean(axis=(1, 2))
    intervals = [Estimate(*numbers).interval(level) for numbers in zip(means, errors, freedom, strict=True)]
    return sum(low < 0 < high for low, high in intervals)


# --------------------------------------------------------------------------------------------- standard errors


def test_error_by_hand():
    """Below four batches in a copy they count as independent."""
    influence = np.array([[2.0, 4.0], [9.0, 1.0]]) - 4.0
    error, freedom = standard_error(influence)
    assert error == pytest.approx(np.std([2.0, 4.0, 9.0, 1.0], ddof=1) / math.sqrt(4), rel=1e-14)
    assert freedom == 1.0


def p_of_squares(errors, exact, batches):
    """Exact two-sided test: squared errors of independent normal batches are chi-square, of batches - 1 degrees."""
    freedom = errors.size * (batches - 1)
    total = float(np.sum(errors**2)) / exact**2 * (batches - 1)
    return 2 * min(stats.chi2.cdf(total, freedom), stats.chi2.sf(total, freedom))


@pytest.mark.parametrize("copies", [2, 3, 7])
def test_few_batches_of_several_copies_are_exact_for_independent_input(copies):
    """False-alarm rate: 1e-6 each. Three batches in a copy are too few for a memory, so nothing is estimated of it."""
    series = autoregression(0.0, 5000, copies, 3)
    errors, _ = errors_of(series)
    assert p_of_squares(errors, exact_error(0.0, copies, 3), 3 * copies) > FALSE_ALARM
    # planted fault: one degree of freedom too many
    wrong = errors * math.sqrt(1 - 1 / (3 * copies))
    assert p_of_squares(wrong, exact_error(0.0, copies, 3), 3 * copies) < FALSE_ALARM


def relative_bias(memory, copies, batches, runs=400):
    """Mean squared error found over the exact one, less 1, with its own standard error."""
    errors, _ = errors_of(autoregression(memory, runs, copies, batches))
    ratio = (errors / exact_error(memory, copies, batches)) ** 2
    return ratio.mean() - 1, ratio.std(ddof=1) / math.sqrt(runs)


@pytest.mark.parametrize(("copies", "batches"), [(1, 200), (2, 200), (4, 64)])
def test_error_of_independent_input(copies, batches):
    """False-alarm rate: 1e-6 each. What is estimated of a memory that is not there moves the variance by up to 5 %."""
    bias, error = relative_bias(0.0, copies, batches)
    assert abs(bias) <= 0.05 + stats.norm.isf(FALSE_ALARM / 2) * error


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("memory", [0.5, 0.8])
def test_error_of_batches_that_are_shorter_than_the_memory(memory, copies):
    """False-alarm rate: 1e-6 each, beside a bias of at most 10 % for 200 batches of up to nine batches' memory."""
    bias, error = relative_bias(memory, copies, 200)
    assert abs(bias) <= 0.10 + stats.norm.isf(FALSE_ALARM / 2) * error


def test_checks_catch_errors_that_ignore_the_memory():
    series = autoregression(0.5, 400, 1, 200)
    naive = series.std(axis=(1, 2), ddof=1) / math.sqrt(200)
    ratio = (naive / exact_error(0.5, 1, 200)) ** 2
    assert ratio.mean() - 1 < -0.6


@pytest.mark.parametrize(
    ("memory", "copies", "batches"), [(0.0, 1, 200), (0.0, 3, 50), (0.5, 1, 200), (0.9, 1, 200), (0.9, 4, 200)]
)
def test_intervals_cover_about_as_often_as_they_say(memory, copies, batches):
    """False-alarm rate: 1e-6 each, for a coverage of 90 % that may be missed by 4 % because the memory is estimated."""
    series = autoregression(memory, 1000, copies, batches, seed=7)
    hits = covered(series, *errors_of(series))
    assert stats.binomtest(hits, 1000, 0.86, alternative="less").pvalue > FALSE_ALARM
    assert stats.binomtest(hits, 1000, 0.94, alternative="greater").pvalue > FALSE_ALARM


def test_coverage_check_catches_errors_a_third_too_small():
    series = autoregression(0.5, 1000, 1, 200, seed=7)
    errors, freedom = errors_of(series)
    hits = covered(series, errors * 2 / 3, freedom)
    assert stats.binomtest(hits, 1000, 0.86, alternative="less").pvalue < FALSE_ALARM


def test_copies_of_different_means_are_worth_one_draw_each():
    """Copies that sit at 0 and 1 and never move: the error is that of two draws, and not of 400."""
    series = np.array([[0.0], [1.0]]) + 1e-3 * autoregression(0.0, 1, 2, 200)[0]
    error, freedom = standard_error(series - series.mean())
    assert error > 0.2
    assert freedom == 1.0
    # planted fault: batches that count as independent whatever their copy
    assert series.std(ddof=1) / math.sqrt(series.size) < 0.03


@pytest.mark.parametrize("scale", [1e-250, 1e-9, 1e9, 1e200, 1e307])
def test_error_scales_with_the_influence(scale):
    series = autoregression(0.5, 1, 2, 100)[0]
    plain, scaled = standard_error(series), standard_error(scale * series)
    assert scaled[0] == pytest.approx(scale * plain[0], rel=1e-9)
    assert scaled[1] == pytest.approx(plain[1], rel=1e-9)


@pytest.mark.parametrize(
    "influence", [[[0.0]], [[1.0, 2.0, 4.0]], [[-1.0], [1.0]], [[1.0, 2.0, 3.0, np.nan]], [[np.inf, 0.0, 1.0, 2.0]]]
)
def test_fewer_than_four_batches_or_a_broken_one_have_no_error(influence):
    error, freedom = standard_error(np.array(influence))
    assert math.isnan(error)
    assert freedom == 1.0


def test_one_batch_in_each_of_four_copies_is_enough():
    assert standard_error(np.array([[-1.0], [1.0], [-1.0], [1.0]]))[0] == pytest.approx(math.sqrt(4 / 3) / 2)


def test_constant_input_has_no_error():
    assert standard_error(np.zeros((2, 100)))[0] == 0.0


def test_freedom_never_exceeds_the_batches():
    """Antithetic batches have an effective size above their number, but show no more of their variance for that.

    Their error is on the safe side, as the effective size of 100 numbers is taken to be 200 at most.
    """
    errors, freedom = errors_of(autoregression(-0.9, 20, 1, 100))
    assert (freedom <= 25.0).all()
    assert (errors > exact_error(-0.9, 1, 100)).all()


def test_standard_errors_are_those_of_each_mean():
    series = np.moveaxis(autoregression(0.3, 4, 2, 60), 0, -1)
    assert np.array_equal(standard_errors(series), [standard_error(series[:, :, k])[0] for k in range(4)])


# ----------------------------------------------------------------------------------------------------- batches


def random_records(copies=3, n_scans=450, n_chains=4):
    """Records with random sums, of batches of two or three scans."""
    rng = np.random.default_rng(11)
    records = []
    for _ in range(copies):
        record = new_record(n_scans, layout_of(n_scans), n_chains, 1, 0, 1)
        for field in (record.rejection, record.second_rejection, record.stone_scale, record.bridge, record.moments):
            field[...] = rng.standard_normal(field.shape)
        record.zeros[:] = rng.integers(0, 3, record.zeros.size)
        record.stone_sum[...] = rng.random(record.stone_sum.shape)
        records.append(record)
    return records


@pytest.mark.parametrize("copies", [1, 3])
def test_merged_records_stand_side_by_side(copies):
    records = random_records(copies)
    batches = merge(records)
    for copy, record in enumerate(records):
        for name in ("scans", "zeros", "rejection", "second_rejection"):
            assert np.array_equal(getattr(batches, name)[copy], getattr(record, name))
        for name in ("stone_scale", "stone_sum", "bridge", "moments"):
            assert np.array_equal(getattr(batches, name)[:, copy], getattr(record, name))
    zeros, scans = sum(record.zeros.sum() for record in records), sum(record.scans.sum() for record in records)
    assert batches.zero_share == pytest.approx(zeros / scans, rel=1e-15)


def test_mean_is_over_scans_and_not_over_batches():
    records = random_records()
    batches = merge(records)
    direct = sum(record.rejection.sum(axis=0) for record in records) / (3 * 450)
    assert np.allclose(batches.mean(batches.rejection), direct, rtol=1e-13)
    # the planted fault: the mean of the batches' means
    wrong = (batches.rejection / batches.scans[:, :, None]).mean(axis=(0, 1))
    assert not np.allclose(wrong, direct, rtol=1e-3)


def test_influence_is_how_far_a_batch_moves_the_mean():
    """Its mean is zero, and its derivative that of the mean by the batch's weight, times the number of batches."""
    batches = merge(random_records())
    influence = batches.influence(batches.rejection)
    assert influence.shape == batches.rejection.shape
    assert np.allclose(influence.mean(axis=(0, 1)), 0.0, atol=1e-15)
    copy, batch, tiny = 1, 17, 1e-6
    sums, scans = batches.rejection.sum(axis=(0, 1)), batches.scans.sum()
    moved = (sums + tiny * batches.rejection[copy, batch]) / (scans + tiny * batches.scans[copy, batch])
    slope = (moved - sums / scans) / tiny * batches.scans.size
    assert np.allclose(influence[copy, batch], slope, rtol=1e-4)


def test_influence_of_a_count_has_no_pairs():
    batches = merge(random_records())
    influence = batches.influence(batches.zeros)
    direct = (batches.zeros - batches.scans * batches.zero_share) / batches.scans.mean()
    assert np.allclose(influence, direct, rtol=1e-13, atol=1e-13)


# --------------------------------------------------------------------------------------------------- estimates


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_none_have_no_error(value):
    found = estimate(value, np.zeros((1, 10)))
    assert not found.valid
    assert math.isnan(found.error)


def test_error_is_at_least_what_theory_knows():
    influence = autoregression(0.0, 1, 1, 100)[0]
    shown, _ = standard_error(influence)
    assert estimate(1.0, influence).error == shown
    assert estimate(1.0, influence, least_variance=4.0).error == 2.0
    assert estimate(1.0, influence, least_variance=1e-9).error == shown
    assert estimate(1.0, influence, bias=0.5).bias == 0.5
    # of too few batches it stays unknown
    assert math.isnan(estimate(1.0, np.zeros((1, 2)), least_variance=4.0).error)
