"""Subtree pruning and regrafting: the exact transition matrix of its source, over all trees with given lengths."""

import itertools

import numpy as np
import pytest
from plain import Forks, Symbol, load
from quick import first
from species_law import FOUR

import sterna
from sterna.models.kernels.pruning import begin, make_fresh, tree_size, work_size
from sterna.models.kernels.tree_moves import write_back
from sterna.models.phylo_species import draw_topology

# Regrafting permutes lengths, so these lengths in all orders, on all topologies, are closed sets of 15 and 60 states.
FEW = (0.05, 0.6, 0.6, 0.6, 0.6)
MANY = (0.05, 0.3, 0.3, 0.3, 1.1)
PATH = "models/kernels/prune_and_regraft.py"
TARGET = sterna.models.phylo_species(FOUR, kappa=2.0, shape=1.0, rate=2.0)


def all_states(lengths):
    rng = np.random.default_rng(1)
    parents = {tuple(draw_topology(rng, 4).tolist()) for _ in range(50)}
    assert len(parents) == 3
    orders = set(itertools.permutations(lengths))
    return [np.array([*parent, *order], dtype=float) for parent, order in itertools.product(parents, orders)]


def transition_matrix(beta, lengths=FEW, faults=()):
    """Return the states, their log-likelihoods, and the probabilities of one regraft from each to each."""
    forks, states = Forks(), all_states(lengths)
    regraft = load(PATH, faults, uniform=lambda stream: Symbol(forks)).regraft
    bath = TARGET.explorer
    taxa, patterns = bath.tips.shape[:2]
    tips, number = bath.tips.ravel(), {tuple(x): k for k, x in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for k, state in enumerate(states):

        def run(state=state):
            x, tree, work = state.copy(), np.zeros(tree_size(taxa), np.int64), np.zeros(work_size(taxa, patterns))
            assert begin(x, tree, work, tips, bath.decay, taxa, patterns)
            for v in range(1, 2 * taxa - 2):
                make_fresh(tree, work, bath.weights, v, taxa, patterns)
            regraft(tree, work, bath.weights, beta, bath.decay, taxa, patterns, None)
            write_back(x, tree, work, taxa, patterns)
            return number[tuple(x)]

        for probability, end in forks.outcomes(run):
            matrix[k, end] += probability
    return matrix, np.array([TARGET.log_densities(x)[1] for x in states])


def imbalance(beta, lengths=FEW, faults=()):
    """Return the largest difference between the flow from one state to another and the flow back."""
    matrix, energies = transition_matrix(beta, lengths, faults)
    weights = np.exp(beta * (energies - energies.max()))
    flow = matrix * weights[:, None] / weights.sum()
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    return np.abs(flow - flow.T).max()


@pytest.mark.parametrize(("beta", "lengths"), first(2, [(0.3, MANY), (1.0, FEW), (0.0, FEW)]))
def test_flows_between_all_trees_are_balanced(beta, lengths):
    assert imbalance(beta, lengths) < 1e-14


def test_all_trees_are_reached():
    """And most regrafts change the tree at beta = 0, where all places have the same weight."""
    matrix, _ = transition_matrix(0.0)
    assert (np.linalg.matrix_power(matrix, 20) > 0).all()
    assert np.diag(matrix).max() < 0.6


FAULTS = {
    "not annealed": ("annealed(0.0, beta, graft", "annealed(0.0, 1.0, graft"),
    "the upper branch is always carried": ("if tree[Tree.above * nodes + w] == 1 else (lower", "if True else (lower"),
    "a stale vector": ("    tree[Tree.up_fresh * nodes + w] = 0\n", ""),
    "the last place too seldom": ("uniform(stream) * total", "uniform(stream) * 0.9 * total"),
    "subtree without its branch": ("propagate(work, spare(1, taxa, patterns), down_of(v, taxa, patterns), v,",
                                   "propagate(work, spare(1, taxa, patterns), down_of(v, taxa, patterns), 1,"),
}  # fmt: skip


@pytest.mark.parametrize("fault", first(2, FAULTS))
def test_planted_faults_are_noticed(fault):
    assert imbalance(0.3, FEW, [FAULTS[fault]]) > 1e-5
