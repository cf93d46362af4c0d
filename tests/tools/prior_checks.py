"""Checks of distributions from other libraries."""

import numpy as np

import sterna
from sterna.engine.round import draw_states
from sterna.ground.streams import new_stream


def zero():
    return 0.0


def target_of(distribution):
    return sterna.Target(zero, {"v": distribution})


def draw(distribution, number, seed=5):
    """Return states and values of a variable drawn by the engine."""
    target = target_of(distribution)
    states = np.zeros((number, target.dimension))
    draw_states(target.block, seed, states, np.zeros(1, dtype=np.int64), new_stream())
    return states, target.space.values(states)["v"]


def log_density(distribution, states):
    """Return the engine's log-density of the variable, from that of its stored coordinates."""
    target = target_of(distribution)
    (variable,) = target.space.variables
    shift = 0.0 if variable.affine is None else np.linalg.slogdet(variable.affine[1])[1]
    found = np.array([target.log_densities(state)[0] for state in states]) - shift
    if variable.transform == "simplex":
        # the diagonal entries of the triangular Jacobian are the remaining lengths of the stick
        found -= np.log(np.cumprod(1 - states, axis=1)[:, :-1]).sum(axis=1)
    return found


def assert_same_density(distribution, log_prob, number=40, digits=1e-12):
    """Check the density against that of the library, at draws."""
    states, values = draw(distribution, number)
    exact = np.array([np.sum(np.asarray(log_prob(value), dtype=np.float64)) for value in values])
    np.testing.assert_allclose(log_density(distribution, states), exact, rtol=digits, atol=digits)
    return values
