"""Checks of the split of a PyMC model against PyMC's log-density, and of its draws against the prior density."""

import numpy as np
from runs import check_mean
from scipy import stats

from sterna.bridges.pymc_model import Graphs
from sterna.bridges.pymc_prior import PriorDraw
from sterna.bridges.pytensor_numba import array_mode


def prior_states(model, count):
    """Return draws from the prior as states, and the graphs of a state."""
    draw = PriorDraw(model)
    rng = np.random.Generator(np.random.SFC64(7))
    example = draw.checked_example()
    return np.array([draw(rng) for _ in range(count)]), Graphs(model, [value.shape for value in example])


def own_log_density(model, states, graphs):
    """Return PyMC's joint log-density, by its own function of named values."""
    function = model.compile_logp(mode=array_mode())
    point = graphs.compile([*graphs.values.values()], array_mode())
    names = [value.name for value in graphs.values]
    return np.array([function(dict(zip(names, point(state), strict=True))) for state in states])


def check_split(model, states, graphs):
    """Check that prior and likelihood add up to PyMC's log-density, within 1e-9."""
    both = graphs.compile(graphs.log_densities(), array_mode())
    found = np.array([np.sum(both(state)) for state in states])
    np.testing.assert_allclose(found, own_log_density(model, states, graphs), rtol=1e-9, atol=1e-9)


def check_draws(states, graphs, mass=1.0):
    """Check that the mean of q/p over draws from p is 1 for a density q; p may be unnormalised if its mass is given.

    q is normal, with half the standard deviation of the draws. A false alarm has probability 6e-5 (`check_mean`).
    """
    prior, _ = graphs.log_densities()
    function = graphs.compile([prior], array_mode())
    log_p = np.array([function(state)[0] for state in states])
    low, middle, high = np.quantile(states, [0.25, 0.5, 0.75], axis=0)
    log_q = stats.norm.logpdf(states, middle, (high - low) / 2.7).sum(axis=1)
    check_mean(np.exp(log_q - log_p) * mass, 1.0)
