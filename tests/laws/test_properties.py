"""Properties that hold for all inputs, tried on many by Hypothesis: schedules, barriers, records, journeys, numbers."""

import json
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import sterna
from sterna.engine.circles import wrap_states
from sterna.engine.record import BY_SCAN, Layout, coarsened, cut, extended, layout_of, new_record
from sterna.result.ending import duration
from sterna.result.goal import goal_of
from sterna.target.identity import digest
from sterna.theory.rates import optimal_round_trip_rate, predicted_round_trip_rate, schedule_inefficiency
from sterna.tuning.barrier import communication_barrier, placement_barrier, without_saturation, without_zeros
from sterna.tuning.batches import standard_error
from sterna.tuning.estimate import Estimate
from sterna.tuning.journeys import effective_number, journey_numbers, journeys_of_draws, sizes_of, sums_by_journey
from sterna.tuning.schedule import uniform_schedule, update_schedule
from sterna.tuning.share import Share

quick = settings(max_examples=60)

REJECTIONS = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)
FINITE = st.floats(-1e6, 1e6)


@st.composite
def schedules_and_rejections(draw):
    """An increasing schedule from 0 to 1, however uneven, and a rejection for each interval."""
    rejection = draw(REJECTIONS)
    steps = np.array(draw(st.lists(st.floats(1e-9, 1.0), min_size=len(rejection), max_size=len(rejection))))
    schedule = np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])
    schedule[-1] = 1.0
    assume((np.diff(schedule) > 0).all())
    return schedule, rejection


@st.composite
def index_processes(draw, scheme=None):
    """The index process of a copy under DEO with arbitrary acceptance."""
    n, scans, seed = draw(st.integers(2, 8)), draw(st.integers(1, 60)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    chains, rows = np.arange(n), []
    for scan in range(scans):
        for pair in range(scan % 2, n - 1, 2):
            if rng.random() < 0.7:
                a, b = np.flatnonzero(chains == pair)[0], np.flatnonzero(chains == pair + 1)[0]
                chains[a], chains[b] = chains[b], chains[a]
        rows.append(chains.copy())
    return np.array(rows, dtype=np.int16)


# -- schedules and barriers ------------------------------------------------------------------------------------------


@quick
@given(schedules_and_rejections(), st.integers(2, 60))
def test_a_schedule_increases_from_exactly_0_to_exactly_1(given_, n_chains):
    found = update_schedule(communication_barrier(*given_), n_chains)
    assert (found[0], found[-1], len(found)) == (0.0, 1.0, n_chains)
    assert (np.diff(found) > 0).all()


@quick
@given(schedules_and_rejections(), st.integers(3, 40))
def test_intervals_of_a_schedule_hold_equal_parts_of_the_barrier(given_, n_chains):
    barrier = communication_barrier(*given_)
    assume(barrier.smooth.y[-1] > 1e-3)
    parts = np.diff(barrier.smooth(update_schedule(barrier, n_chains)))
    # each interval also counts for a millionth of the barrier times its length
    assert np.ptp(parts) < 1e-3 * barrier.smooth.y[-1] + 1e-6


@quick
@given(schedules_and_rejections())
def test_the_barrier_is_the_sum_of_rejections_and_increases(given_):
    schedule, rejection = given_
    barrier = communication_barrier(schedule, rejection)
    assert barrier.smooth.y[-1] == pytest.approx(rejection.sum(), abs=1e-12)
    at = barrier.cumulative(np.linspace(0, 1, 201))
    assert (np.diff(at) >= -1e-12).all()
    assert at[-1] == pytest.approx(barrier.total)


@quick
@given(st.integers(2, 50))
def test_a_barrier_of_zero_spaces_betas_equally(n_chains):
    flat = communication_barrier(np.array([0.0, 0.3, 1.0]), np.zeros(2))
    assert (update_schedule(flat, n_chains) == uniform_schedule(n_chains)).all()


@quick
@given(REJECTIONS, st.floats(0, 1))
def test_zeros_are_taken_from_the_first_rejection_alone(rejection, share):
    found = without_zeros(rejection, share)
    assert (found[1:] == rejection[1:]).all()
    assert 0 <= found[0] <= 1
    if share < 1 and rejection[0] >= share:
        assert share + (1 - share) * found[0] == pytest.approx(rejection[0], abs=1e-9)


@quick
@given(REJECTIONS)
def test_energies_of_two_values_have_no_saturation_to_correct(rejection):
    """There rejections add up exactly, so that the correction is 0."""
    assume(len(rejection) > 1)
    assert without_saturation(rejection, rejection[:-1] + rejection[1:]) == pytest.approx(rejection)


@quick
@given(schedules_and_rejections(), st.floats(0, 0.9))
def test_a_barrier_for_placing_chains_never_decreases(given_, share):
    schedule, rejection = given_
    deviation = 1.0 + np.arange(len(schedule))[::-1] ** 2.0
    found = placement_barrier(schedule, rejection, share, deviation)
    assert (np.diff(found.smooth.y) >= 0).all()
    assert (np.diff(found.smooth.x) > 0).all()


@quick
@given(REJECTIONS.filter(lambda r: r.max() < 0.999))
def test_round_trips_of_deo_are_at_least_as_frequent_as_of_seo(rejection):
    deo, seo = (predicted_round_trip_rate(rejection, scheme) for scheme in ("deo", "seo"))
    assert 0 < seo <= deo <= 0.5
    assert deo == pytest.approx(1 / (2 + 2 * schedule_inefficiency(rejection)))


@quick
@given(REJECTIONS.filter(lambda r: r.max() < 0.999))
def test_no_schedule_beats_the_optimal_rate(rejection):
    assert predicted_round_trip_rate(rejection) <= optimal_round_trip_rate(float(rejection.sum())) + 1e-12


# -- records ----------------------------------------------------------------------------------------------------------


@quick
@given(st.integers(1, 5000), st.integers(1, 20_000))
def test_batches_hold_every_scan_once(begun, n_scans):
    layout = layout_of(begun)
    sizes = layout.sizes(n_scans)
    assert sizes.sum() == n_scans
    assert (sizes >= 0).all()
    # a round that is extended keeps the borders of its batches
    longer = layout.sizes(n_scans + 7)
    assert (np.cumsum(longer)[: len(sizes) - 1] == np.cumsum(sizes)[:-1]).all()


def filled(n_scans, layout, thin, seed):
    """A record with random content."""
    rng, record = np.random.default_rng(seed), new_record(n_scans, layout, 4, 2, 1, thin)
    for name, array in record._asdict().items():
        if name not in ("scans", "stone_scale"):
            array[...] = rng.integers(0, 50, array.shape)
    record.stone_scale[...] = rng.normal(size=record.stone_scale.shape)
    return record


@quick
@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 5), st.integers(0, 99))
def test_a_record_that_is_extended_and_cut_is_the_same(n_scans, more, thin, seed):
    layout = layout_of(n_scans)
    record = filled(n_scans, layout, thin, seed)
    again = cut(extended(record, n_scans + more, layout, thin), n_scans, layout, thin)
    for name, array in record._asdict().items():
        assert np.array_equal(getattr(again, name), array), name


@quick
@given(st.integers(2, 400), st.integers(1, 4), st.integers(0, 99))
def test_merging_pairs_of_batches_keeps_all_sums(n_scans, thin, seed):
    layout = layout_of(n_scans)
    record = filled(n_scans, layout, thin, seed)
    half = coarsened(record)
    for name, axis in (("rejection", 0), ("second_rejection", 0), ("zeros", 0), ("bridge", 1), ("moments", 1)):
        assert getattr(half, name).sum(axis=axis) == pytest.approx(getattr(record, name).sum(axis=axis)), name
    total = (record.stone_sum * np.exp(record.stone_scale)).sum(axis=1)
    assert (half.stone_sum * np.exp(half.stone_scale)).sum(axis=1) == pytest.approx(total)
    for name in BY_SCAN:
        assert getattr(half, name) is getattr(record, name)


@quick
@given(st.integers(1, 10**6), st.integers(1, 200), st.integers(1, 10**6))
def test_a_layout_has_as_many_batches_as_it_says(scans, batches, n_scans):
    assume(batches <= scans)
    assert len(Layout(scans, batches).sizes(scans)) == batches


# -- journeys and errors ---------------------------------------------------------------------------------------------


@quick
@given(index_processes())
def test_a_journey_begins_after_each_visit_to_the_reference(positions):
    for path, numbers in zip(positions.T, journey_numbers(positions), strict=True):
        begins = np.flatnonzero(np.diff(numbers)) + 1
        assert (path[begins - 1] == 0).all()
        assert len(begins) == (path[:-1] == 0).sum()


@quick
@given(st.lists(index_processes(), min_size=1, max_size=1), st.integers(1, 3))
def test_every_draw_belongs_to_one_journey(processes, thin):
    assume(len(processes[0]) >= thin)
    journeys = journeys_of_draws(processes, thin)
    assert journeys.shape == (1, len(processes[0]) // thin)
    sizes = sizes_of(journeys)
    assert sizes.sum() == journeys.size
    assert (sizes > 0).all()
    assert 1 <= effective_number(sizes) <= len(sizes) + 1e-9


@quick
@given(arrays_of.arrays(np.float64, (3, 20), elements=FINITE), st.lists(st.integers(0, 5), min_size=20, max_size=20))
def test_sums_by_journey_add_up(values, journeys):
    _, dense = np.unique(journeys, return_inverse=True)
    found = sums_by_journey(values, dense)
    assert found.shape == (3, dense.max() + 1)
    assert found.sum(axis=1) == pytest.approx(values.sum(axis=1), abs=1e-6)


@quick
@given(arrays_of.arrays(np.float64, st.integers(8, 100), elements=st.floats(-10, 10)), st.floats(0.1, 10))
def test_a_standard_error_is_proportional_to_its_influence(influence, factor):
    of_copies = (influence - influence.mean()).reshape(1, -1)
    error, freedom = standard_error(of_copies)
    scaled, same = standard_error(factor * of_copies)
    assert scaled == pytest.approx(factor * error, rel=1e-9, abs=1e-12)
    assert (math.isnan(freedom) and math.isnan(same)) or same == pytest.approx(freedom, rel=1e-6)


# -- numbers that users see -----------------------------------------------------------------------------------------


@quick
@given(FINITE, st.floats(1e-6, 1e3), st.floats(2, 1e6), FINITE)
def test_estimates_move_and_turn_with_their_intervals(value, error, freedom, shift):
    one = Estimate(value, error, freedom)
    low, high = one.interval()
    assert low <= value <= high
    assert (one + shift).interval() == pytest.approx((low + shift, high + shift))
    assert (-one).interval() == pytest.approx((-high, -low))
    assert one.interval(0.99)[0] <= low


@quick
@given(FINITE, st.floats(1e-6, 1e3), FINITE, st.floats(1e-6, 1e3))
def test_a_difference_has_both_errors(a, b, c, d):
    found = Estimate(a, b, 100.0) - Estimate(c, d, 50.0)
    assert found.value == pytest.approx(a - c)
    assert found.error == pytest.approx(math.hypot(b, d))
    assert found.interval()[0] <= found.value <= found.interval()[1]


@quick
@given(st.floats(0, 1), st.floats(1, 1e5), st.floats(3, 1e5))
@example(0.0, 50.0, 50.0)
def test_intervals_of_shares_are_within_0_and_1_and_hold_the_share(value, size, freedom):
    low, high = Share.of(value, size, freedom).interval()
    assert 0.0 <= low <= value <= high <= 1.0
    assert high > low


@quick
@given(arrays_of.arrays(np.float64, (7, 2), elements=st.floats(-1e6, 1e6)), st.floats(-10, 10), st.floats(0.1, 10))
def test_wrapping_twice_is_wrapping_once(states, first, period):
    circles = np.array([first, period, 0.0, 0.0])
    once = wrap_states(circles, states)
    assert ((once[:, 0] >= first) & (once[:, 0] < first + period)).all()
    assert (once[:, 1] == states[:, 1]).all()
    assert (wrap_states(circles, once) == once).all()


GOALS = st.fixed_dictionaries(
    {},
    optional={
        "log_evidence": st.floats(1e-6, 10),
        "ess": st.floats(1, 1e6) | st.dictionaries(st.sampled_from(["mu", "sigma"]), st.floats(1, 1e6), min_size=1),
        "restarts": st.integers(1, 10**6),
        "seconds": st.floats(0.001, 1e6),
    },
).filter(bool)


@quick
@given(GOALS)
def test_goals_are_what_was_asked_for(goals):
    found = goal_of(goals)
    assert found.log_evidence == goals.get("log_evidence")
    assert found.restarts == goals.get("restarts")
    assert found.seconds == goals.get("seconds")
    json.dumps(found.to_dict(), allow_nan=False)
    assert goal_of(found.to_dict()) == found


@quick
@given(st.dictionaries(st.text(min_size=1), st.floats() | st.text() | st.none(), min_size=1))
def test_goals_that_mean_nothing_are_refused_in_words(goals):
    assume(not set(goals) <= {"log_evidence", "ess", "restarts", "seconds"})
    with pytest.raises(sterna.OptionError, match="until="):
        goal_of(goals)


@quick
@given(st.floats(0, 1e9))
def test_times_are_short_texts(seconds):
    assert len(duration(seconds)) <= 16


@quick
@given(
    st.recursive(
        st.none() | st.floats() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_equal_values_have_equal_digests(value):
    copy = json.loads(json.dumps(value)) if value == value else value
    if repr(copy) == repr(value):
        assert digest(copy) == digest(value)
