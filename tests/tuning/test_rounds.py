"""What rounds show: the table, restarts seen and predicted, and the memory of energies."""

import functools
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from independent import gain

import sterna
from sterna.result.diagnostics import ess_bulk, r_hat, summary_of
from sterna.result.result import Result
from sterna.result.rounds import EXPLANATION, HEADS, Rounds, cells
from sterna.theory.rates import optimal_n_chains
from sterna.tuning.batches import merge, standard_error
from sterna.tuning.rounds import _largest


def independent():
    """A target of which one exploration draws all coordinates independently from the annealed distribution."""
    return sterna.Target(gain, {"z": sterna.Bernoulli(0.5, shape=10)})


@functools.cache
def run(n_copies=2, **options):
    return sterna.sample(independent(), n_copies=n_copies, n_rounds=9, progress=False, **options)


# ---------------------------------------------------------------------------------------------------- the table


def test_rows_of_the_table_are_what_the_rounds_say():
    result = run()
    rows = result.rounds.rows()
    assert isinstance(result.rounds, Rounds)
    assert [row["round"] for row in rows] == list(range(1, 11))
    assert [row["scans"] for row in rows] == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1022]
    for row, one in zip(rows, result.rounds, strict=True):
        assert row["chains"] == one.n_chains == len(one.schedule)
        assert row["barrier"] == one.barrier.total
        assert row["mean_rejection"] == one.rejection.mean()
        assert row["max_rejection"] == one.rejection.max()
        assert row["restarts"] == sum(one.restarts_of_copies)
        assert row["log_evidence"] == one.log_evidence.value
        assert row["error"] == pytest.approx(one.log_evidence.error, rel=0, abs=0, nan_ok=True)
    assert rows[-1]["log_evidence"] == result.log_evidence.value
    json.dumps(rows)


def test_error_of_all_rejections_is_that_of_their_sum():
    """Of which those of single pairs tell little, because swaps correlate them."""
    result = run()
    batches = merge(result.records)
    influence = batches.influence(batches.rejection)
    assert result.last.total_rejection_error == standard_error(influence.sum(axis=2))[0]
    assert result.last.rejection_error[1] == standard_error(influence[:, :, 1])[0]


def shifted(z, shift):
    return gain(z) + shift


@functools.cache
def far(shift):
    """A run whose log evidence is moved by `shift`."""
    reference = {"z": sterna.Bernoulli(0.5, shape=10)}
    return sterna.sample(shifted, reference, {"shift": shift}, n_rounds=7, progress=False)


@pytest.mark.parametrize("shift", [0.0, -1e6, -1e9])
def test_table_prints_a_line_for_every_round_in_ninety_columns(shift):
    result = far(shift)
    lines = result.rounds.table().splitlines()
    assert repr(result.rounds).splitlines() == [*lines, EXPLANATION]
    assert len(lines) == 1 + len(result.rounds)
    assert max(map(len, lines)) <= 90
    for line, one in zip(lines[1:], result.rounds, strict=True):
        parts = line.split()
        assert [int(part) for part in parts[:3]] == [one.number, one.n_scans, one.n_chains]
        assert f"{one.barrier.total:.2f}" == parts[3]
        assert f"{one.restarts}/{one.predicted_restarts:.0f}" == parts[6]
        assert float(parts[7]) == pytest.approx(one.log_evidence.value, rel=1e-3)
        assert parts[8] == "±"
        error = math.nan if parts[9] == "unknown" else float(parts[9])
        assert error == pytest.approx(one.log_evidence.error, rel=1e-3, abs=1e-3, nan_ok=True)


def test_columns_stand_below_their_heads():
    lines = run().rounds.table().splitlines()
    head, last = lines[0], lines[-1]
    assert len({len(line) for line in lines}) == 1
    for name in ("scans", "chains", "barrier", "rejection", "restarts", "log evidence", "memory"):
        end = head.index(name) + len(name)
        assert last[end - 1] != " ", name
        assert last[end : end + 1] in (" ", ""), name


def test_line_of_a_large_run_stays_within_the_width():
    row = {
        "round": 40,
        "scans": 2**33,
        "chains": 1000,
        "barrier": 499.5,
        "mean_rejection": 0.5,
        "max_rejection": 1.0,
        "restarts": 12345,
        "predicted_restarts": 12345.0,
        "log_evidence": -12345678.123,
        "error": 1234.567,
        "autocorrelation": 0.5,
        "seconds": 123456.7,
    }
    # two spaces between columns
    assert sum(max(map(len, column)) for column in zip(HEADS, cells(row), strict=True)) + 2 * 8 <= 100


def test_memory_of_the_table_is_the_largest_that_is_known():
    assert _largest(np.array([0.0, np.nan, 0.3, -0.5])) == 0.3
    assert math.isnan(_largest(np.array([np.nan])))


# ----------------------------------------------------------------------------------------------------- restarts


def first_restart_of(paths):
    """Scan of the first arrival at the last chain of a replica that was at chain 0; replica k begins at chain k."""
    last = paths.shape[1] - 1
    down = np.arange(last + 1) == 0
    for scan, chains in enumerate(paths, start=1):
        if (down & (chains == last)).any():
            return scan
        down |= chains == 0
    return None


def test_first_restart_is_that_of_the_index_process():
    """Of a run without tuning, whose index process is kept from its first scan."""
    for seed in range(1, 6):
        result = sterna.sample(
            independent(), n_chains=6, n_rounds=0, n_scans=60, n_copies=3, seed=seed, workers=1, progress=False
        )
        assert result.first_restart == [first_restart_of(paths) for paths in result.index_process]
    # planted fault: the first arrival of any replica, which is the last chain's own at once
    assert first_restart_of(np.array([[0, 1, 2]])) is None


def restarts_of(*rounds):
    """First restarts of a run with these rounds: (scans, first restart of every copy)."""
    settings = SimpleNamespace(n_copies=len(rounds[0][1]))
    made = [SimpleNamespace(n_scans=scans, first_restarts=first) for scans, first in rounds]
    return Result.first_restart.fget(SimpleNamespace(settings=settings, rounds=Rounds(made)))


def test_first_restart_counts_the_scans_of_all_rounds():
    assert restarts_of((2, (None,)), (4, (3,)), (8, (1,))) == [5]
    assert restarts_of((2, (None, 2)), (4, (None, 1)), (8, (8, None))) == [14, 2]
    assert restarts_of((2, (None, None)), (4, (None, None))) == [None, None]


def test_predicted_restarts_follow_from_the_rejections():
    for one in run().rounds:
        if one.rejection.max() < 1:
            inefficiency = np.sum(one.rejection / (1 - one.rejection))
            expected = one.n_scans * one.n_copies / (2 + 2 * inefficiency)
            assert one.predicted_restarts == pytest.approx(expected, rel=1e-12)
        assert one.round_trip_rate == one.restarts / (one.n_scans * 2)
    reversible = run(scheme="seo").last
    inefficiency = np.sum(reversible.rejection / (1 - reversible.rejection))
    per_scan = 1 / (2 * (reversible.n_chains - 1) + 2 * inefficiency)
    assert reversible.predicted_restarts == pytest.approx(2 * reversible.n_scans * per_scan, rel=1e-12)


def test_restarts_are_those_predicted_where_exploration_is_independent():
    """Within 4 standard errors of a Poisson count, which scatters more than this one: a false alarm below 6e-5."""
    result = run()
    assert result.predicted_restarts > 200
    assert abs(result.restarts - result.predicted_restarts) <= 4 * math.sqrt(result.predicted_restarts)
    assert result.restarts == sum(result.last.restarts_of_copies)
    # planted fault: what reversible swaps would allow
    reversible = sterna.theory.predicted_round_trip_rate(result.rejection, "seo") * 2 * result.settings.n_scans
    assert abs(result.restarts - reversible) > 4 * math.sqrt(result.predicted_restarts)


def test_recommended_number_of_chains():
    result = run()
    assert result.recommended_n_chains == optimal_n_chains(result.global_barrier)


# ------------------------------------------------------------------------------------------------------- memory


def test_energies_of_independent_exploration_have_no_memory():
    """False-alarm rate: 6e-7 for each chain, by 5 standard errors 1/sqrt(n) of a correlation."""
    memory = run().energy_autocorrelation
    assert memory[0] == 0.0
    assert np.abs(memory).max() <= 5 / math.sqrt(2 * 1022)


def test_one_update_of_many_coordinates_leaves_all_but_its_share():
    """The energy of the normal model is a sum over 20 coordinates, of which a scan updates one: 19/20 stay at least.

    Within 0.03. A correlation so near 1 has an error of about (1 - 0.95^2) / sqrt(4000 / 40) = 0.01 over 4000 scans
    that remember some forty.
    """
    result = sterna.sample(
        sterna.models.normal(20, 20.0), n_chains=8, n_rounds=11, explorer=sterna.Slice(passes=0.05),
        explorations=1, progress=False,
    )  # fmt: skip
    memory = result.energy_autocorrelation
    assert memory[0] == 0.0
    assert memory[1:].min() >= 0.95 - 0.03
    assert memory[1:].max() <= 1.0
    # and a whole pass leaves much less: the planted fault would be a correlation of one draw with itself
    full = sterna.sample(sterna.models.normal(20, 20.0), n_chains=8, n_rounds=9, explorer="slice", progress=False)
    assert full.energy_autocorrelation.max() < 0.7


def test_no_exploration_leaves_everything():
    result = sterna.sample(
        sterna.models.normal(20, 20.0), n_chains=8, n_rounds=6, explorer=sterna.Slice(passes=0), progress=False
    )
    known = result.energy_autocorrelation[1:]
    known = known[np.isfinite(known)]
    assert known.size
    # before and after are the same numbers
    assert np.allclose(known, 1.0, rtol=1e-9)


# ------------------------------------------------------------------------------------------------------ summary


def test_summary_is_across_copies_and_within_them():
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((3, 200))
    found = summary_of(draws)
    assert found["mean"] == pytest.approx(draws.mean())
    assert found["sd"] == pytest.approx(draws.std(ddof=1))
    assert found["ess_series"] == ess_bulk(draws)
    assert found["r_hat"] == r_hat(draws)
    assert found["ess_within"] == sum(ess_bulk(copy[None]) for copy in draws)
    assert found["r_hat_within"] == max(r_hat(copy[None]) for copy in draws)


def test_copies_that_disagree_show_it_across_alone():
    """Each copy is of independent draws around its own mean: within them nothing is wrong."""
    draws = np.random.default_rng(5).standard_normal((4, 500)) + 10.0 * np.arange(4)[:, None]
    found = summary_of(draws)
    assert found["r_hat"] > 1.5
    assert found["ess_bulk"] < 20
    assert found["r_hat_within"] < 1.05
    assert found["ess_within"] > 1000


def test_a_copy_that_drifts_shows_it_within():
    draws = np.random.default_rng(6).standard_normal((2, 500))
    draws[1] += np.linspace(0.0, 5.0, 500)
    assert summary_of(draws)["r_hat_within"] == r_hat(draws[1:])
    assert summary_of(draws)["r_hat_within"] > 1.5


def test_summary_of_one_copy_is_the_same_within():
    found = summary_of(np.random.default_rng(7).standard_normal((1, 100)))
    assert found["ess_within"] == found["ess_series"]
    assert found["r_hat_within"] == found["r_hat"]


def test_summary_of_a_single_draw_knows_little():
    found = summary_of(np.array([[2.0]]))
    assert found["mean"] == 2.0
    assert all(math.isnan(found[name]) for name in ("sd", "mcse", "ess_bulk", "r_hat", "ess_within", "r_hat_within"))


def test_summary_of_a_run_has_all_of_it():
    rows = run().summary
    assert set(rows) == {f"z[{k}]" for k in range(10)}
    draws = run().posterior["z"].values[:, :, 3].astype(float)
    assert rows["z[3]"] == summary_of(draws, run().journeys)


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_swaps_lead_from_one_scan_to_the_next(scheme):
    """Replayed from the first scan on, they give the index process of all rounds; DEO's have the scan's parity."""
    result = run(scheme=scheme)
    assert len({one.n_chains for one in result.rounds}) > 1
    last = None
    for place, one in enumerate(result.rounds):
        swaps = result.rounds.swaps(place)
        assert swaps.shape == (2, one.n_scans, one.n_chains - 1)
        for copy in range(2):
            replica_of = np.arange(one.n_chains)
            if last is not None and last.n_chains == one.n_chains:
                replica_of = np.argsort(last.index_process[copy, -1])
            for scan in range(one.n_scans):
                for pair in np.flatnonzero(swaps[copy, scan]):
                    assert scheme == "seo" or pair % 2 == (scan + 1) % 2
                    replica_of[[pair, pair + 1]] = replica_of[[pair + 1, pair]]
                assert np.array_equal(np.argsort(replica_of), one.index_process[copy, scan])
        last = one
    assert np.array_equal(result.swaps, swaps)


def test_rows_have_what_figures_need():
    result = run()
    for row, one in zip(result.rounds.rows(), result.rounds, strict=True):
        assert row["schedule"] == one.schedule.tolist()
        assert row["rejection"] == one.rejection.tolist()
        assert one.index_process.shape == (one.n_copies, one.n_scans, one.n_chains)


def test_the_former_name_of_the_placement_barrier_is_deprecated():
    last = run().rounds[-1]
    with pytest.warns(DeprecationWarning, match="placement_barrier"):
        assert last.sighted_barrier is last.placement_barrier
