"""A scan spread over threads has the bits of one thread, and its errors name their point."""

import numpy as np
import pytest
from plain import load
from quick import first
from ways import AsPython

import sterna
from sterna.explorers.table import EXPLORERS
from sterna.run import blocks, landscape
from sterna.workers.thread_team import ThreadTeam

OPTIONS = {"n_rounds": 5, "seed": 3, "progress": False}


def bits(result):
    """All that a run measures, as bytes."""
    draws = [result.posterior[name].values for name in result.posterior]
    parts = [result.schedule, result.rejection, result.index_process, result.log_likelihood, *draws]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


@pytest.fixture
def spread(monkeypatch):
    """Spread all scans, however short; list the number of replicas of each."""
    monkeypatch.setattr(blocks, "SHARED_SCAN_SECONDS", -1.0)
    sizes = []
    apply = ThreadTeam.apply

    def counted(self, copy, function, place):
        sizes.append(copy.chain_of.size)
        return apply(self, copy, function, place)

    monkeypatch.setattr(ThreadTeam, "apply", counted)
    return sizes


def log_likelihood(x, z):
    return -0.5 * np.sum((np.abs(x) - 3.0) ** 2) + 0.3 * z


def slopes(x):
    return -(np.abs(x) - 3.0) * np.sign(x)


def target(function=log_likelihood):
    reference = {"x": sterna.Normal(0, 5, shape=2), "z": sterna.Poisson(3)}
    return sterna.Target(function, reference, gradient=slopes)


QUICK = [None, "hmc", "slice"]


@pytest.mark.parametrize("explorer", first(3, [*QUICK, *sorted(set(EXPLORERS) - {"gibbs", *QUICK[1:]})]))
def test_any_number_of_threads_gives_the_same_bits(spread, explorer):
    """Two copies of seven chains: one thread each, or two, or six, for every explorer."""
    if explorer in ("hmc", "mala", "automala", "elliptical", "fitted", "independence", "metropolis", "evolution"):
        explorer = {"x": EXPLORERS[explorer](), "z": sterna.Slice()}
    options = {"n_chains": 7, "n_copies": 2, "explorer": explorer, **OPTIONS}
    first = bits(sterna.sample(target(), workers=1, **options))
    assert not spread
    for workers in (4, 12):
        spread.clear()
        assert bits(sterna.sample(target(), workers=workers, **options)) == first
        # all scans but the first of every round, and the search for a start; that for optima has other sizes
        assert spread.count(7) > 100


@pytest.mark.parametrize("make", [lambda: sterna.models.ising(5), lambda: sterna.models.mixture(size=150)])
def test_models_with_running_energies_have_the_same_bits(spread, make):
    options = {"n_chains": 6, **OPTIONS}
    assert bits(sterna.sample(make(), workers=2, **options)) == bits(sterna.sample(make(), workers=1, **options))
    assert spread


def test_chains_may_come_and_go(spread):
    # the default explorer depends on measured costs
    options = {"n_rounds": 8, "seed": 3, "explorer": "slice", "progress": False}
    runs = [sterna.sample(sterna.models.normal(20), workers=w, **options) for w in (1, 3)]
    assert bits(runs[0]) == bits(runs[1])
    assert len(set(spread)) > 1


def test_short_scans_are_not_spread(spread, monkeypatch):
    """A scan of microseconds is shorter than the time it takes to wake threads."""
    monkeypatch.setattr(blocks, "SHARED_SCAN_SECONDS", 1e9)
    monkeypatch.setattr(landscape, "SHARED_SECONDS", 1e9)
    sterna.sample(target(), n_chains=4, workers=8, explorer="slice", **OPTIONS)
    # only the search for a start, because its duration is not known in advance
    assert len(spread) == 1


def test_a_python_target_is_not_spread_over_threads(spread):
    sterna.sample(target(AsPython(log_likelihood)), n_chains=4, explorer="slice", **OPTIONS)
    assert not spread


def test_an_error_names_the_point_of_its_own_thread(spread):
    def breaks(x):
        if x > 1.0:
            raise ValueError("too large")
        return -0.5 * x * x

    with pytest.raises(sterna.EvaluationError, match=r"raised ValueError: too large at x=(\d[\d.]*)\.") as caught:
        sterna.sample(breaks, {"x": sterna.Normal(0, 2)}, n_chains=5, workers=2, explorer="slice", **OPTIONS)
    assert float(str(caught.value).split("x=")[1].split(". ")[0]) > 1.0
    assert spread


def test_forgetting_a_replica_would_be_seen(spread, monkeypatch):
    """Planted fault: parts that do not meet leave replicas where they are."""
    options = {"n_chains": 7, "explorer": "slice", **OPTIONS}
    first = bits(sterna.sample(target(), workers=1, **options))
    faulty = load("workers/thread_team.py", [("min(k + step, size)", "min(k + step, size - 1)")])
    monkeypatch.setattr(ThreadTeam, "apply", faulty.ThreadTeam.apply)
    assert bits(sterna.sample(target(), workers=2, **options)) != first
