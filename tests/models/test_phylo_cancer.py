"""The phylogeny of cancer cells: its explorer and its evidence against sums over all trees."""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cancer_law import BOUNDS, LEVEL, SEEN, all_trees, comparisons, exact_law, model, numbers_of
from kernels import apply_bound, check_memory, draws_of, logs_of
from plain import Forks, Symbol, load
from quick import first
from scipy import stats
from scipy.special import logsumexp

import sterna
from sterna.models.phylo_cancer import draw, observe, read_observations, simulate
from sterna.models.trees import locus_newick


def slow_log_likelihood(seen, parent, place, fpr, fnr):
    total = 0.0
    for c, node in enumerate(place):
        above = set()
        while node < len(parent):
            above.add(node)
            node = parent[node]
        for locus, y in enumerate(seen[c]):
            chance = 1 - fnr if locus in above else fpr
            total += math.log(chance if y else 1 - chance)
    return total


def test_number_of_trees():
    assert sum(1 for _ in all_trees(3, 2)) == 4**4
    assert sum(1 for _ in all_trees(2, 3)) == 3**4


@pytest.mark.parametrize("name", SEEN)
def test_log_densities_are_those_of_the_plain_product(name):
    target, seen = model(name), SEEN[name]
    cells, loci = len(seen), len(seen[0])
    trees = list(all_trees(loci, cells))
    for parent, place in trees[:: max(1, len(trees) // 50)]:
        reference, likelihood = target.log_densities(parent=parent, place=place, fpr=0.07, fnr=0.2)
        assert likelihood == pytest.approx(slow_log_likelihood(seen, parent, place, 0.07, 0.2), abs=1e-12)
        assert reference == pytest.approx(-math.log(len(trees) * 0.3 * 0.6), abs=1e-12)


def test_log_likelihood_of_many_cells():
    """More than 64 cells, deep trees and shallow ones."""
    seen = simulate(130, 40, 0.1, 0.3, seed=4)
    target = sterna.models.phylo_cancer(seen)
    rng = np.random.default_rng(1)
    deep = (np.append(np.arange(1, 40), 40), rng.integers(0, 41, 130))
    for parent, place in (deep, (np.full(40, 40), deep[1]), draw(rng, 40, 130, 1.0, 1.0)[:2]):
        likelihood = target.log_densities(parent=parent, place=place, fpr=0.03, fnr=0.2)[1]
        assert likelihood == pytest.approx(slow_log_likelihood(seen, list(parent), place, 0.03, 0.2), abs=1e-9)


def test_what_is_no_tree_has_density_zero():
    for parent in ([0, 2], [1, 0]):
        wrong = model("two loci").log_densities(parent=parent, place=[0, 0, 0], fpr=0.1, fnr=0.1)
        assert wrong == (-math.inf, -math.inf)


@pytest.mark.parametrize(("loci", "cells"), [(1, 2), (2, 2), (3, 1), (4, 1)])
def test_trees_of_the_reference_are_uniform(loci, cells):
    target = sterna.models.phylo_cancer(np.zeros((cells, loci)))
    expected = (loci + 1) ** (loci + cells - 1)
    numbers, n_trees = numbers_of(draws_of(target)(100 * expected), loci, cells)
    assert n_trees == expected
    assert stats.chisquare(np.bincount(numbers, minlength=expected)).pvalue > LEVEL


# The exact transition matrix of the kernel's source.

FPR, FNR = 0.2, 0.35


def forked_draw(forks):
    """Follow all nodes that `draw_node` can draw."""

    def draw_node(log_weights, order, number, stream):
        weights = np.exp([log_weights[order[k]] for k in range(number)])
        for k in range(number - 1):
            if forks.choose(weights[k] / weights[k:].sum()):
                return k
        return number - 1

    return draw_node


def deviation(name, beta, which, faults=()):
    """Return how far moves of one kind, each at its locus or cell, change the distribution of trees at fixed rates."""
    seen = np.array(SEEN[name])
    cells, loci = seen.shape
    trees = list(all_trees(loci, cells))
    number = {tree: k for k, tree in enumerate(trees)}
    log_densities = np.array([slow_log_likelihood(seen, *tree, FPR, FNR) for tree in trees])
    distribution = np.exp(beta * log_densities - logsumexp(beta * log_densities))
    forks = Forks()
    names = {"uniform": lambda stream: Symbol(forks), "draw_node": forked_draw(forks)}
    source = load("models/kernels/regraft.py", faults, **names)
    put_in_order = load("models/kernels/perfect_phylogeny.py").put_in_order
    present, absent = beta * math.log((1 - FNR) / FPR), beta * math.log(FNR / (1 - FPR))
    worst = 0.0
    for k in range(loci if which == "regraft" else cells):
        after = np.zeros(len(trees))
        for start, tree in enumerate(trees):

            def run(k=k, tree=tree):
                parent, place = [*tree[0], -1], list(tree[1])
                order, ones, size, weights = ([0] * (loci + 1) for _ in range(4))
                assert put_in_order(parent, order, ones, size, loci) == loci + 1
                nodes = source.Tree(parent, place, order, ones, size, weights, loci, cells)
                if which == "regraft":
                    source.regraft(nodes, seen[:, k].tolist(), k, present, absent, None)
                else:
                    source.move_cell(nodes, seen[k].tolist(), k, present, absent, None)
                # parents come before their children
                assert sorted(order) == list(range(loci + 1))
                assert order[0] == loci
                assert all(order.index(parent[v]) < order.index(v) for v in range(loci))
                return number[tuple(parent[:-1]), tuple(place)]

            for probability, end in forks.outcomes(run):
                after[end] += distribution[start] * probability
        worst = max(worst, np.abs(after - distribution).max())
    return worst


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("which", ["regraft", "cells"])
def test_the_transition_matrix_leaves_the_distribution_unchanged(name, beta, which):
    assert deviation(name, beta, which) < 1e-12


REGRAFT_FAULTS = {
    "cells left out": ("log_weights[v] = ones[v] * by_one + (size[v] - ones[v]) * by_zero", "log_weights[v] = 0.0"),
    "zeros for ones": ("softplus(ones[v] * present + (size", "softplus(ones[v] * absent + (size"),
    "no sums over subtrees": ("        ones[above] += ones[v]\n", ""),
    "cells go below by a coin": ("(by_one if observed[c] == 1 else by_zero)", "0.5"),
    "subtrees stay": ("            parent[v] = locus\n", "            pass\n"),
    "weights of all, not of subsets": (
        "        return s if s > MAX_EXPONENT else s + math.log1p(math.exp(-s))",
        "        return s",
    ),
}
CELL_FAULTS = {
    "zeros weigh nothing": ("(present if observed[v] == 1 else absent)", "(present if observed[v] == 1 else 0.0)"),
    "the last locus alone": ("log_weights[parent[v]] + (present", "(present"),
}


@pytest.mark.parametrize("fault", [*REGRAFT_FAULTS, *CELL_FAULTS])
def test_planted_faults_change_the_transition_matrix(fault):
    which = "regraft" if fault in REGRAFT_FAULTS else "cells"
    faults = [{**REGRAFT_FAULTS, **CELL_FAULTS}[fault]]
    assert max(deviation(name, 0.5, which, faults) for name in ("two loci", "three loci")) > 1e-4


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("beta", first(1, [0.3, 0.0, 1.0]))
def test_compiled_explorer_leaves_the_distribution_unchanged(name, beta):
    """Three comparisons at 1e-6."""
    assert min(comparisons(name, beta)) > LEVEL


@pytest.mark.parametrize("name", SEEN)
def test_runs_find_the_evidence(name):
    """Within 4 standard errors: a false alarm of 6e-5."""
    estimate = sterna.sample(model(name), n_rounds=11, progress=False).log_evidence
    assert abs(estimate.value - exact_law(name, 1.0)[3]) < 4 * estimate.error


@cache
def larger():
    return sterna.models.phylo_cancer(simulate(100, 60, 0.03, 0.2, seed=2))


@pytest.mark.parametrize("beta", [0.0, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("shares", [(0.1, 0.1), (1.0, 0.0), (0.0, 1.0), (2.0, 0.5)])
def test_energies_are_those_of_the_states(beta, shares):
    """To the last bit, as both follow from counts."""
    target = larger()
    explorer = replace(target.explorer, regrafts=shares[0], moves=shares[1])
    after, log_densities, _ = apply_bound(target, explorer.bind(target), draws_of(target)(10), beta, times=5)
    assert np.array_equal(log_densities[:, :2], logs_of(target, after)[:, :2])
    assert np.isfinite(log_densities[:, :2]).all()


def test_planted_fault_changes_energies():
    kernel = load(
        "models/kernels/regraft.py", [("loci * cells, fpr, fnr)", "loci * cells, fpr, 0.5)")], compiled=True
    ).explore
    target = larger()
    after, log_densities, _ = apply_bound(target, target.explorer.bind(target), draws_of(target)(5), 0.3, kernel=kernel)
    assert (log_densities[:, 1] != logs_of(target, after)[:, 1]).all()


def test_observations_have_the_likelihood_of_the_tree():
    """All 16 matrices of two cells and two loci, chi-square at 1e-6."""
    rng, parent, place = np.random.default_rng(1), [2, 0], [1, 0]
    drawn = [observe(rng, parent, place, 0.1, 0.3).ravel() @ [8, 4, 2, 1] for _ in range(20_000)]
    chances = []
    for bits in itertools.product((0, 1), repeat=4):
        target = sterna.models.phylo_cancer(np.reshape(bits, (2, 2)), **BOUNDS)
        chances.append(math.exp(target.log_densities(parent=parent, place=place, fpr=0.1, fnr=0.3)[1]))
    assert sum(chances) == pytest.approx(1.0, abs=1e-12)
    assert stats.chisquare(np.bincount(drawn, minlength=16), 20_000 * np.array(chances)).pvalue > LEVEL


def test_kernel_keeps_to_its_memory():
    """And gives the same bits whatever that memory holds."""
    target = larger()
    bound, states = target.explorer.bind(target), draws_of(target)(5)
    check_memory(target, bound, states)


def test_same_bits_for_any_number_of_workers():
    options = {"n_rounds": 5, "n_chains": 6, "n_copies": 2, "progress": False}
    first, *others = (sterna.sample(larger(), workers=workers, **options) for workers in (1, 2, 2))
    for other in others:
        assert np.array_equal(first.log_likelihood, other.log_likelihood)
        assert np.array_equal(first.rejection, other.rejection)
        assert np.array_equal(first.posterior["place"].values, other.posterior["place"].values)


def test_simulated_by_default(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)
    target = sterna.models.phylo_cancer()
    assert target.explorer.observed.shape == (391, 493)
    assert target.dimension == 391 + 493 + 2
    assert "simulated" in target.notes[0]
    assert target.compiled
    assert np.array_equal(simulate(4, 3, 0.1, 0.1), simulate(4, 3, 0.1, 0.1))


def test_files(monkeypatch, tmp_path):
    (tmp_path / "phylo_cancer").mkdir()
    path = tmp_path / "phylo_cancer" / "derived_binary_SA609_100cells_5pct.csv"
    path.write_text("locus,c0,c1,c2\nfirst,1,0,1\nsecond,0,0,1\n")
    matrix, cells, loci = read_observations(path)
    assert matrix.tolist() == [[1, 0], [0, 0], [1, 1]]
    assert (cells, loci) == (["c0", "c1", "c2"], ["first", "second"])
    monkeypatch.setenv("STERNA_DATA", str(tmp_path))
    target = sterna.models.phylo_cancer()
    assert target.explorer.observed.tolist() == [[1, 0, 1], [0, 0, 1]]
    assert not target.notes
    assert locus_newick([2, 0], [0, 2, 1], loci, cells) == "(((c2)second,c0)first,c1)root;"


def test_deep_trees_can_be_written():
    assert locus_newick(np.arange(1, 3001), [0]).count("(") == 3001


def test_mistakes_are_refused(tmp_path):
    for wrong in ([[0, 2]], [0, 1], np.zeros((0, 3)), [[0.5]]):
        with pytest.raises(sterna.OptionError, match="must be a matrix of zeros and ones"):
            sterna.models.phylo_cancer(wrong)
    with pytest.raises(sterna.OptionError, match="a rate's bound is a number above 0"):
        sterna.models.phylo_cancer([[0]], fpr_bound=0.0)
    with pytest.raises(sterna.OptionError, match="the share of loci or cells"):
        sterna.models.phylo_cancer([[0]], regrafts=-1)
    with pytest.raises(sterna.OptionError, match="made for another model"):
        larger().explorer.bind(model("two loci"))
    with pytest.raises(sterna.OptionError, match="explores the whole tree"):
        larger().explorer.bind(larger(), np.array([0]))
    with pytest.raises(sterna.OptionError, match="No such file"):
        sterna.models.phylo_cancer(tmp_path / "none.csv")
    for text in ("", "locus,a\nfirst,x\n"):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(sterna.OptionError, match=r"bad\.csv"):
            sterna.models.phylo_cancer(tmp_path / "bad.csv")
