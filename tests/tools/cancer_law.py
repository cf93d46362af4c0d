"""The exact posterior of the phylogeny of cancer cells: all trees, with the rates integrated out in closed form."""

import itertools
import math
from functools import cache

import numpy as np
from kernels import apply_bound
from scipy import stats
from scipy.special import betainc, betaincinv, betaln, logsumexp

import sterna
from sterna.models.trees import genotypes

LEVEL = 1e-6

# Rows are cells, columns loci.
SEEN = {
    "two loci": [[1, 0], [1, 1], [0, 1]],
    "three loci": [[1, 0, 1], [0, 1, 1]],
    "one locus": [[1], [0], [0]],
}
BOUNDS = {"fpr_bound": 0.3, "fnr_bound": 0.6}


@cache
def model(name):
    return sterna.models.phylo_cancer(SEEN[name], **BOUNDS, regrafts=1.0, moves=1.0)


def is_tree(parent):
    for v in range(len(parent)):
        for _ in parent:
            v = parent[v] if v < len(parent) else v
        if v < len(parent):
            return False
    return True


def all_trees(loci, cells):
    """All trees of loci, with all attachments of cells."""
    nodes = range(loci + 1)
    for parent in itertools.product(nodes, repeat=loci):
        if is_tree(parent):
            for place in itertools.product(nodes, repeat=cells):
                yield parent, place


def numbers_of(states, loci, cells):
    """Return the positions of the trees of states in `all_trees`."""
    number = {(*parent, *place): k for k, (parent, place) in enumerate(all_trees(loci, cells))}
    return np.array([number[tuple(row)] for row in states[:, : loci + cells].astype(int)]), len(number)


def log_integral(yes, no, bound):
    """Return the logarithm of the integral of r^yes (1 - r)^no from 0 to a bound."""
    return betaln(yes + 1, no + 1) + np.log(betainc(yes + 1, no + 1, bound))


def exact_law(name, beta):
    """Return trees, their probabilities, the counts of errors and non-errors of each, and log Z(beta)/Z(0)."""
    seen = np.array(SEEN[name])
    cells, loci = seen.shape
    trees = list(all_trees(loci, cells))
    x = np.array([genotypes(*tree) for tree in trees])
    counts = [(part & (seen == y)).sum(axis=(1, 2)) for part, y in ((~x, 1), (~x, 0), (x, 0), (x, 1))]
    scaled = [beta * part for part in counts]
    log_densities = log_integral(*scaled[:2], BOUNDS["fpr_bound"]) + log_integral(*scaled[2:], BOUNDS["fnr_bound"])
    states = np.array([[*parent, *place] for parent, place in trees])
    log_ratio = logsumexp(log_densities) - math.log(len(trees) * 0.3 * 0.6)
    return states, np.exp(log_densities - logsumexp(log_densities)), scaled, log_ratio


def rate_uniforms(rates, counts, numbers, bound):
    """Return the distribution functions of a rate given its tree."""
    yes, no = (part[numbers] + 1 for part in counts)
    return betainc(yes, no, rates) / betainc(yes, no, bound)


def comparisons(name, beta, kernel=None, draws=40_000):
    """Return p-values for exact draws after the kernel: trees, and rates given trees."""
    target = model(name)
    states, law, counts, _ = exact_law(name, beta)
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(states), size=draws, p=law)
    rates = []
    for part, bound in ((counts[:2], 0.3), (counts[2:], 0.6)):
        yes, no = (c[chosen] + 1 for c in part)
        rates.append(np.clip(betaincinv(yes, no, rng.random(draws) * betainc(yes, no, bound)), 1e-300, bound - 1e-16))
    start = np.column_stack([states[chosen], *rates])
    after, _, _ = apply_bound(target, target.explorer.bind(target), start, beta, times=2, kernel=kernel)
    assert (after[:, : states.shape[1]] != states[chosen]).any(axis=1).mean() > 0.2
    cells, loci = np.shape(SEEN[name])
    numbers, n_trees = numbers_of(after, loci, cells)
    seen, wanted = np.bincount(numbers, minlength=n_trees), draws * law
    rare = wanted < 30
    if rare.any():
        seen, wanted = (np.append(part[~rare], part[rare].sum()) for part in (seen, wanted))
    found = [stats.chisquare(seen[wanted > 5], wanted[wanted > 5] * seen[wanted > 5].sum() / wanted[wanted > 5].sum())]
    found.append(stats.kstest(rate_uniforms(after[:, -2], counts[:2], numbers, 0.3), "uniform"))
    found.append(stats.kstest(rate_uniforms(after[:, -1], counts[2:], numbers, 0.6), "uniform"))
    return [one.pvalue for one in found]
