"""Phylogeny of species from aligned sequences (paper, table of models)."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sterna.errors import OptionError
from sterna.ground.compilation import compiled_with_memory
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.kernels.length_prior import log_prior
from sterna.models.kernels.log_slice import TINY
from sterna.models.kernels.pruning import compiled_tree_size, compiled_work_size, hang, label, tree_log_likelihood
from sterna.models.kernels.tree_moves import TreeMoves
from sterna.models.parameters import checked
from sterna.reference.reference import Reference
from sterna.reference.space import Integer, Real
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray

# Bases that each letter of an alignment stands for.
LETTERS = {
    "A": "A", "C": "C", "G": "G", "T": "T", "U": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT",
    "K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", **dict.fromkeys("N?-X.", "ACGT"),
}  # fmt: skip
BASES = "AGCT"

# The sizes of the paper, and the gamma distribution of branch lengths for simulated data, with mean 0.1.
N_TAXA, N_SITES = 8, 245
SIMULATED_SHAPE, SIMULATED_RATE = 1.0, 10.0


@checked
def phylo_species(
    alignment: Mapping[str, str] | str | os.PathLike[str] | None = None,
    kappa: float = 3.0,
    shape: float | None = None,
    rate: float | None = None,
) -> Target:
    r"""Unrooted tree of species, from aligned DNA sequences.

    The reference is uniform over the (2n - 5)!! unrooted binary topologies of n taxa; the 2n - 3 branch lengths are
    independent Gamma(shape, rate), and shape and rate are Exp(1), or numbers that are given. Along a branch of length t
    bases change by Kimura's model: with :math:`a = 1 - e^{-4t/(\kappa+2)}` and
    :math:`b = 1 - e^{-2t(\kappa+1)/(\kappa+2)}`,

    .. math:: P(\text{each of two transversions}) = a/4, \qquad P(\text{transition}) = b/2 - a/4,

    so that t is the expected number of changes. Sites are independent, and the likelihood of a site is a sum over the
    bases x at all inner nodes, which pruning computes in one pass:

    .. math:: L = \prod_{\text{sites}} \sum_{x} \tfrac14 \prod_{\text{branches } uv} P_{t_{uv}}(x_u, x_v).

    Letters are IUPAC codes for sets of bases; "-", "N" and "?" stand for all four.

    The variables are `parent` and `length`, with 2n - 3 entries each, and `shape` and `rate` unless they are given. The
    tree is rooted at taxon 0; node v > 0 has the parent `parent[v - 1]`, at distance `length[v - 1]`. Nodes from n on
    are inner nodes, in an order that depends only on the topology: equal topologies have equal parents.
    `sterna.models.trees` has functions for draws: `newick`, `topologies` and `splits`.

    The likelihood is never zero, but with branch lengths below 1e-300 it can underflow: for the paper's data at about
    5 in 100 000 draws from the reference.

    Explored by nearest-neighbour interchange, pruning and regrafting of subtrees, and slice sampling of every branch
    (`sterna.models.kernels.tree_moves`).

    Parameters
    ----------
    alignment
        Sequences by name, or the path of a FASTA file. By default `phylo_species/FES_8.g.fasta` of the data folder;
        without a folder, 245 simulated sites of 8 taxa.
    kappa
        Ratio of the rate of transitions to the rate of each transversion; 1 is the model of Jukes and Cantor (1969).
    shape, rate
        Numbers, if the gamma distribution of branch lengths is known. With `kappa=1, shape=1, rate=10` the lengths are
        exponential with mean 0.1, the model under which the alignments DS1 to DS11 are usually compared.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.models.phylo_species({"human": "ACGT", "chimp": "ACGT", "mouse": "ACAR", "rat": "AC-C"})
    >>> target.space.names
    ['parent', 'length', 'shape', 'rate']
    >>> star = target.log_densities(parent=[4, 5, 5, 0, 4], length=[1e9] * 5, shape=1.0, rate=1.0)
    >>> round(star[1], 9) == round(14 * math.log(0.25) + math.log(0.5), 9)
    True
    >>> sterna.models.phylo_species(kappa=1, shape=1, rate=10).space.names
    ['parent', 'length']
    """
    for name, value in (("kappa", kappa), ("shape", shape), ("rate", rate)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise OptionError(f"phylo_species({name}={value}): {name} must be a positive number.")
    decay = decay_of(kappa)
    file = alignment if isinstance(alignment, (str, os.PathLike)) else None
    simulated = False
    if alignment is None:
        file = data_file("phylo_species", "FES_8.g.fasta")
    if file is not None:
        alignment = read_fasta(file)
    elif alignment is not None and not isinstance(alignment, Mapping):
        raise OptionError(
            f"phylo_species(alignment={alignment!r}): give a dict of sequences by taxon, or the path of a FASTA file."
        )
    if not isinstance(alignment, Mapping):
        alignment, simulated = simulate(N_TAXA, N_SITES, kappa), True
    tips, weights = patterns_of(alignment)
    taxa, branches = len(tips), 2 * len(tips) - 3
    space = {
        "parent": Integer(0, branches, shape=branches),
        "length": Real(lower=0.0, shape=branches),
        **{name: Real(lower=0.0) for name, value in (("shape", shape), ("rate", rate)) if value is None},
    }
    fixed = math.nan if shape is None else shape, math.nan if rate is None else rate
    target = Target(
        log_likelihood,
        Reference(draw, log_reference, space),
        {"tips": tips.ravel(), "weights": weights, "taxa": taxa, "decay": np.array(decay), "fixed": np.array(fixed)},
        explorer=TreeMoves(tips, weights, decay, fixed),
        name="phylo_species",
    )
    return say_simulated(target) if simulated else target


def decay_of(kappa: float) -> tuple[float, float]:
    """Return the rates at which transversions and transitions decay along a branch, at one change per unit length."""
    return 4.0 / (kappa + 2.0), 2.0 * (kappa + 1.0) / (kappa + 2.0)


def read_fasta(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read sequences by name."""
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise OptionError(f"phylo_species({str(path)!r}): {error.strerror}; give a FASTA file.") from None
    sequences: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith(">"):
            name = line[1:].strip()
            if name in sequences:
                raise OptionError(f"{path} has two sequences named {name!r}; every taxon needs its own name.")
            sequences[name] = []
        elif line.strip():
            if not sequences:
                raise OptionError(f"{path} begins with {line[:20]!r}; a FASTA file begins with >name.")
            next(reversed(sequences.values())).append(line.strip())
    return {name: "".join(lines) for name, lines in sequences.items()}


def patterns_of(alignment: Mapping[str, str]) -> tuple[FloatArray, FloatArray]:
    """Return the bases that every taxon may have in each distinct pattern, (taxa, patterns, 4), and their counts."""
    sequences = {name: str(sequence).upper() for name, sequence in alignment.items()}
    lengths = {len(sequence) for sequence in sequences.values()}
    if len(sequences) < 3 or len(lengths) != 1 or 0 in lengths:
        raise OptionError(
            f"phylo_species: {len(sequences)} sequences of lengths {sorted(lengths)} were given; "
            "at least 3 are needed, aligned to the same length."
        )
    for name, sequence in sequences.items():
        unknown = set(sequence) - set(LETTERS)
        if unknown:
            raise OptionError(f"phylo_species: {name!r} has the letters {sorted(unknown)}, which are not IUPAC codes.")
    columns = np.array([list(sequence) for sequence in sequences.values()]).T
    distinct, weights = np.unique(columns, axis=0, return_counts=True)
    # pruning takes one logarithm of neighbours with the same weight
    order = np.argsort(weights, kind="stable")
    distinct, weights = distinct[order], weights[order]
    sets = {letter: [float(base in bases) for base in BASES] for letter, bases in LETTERS.items()}
    tips = np.array([[sets[str(letter)] for letter in taxon] for taxon in distinct.T])
    return tips, weights.astype(np.float64)


@compiled_with_memory
def log_likelihood(x: FloatArray, tips: FloatArray, weights: FloatArray, taxa: int, decay: FloatArray) -> float:
    """Sum over patterns, by pruning; zero likelihood if the parents do not form a tree."""
    tree, work = np.empty(compiled_tree_size(taxa), np.int64), np.empty(compiled_work_size(taxa, weights.size))
    return tree_log_likelihood(x, tree, work, tips, weights, decay, taxa, weights.size)


@compiled_with_memory
def log_reference(x: FloatArray, taxa: int, fixed: FloatArray) -> float:
    """Uniform over topologies, gamma over lengths; zero density if the parents do not form a tree."""
    tree = np.empty(compiled_tree_size(taxa), np.int64)
    tree[0] = -1
    for v in range(1, 2 * taxa - 2):
        tree[v] = int(x[v - 1])
    if not hang(tree, taxa) or not label(tree, taxa):
        return -np.inf
    return log_prior(x, fixed, taxa)


@compiled_with_memory
def draw_topology(rng: np.random.Generator, taxa: int) -> IntArray:
    """Add taxa one after the other at a random branch, which gives every topology exactly once, with its own labels."""
    parent = np.zeros(2 * taxa - 3, np.int64)
    for k in range(2, taxa):
        # branches so far: above taxa 1 to k - 1, and above inner nodes taxa to taxa + k - 3
        below = rng.integers(1, 2 * k - 2)
        if below >= k:
            below += taxa - k
        inner = taxa + k - 2
        parent[inner - 1] = parent[below - 1]
        parent[below - 1] = parent[k - 1] = inner
    return parent


@compiled_with_memory
def draw(rng: np.random.Generator, taxa: int, fixed: FloatArray) -> FloatArray:
    """Draw a state: parents, lengths, and what of shape and rate is not fixed."""
    branches = 2 * taxa - 3
    free = np.isnan(fixed)
    x = np.empty(2 * branches + free.sum())
    x[:branches] = draw_topology(rng, taxa)
    shape = max(rng.exponential(), TINY) if free[0] else fixed[0]
    rate = max(rng.exponential(), TINY) if free[1] else fixed[1]
    for v in range(branches, 2 * branches):
        # with a tiny shape a draw can round to 0, where there is no density
        x[v] = max(rng.gamma(shape, 1.0) / rate, TINY)
    if free[0]:
        x[2 * branches] = shape
    if free[1]:
        x[-1] = rate
    return x


def simulate(taxa: int, sites: int, kappa: float = 3.0, seed: int = SEED) -> dict[str, str]:
    """Simulate a tree and sequences from the model, with Gamma(1, 10) branch lengths."""
    rng = np.random.Generator(np.random.PCG64(seed))
    parent = draw_topology(rng, taxa)
    length = rng.gamma(SIMULATED_SHAPE, 1.0 / SIMULATED_RATE, size=len(parent))
    bases = evolve(rng, parent, length, sites, kappa)
    return {f"taxon_{k}": "".join(BASES[b] for b in bases[k]) for k in range(taxa)}


def evolve(
    rng: np.random.Generator, parent: Sequence[int] | IntArray, length: FloatArray, sites: int, kappa: float
) -> IntArray:
    """Simulate bases (0 to 3 for A, G, C, T) of all taxa along a tree, from uniform ones at taxon 0."""
    taxa = (len(parent) + 3) // 2
    slow, fast = decay_of(kappa)
    bases: dict[int, IntArray] = {0: rng.integers(0, 4, size=sites)}
    while len(bases) < 2 * taxa - 2:
        for v in range(1, 2 * taxa - 2):
            above = int(parent[v - 1])
            if v not in bases and above in bases:
                a, b = -math.expm1(-slow * length[v - 1]), -math.expm1(-fast * length[v - 1])
                probabilities = [1 - 0.25 * a - 0.5 * b, 0.5 * b - 0.25 * a, 0.25 * a, 0.25 * a]
                # a transition, between A and G or C and T, changes the last bit; a transversion changes the first
                bases[v] = bases[above] ^ rng.choice(4, size=sites, p=probabilities)
    return np.array([bases[k] for k in range(taxa)])
