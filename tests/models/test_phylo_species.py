"""The phylogeny of species: likelihood against sums over all bases, its explorer against exact draws by rejection."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from kernels import apply_bound, check_memory, draws_of, logs_of
from quick import first
from scipy import linalg, stats
from scipy.special import gammainc
from species_law import FIVE, FOUR, LEVEL, SHORT, comparisons, deviation, model, topology_numbers

import sterna
from sterna.models.phylo_species import LETTERS, draw_topology, evolve, patterns_of, read_fasta, simulate
from sterna.models.trees import newick, splits, topologies


def rates(kappa=3.0):
    """Rate matrix in order A, C, G, T: transitions kappa times as fast as each transversion, one change per unit."""
    matrix = np.full((4, 4), 1.0 / (kappa + 2.0))
    for i, j in ((0, 2), (1, 3)):
        matrix[i, j] = matrix[j, i] = kappa / (kappa + 2.0)
    np.fill_diagonal(matrix, -1.0)
    return matrix


def slow_log_likelihood(alignment, parent, length, kappa=3.0):
    """Sum over the bases of all inner nodes, site by site."""
    sequences = list(alignment.values())
    n = len(sequences)
    moves = {v: linalg.expm(rates(kappa) * length[v - 1]) for v in range(1, 2 * n - 2)}
    total = 0.0
    for site in zip(*sequences, strict=True):
        allowed = [["ACGT".index(base) for base in LETTERS[letter]] for letter in site]
        chance = 0.0
        for bases in itertools.product(*allowed, *[range(4)] * (n - 2)):
            term = 0.25
            for v in range(1, 2 * n - 2):
                term *= moves[v][bases[parent[v - 1]], bases[v]]
            chance += term
        total += math.log(chance)
    return total


@pytest.mark.parametrize(("name", "alignment"), [("four", FOUR), ("five", FIVE)])
def test_log_likelihood_is_the_sum_over_all_bases(name, alignment):
    target, rng = model(name), np.random.default_rng(1)
    for state in draws_of(target)(6):
        values = target.space.values(state)
        length = rng.gamma(1.0, 0.3, size=values["length"].shape)
        seen = target.log_densities(**{**values, "length": length})[1]
        assert seen == pytest.approx(slow_log_likelihood(alignment, values["parent"], length), abs=1e-9)


def test_kappa():
    alignment, length = FOUR, np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    target = sterna.models.phylo_species(alignment, kappa=1.5)
    parent = [4, 5, 5, 0, 4]
    seen = target.log_densities(parent=parent, length=length, shape=1.0, rate=1.0)[1]
    assert seen == pytest.approx(slow_log_likelihood(alignment, parent, length, 1.5), abs=1e-9)


def test_tiny_lengths_lose_no_digits():
    """Where the likelihood itself underflows: the first order in every length, by hand.

    On three branches of length t around one node, ACG has changes on two of them, of which one is a transition: all
    orders but t^2 vanish. With A at the node it is transversion and transition, and so on for C and G.
    """
    target, t = sterna.models.phylo_species({"a": "A" * 5, "b": "C" * 5, "c": "G" * 5}), 1e-120
    seen = target.log_densities(parent=[3, 3, 0], length=[t] * 3, shape=1.0, rate=1.0)[1]
    exact = 5 * math.log(0.25 * (0.2 * 0.6 + 0.2 * 0.2 + 0.2 * 0.6) * t * t)
    assert seen == pytest.approx(exact, rel=1e-12)
    # eight taxa at t = 1e-120 need at least two changes, and all vectors must be scaled
    many = sterna.models.phylo_species(dict(zip("abcdefgh", ["A", "C", "G", "T"] * 2, strict=True)))
    log_densities = logs_of(
        many, [np.concatenate([state[:13], np.full(13, t), [1, 1]]) for state in draws_of(many)(50)]
    )
    changes = -log_densities[:, 1] / -math.log(t)
    assert ((changes > 2.9) & (changes < 7.1)).all()


def test_log_reference():
    target = model("five")
    for state in draws_of(target)(5):
        values = target.space.values(state)
        shape, rate = values["shape"], values["rate"]
        exact = stats.gamma(shape, scale=1 / rate).logpdf(values["length"]).sum() - shape - rate - math.log(15)
        assert target.log_densities(state)[0] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("given", [{"shape": 1.5}, {"rate": 2.0}, {"shape": 1.0, "rate": 10.0, "kappa": 1.0}])
def test_given_parameters_are_no_variables(given):
    target = sterna.models.phylo_species(FIVE, **given)
    assert target.space.names == ["parent", "length", *(name for name in ("shape", "rate") if name not in given)]
    for state in draws_of(target)(5):
        values = target.space.values(state)
        shape, rate = (given.get(name, values.get(name)) for name in ("shape", "rate"))
        exact = stats.gamma(shape, scale=1 / rate).logpdf(values["length"]).sum() - math.log(15)
        exact -= sum(values[name] for name in ("shape", "rate") if name not in given)
        reference, likelihood = target.log_densities(state)
        assert reference == pytest.approx(exact, abs=1e-9)
        slow = slow_log_likelihood(FIVE, values["parent"], values["length"], given.get("kappa", 3.0))
        assert likelihood == pytest.approx(slow, rel=1e-9)


NO_TREES = {
    "a cycle": [4, 5, 5, 5, 4],
    "a taxon as a parent": [4, 3, 4, 0, 4],
    "three children": [4, 4, 4, 0, 5],
    "two children of taxon 0": [4, 0, 5, 0, 4],
    "labels of no topology": [5, 4, 4, 0, 5],
}


@pytest.mark.parametrize("what", NO_TREES)
def test_what_is_no_tree_has_density_zero(what):
    others = {"length": [1.0] * 5, "shape": 1.0, "rate": 1.0}
    assert model("four").log_densities(parent=[4, 5, 5, 0, 4], **others)[0] > -math.inf
    assert model("four").log_densities(parent=NO_TREES[what], **others) == (-math.inf, -math.inf)


@pytest.mark.parametrize(("taxa", "count"), [(4, 3), (5, 15), (6, 105)])
def test_topologies_of_the_reference_are_uniform(taxa, count):
    rng = np.random.default_rng(1)
    states = np.array([draw_topology(rng, taxa) for _ in range(200 * count)])
    counts = np.bincount(topology_numbers(states, taxa))
    assert len(counts) == count
    assert stats.chisquare(counts).pvalue > LEVEL


def uniforms_of(target, states):
    """What is uniform under the reference: shape, rate and lengths by their distribution functions."""
    values = target.space.values(states)
    shape, rate = values["shape"], values["rate"]
    lengths = gammainc(shape[:, None], rate[:, None] * values["length"])
    return [1 - np.exp(-shape), 1 - np.exp(-rate), *lengths.T]


@pytest.mark.parametrize("beta", first(1, [0.3, 0.0, 1.0]))
def test_explorer_leaves_the_distribution_unchanged(beta):
    """Eleven comparisons at 1e-6 each."""
    assert min(comparisons(model("short"), beta)) > LEVEL


@pytest.mark.parametrize("name", first(1, ["given both", "given shape", "given rate"]))
def test_explorer_with_given_parameters(name):
    """Nine or ten comparisons at 1e-6 each."""
    assert min(comparisons(model(name), 0.5)) > LEVEL


def test_explorer_without_data_draws_the_reference():
    """All letters missing, at beta = 1: 105 topologies, lengths, shape and rate; 12 comparisons at 1e-6."""
    target = sterna.models.phylo_species(dict.fromkeys("abcdef", "N-?"))
    start = draws_of(target)(20_000)
    assert logs_of(target, start)[:, 1] == pytest.approx(0.0, abs=1e-12)
    after, _, _ = apply_bound(target, target.explorer.bind(target), start, 1.0, times=5)
    counts = np.bincount(topology_numbers(after, 6))
    assert len(counts) == 105
    assert stats.chisquare(counts).pvalue > LEVEL
    for numbers in uniforms_of(target, after):
        assert stats.kstest(numbers, "uniform").pvalue > LEVEL


@pytest.mark.parametrize("name", ["four", "five", "short five"])
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_energies_are_those_of_the_states(name, beta):
    assert deviation(model(name), beta) < 1e-9


def test_kernel_keeps_to_its_memory():
    """And gives the same bits whatever that memory holds."""
    target = model("five")
    bound, states = target.explorer.bind(target), draws_of(target)(20)
    check_memory(target, bound, states)


def test_simulated_sites_have_the_likelihood_of_their_pattern():
    """All 256 patterns of four taxa, chi-square at 1e-6."""
    rng, parent, length = np.random.default_rng(1), [4, 5, 5, 0, 4], np.array([0.3, 0.1, 0.5, 0.2, 0.4])
    bases = evolve(rng, parent, length, 100_000, 3.0)
    counts = np.bincount(bases.T @ (4 ** np.arange(3, -1, -1)), minlength=256)
    chances = []
    for pattern in itertools.product("AGCT", repeat=4):
        one = sterna.models.phylo_species(dict(zip("abcd", pattern, strict=True)))
        chances.append(math.exp(one.log_densities(parent=parent, length=length, shape=1.0, rate=1.0)[1]))
    assert sum(chances) == pytest.approx(1.0, abs=1e-12)
    assert stats.chisquare(counts, 100_000 * np.array(chances)).pvalue > LEVEL


def test_runs_find_evidence_and_topologies():
    """Against means over the reference's own draws, no tempering: within 5 standard errors each.

    The error of a topology's frequency is estimated from 32 batches, so Student's distribution gives a false-alarm rate
    of 2e-5 for each of three, and less than 1e-4 in total. A fault in the likelihood is caught by the sums over all
    bases, not here.
    """
    target, n = model("short"), 400_000
    states = draws_of(target, seed=7)(n)
    log_densities = logs_of(target, states)[:, 1]
    weights = np.exp(log_densities - log_densities.max())
    exact, error = math.log(weights.mean()) + log_densities.max(), weights.std() / weights.mean() / math.sqrt(n)
    result = sterna.sample(target, n_rounds=11, progress=False)
    assert abs(result.log_evidence.value - exact) < 5 * math.hypot(result.log_evidence.error, error)
    drawn = result.posterior["parent"].values
    found = topologies(drawn, list(SHORT))
    assert sum(found.values()) == pytest.approx(1.0)
    distinct, numbers = np.unique(states[:, :5], axis=0, return_inverse=True)
    assert len(distinct) == 3
    for number, parent in enumerate(distinct.astype(int)):
        inside = numbers.ravel() == number
        share = weights[inside].sum() / weights.sum()
        error = math.sqrt(np.sum(weights**2 * (inside - share) ** 2)) / weights.sum()
        indicator = (drawn == parent).all(axis=-1).ravel()
        batches = indicator[: indicator.size // 32 * 32].reshape(32, -1).mean(axis=1)
        allowed = 5 * math.hypot(batches.std(ddof=1) / math.sqrt(32), error)
        assert abs(found[newick(parent, None, list(SHORT))] - share) < allowed


def test_same_bits_for_any_number_of_workers():
    runs = [sterna.sample(model("five"), n_rounds=6, n_chains=5, n_copies=2, workers=w, progress=False) for w in (1, 2)]
    again = sterna.sample(model("five"), n_rounds=6, n_chains=5, n_copies=2, workers=2, progress=False)
    for other in (runs[1], again):
        assert np.array_equal(runs[0].log_likelihood, other.log_likelihood)
        assert np.array_equal(runs[0].rejection, other.rejection)
        assert np.array_equal(runs[0].posterior["parent"].values, other.posterior["parent"].values)


def test_three_taxa_have_one_topology():
    target = sterna.models.phylo_species({"a": "ACC", "b": "ACG", "c": "AGG"})
    result = sterna.sample(target, n_rounds=6, n_chains=4, progress=False)
    assert list(topologies(result.posterior["parent"].values)) == ["(0,1,2);"]


def test_newick_and_splits():
    parent = draw_topology(np.random.default_rng(1), 8)
    text = newick(parent, np.arange(1.0, 14.0), list("abcdefgh"))
    assert text.count("(") == text.count(")") == 6
    assert all(text.count(letter) == 1 for letter in "abcdefgh")
    assert len(splits([parent])) == 5
    assert all(share == 1.0 for share in splits([parent, parent]).values())
    with pytest.raises(sterna.OptionError, match="3 names were given for a tree of 8 taxa"):
        newick(parent, names=["a", "b", "c"])


def test_fasta(tmp_path):
    (tmp_path / "some.fasta").write_text(">one\nACGT\nAC\n>two x\nacgtnn\n\n>three\n------\n")
    alignment = read_fasta(tmp_path / "some.fasta")
    assert alignment == {"one": "ACGTAC", "two x": "acgtnn", "three": "------"}
    assert sterna.models.phylo_species(tmp_path / "some.fasta").dimension == 8
    tips, weights = patterns_of(alignment)
    assert weights.sum() == 6
    assert tips[2].min() == 1.0


def test_data_folder(monkeypatch, tmp_path):
    (tmp_path / "phylo_species").mkdir()
    (tmp_path / "phylo_species" / "FES_8.g.fasta").write_text(">a\nA\n>b\nC\n>c\nG\n")
    monkeypatch.setenv("STERNA_DATA", str(tmp_path))
    target = sterna.models.phylo_species()
    assert target.dimension == 8
    assert not target.notes


def test_simulated_by_default(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)
    target = sterna.models.phylo_species()
    assert target.explorer.tips.shape[0] == 8
    assert target.explorer.weights.sum() == 245
    assert "simulated" in target.notes[0]
    assert target.compiled
    assert simulate(5, 10) == simulate(5, 10) != simulate(5, 10, seed=2)


WRONG = {
    "at least 3 are needed": {"a": "ACG", "b": "ACG"},
    "aligned to the same length": {"a": "ACG", "b": "ACG", "c": "AC"},
    "not IUPAC codes": {"a": "ACG", "b": "ACJ", "c": "ACG"},
    "No such file": "/nowhere/at/all.fasta",
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_alignment_is_refused(message):
    with pytest.raises(sterna.OptionError, match=message):
        sterna.models.phylo_species(WRONG[message])


def test_other_mistakes_are_refused():
    with pytest.raises(sterna.OptionError, match="kappa must be a positive number"):
        sterna.models.phylo_species(FOUR, kappa=0.0)
    for name in ("shape", "rate"):
        with pytest.raises(sterna.OptionError, match=f"{name} must be a positive number"):
            sterna.models.phylo_species(FOUR, **{name: -1.0})
    with pytest.raises(sterna.OptionError, match="made for another model"):
        sterna.models.phylo_species(FOUR, rate=2.0).explorer.bind(sterna.models.phylo_species(FOUR, rate=3.0))
    with pytest.raises(sterna.OptionError, match="made for another model"):
        model("five").explorer.bind(model("four"))
    with pytest.raises(sterna.OptionError, match="explores the whole tree"):
        model("four").explorer.bind(model("four"), np.array([0]))
    with pytest.raises(sterna.OptionError, match="give an integer"):
        replace(model("four").explorer, passes=0.5)
    with pytest.raises(sterna.OptionError, match="subtrees are regrafted so often"):
        replace(model("four").explorer, regrafts=-1)
