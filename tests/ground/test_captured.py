"""Numbers that functions capture are data for every kind of function: fresh functions of the same code compile once."""

import math

import numba
import numpy as np
import pytest

import sterna
from sterna.target import code


def all_kinds(level, table):
    """Return a target and an explorer made of fresh functions of every kind, each of which captures both."""

    def log_likelihood(z, mu):
        return -0.5 * np.sum((table - level * mu - z) ** 2)

    def local_change(x, i, new):
        before, after = 0.0, 0.0
        for k in range(table.size):
            before += (table[k] - level * x[3] - x[k]) ** 2
            changed = (table[k] - level * (new if i == 3 else x[3])) - (new if i == k else x[k])
            after += changed**2
        return -0.5 * (after - before)

    def gradient(z, mu):
        return level * np.sum(table - level * mu - z)

    def draw(rng):
        return rng.integers(0, 2, 3), level * rng.normal()

    def log_density(z, mu):
        return -0.5 * (mu / level) ** 2 + 0.0 * table[0]

    def change(x, i, new):
        return 0.5 * (x[3] ** 2 - new**2) / level**2 if i == 3 else 0.0 * table[0]

    def slope(z, mu):
        return -mu / level**2 + 0.0 * table[0]

    def conditional(i, beta, mu):
        return -0.5 * beta * (table[i] - level * mu - np.arange(2)) ** 2

    def move(x, log_density, rng):
        other = x.copy()
        other[0] += level * table[1] * rng.normal()
        if math.log(rng.random()) < log_density(other) - log_density(x):
            x[:] = other

    space = {"z": sterna.Integer(lower=0, upper=1, shape=3), "mu": sterna.Real()}
    reference = sterna.Reference(draw, log_density, space, local_change=change, gradient=slope)
    explorer = {"z": sterna.Gibbs(conditional=conditional), "mu": sterna.Cycle(sterna.Slice(), move, sterna.MALA())}
    return {"log_likelihood": log_likelihood, "local_change": local_change, "gradient": gradient}, reference, explorer


def outcome(level, compile):
    functions, reference, explorer = all_kinds(level, np.array([0.5, 1.0, 2.0]))
    target = sterna.Target(reference=reference, compile=compile, **functions)
    result = sterna.sample(target, explorer=explorer, n_chains=3, n_rounds=3, progress=False, seed=1)
    assert any("runs as Python" in note for note in result.notes) != compile
    return np.concatenate([np.ravel(result.posterior[name]) for name in ("z", "mu")])


def test_fresh_functions_of_every_kind_are_compiled_once():
    outcome(0.5, compile=True)
    before = code.compile_entry_once.cache_info().misses
    for level in (0.75, 1.25):
        np.testing.assert_array_equal(outcome(level, compile=True), outcome(level, compile=False))
    assert code.compile_entry_once.cache_info().misses == before


@pytest.mark.parametrize("options", [{}, {"fastmath": True}, {"boundscheck": True, "nogil": True}], ids=str)
def test_functions_that_the_user_compiles_are_compiled_once(options):
    def made(level):
        @numba.njit(**options)
        def log_likelihood(mu):
            return -0.5 * (mu - level) ** 2

        return log_likelihood

    reference = {"mu": sterna.Normal(0, 1)}
    sterna.Target(made(0.5), reference)
    before = code.compile_entry_once.cache_info().misses
    for level in (1.0, 3.0):
        target = sterna.Target(made(level), reference)
        assert target.compiled
        assert target.log_densities(mu=0.0)[1] == -0.5 * level**2
    assert code.compile_entry_once.cache_info().misses == before
