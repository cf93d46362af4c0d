"""The phylogeny of species: exact draws of its annealed distributions, by rejection from the reference."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
from kernels import apply_bound, draws_of, logs_of
from scipy import stats

import sterna

LEVEL = 1e-6

# Ambiguity, missing letters, and sites that need several changes.
FOUR = {"a": "ACGTRACA", "b": "ACGCN-CA", "c": "AGGTYCCC", "d": "CGATKACG"}
FIVE = {**FOUR, "e": "TGAVCGAC"}
# Few sites, so that rejection sampling is feasible.
SHORT = {"a": "AR", "b": "A-", "c": "GC", "d": "GC"}
SHORT_FIVE = {**SHORT, "e": "GN"}
# A site's likelihood is at most that of two of its taxa: a transition has probability below 0.3, a purine becomes C
# with probability below 1/4.
BOUND = math.log(0.25 * 0.3) + math.log(0.25 * 0.5)


ALIGNMENTS = {"four": FOUR, "five": FIVE, "short": SHORT, "short five": SHORT_FIVE}
GIVEN = {"given shape": {"shape": 1.5}, "given rate": {"rate": 2.0}, "given both": {"kappa": 1, "shape": 1, "rate": 2}}


@cache
def model(name):
    return sterna.models.phylo_species(ALIGNMENTS.get(name, SHORT), **GIVEN.get(name, {}))


def topology_numbers(states, taxa):
    """Return the positions of the topologies among all that occur."""
    return np.unique(states[:, : 2 * taxa - 3], axis=0, return_inverse=True)[1].ravel()


@cache
def exact_draws(target, beta, count, seed):
    """Return draws of the annealed distribution for two sites, by rejection from the reference."""
    rng, found, tried = np.random.default_rng(seed), [], 0
    while tried < count:
        states = draws_of(target, seed=seed + 1000 * len(found))(100_000)
        log_densities = logs_of(target, states)[:, 1]
        assert log_densities.max() < BOUND
        keep = np.log(rng.random(len(states))) < beta * np.maximum(log_densities - BOUND, -1e9)
        found.append(states[keep])
        tried += keep.sum()
    return np.concatenate(found)[:count]


def comparisons(target, beta, kernel=None, draws=20_000, times=5):
    """Return p-values: exact draws after the kernel against other exact draws."""
    start = exact_draws(target, beta, draws, 1)
    taxa, branches = len(target.explorer.tips), 2 * len(target.explorer.tips) - 3
    after, log_densities, _ = apply_bound(target, target.explorer.bind(target), start, beta, kernel=kernel, times=times)
    assert (after[:, :branches] != start[:, :branches]).any(axis=1).mean() > 0.3
    exact = exact_draws(target, beta, draws, 2)
    both = np.concatenate([after, exact])
    numbers = topology_numbers(both, taxa)
    table = np.array([np.bincount(part, minlength=numbers.max() + 1) for part in np.split(numbers, 2)])
    found = [stats.chi2_contingency(table).pvalue]
    found.append(stats.ks_2samp(log_densities[:, 1], logs_of(target, exact)[:, 1]).pvalue)
    columns = [*range(branches, target.dimension)]
    found += [stats.ks_2samp(after[:, k], exact[:, k]).pvalue for k in columns]
    # the dependence of lengths, their prior and the topology
    means = [np.log(states[:, branches : 2 * branches]).mean(axis=1) for states in (after, exact)]
    found.append(stats.ks_2samp(*means).pvalue)
    found.append(stats.ks_2samp(*[s[:, -2] * m for s, m in zip((after, exact), means, strict=True)]).pvalue)
    return found


def deviation(target, beta, kernel=None):
    """Return the error of the energies, after several sweeps in one call and after several calls."""
    bound = replace(target.explorer, passes=2).bind(target)
    after, log_densities, _ = apply_bound(target, bound, draws_of(target)(300), beta, times=5, kernel=kernel)
    exact = logs_of(target, after)
    return np.max(np.abs(log_densities - exact)[:, :2] / (1.0 + np.abs(exact[:, :2])))
