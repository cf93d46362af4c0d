"""The same bits for any number of threads, any division into blocks, and every repeat; other bits for other keys."""

import numpy as np
import pytest

import sterna
from sterna.run import blocks


def bimodal(x, z):
    return -0.5 * (abs(x) - 4.0) ** 2 + 0.3 * z


class AsPython:
    """The same function in a form that Numba cannot compile."""

    def __call__(self, x, z):
        return bimodal(x, z)


REFERENCE = {"x": sterna.Normal(0, 5), "z": sterna.Poisson(3)}


def bits(target=None, **options):
    """Return everything that a run records, as bytes."""
    target = target or sterna.Target(bimodal, REFERENCE)
    options = {"n_chains": 6, "n_rounds": 6, "n_copies": 3, "seed": 5, "progress": False, **options}
    result = sterna.sample(target, **options)
    parts = [
        result.schedule,
        result.rejection,
        result.index_process,
        result.log_likelihood,
        result.posterior["x"].values,
    ]
    parts += [np.array([result.log_evidence.value, result.log_evidence.error, result.restarts, result.global_barrier])]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def test_repeats_threads_and_blocks(monkeypatch):
    first = bits()
    assert bits() == first
    assert bits(workers=1) == first
    assert bits(workers=2) == first
    assert bits(workers=3) == first
    for seconds in (1e-9, 1e-4, 1e9):
        monkeypatch.setattr(blocks, "BLOCK_SECONDS", seconds)
        assert bits() == first
        assert bits(workers=2) == first


def test_python_gives_the_same_bits_as_compiled():
    """The explorer is named, because the one that sterna chooses depends on how long an evaluation takes."""
    target = sterna.Target(AsPython(), REFERENCE)
    assert not target.compiled
    assert bits(target, explorer="slice") == bits(explorer="slice")


@pytest.mark.parametrize("name", ["ising", "rotor"])
def test_running_energies_do_not_depend_on_blocks(name, monkeypatch):
    first = bits_of_model(name)
    monkeypatch.setattr(blocks, "BLOCK_SECONDS", 1e-9)
    assert bits_of_model(name) == first


def bits_of_model(name):
    result = sterna.sample(getattr(sterna.models, name)(size=4), n_chains=5, n_rounds=7, progress=False)
    return result.rejection.tobytes() + result.log_likelihood.tobytes()


def test_running_energies_are_those_of_the_states():
    for name in ("ising", "magnetic", "rotor"):
        target = getattr(sterna.models, name)(size=4)
        result = sterna.sample(target, n_chains=5, n_rounds=9, progress=False)
        states = result.records[0].draws[:, 0]
        for k in range(0, len(states), 37):
            assert target.log_densities(states[k])[1] == pytest.approx(result.log_likelihood[0, k], rel=1e-9, abs=1e-9)


def test_seeds_copies_rounds_scans_and_replicas_differ():
    assert bits(seed=6) != bits()
    draws = (
        sterna.sample(sterna.Target(bimodal, REFERENCE), n_chains=5, n_rounds=5, n_copies=3, keep="all", progress=False)
        .chains["x"]
        .values
    )
    # chain 0 is a new draw at every scan: no value may occur twice, in any copy, scan or replica
    reference = draws[:, :, 0].ravel()
    assert len(np.unique(reference)) == len(reference)


def test_the_number_of_copies_does_not_change_the_first():
    """Copies are independent: with a fixed schedule, copy 0 does not depend on the number of copies."""
    target = sterna.Target(bimodal, REFERENCE)
    options = {"n_chains": 5, "n_rounds": 0, "n_scans": 100, "progress": False}
    alone = sterna.sample(target, **options).index_process[0]
    together = sterna.sample(target, n_copies=4, **options).index_process
    assert np.array_equal(alone, together[0])
    assert not np.array_equal(together[0], together[1])


def test_thinning_keeps_every_so_many_scans():
    target = sterna.Target(bimodal, REFERENCE)
    options = {"n_chains": 5, "n_rounds": 4, "n_scans": 103, "progress": False}
    every = sterna.sample(target, **options).posterior["x"].values
    fifth = sterna.sample(target, thin=5, **options).posterior["x"].values
    assert np.array_equal(fifth, every[:, 4::5][:, :20])
