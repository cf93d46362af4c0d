"""The sums that a round records, against direct sums over all its energies."""

import math

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from sterna.engine.communication import measure
from sterna.engine.record import (
    MAX_BATCHES,
    Bridges,
    Moments,
    Stones,
    add_chains,
    add_pairs,
    add_states,
    batch_of,
    layout_of,
    logistic,
    new_record,
)

N_CHAINS = 5
SCHEDULE = np.array([0.0, 0.1, 0.25, 0.6, 1.0])
PIVOT = np.array([-0.3, 0.2, 1.0, -2.0])
CENTRE = np.array([0.5, -1.0, 0.0, 2.0, 3.0])


def random_energies(n_scans, scale=1.0, zeros=0.0):
    """Log-likelihoods after and before exploration, (scans, chains), of which some of the reference's are -inf."""
    rng = np.random.default_rng([n_scans, round(10 * zeros)])
    after, before = scale * rng.standard_normal((2, n_scans, N_CHAINS))
    after[rng.random(n_scans) < zeros, 0] = -np.inf
    return after, before


def recorded(after, before, centre=CENTRE):
    """Record energies scan by scan; replicas change their chains as they would by swaps."""
    n_scans = len(after)
    record = new_record(n_scans, layout_of(n_scans), N_CHAINS, 1, 0, 1)
    accepted, log_densities = np.zeros(N_CHAINS - 1), np.zeros((N_CHAINS, 3))
    rng = np.random.default_rng(3)
    for scan in range(1, n_scans + 1):
        replica_of = rng.permutation(N_CHAINS).astype(np.int64)
        log_densities[replica_of, 1] = after[scan - 1]
        batch = batch_of(scan, n_scans, len(record.scans))
        measure(SCHEDULE, log_densities, replica_of, accepted)
        add_pairs(record, batch, SCHEDULE, PIVOT, log_densities, replica_of, accepted)
        add_chains(record, scan, batch, centre, before[scan - 1], log_densities, replica_of)
    return record


def by_batch(values, record):
    """Split rows of scans into the record's batches."""
    return np.split(values, np.cumsum(record.scans)[:-1])


def sums(values, record):
    return np.array([part.sum(axis=0) for part in by_batch(values, record)])


def log_sums(exponents, record):
    with np.errstate(divide="ignore"):
        return np.array([logsumexp(part, axis=0) for part in by_batch(exponents, record)])


def stones(record, way):
    with np.errstate(divide="ignore"):
        return record.stone_scale[way] + np.log(record.stone_sum[way])


def rejections(after, apart):
    """1 - alpha of chains so far apart, for every scan."""
    step = SCHEDULE[apart:] - SCHEDULE[:-apart]
    return -np.expm1(np.minimum(0.0, step * (after[:, :-apart] - after[:, apart:])))


# scans, scale of the energies, share of zeros; above 200 scans a batch holds several
CASES = [(1, 1.0, 0.0), (7, 1.0, 0.3), (1000, 30.0, 0.0), (1013, 3.0, 0.5)]


@pytest.mark.parametrize(("n_scans", "scale", "zeros"), CASES)
def test_rejections_are_direct_sums(n_scans, scale, zeros):
    after, before = random_energies(n_scans, scale, zeros)
    record = recorded(after, before)
    assert np.allclose(record.rejection, sums(rejections(after, 1), record), rtol=1e-13)
    assert np.allclose(record.second_rejection, sums(rejections(after, 2), record), rtol=1e-13)


@pytest.mark.parametrize(("n_scans", "scale", "zeros"), CASES)
def test_stones_are_direct_sums(n_scans, scale, zeros):
    after, before = random_energies(n_scans, scale, zeros)
    record = recorded(after, before)
    step = np.diff(SCHEDULE)
    # a draw of likelihood zero says nothing of the upper chain's weights, which it never sees
    seen = np.where(np.isneginf(after), np.inf, after)
    exponents = {
        Stones.forward: step * after[:, :-1],
        Stones.backward: -step * after[:, 1:],
        Stones.forward_square: step * after[:, 1:],
        Stones.backward_square: -step * seen[:, :-1],
    }
    for way, exponent in exponents.items():
        assert np.allclose(stones(record, way), log_sums(exponent, record), rtol=1e-12, atol=1e-12)


def test_comparison_of_stones_catches_a_pair_one_off():
    after, before = random_energies(50)
    record = recorded(after, before)
    wrong = log_sums(np.diff(SCHEDULE) * after[:, 1:], record)
    assert not np.allclose(stones(record, Stones.forward), wrong, rtol=1e-3)


@pytest.mark.parametrize(("n_scans", "scale", "zeros"), CASES)
def test_bridges_are_direct_sums(n_scans, scale, zeros):
    after, before = random_energies(n_scans, scale, zeros)
    record = recorded(after, before)
    step = np.diff(SCHEDULE)
    up, down = expit(step * after[:, :-1] - PIVOT), expit(PIVOT - step * after[:, 1:])
    direct = {
        Bridges.forward: up,
        Bridges.backward: down,
        Bridges.lower_product: up * (1 - up),
        Bridges.upper_product: down * (1 - down),
    }
    for place, terms in direct.items():
        # 1 - F loses its last digits where F is near 1
        assert np.allclose(record.bridge[place], sums(terms, record), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(("n_scans", "scale", "zeros"), CASES)
def test_moments_are_direct_sums_without_zeros(n_scans, scale, zeros):
    after, before = random_energies(n_scans, scale, zeros)
    record = recorded(after, before)
    now = np.where(np.isneginf(after), 0.0, after - CENTRE)
    then = before - CENTRE
    then[:, 0] = 0.0
    expected = ((Moments.after, now), (Moments.square, now**2), (Moments.before, then), (Moments.product, now * then))
    for field, direct in expected:
        assert np.allclose(record.moments[field], sums(direct, record), rtol=1e-12, atol=1e-12)
    assert np.array_equal(record.zeros, sums(np.isneginf(after[:, 0]).astype(int), record))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_huge_energies_neither_overflow_nor_vanish(sign):
    """Of energies around 1e300 the stones keep the largest in every batch."""
    energies = sign * np.full((1000, N_CHAINS), 1e300)
    energies[::3] *= 0.5
    record = recorded(energies, energies)
    step = np.diff(SCHEDULE)
    assert np.allclose(stones(record, Stones.forward), log_sums(step * energies[:, :-1], record), rtol=1e-14)
    assert np.allclose(stones(record, Stones.backward), log_sums(-step * energies[:, 1:], record), rtol=1e-14)
    for field in (record.stone_sum, record.stone_scale, record.bridge, record.rejection, record.second_rejection):
        assert np.isfinite(field).all()


@pytest.mark.parametrize("place", [0, 2, 4])
def test_one_large_energy_keeps_its_weight_wherever_it_comes_in_a_batch(place):
    energies = np.zeros((1000, N_CHAINS))
    energies[place::5] = 1e5
    record = recorded(energies, energies)
    assert np.allclose(
        stones(record, Stones.forward), log_sums(np.diff(SCHEDULE) * energies[:, :-1], record), rtol=1e-14
    )
    energies[place::5] = 3.0
    record = recorded(energies, energies)
    assert np.allclose(
        stones(record, Stones.forward), log_sums(np.diff(SCHEDULE) * energies[:, :-1], record), rtol=1e-14
    )


def test_reference_of_zeros_alone_leaves_empty_stones():
    energies = np.zeros((9, N_CHAINS))
    energies[:, 0] = -np.inf
    record = recorded(energies, np.zeros_like(energies))
    assert (stones(record, Stones.forward)[:, 0] == -np.inf).all()
    assert (record.bridge[Bridges.forward][:, 0] == 0).all()
    assert (record.rejection[:, 0] == record.scans).all()
    assert (record.zeros == record.scans).all()
    assert (record.moments[:, :, 0] == 0).all()


def test_shares_of_likelihood_zero_are_counted_for_the_reference_alone():
    after, before = random_energies(100, zeros=0.4)
    record = recorded(after, before)
    assert record.zeros.sum() == np.isneginf(after).sum() == np.isneginf(after[:, 0]).sum()


# ---------------------------------------------------------------------------------------------------- batches


def edges_of(n_scans):
    """Batches b holds scans floor(b n / B) + 1 to floor((b + 1) n / B)."""
    batches = min(MAX_BATCHES, n_scans)
    return np.array([b * n_scans // batches for b in range(batches + 1)])


@pytest.mark.parametrize("n_scans", [1, 2, 3, 199, 200, 201, 399, 1024, 4099])
def test_batches_hold_the_scans_between_their_borders(n_scans):
    record = new_record(n_scans, layout_of(n_scans), 3, 1, 0, 1)
    edges = edges_of(n_scans)
    assert np.array_equal(record.scans, np.diff(edges))
    assert record.scans.sum() == n_scans
    assert record.scans.max() - record.scans.min() <= 1
    found = [batch_of(scan, n_scans, len(record.scans)) for scan in range(1, n_scans + 1)]
    assert np.array_equal(np.bincount(found), record.scans)
    assert (np.diff(found) >= 0).all()


def test_batches_of_long_rounds_do_not_overflow():
    n_scans = 2**40
    assert batch_of(n_scans, n_scans, MAX_BATCHES) == MAX_BATCHES - 1
    assert batch_of(n_scans // 2, n_scans, MAX_BATCHES) == MAX_BATCHES // 2 - 1
    assert batch_of(n_scans // 2 + 1, n_scans, MAX_BATCHES) == MAX_BATCHES // 2


# --------------------------------------------------------------------------------------------------- logistic


def test_logistic():
    x = np.concatenate([np.linspace(-50.0, 50.0, 101), [-800.0, 800.0]])
    assert np.allclose([logistic(value) for value in x], expit(x), rtol=1e-14)
    assert [logistic(value) for value in (-math.inf, 0.0, math.inf, -1e300, 1e300)] == [0.0, 0.5, 1.0, 0.0, 1.0]


# ------------------------------------------------------------------------------------------------ what is kept


def test_energies_are_those_of_the_chains():
    after, before = random_energies(30, zeros=0.2)
    assert np.array_equal(recorded(after, before).energies, after)


@pytest.mark.parametrize(("n_scans", "thin", "kept"), [(10, 3, 1), (10, 1, 4), (10, 10, 2), (5, 2, 0)])
def test_new_record_has_the_shapes_that_a_round_fills(n_scans, thin, kept):
    record = new_record(n_scans, layout_of(n_scans), 4, 7, kept, thin)
    draws = n_scans // thin if kept else 0
    assert record.draws.shape == (draws, kept, 7)
    assert record.log_likelihood.shape == (draws, kept)
    assert record.positions.shape == (n_scans, 4)
    assert record.rejection.shape == (n_scans, 3)
    assert record.second_rejection.shape == (n_scans, 2)
    assert record.stone_scale.shape == record.stone_sum.shape == (4, n_scans, 3)
    assert record.bridge.shape == (4, n_scans, 3)
    assert record.moments.shape == (4, n_scans, 4)


def test_two_chains_have_no_chains_two_apart():
    assert new_record(5, layout_of(5), 2, 1, 0, 1).second_rejection.shape == (5, 0)


def test_states_of_the_last_chains_are_kept_every_so_many_scans():
    n_scans, thin, kept = 7, 3, 2
    record = new_record(n_scans, layout_of(n_scans), 3, 2, kept, thin)
    rng = np.random.default_rng(8)
    states, log_densities, paths = rng.random((n_scans, 3, 2)), rng.random((n_scans, 3, 3)), []
    for scan in range(1, n_scans + 1):
        chain_of = rng.permutation(3).astype(np.int64)
        paths.append(chain_of)
        replica_of = np.argsort(chain_of).astype(np.int64)
        add_states(record, scan, thin, states[scan - 1], log_densities[scan - 1], chain_of, replica_of)
    assert np.array_equal(record.positions, paths)
    for draw, scan in enumerate((3, 6)):
        replicas = np.argsort(paths[scan - 1])[-kept:]
        assert np.array_equal(record.draws[draw], states[scan - 1][replicas])
        assert np.array_equal(record.log_likelihood[draw], log_densities[scan - 1][replicas, 1])
