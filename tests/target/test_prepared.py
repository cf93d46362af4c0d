"""Prepared targets: a run changes what is its own and nothing of the user's target, also beside another run."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from ways import WAYS, AsPython

import sterna
from sterna.engine import callback
from sterna.explorers import cost as cost_module
from sterna.explorers.cost import Cost
from sterna.target.data import Inputs

OPTIONS = {"n_chains": 4, "n_rounds": 5, "progress": False}


def two_modes(x, y):
    return -0.5 * np.sum((np.abs(x) - y) ** 2)


def gradient(x, y):
    return -(np.abs(x) - y) * np.sign(x)


def flip(x, log_density, rng):
    other = -x
    if np.log(rng.random()) < log_density(other) - log_density(x):
        x[:] = other


def make(reference, way=lambda function: function):
    return sterna.Target(way(two_modes), reference, {"y": np.array([2.0, 3.0])}, gradient=way(gradient))


REFERENCES = {
    "normal": {"x": sterna.Normal(0, 3, shape=2)},
    "fitted": sterna.FittedReference(2, scale=4.0),
}
KINDS = pytest.mark.parametrize("kind", REFERENCES)


def bits(target, seed):
    explorer = sterna.Cycle(sterna.HMC(steps=3), flip)
    result = sterna.sample(target, explorer=explorer, seed=seed, **OPTIONS)
    return result.posterior["x"].values.tobytes(), result.records[0].positions.tobytes(), result.log_evidence


@KINDS
@WAYS
def test_runs_at_the_same_time_have_the_bits_of_runs_one_after_the_other(kind, way):
    target = make(REFERENCES[kind], way)
    alone = [bits(make(REFERENCES[kind], way), seed) for seed in (1, 2, 3)]
    all_ready = threading.Barrier(3)

    def run(seed):
        all_ready.wait()
        return bits(target, seed)

    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(run, (1, 2, 3)))
    assert together == alone
    # the comparison can fail: another seed has other bits
    assert alone[0] != alone[1]


def contents(thing, seen=None):
    """Return what an object holds, arrays by their bytes and all that is not taken apart by its identity."""
    seen = {} if seen is None else seen
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.tobytes()
    if isinstance(thing, (str, int, float, bool, type(None))):
        return thing
    if id(thing) in seen:
        return id(thing)
    seen[id(thing)] = thing
    if isinstance(thing, dict):
        return {str(key): contents(value, seen) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [contents(part, seen) for part in thing]
    if is_dataclass(thing) and not isinstance(thing, type):
        return {field.name: contents(getattr(thing, field.name), seen) for field in fields(thing)}
    if type(thing).__name__ in ("Target", "PreparedTarget", "FittedMap"):
        return contents(vars(thing), seen)
    return id(thing)


@KINDS
@WAYS
def test_a_run_does_not_change_its_target(kind, way):
    target = make(REFERENCES[kind], way)
    before = contents(target)
    bits(target, 1)
    sterna.sample(target, **OPTIONS)
    assert contents(target) == before


def test_a_run_that_fits_the_targets_own_reference_is_caught(monkeypatch):
    monkeypatch.setattr(Inputs, "for_one_run", lambda inputs: inputs)
    target = make(REFERENCES["fitted"])
    before = contents(target)
    bits(target, 1)
    assert contents(target) != before


def test_comparison_of_contents_sees_a_change():
    target = make(REFERENCES["fitted"])
    before = contents(target)
    target.space.map.mean[0] += 1.0
    assert contents(target) != before
    target.space.map.mean[0] -= 1.0
    assert contents(target) == before
    target.prepare_gradient()
    assert contents(target) != before


@KINDS
def test_a_prepared_target_has_its_own_memory(kind):
    target = make(REFERENCES[kind])
    first, second = target.prepare(), target.prepare()
    first.prepare_gradient()
    first.move(flip, "The move flip", 2)
    assert first.program.likelihood_gradient != 0
    assert second.program.likelihood_gradient == target.program.likelihood_gradient == 0
    assert (first.moves, second.moves) == (["the move flip"], [])
    assert first.program.data != second.program.data
    # the compiled code is shared
    second.prepare_gradient()
    assert first.program.likelihood_gradient == second.program.likelihood_gradient


@WAYS
def test_a_fitted_reference_belongs_to_one_run(way):
    target = make(REFERENCES["fitted"], way)
    first, second = target.prepare(), target.prepare()
    state = np.array([0.3, -0.4])
    before = target.log_densities(state)
    assert first.log_densities(state) == before
    first.fitted.refit(np.random.default_rng(1).normal(0.5, 0.3, (100, 2)))
    assert first.log_densities(state) != before
    assert second.log_densities(state) == target.log_densities(state) == before
    assert np.array_equal(second.gradient(state), target.gradient(state))
    assert not np.array_equal(first.gradient(state), target.gradient(state))


def test_the_cost_is_measured_once_for_all_runs(monkeypatch):
    calls = []
    monkeypatch.setattr("sterna.target.prepared.measured", lambda target: calls.append(target) or Cost(1.0, 4))
    target = make(REFERENCES["normal"])
    first, second, third = target.prepare(), target.prepare(), target.prepare(Cost(2.0, 8))
    assert first.measured_cost is second.measured_cost is None
    assert first.cost == second.cost == first.measured_cost == target.cost == Cost(1.0, 4)
    assert third.measured_cost == third.cost == Cost(2.0, 8)
    assert calls == [first]


def test_a_measured_cost_is_positive():
    prepared = make(REFERENCES["normal"]).prepare()
    assert prepared.cost.seconds > 0
    assert 1 <= prepared.cost.gradient <= cost_module.MAX_GRADIENT_COST


def test_notes_of_a_gradient_are_those_of_the_runs_that_follow_it():
    target = sterna.Target(two_modes, REFERENCES["normal"], {"y": 1.0}, gradient=AsPython(gradient))
    notes = [sterna.sample(target, explorer=name, **OPTIONS).notes for name in ("hmc", "slice")]
    assert [any(note.startswith("gradient runs as Python") for note in some) for some in notes] == [True, False]
    assert target.compiled
    assert target.notes == []


def test_a_prepared_target_outlives_its_target():
    """Python functions are forgotten with the last that needs them."""
    gc.collect()
    before = len(callback._functions)
    prepared = make(REFERENCES["normal"], AsPython).prepare()
    gc.collect()
    assert prepared.log_densities(np.array([2.0, 3.0]))[1] == 0.0
    del prepared
    gc.collect()
    assert len(callback._functions) == before


def test_notes_are_added_to_another_target():
    target = make(REFERENCES["normal"], AsPython)
    noted = target.with_notes("simulated")
    assert noted.notes == [*target.notes, "simulated"]
    assert noted.prepare().notes == noted.notes
    assert noted.log_densities(np.ones(2)) == target.log_densities(np.ones(2))
