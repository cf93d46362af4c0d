"""Is a distribution left invariant? Exact draws must be exact draws again after ten scans.

`CASES` is the table of all explorers and the distributions on which they are tested. Every comparison of the whole
table, at all betas, is made at `LEVEL`: the probability that any of them raises a false alarm is at most `FALSE_ALARM`.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np
from annealed import COMPARISONS, MAKERS, conditional, law
from kernels import apply_bound, draws_of, logs_of
from scipy import stats
from ways import AsPython

import sterna
from sterna.explorers.best import Head
from sterna.explorers.composition import Blocks

FALSE_ALARM = 0.001
BETAS = (0.0, 0.1, 0.5, 1.0)
SEED = 1
SCANS = 10

NAMED = ("gaussian", "banana", "bounded", "heavy", "simplex", "bimodal", "cliff", "circle")
REAL = (*NAMED, "joint", "funnel")
DISCRETE = ("few_values", "integers", "lattice")


def walk(x, log_density, rng):
    """Two Metropolis steps of a random walk, as a user would write them."""
    for _ in range(2):
        other = x + 0.6 * rng.standard_normal(x.size)
        if math.log(rng.random()) < log_density(other) - log_density(x):
            x[:] = other


class Settled:
    """`Best` after it has selected the second of its parts."""

    def __init__(self, explorer):
        self.explorer = explorer

    def bind(self, target, coordinates=None):
        bound = self.explorer.bind(target, coordinates)

        def start(draw):
            row = bound.start(draw)
            row[Head.chosen] = 1
            return row

        return replace(bound, start=start)


class Own:
    """The target's own explorer."""

    def bind(self, target, coordinates=None):
        return target.explorer.bind(target, coordinates)


def one_for_all(explorer, *names):
    return dict.fromkeys(names, explorer)


def on_reals(explorer, *names):
    """An explorer of real variables: for `mixed` it explores the real one, and slice sampling the others."""
    return one_for_all(explorer, *names) | {"mixed": Blocks({"x": explorer, ("z", "k"): sterna.Slice()})}


def shares(snooker=0.0, jump=0.0, radial=0.0):
    """Fractions of the moves of differential evolution, zero unless given; the remaining moves are plain."""
    return {"snooker": snooker, "jump": jump, "radial": radial}


def leaps(dimension, full=True):
    """Leaps between three components of unequal weights, widths and shapes, which fit none of the distributions."""
    below = np.tril(np.full((dimension, dimension), 0.4), -1)
    factors = np.array([0.5 * np.eye(dimension) + 0.3 * below, np.eye(dimension) - below, 1.6 * np.eye(dimension)])
    factors = factors if full else np.diagonal(factors, axis1=1, axis2=2)
    centres = np.outer([-1.0, 0.5, 2.0], np.ones(dimension))
    return sterna.Leaps(centres, factors, weights=[0.7, 0.2, 0.1], moves=2)


BEST = sterna.Best(sterna.Slice(passes=0.5), sterna.Metropolis(moves=2))
DIMENSIONS = dict(zip(REAL, (3, 2, 3, 1, 3, 1, 1, 2, 2, 2), strict=True))
EVOLUTION = ("gaussian", "bounded", "bimodal", "circle")

DICTS = {
    "gaussian": {"x": sterna.Metropolis()},
    "banana": {"x": sterna.Slice(), "y": sterna.HMC(steps=2)},
    "bounded": {"w": sterna.Independence(), ("s", "p"): sterna.Evolution(moves=4)},
    "heavy": {"x": sterna.AutoMALA(trajectories=1)},
    "simplex": {"p": sterna.Fitted(moves=2)},
    "bimodal": {"x": sterna.Slice(passes=2)},
    "mixed": {"z": sterna.Gibbs(), "k": sterna.Slice(), "x": sterna.Elliptical()},
    "joint": {"x": sterna.MALA(trajectories=2), "y": sterna.Slice()},
    "few_values": {("k", "s"): sterna.Gibbs(), "c": sterna.Metropolis()},
}

# Explorers as a user would name them, and the explorer that is tested on each distribution.
CASES = {
    "slice": one_for_all(sterna.Slice(), *REAL, "model", "mixed", "joint_values", "glass", *DISCRETE),
    "metropolis": one_for_all(sterna.Metropolis(moves=4), *REAL, "mixed", "joint_values", *DISCRETE),
    "metropolis, diagonal": one_for_all(sterna.Metropolis(moves=4, covariance="diagonal"), *NAMED, "mixed"),
    "evolution": on_reals(sterna.Evolution(moves=4), *REAL),
    "evolution, plain": one_for_all(sterna.Evolution(moves=4, **shares()), *EVOLUTION),
    "evolution, snooker": one_for_all(sterna.Evolution(moves=4, **shares(snooker=1.0)), *EVOLUTION),
    "evolution, jump": one_for_all(sterna.Evolution(moves=4, **shares(jump=1.0)), *EVOLUTION),
    "evolution, radial": one_for_all(sterna.Evolution(moves=4, **shares(radial=1.0)), *EVOLUTION),
    "independence": one_for_all(sterna.Independence(moves=2), *NAMED, "mixed", *DISCRETE),
    "independence, at once": one_for_all(sterna.Independence(moves=2, at_once=1), *NAMED, "mixed", *DISCRETE),
    "fitted": on_reals(sterna.Fitted(moves=2), *REAL),
    "leaps": {
        **{name: leaps(dimension) for name, dimension in DIMENSIONS.items()},
        "mixed": Blocks({"x": leaps(1), ("z", "k"): sterna.Slice()}),
    },
    "leaps, diagonal": {name: leaps(DIMENSIONS[name], full=False) for name in ("gaussian", "bounded")},
    "elliptical": on_reals(sterna.Elliptical(), "gaussian", "latent", "banana", "bimodal_normal", "far_data", "cliff"),
    "hmc": on_reals(sterna.HMC(steps=3), *REAL, "model"),
    "hmc, dense": on_reals(sterna.HMC(steps=3, metric="dense"), *REAL),
    "mala": on_reals(sterna.MALA(trajectories=2), *REAL, "model"),
    "mala, dense": on_reals(sterna.MALA(trajectories=2, metric="dense"), *REAL),
    "automala": on_reals(sterna.AutoMALA(trajectories=1), *REAL),
    "automala, dense": on_reals(sterna.AutoMALA(trajectories=1, metric="dense"), *REAL),
    "gibbs": {
        **one_for_all(sterna.Gibbs(), *DISCRETE, "joint_values", "glass", "components"),
        "mixed": Blocks({"z": sterna.Gibbs(), ("x", "k"): sterna.Slice()}),
    },
    "gibbs, conditional": one_for_all(sterna.Gibbs(conditional=conditional), "components"),
    "heat bath": one_for_all(Own(), "lattice", "open_lattice"),
    "heat bath, weighted": one_for_all(Own(), "glass"),
    "heat bath, rotors": one_for_all(Own(), "rotors"),
    "cycle": one_for_all(
        sterna.Cycle(sterna.Slice(passes=0.5), sterna.Metropolis(moves=2)), *NAMED, "mixed", "few_values"
    ),
    "mix": one_for_all(
        sterna.Mix(sterna.Slice(), sterna.Metropolis(moves=2), weights=[1, 3]), *NAMED, "mixed", "few_values"
    ),
    "best": one_for_all(Settled(BEST), *NAMED, "mixed", "few_values"),
    "best, on trial": one_for_all(BEST, *NAMED, "mixed", "few_values"),
    "move": on_reals(sterna.Move(walk), *REAL),
    "move, as Python": one_for_all(sterna.Move(AsPython(walk)), "gaussian"),
    "dict": {name: Blocks(explorers) for name, explorers in DICTS.items()},
}
ALL = [(explorer, name) for explorer, laws in CASES.items() for name in laws]
N_COMPARISONS = len(BETAS) * sum(COMPARISONS[MAKERS[name]] for _, name in ALL)
LEVEL = FALSE_ALARM / N_COMPARISONS


@cache
def exact_energies(name, beta, draws):
    """Log-likelihoods of exact draws, other than those from which kernels start; likelihood zero is a finite number."""
    chosen = law(name)
    states = chosen.draw(beta, draws, np.random.default_rng(SEED + 1))
    return comparable(logs_of(chosen.target, states)[:, 1])


def comparable(log_densities):
    """Make energies that differ only by rounding equal, and likelihood zero finite."""
    return np.round(np.maximum(log_densities, -1e200), 9)


def chi_square(places, probabilities):
    """Compare frequencies with probabilities.

    Cells with fewer than 30 expected draws are pooled, so that the chi-square approximation holds down to `LEVEL`.
    """
    counts = np.bincount(places.astype(int), minlength=len(probabilities))
    expected = probabilities * len(places)
    assert counts[expected == 0].sum() == 0, "a state of probability zero"
    together = expected < 30
    if 0 < expected[together].sum() < 30:
        together[np.argmin(np.where(together, np.inf, expected))] = True
    counts = np.append(counts[~together], counts[together].sum())
    expected = np.append(expected[~together], expected[together].sum())
    return stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue


def compare(name, beta, states, log_densities):
    """Return the p-values of all comparisons with a distribution: Kolmogorov-Smirnov or chi-square tests."""
    chosen = law(name)
    found = [stats.kstest(column, "uniform", method="asymp").pvalue for column in chosen.uniforms(beta, states)]
    found += [chi_square(*cells) for cells in chosen.cells(beta, states)]
    exact = exact_energies(name, beta, len(states))
    found.append(stats.ks_2samp(comparable(log_densities[:, 1]), exact, method="asymp").pvalue)
    assert len(found) == COMPARISONS[MAKERS[name]]
    return found


def tuned(bound, name, beta):
    """Return parameters after two rounds of tuning, with draws that the comparison does not use."""
    chosen = law(name)
    row = bound.start(draws_of(chosen.target))
    rng = np.random.default_rng(SEED + 2)
    for number in range(2):
        states = chosen.draw(beta, 500, rng)
        statistics = apply_bound(chosen.target, bound, states, beta, parameters=row, times=1, seed=SEED + 1 + number)[2]
        row = bound.tune(np.tile(row, (2, 1)), np.stack([0 * statistics, statistics]))[1]
    return np.ascontiguousarray(row)


def p_values(explorer, name, beta, draws, kernel=None, parameters=None, change=None):
    """Return the p-values after ten scans from exact draws, with tuned parameters unless others are given.

    Also check that no state left the support, that coordinates outside the block did not move, that every coordinate of
    the block moved, and that the returned log-densities are those of the states. `change` may alter the parameters in
    place.
    """
    chosen = law(name)
    target, bound = chosen.target, explorer.bind(chosen.target, chosen.block)
    parameters = tuned(bound, name, beta) if parameters is None else parameters
    states = chosen.draw(beta, draws, np.random.default_rng(SEED))
    after, log_densities, _ = apply_bound(
        target, bound, states, beta, parameters=parameters, kernel=kernel, change=change, times=SCANS, seed=SEED
    )
    check_states(chosen, states, after)
    assert np.allclose(log_densities[:, :2], logs_of(target, after)[:, :2], rtol=1e-9, atol=1e-9)
    return compare(name, beta, after, log_densities)


def check_states(chosen, before, after):
    """Check conditions that hold for every state."""
    target = chosen.target
    assert ((after >= target.program.lower) & (after <= target.program.upper)).all()
    explored = np.arange(target.dimension) if chosen.block is None else chosen.block
    moved = (after != before).mean(axis=0)
    assert moved.sum() == moved[explored].sum(), "a coordinate outside the block moved"
    assert (moved[explored] > 0.01).all(), "a coordinate hardly moved"
