"""A run that cannot fit in memory says so before it starts."""

import numpy as np
import pytest

import sterna
from sterna.engine.record import layout_of, new_record
from sterna.engine.round import new_copy
from sterna.explorers.base import Bound
from sterna.run import memory
from sterna.run.memory import check_memory, draws_bytes, explorer_bytes, record_bytes
from sterna.run.options import Options, make_settings

MODEL = sterna.models.normal(2)


def bound(n_parameters=5, n_statistics=3):
    return Bound(kernel=None, data=(), start=None, n_parameters=n_parameters, n_statistics=n_statistics)


@pytest.mark.parametrize("keep", ["target", "all"])
def test_bytes_are_those_that_a_run_allocates(keep):
    """What does not grow with scans is bounded from above, by less than a factor of two."""
    settings = make_settings(Options(n_chains=7, n_rounds=0, n_scans=1000, n_copies=3, keep=keep, thin=3))
    record = new_record(1000, layout_of(1000), 7, 4, 1 if keep == "target" else 7, 3)
    assert draws_bytes(settings, 7, 4) == 3 * (record.draws.nbytes + record.log_likelihood.nbytes)
    assert record_bytes(settings, 7) == 3 * (record.positions.nbytes + record.energies.nbytes)
    grows = ("draws", "log_likelihood", "positions", "energies")
    fixed = sum(array.nbytes for name, array in record._asdict().items() if name not in grows)
    copy = new_copy(7, 4)
    allocated = 3 * (fixed + copy.states.nbytes + copy.log_densities.nbytes + 7 * 8 * 3) + 7 * 8 * 5
    assert allocated <= explorer_bytes(settings, 7, 4, bound()) < 2 * allocated


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_scans": 2**45, "keep": "all"}, r"3.4 PB for the draws of n_scans=35184372088832.*a larger thin"),
        ({"n_scans": 1e30, "keep": "all"}, r'Give keep="target", a larger thin'),
        ({"n_scans": 2**45, "thin": 2**40}, r"to follow 4 chains, 1 copy through n_rounds=2.*Give fewer of them"),
        ({"n_rounds": 40, "n_scans": 10}, r"n_rounds=40, in which round r has 2\*\*r scans"),
        ({"n_copies": 10**9}, r"1000000000 copies and what the explorer slice learns.*fewer n_chains or n_copies"),
    ],
    ids=str,
)
def test_runs_that_do_not_fit_say_what_needs_how_much(options, words):
    with pytest.raises(sterna.OptionError, match=r"This run would need .* of memory, and there are.*") as caught:
        sterna.sample(MODEL, explorer="slice", **{"n_chains": 4, "n_rounds": 2, "progress": False, **options})
    assert caught.match(words)


def test_explorers_that_learn_too_much_are_named():
    model = sterna.models.normal(100_000)
    with pytest.raises(sterna.OptionError, match=r"100000 coordinates of 4 chains.*explorer hmc learns.*\"slice\""):
        sterna.sample(model, explorer=sterna.HMC(metric="dense"), n_chains=4, n_rounds=2, progress=False)


def test_chains_that_a_run_adds_count_too(monkeypatch):
    settings = make_settings(Options(n_chains=4, n_rounds=2, n_scans=1000))
    monkeypatch.setattr(memory, "machine_memory", lambda: 1e6)
    check_memory(settings, 4, 2, bound(), "slice")
    with pytest.raises(sterna.OptionError, match="100 chains"):
        check_memory(settings, 100, 2, bound(), "slice")


def test_variables_that_do_not_fit_are_refused_before_they_are_made():
    for make in (sterna.Normal, sterna.Real, sterna.Binary):
        with pytest.raises(sterna.TargetError, match=r"shape=1000000000000 .*64 TB of memory would be needed"):
            make(shape=10**12)
    with pytest.raises(sterna.TargetError, match="Give a smaller shape"):
        sterna.models.normal(np.int64(10**12))
