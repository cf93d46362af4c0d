"""Which workers evaluate: when they are used, and that they know a reference that is fitted between rounds."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from black_box import OPTIONS, run
from ways import AsPython

import sterna

FITTED = sterna.FittedReference({"a": sterna.Real(), "b": sterna.Real(lower=0)})


@pytest.mark.parametrize("n_copies", [2, "auto"])
def test_without_workers_one_thread_calls_the_function(n_copies):
    """A simulator that keeps a buffer must not be entered twice."""

    class Alone:
        inside = 0
        most = 0

        def __call__(self, mu, k, y):
            Alone.inside += 1
            Alone.most = max(Alone.most, Alone.inside)
            time.sleep(1e-5)
            Alone.inside -= 1
            return -mu * mu

    run(Alone(), n_copies=n_copies)
    assert Alone.most == 1


@pytest.mark.parametrize("n_copies", [2, "auto"])
@pytest.mark.parametrize("which", ["draw", "move"])
def test_without_workers_one_thread_calls_a_draw_or_a_move(which, n_copies):
    """The same with a compiled likelihood."""
    inside = most = 0

    def enter():
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(1e-5)
        inside -= 1

    def draw(rng):
        enter()
        return rng.standard_normal(1)

    def move(x, log_density, rng):
        enter()

    normal = sterna.Reference(draw, lambda x: -0.5 * x[0] ** 2, {"x": sterna.Real(shape=1)})
    result = sterna.sample(
        lambda x: -(x[0] ** 2),
        normal if which == "draw" else {"x": sterna.Normal(shape=1)},
        **OPTIONS
        | {"n_copies": n_copies, "explorer": sterna.Cycle(sterna.Slice(), move) if which == "move" else "slice"},
    )
    assert most == 1
    assert len(result.records) == (1 if n_copies == "auto" else 2)


def test_a_compiled_target_says_that_it_needs_no_executor():
    def compiled(mu):
        return -mu * mu

    with ThreadPoolExecutor(1) as workers:
        result = sterna.sample(compiled, {"mu": sterna.Normal()}, workers=workers, **OPTIONS)
    assert any("is not used: the target is compiled, and this process evaluates it" in note for note in result.notes)


def log_density(a, b):
    return -0.5 * (a - 3.0) ** 2 - b


def bits_of_fit(function, **options):
    result = sterna.sample(function, FITTED, **OPTIONS | {"n_rounds": 5}, **options)
    return result.posterior["a"].values.tobytes() + np.array(result.log_evidence.value).tobytes()


def test_processes_and_batches_know_the_new_reference():
    first = bits_of_fit(AsPython(log_density))
    assert bits_of_fit(AsPython(log_density), workers=2) == first
    assert bits_of_fit(log_density, vectorized=True) == first


@pytest.mark.laws
def test_an_old_reference_would_be_seen(monkeypatch):
    """Planted fault: workers keep the reference of the first round."""
    first = bits_of_fit(AsPython(log_density))
    monkeypatch.setattr("sterna.workers.choice.Teams.send_functions_again", lambda self: None)
    assert bits_of_fit(AsPython(log_density), workers=2) != first
