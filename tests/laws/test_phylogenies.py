"""Compiled kernels of the two phylogenies with planted faults, and their longer comparisons."""

import cancer_law
import invariance
import numpy as np
import pytest
import species_law
from kernels import apply_bound
from plain import load
from scipy import stats
from scipy.special import gammainc
from species_law import LEVEL

import sterna
from sterna.models.phylo_cancer import draw as cancer_draw
from sterna.models.phylo_cancer import observe
from sterna.models.phylo_species import draw as species_draw
from sterna.models.phylo_species import evolve

pytestmark = pytest.mark.laws


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.3, 1.0])
def test_five_species(beta):
    """Thirteen comparisons at 1e-6 each."""
    assert min(species_law.comparisons(species_law.model("short five"), beta)) > LEVEL


# The planted change, and the beta at which it is detected.
SPECIES_FAULTS = {
    "pairing not annealed": ("annealed(0.0, beta, one)", "annealed(0.0, 1.0, one)", 0.3),
    "the present pairing twice": ("u < p:", "u < 2.0 * p:", 1.0),
    "no Jacobian": ("density(value, given) + logarithm", "density(value, given)", 0.3),
    "length not annealed": ("reference + beta * value", "reference + value", 0.3),
}
PRIOR_FAULTS = {
    "rate without its prior": ("short", "(count * shape + 1.0, stream)", "(count * shape, stream)"),
    "shape without its prior": ("short", "density = -shape +", "density ="),
    "a given rate integrated out": ("given rate", "if math.isnan(rate):", "if True:"),
    "a given shape drawn": (
        "given shape",
        "    if math.isnan(fixed[0]):\n        shape = slice",
        "    if True:\n        shape = slice",
    ),
}


@pytest.mark.parametrize("fault", SPECIES_FAULTS)
def test_faults_of_tree_moves(fault):
    old, new, beta = SPECIES_FAULTS[fault]
    used = {}
    if fault == "no Jacobian":
        used["slice_logarithm"] = load("models/kernels/log_slice.py", [(old, new)], compiled=True).slice_logarithm
    if "pairing" in fault:
        used["exchange"] = load("models/kernels/interchange.py", [(old, new)], compiled=True).exchange
    kernel = load("models/kernels/tree_moves.py", [] if used else [(old, new)], compiled=True, **used).explore
    assert min(species_law.comparisons(species_law.model("short"), beta, kernel=kernel)) < LEVEL


REGRAFT_FAULTS = {
    "not annealed": ("annealed(0.0, beta, graft", "annealed(0.0, 1.0, graft"),
    "the upper branch is always carried": ("if tree[Tree.above * nodes + w] == 1 else (lower", "if True else (lower"),
    "the last place too often": ("uniform(stream) * total", "uniform(stream) * 1.2 * total"),
}


@pytest.mark.parametrize("fault", REGRAFT_FAULTS)
def test_faults_of_regrafting_species(fault):
    faulty = load("models/kernels/prune_and_regraft.py", [REGRAFT_FAULTS[fault]], compiled=True).regraft
    kernel = load("models/kernels/tree_moves.py", compiled=True, regraft=faulty).explore
    assert min(species_law.comparisons(species_law.model("short five"), 0.3, kernel=kernel)) < LEVEL


@pytest.mark.parametrize("fault", PRIOR_FAULTS)
def test_faults_of_the_prior_of_lengths(fault):
    name, old, new = PRIOR_FAULTS[fault]
    faulty = load("models/kernels/length_prior.py", [(old, new)], compiled=True).draw_shape_and_rate
    kernel = load("models/kernels/tree_moves.py", compiled=True, draw_shape_and_rate=faulty).explore
    assert min(species_law.comparisons(species_law.model(name), 0.0, kernel=kernel)) < LEVEL


END = "\n\n\n@compiled\ndef find_terms"
STALE = {
    "above": (f"            tree[Tree.up_fresh * nodes + w] = 0{END}", f"            pass{END}", 0.3),
    "below": ("            tree[Tree.down_fresh * nodes + w] = 0\n", "            pass\n", 0.3),
    "scales": ("        total -= weights", "        total -= 0.0 * weights", 0.0),
}


@pytest.mark.parametrize("fault", STALE)
def test_faults_of_pruning(fault):
    faulty = vars(load("models/kernels/pruning.py", [STALE[fault][:2]], compiled=True))
    used = ("begin", "make_fresh", "make_stale", "find_terms", "value_across")
    kernel = load("models/kernels/tree_moves.py", compiled=True, **{name: faulty[name] for name in used}).explore
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
    kernel = load("models/kernels/regraft.py", [CANCER_FAULTS[fault]], compiled=True).explore
    assert min(cancer_law.comparisons("two loci", 0.5, kernel)) < LEVEL


# Larger trees: states and data are drawn jointly from the model, and then the state again given the data. Pairs of
# states and data have the same distribution before and after any number of applications of the kernel.


def both(make, draw_pair, replicates, times):
    """Return states and log-likelihoods, before and after the kernel at beta = 1, each with its own data."""
    rng = np.random.default_rng(1)
    before, after, log_densities = [], [], []
    for k in range(replicates):
        state, data = draw_pair(rng)
        target = make(data)
        moved, end, _ = apply_bound(target, target.explorer.bind(target), state[None], 1.0, times=times, seed=k)
        before.append(state)
        after.append(moved[0])
        log_densities.append([target.log_densities(state)[1], end[0, 1]])
    return np.array(before), np.array(after), np.array(log_densities)


def test_species_and_sites_together():
    """Eight taxa, forty sites; each comparison at 1e-6: lengths, their prior, energies, neighbours."""

    def draw_pair(rng):
        state = species_draw(rng, 8, np.array([np.nan, np.nan]))
        bases = evolve(rng, state[:13].astype(int), state[13:26], 40, 3.0)
        return state, {str(k): "".join("AGCT"[b] for b in row) for k, row in enumerate(bases)}

    _, after, log_densities = both(sterna.models.phylo_species, draw_pair, 2000, 3)
    assert stats.ks_2samp(log_densities[:, 0], log_densities[:, 1]).pvalue > LEVEL
    for column in (-2, -1):
        assert stats.kstest(after[:, column], "expon").pvalue > LEVEL
    scaled = gammainc(after[:, -2, None], after[:, -1, None] * after[:, 13:26])
    for column in scaled.T:
        assert stats.kstest(column, "uniform").pvalue > LEVEL
    # two taxa are neighbours with probability 1/(2n - 5)
    neighbours = sum((after[:, 0] == after[:, k]).sum() for k in range(1, 7))
    assert stats.binomtest(int(neighbours), 2000, 6 / 11).pvalue > LEVEL


def test_cells_and_observations_together():
    """Twenty loci, thirty cells; each comparison at 1e-6: rates, depths, sizes, energies."""

    def draw_pair(rng):
        parent, place, fpr, fnr = cancer_draw(rng, 20, 30, 0.1, 0.5)
        return np.concatenate([parent, place, [fpr, fnr]]), observe(rng, parent, place, fpr, fnr)

    before, after, log_densities = both(sterna.models.phylo_cancer, draw_pair, 2000, 10)
    assert (before != after).any(axis=1).mean() > 0.9
    assert stats.ks_2samp(log_densities[:, 0], log_densities[:, 1]).pvalue > LEVEL
    for column, bound in ((-2, 0.1), (-1, 0.5)):
        assert stats.kstest(after[:, column] / bound, "uniform").pvalue > LEVEL
    # children of the root other than the first: each of the other loci with probability 1/(L + 1)
    children = (after[:, :20] == 20).sum(axis=1) - 1
    chances = stats.binom(19, 1 / 21).pmf(np.arange(20))
    assert invariance.chi_square(children, chances) > LEVEL
    cells = (after[:, 20:50] == 20).sum(axis=1)
    assert invariance.chi_square(cells, stats.binom(30, 1 / 21).pmf(np.arange(31))) > LEVEL
    # a locus and a cell given by number, because labels are exchangeable
    for column in (0, 19):
        counts = np.bincount(after[:, column].astype(int), minlength=21)[np.arange(21) != column]
        assert stats.chisquare(counts[:-1]).pvalue > LEVEL
    assert stats.chisquare(np.bincount(after[:, 20].astype(int), minlength=21)).pvalue > LEVEL
