"""The best of several explorers is found: by records whose prices are known, and on targets that are known."""

import math

import numpy as np
import pytest
from quick import first

import sterna
from sterna.explorers.base import MAX_DIVERGED
from sterna.explorers.best import (
    EQUAL_ROUNDS,
    MIN_CALLS,
    MIN_ROUNDS,
    ON_TRIAL,
    SHARED_CALLS,
    Head,
    PartRecord,
    Quantity,
    Sums,
    Trial,
)
from sterna.ground.rows import columns, new_row, size_of

CHAINS, PARTS, WATCHED = 4, 3, 2
COSTS = {"evaluation_cost": 1.0, "gradient_cost": 2.0}
TRIAL = Trial(("a", "b", "c"), WATCHED)
ROW = new_row(
    Head,
    TRIAL.sizes,
    parts=PARTS,
    chosen=ON_TRIAL,
    watched=WATCHED,
    rounds=MIN_ROUNDS,
    scales=1.0,
    weights=1 / 3,
    **COSTS,
)
HEAD = np.tile(ROW, (CHAINS, 1))
NEVER = np.zeros((PARTS, CHAINS))


def statistics(forgotten, cost, gradients=(0, 0, 0), calls=2 * MIN_CALLS, variance=0.25):
    """Rows in which each part forgets so much of each quantity, (part, quantity), at such a cost a call."""
    rows = np.zeros((CHAINS, size_of(Sums, *TRIAL.sizes)))
    records, values = TRIAL.split(rows)
    records[:, :, PartRecord.calls] = calls
    records[:, :, PartRecord.evaluations] = calls * np.array(cost)
    records[:, :, PartRecord.gradients] = calls * np.array(gradients)
    columns(records, PartRecord.moves, WATCHED)[:] = (
        (calls * np.ones(PARTS))[:, None] * 2.0 * variance * np.array(forgotten)
    )
    values[:, :, Quantity.squashed_square] = np.sum(np.ones(PARTS) * calls) * variance
    rows[0] = 0.0
    return rows


def test_price_is_the_cost_of_an_independent_draw_of_the_slowest_quantity():
    rows = statistics([[1.0, 0.5], [0.2, 0.5], [0.5, 0.5]], [10, 1, 2], [0, 0, 3])
    found = TRIAL.prices(*TRIAL.split(rows[1:]), **COSTS)
    assert found == pytest.approx([10 * 3, 1 * 9, (2 + 2 * 3) * 3])


def test_a_part_that_was_never_called_has_no_finite_price():
    rows = statistics(np.full((3, 2), 0.5), [10, 1, 2], calls=np.array([48, 0, 48]))
    assert TRIAL.prices(*TRIAL.split(rows[1:]), **COSTS) == pytest.approx([30, np.inf, 6])


def test_few_calls_share_what_all_chains_have_seen():
    """One call per chain, which moved in one chain of three: it forgets a third, in no chain nothing."""
    rows = statistics([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [1, 1, 1], calls=1)
    records = TRIAL.split(rows)[0]
    columns(records, PartRecord.moves, WATCHED)[2:, 0] = 0.0
    forgotten = TRIAL.forgotten(*TRIAL.split(rows[1:]))
    expected = (np.array([1.0, 0.0, 0.0]) + SHARED_CALLS / 3) / (1 + SHARED_CALLS)
    assert forgotten[:, 0, 0] == pytest.approx(expected)
    assert forgotten[:, 1:] == pytest.approx(1.0)


def weights_after(rows, head=HEAD, rounds=None, expensive=1.0):
    given = head.copy()
    given[:, Head.expensive] = expensive
    given[:, Head.rounds] = EQUAL_ROUNDS if rounds is None else rounds
    return columns(TRIAL.tune(given, rows, NEVER)[0], Head.weights, *TRIAL.sizes)


def test_parts_share_the_evaluations_of_an_expensive_target():
    """Called in inverse proportion to their cost, once all have been called equally often in the first rounds."""
    rows = statistics(np.full((3, 2), 0.01), [10, 1, 2], [0, 0, 1], calls=10)
    assert weights_after(rows) == pytest.approx(np.array([1 / 10, 1 / 1, 1 / 4]) / 1.35)
    assert weights_after(rows, expensive=0.0) == pytest.approx(1 / 3)
    assert weights_after(rows, rounds=EQUAL_ROUNDS - 2) == pytest.approx(1 / 3)


def test_a_part_that_can_only_lose_is_given_up():
    """A call of the first costs more than twice the second's independent draws, which cost 3."""
    rows = statistics([[1.0, 1.0], [0.5, 0.5], [0.1, 0.1]], [7, 1, 2], calls=10)
    given_up = weights_after(rows, rounds=MIN_ROUNDS)
    assert given_up == pytest.approx([0, 2 / 3, 1 / 3])
    rows = statistics([[1.0, 1.0], [0.5, 0.5], [0.1, 0.1]], [5, 1, 2], calls=10)
    assert (weights_after(rows, rounds=MIN_ROUNDS) > 0).all()
    # and it is not missed when the others are compared
    head = HEAD.copy()
    columns(head, Head.weights, *TRIAL.sizes)[:] = given_up
    head[:, Head.expensive] = 1.0
    calls = np.array([0, 2 * MIN_CALLS, MIN_CALLS])
    rows = statistics([[1.0, 1.0], [0.5, 0.5], [0.1, 0.1]], [7, 1, 2], calls=calls)
    assert TRIAL.chosen(TRIAL.tune(head, rows, NEVER)) == "b"


def test_what_is_drawn_rarely_needs_fewer_calls_per_chain_but_not_fewer_in_all():
    head = HEAD.copy()
    columns(head, Head.weights, *TRIAL.sizes)[:] = [0.1, 0.8, 0.1]
    enough = statistics(np.full((3, 2), 0.5), [9, 1, 9], calls=np.array([MIN_CALLS / 3, MIN_CALLS, MIN_CALLS / 3]))
    assert TRIAL.chosen(TRIAL.tune(head, enough, NEVER)) == "b"
    for calls in ([MIN_CALLS / 3 - 1, MIN_CALLS, MIN_CALLS / 3], [MIN_CALLS / 3, MIN_CALLS - 1, MIN_CALLS / 3]):
        rows = statistics(np.full((3, 2), 0.5), [9, 1, 9], calls=np.array(calls))
        assert TRIAL.chosen(TRIAL.tune(head, rows, NEVER)) is None


def test_price_does_not_depend_on_the_mean_of_a_quantity():
    rows = statistics(np.full((3, 2), 0.5), [10, 1, 2])
    quantities, count = TRIAL.split(rows)[1], PARTS * 2 * MIN_CALLS
    quantities[:, :, Quantity.squashed] = 0.5 * count
    quantities[:, :, Quantity.squashed_square] += 0.25 * count
    assert TRIAL.prices(*TRIAL.split(rows[1:]), **COSTS) == pytest.approx([30, 3, 6])


def test_chains_that_a_part_never_met_have_no_price():
    rows = statistics(np.full((3, 2), 0.5), [10, 1, 2])
    rows[2] = 0.0
    assert TRIAL.prices(*TRIAL.split(rows[1:]), **COSTS) == pytest.approx([30, 3, 6])


def test_the_cheapest_is_chosen_and_stays():
    head = TRIAL.tune(HEAD, statistics([[1.0, 0.5], [0.2, 0.5], [0.5, 0.5]], [10, 1, 2]), NEVER)
    assert (head[:, Head.chosen] == 2).all()
    assert TRIAL.chosen(head) == "c"
    other = statistics(np.full((3, 2), 0.5), [1, 9, 9])
    assert TRIAL.chosen(TRIAL.tune(head, other, NEVER)) == "c"
    # but not if it diverges later
    diverged = NEVER.copy()
    diverged[2, 1] = 2 * MAX_DIVERGED
    assert TRIAL.chosen(TRIAL.tune(head, other, diverged)) == "a"


def test_nothing_is_chosen_before_parts_are_tuned():
    """However many copies called them."""
    early = HEAD.copy()
    early[:, Head.rounds] = MIN_ROUNDS - 1
    head = TRIAL.tune(early, statistics(np.full((3, 2), 0.5), [1, 2, 3], calls=1000), NEVER)
    assert TRIAL.chosen(head) is None
    assert (head[:, Head.rounds] == MIN_ROUNDS).all()


def test_a_choice_needs_four_rounds_before_it_and_24_calls_of_each():
    rows = [statistics(np.full((3, 2), 0.5), [3, 1, 2], calls=calls) for calls in (23, 24)]
    heads = [HEAD.copy(), HEAD.copy()]
    heads[0][:, Head.rounds], heads[1][:, Head.rounds] = 3, 4
    chosen = [[TRIAL.chosen(TRIAL.tune(head, row, NEVER)) for row in rows] for head in heads]
    assert chosen == [[None, None], [None, "b"]]


def test_what_no_part_forgets_tells_nothing():
    """Modes far apart: neither jumps, and the one that moves within them is the better one."""
    rows = statistics([[1e-9, 0.5], [1e-9, 0.1], [1e-9, 0.01]], [3, 1, 1])
    assert TRIAL.prices(*TRIAL.split(rows[1:]), **COSTS) == pytest.approx([9, 19, 199])


def test_rounding_is_no_variance():
    rows = statistics([[1.0, 0.5], [1.0, 0.5], [1.0, 0.5]], [1, 1, 1])
    records, values = TRIAL.split(rows)
    values[:, 0, [Quantity.squashed, Quantity.squashed_square]] = [0.1 * 144, 0.01 * 144 * (1 + 1e-15)]
    columns(records, PartRecord.moves, WATCHED)[:, :, 0] = [1e-15, 0.0, 0.0]
    assert TRIAL.prices(*TRIAL.split(rows[1:]), **COSTS) == pytest.approx([3, 3, 3])


def test_what_evaluates_nothing_still_costs_a_call():
    rows = statistics([[1e-6, 1e-6], [1.0, 1.0], [1.0, 1.0]], [0, 5, 6])
    assert np.argmin(TRIAL.prices(*TRIAL.split(rows[1:]), **COSTS)) == 1


def test_what_diverges_is_not_chosen():
    rows = statistics([[1.0, 0.5], [0.2, 0.5], [0.5, 0.5]], [10, 1, 2])
    # in whatever chain
    for chain in (1, 2, 3):
        diverged = NEVER.copy()
        diverged[2, chain] = 2 * MAX_DIVERGED
        assert TRIAL.chosen(TRIAL.tune(HEAD, rows, diverged)) == "b"
    # a chain that was never explored diverges nowhere
    diverged = NEVER.copy()
    diverged[2, 0] = 1.0
    assert TRIAL.chosen(TRIAL.tune(HEAD, rows, diverged)) == "c"
    # if all diverge, the first is taken, which is the one that needs no step size
    assert TRIAL.chosen(TRIAL.tune(HEAD, rows, np.ones((PARTS, CHAINS)))) == "a"


def test_while_on_trial_the_safest_reaches_all():
    """Once one is chosen nobody counts calls, and its own share says what it does not reach."""
    shares = np.array([np.zeros(CHAINS), np.full(CHAINS, 0.3), np.full(CHAINS, 0.1)])
    rows = statistics([[1.0, 0.5], [0.2, 0.5], [0.5, 0.5]], [10, 1, 2])
    assert (TRIAL.unreached(shares, rows) == 0.0).all()
    assert (TRIAL.unreached(shares, np.zeros_like(rows)) == 0.3).all()


def test_a_short_round_decides_nothing_and_learns_centres_and_scales():
    rows = statistics(np.full((3, 2), 0.5), [1, 2, 3], calls=10)
    values = TRIAL.split(rows)[1]
    values[1:, :, Quantity.distance] = 30 * 5.0
    values[1:, :, Quantity.distance_square] = 30 * (5.0**2 + 2.0**2)
    head = TRIAL.tune(HEAD, rows, NEVER)
    assert TRIAL.chosen(head) is None
    assert columns(head[1:], Head.centres, *TRIAL.sizes) == pytest.approx(5.0)
    assert columns(head[1:], Head.scales, *TRIAL.sizes) == pytest.approx(2.0)
    assert TRIAL.chosen(TRIAL.tune(HEAD, np.zeros_like(rows), NEVER)) is None


@pytest.mark.parametrize("seed", first(1, [1, 2, 3]))
def test_trajectories_are_chosen_on_a_normal_law_and_never_in_a_funnel(seed):
    """HMC is more than ten times cheaper on the first, and misses the neck of the second."""
    best = sterna.Best(sterna.Slice(), sterna.HMC())
    normal = sterna.sample(sterna.models.normal(50), explorer=best, n_rounds=8, seed=seed, progress=False)
    assert normal.explorer == "hmc"

    def funnel(v, x):
        return -0.5 * (np.sum(x * x) * math.exp(-v) + x.size * v)

    def gradient(v, x):
        return 0.5 * np.sum(x * x) * math.exp(-v) - 0.5 * x.size, -x * math.exp(-v)

    reference = {"v": sterna.Normal(0, 3), "x": sterna.Normal(0, 10, shape=9)}
    target = sterna.Target(funnel, reference, gradient=gradient)
    found = sterna.sample(target, explorer=best, n_chains=8, n_rounds=8, seed=seed, progress=False)
    assert found.explorer == "slice"
    assert found.diverged.max() == 0.0
    alone = sterna.sample(target, explorer="hmc", n_chains=8, n_rounds=9, seed=seed, progress=False)
    assert alone.diverged.max() > 0.01
    assert any("diverged" in text for text in alone.warnings)
    assert not any("diverged" in text for text in normal.warnings)


@pytest.mark.parametrize("n_rounds", [0, 1, 2, 5])
def test_no_run_samples_with_explorers_on_trial(n_rounds):
    """However short it is; without any tuning the first is taken, which should be the safest."""
    best = sterna.Best(sterna.Slice(), sterna.Metropolis())
    options = {"n_chains": 4, "n_rounds": n_rounds, "n_scans": 8, "progress": False}
    alone = sterna.sample(sterna.models.normal(2), explorer=best, **options).explorer
    assert alone in (["slice", "metropolis"] if n_rounds else ["slice"])


def test_trials_inside_other_explorers_end_too():
    best = sterna.Best(sterna.Slice(), sterna.Metropolis())
    bound = sterna.Cycle(best, sterna.Mix(best, sterna.Slice())).bind(sterna.models.normal(2))
    row = bound.start(lambda n: np.random.default_rng(1).normal(size=(n, 2)))
    settled = bound.settle(np.tile(row, (4, 1)), np.zeros((4, bound.n_statistics)))
    assert (row == ON_TRIAL).sum() == 2
    assert not (settled == ON_TRIAL).any()


def test_a_choice_that_was_made_stays_when_trials_end():
    head = HEAD.copy()
    head[:, Head.chosen] = 1
    rows = statistics([[1.0, 0.5], [0.2, 0.5], [0.5, 0.5]], [10, 1, 2])
    assert TRIAL.chosen(TRIAL.choose(head, rows, NEVER)) == "b"


def test_one_explorer_alone_is_chosen_at_once():
    bound = sterna.Best(sterna.Slice()).bind(sterna.models.normal(2))
    row = bound.start(lambda n: np.random.default_rng(1).normal(size=(n, 2)))
    assert bound.chosen(row[None]) == "slice"


def test_it_must_have_explorers():
    with pytest.raises(sterna.OptionError, match="empty"):
        sterna.Best()


def test_same_bits_for_any_number_of_workers():
    best = sterna.Best(sterna.Slice(), sterna.HMC(), sterna.Elliptical())
    # one target, whose cost is measured once
    target = sterna.models.normal(5)
    runs = [
        sterna.sample(target, explorer=best, n_chains=5, n_rounds=8, n_copies=3, workers=w, progress=False)
        for w in (1, 2)
    ]
    assert np.array_equal(runs[0].posterior["x"], runs[1].posterior["x"])
    assert runs[0].explorer == runs[1].explorer
