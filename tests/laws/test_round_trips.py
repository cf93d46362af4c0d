"""Restarts and round trips: exact counts without rejections, and the theorem's rates with them."""

import functools

import exact
import numpy as np
import pytest
from kernels import slice_row
from quick import first

import sterna
from sterna.engine.program import EXPLORE
from sterna.engine.record import layout_of, new_record
from sterna.engine.round import Plan, new_copy, run_scans
from sterna.engine.schemes import DEO
from sterna.explorers.slice import explore
from sterna.ground.compilation import address_of
from sterna.ground.streams import new_stream


def certain(z):
    return 0.0 * z


def gain(z):
    total = 0.0
    for value in z:
        total += 1.2 * value
    return total


def brute_force_counts(positions, last):
    """Count by the definition: first N after a 0, then first 0 after that, for each replica."""
    restarts = round_trips = 0
    for path in positions.T:
        seen_reference = seen_target = False
        for place in path:
            if place == 0:
                round_trips += seen_target
                seen_reference, seen_target = True, False
            elif place == last and seen_reference and not seen_target:
                restarts += 1
                seen_target = True
    return restarts, round_trips


def closed_form_counts(last, scans):
    """When every swap is accepted, a replica leaves the reference at every even scan and returns after 2N more."""
    return max(0, (scans - last + 1) // 2), max(0, (scans - 2 * last) // 2)


# the only coordinate
COORDINATE = np.zeros(1, dtype=np.int64)


def counts_after_every_scan(last, n_scans):
    """Return the engine's counts after each scan, and the index process."""
    target = sterna.Target(certain, {"z": sterna.Normal()})
    layout = layout_of(n_scans)
    copy, record = new_copy(last + 1, 1), new_record(n_scans, layout, last + 1, 1, 0, 1)
    plan = Plan(
        block=target.block, explore=address_of(explore, EXPLORE), explorer_data=np.array([COORDINATE.ctypes.data]),
        explorations=1, scheme=DEO,
        schedule=np.linspace(0.0, 1.0, last + 1), parameters=np.tile(slice_row([1.0]), (last + 1, 1)),
        pivot=np.zeros(last), centre=np.zeros(last + 1), seed=1, round_number=1,
        batch_scans=layout.scans, batches=layout.batches, thin=1,
    )  # fmt: skip
    statistics, stream = np.zeros((last + 1, 2)), new_stream()
    counts = []
    for scan in range(1, n_scans + 1):
        run_scans(plan, 0, copy, statistics, record, scan, scan, stream)
        counts.append(tuple(record.trips[:2]))
    return counts, record.positions


@pytest.mark.parametrize("last", range(1, 21))
def test_counts_when_every_swap_is_accepted(last):
    """Engine, brute force and closed form agree exactly for every number of scans up to 200."""
    n_scans = 200
    counts, positions = counts_after_every_scan(last, n_scans)
    path = np.concatenate([np.arange(last + 1)[None], positions])
    for scans in range(1, n_scans + 1):
        assert counts[scans - 1] == brute_force_counts(path[: scans + 1], last) == closed_form_counts(last, scans)


def test_a_miscount_would_show():
    """Planted fault: counting from the second scan on, as if the first were even."""
    counts, _ = counts_after_every_scan(4, 50)
    assert counts != [closed_form_counts(4, scans + 1) for scans in range(1, 51)]


def test_counts_of_a_whole_run():
    target = sterna.Target(certain, {"z": sterna.Normal()})
    for last in (1, 2, 5, 20):
        result = sterna.sample(target, n_chains=last + 1, n_rounds=0, n_scans=123, progress=False)
        assert result.rejection.max() == 0
        assert (result.restarts, result.round_trips) == closed_form_counts(last, 123)


def test_counts_with_rejections_match_brute_force():
    result = sterna.sample(sterna.models.ising(), n_chains=8, n_rounds=0, n_scans=5000, progress=False)
    positions = np.concatenate([np.arange(8)[None], result.index_process[0]])
    assert (result.restarts, result.round_trips) == brute_force_counts(positions, 7)
    assert result.restarts > 100


def test_legs_begun_in_tuning_count_when_they_end_in_sampling():
    """Tuning of 2 + 4 scans starts trips that a count of the sampling phase alone would miss."""
    target = sterna.Target(certain, {"z": sterna.Normal()})
    result = sterna.sample(target, n_chains=11, n_rounds=2, n_scans=6, progress=False)
    assert result.restarts > 0
    assert closed_form_counts(10, 6)[0] == 0


# --- rates under independent exploration ---
#
# n independent binary coordinates, each with its own term: one pass of the heat bath draws all of them from the
# annealed distribution, so exploration is exactly independent.

COORDINATES, CHANCE = 30, 0.5


@functools.cache
def rates(n_chains, scheme):
    """Return the measured rate, its standard error from 8 copies with 25 batches each, and the exact prediction."""
    scans = 16_000
    target = sterna.Target(gain, {"z": sterna.Bernoulli(CHANCE, shape=COORDINATES)})
    result = sterna.sample(
        target, n_chains=n_chains, n_rounds=8, n_scans=scans, n_copies=8, scheme=scheme, progress=False
    )
    levels = exact.binomial_levels(COORDINATES, CHANCE, 1.2)
    rejection = exact.level_rejections(result.schedule, *levels)
    inefficiency = np.sum(rejection / (1 - rejection))
    travel = 1 if scheme == "deo" else n_chains - 1
    counts = np.concatenate([restarts_in_batches(path, 25) for path in result.index_process])
    measured = counts.mean() / (scans / 25)
    error = counts.std(ddof=1) / np.sqrt(len(counts)) / (scans / 25)
    return measured, error, 1 / (2 * travel + 2 * inefficiency)


def restarts_in_batches(positions, batches):
    """Return the numbers of restarts by the batch in which they end."""
    last = positions.shape[1] - 1
    ends = np.zeros(len(positions), dtype=int)
    for path in positions.T:
        extremes = np.flatnonzero((path == 0) | (path == last))
        up = (path[extremes[1:]] == last) & (path[extremes[:-1]] == 0)
        np.add.at(ends, extremes[1:][up], 1)
    return ends.reshape(batches, -1).sum(axis=1)


@pytest.mark.parametrize("scheme", ["deo", "seo"])
@pytest.mark.parametrize("n_chains", first(1, [4, 8, 16, 32]))
def test_rates_are_those_of_the_theorem(n_chains, scheme):
    """Within 4 standard errors from 200 batches: a false-alarm rate of 9e-5 each, below 1e-3 for all eight."""
    measured, error, predicted = rates(n_chains, scheme)
    assert error < 0.03 * predicted
    assert abs(measured - predicted) <= 4 * error
    # planted fault: the rate of the other scheme, with N instead of 1 or 1 instead of N
    swapped = n_chains - 2 if scheme == "deo" else 2 - n_chains
    assert abs(measured - 1 / (1 / predicted + 2 * swapped)) > 4 * error


@pytest.mark.laws
def test_seo_falls_with_the_number_of_chains_and_deo_does_not():
    seo = [rates(n, "seo")[0] for n in (8, 16, 32)]
    deo = [rates(n, "deo")[0] for n in (8, 16, 32)]
    assert seo[0] > 1.3 * seo[1] > 1.3**2 * seo[2]
    assert deo[0] < deo[1] < deo[2]
