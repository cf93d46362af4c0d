"""Kernels of the two phylogenies with planted faults, compiled, and the longer of their comparisons."""

import cancer_law
import pytest
import species_law
from plain import load
from species_law import LEVEL

pytestmark = pytest.mark.laws


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.3, 1.0])
def test_five_species(beta):
    """Thirteen comparisons at 1e-6 each."""
    assert min(species_law.comparisons(species_law.model("short five"), beta)) > LEVEL


# What is changed, and the beta at which it shows.
SPECIES_FAULTS = {
    "pairing not annealed": ("annealed(0.0, beta, one)", "annealed(0.0, 1.0, one)", 0.3),
    "the present pairing twice": ("u < p:", "u < 2.0 * p:", 1.0),
    "no Jacobian": ("density(value, given) + place", "density(value, given)", 0.3),
    "length not annealed": ("reference + beta * value", "reference + value", 0.3),
    "rate's law without its prior": ("(count * shape + 1.0, stream)", "(count * shape, stream)", 0.0),
    "shape's law without its prior": ("        -shape\n", "        0.0\n", 0.0),
}


@pytest.mark.parametrize("fault", SPECIES_FAULTS)
def test_faults_of_tree_moves(fault):
    old, new, beta = SPECIES_FAULTS[fault]
    kernel = load("explorers/tree_moves.py", [(old, new)], compiled=True).explore
    assert min(species_law.comparisons(species_law.model("short"), beta, kernel=kernel)) < LEVEL


END = "\n\n\n@compiled\ndef find_terms"
STALE = {
    "above": (f"            tree[UP_FRESH * nodes + w] = 0{END}", f"            pass{END}", 0.3),
    "below": ("            tree[DOWN_FRESH * nodes + w] = 0\n", "            pass\n", 0.3),
    "scales": ("        total -= weights", "        total -= 0.0 * weights", 0.0),
}


@pytest.mark.parametrize("fault", STALE)
def test_faults_of_pruning(fault):
    faulty = vars(load("explorers/pruning.py", [STALE[fault][:2]], compiled=True))
    used = ("begin", "make_fresh", "make_stale", "find_terms", "join", "value_across")
    kernel = load("explorers/tree_moves.py", compiled=True, **{name: faulty[name] for name in used}).explore
    assert species_law.deviation(species_law.model("five"), STALE[fault][2], kernel) > 1e-6


CANCER_FAULTS = {
    "rates not annealed": ("fnr, beta * (had - seen), beta * seen", "fnr, 1.0 * (had - seen), 1.0 * seen"),
    "rates mixed up": ("fpr, beta * wrong, beta * (loci", "fpr, beta * seen, beta * (loci"),
    "tree not annealed": ("present = beta * (math", "present = (math"),
    "the last node is left out": ("(log_weights, order, loci, stream)", "(log_weights, order, loci - 1, stream)"),
    "the last nodes too seldom": ("rest = uniform(stream) * total", "rest = uniform(stream) * 0.9 * total"),
}  # fmt: skip


@pytest.mark.parametrize("fault", CANCER_FAULTS)
def test_faults_of_regraft(fault):
    kernel = load("explorers/regraft.py", [CANCER_FAULTS[fault]], compiled=True).explore
    assert min(cancer_law.comparisons("two loci", 0.5, kernel)) < LEVEL
