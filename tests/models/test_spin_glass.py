"""The spin glass: its energies against plain sums, its heat bath and its evidence against enumeration."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from kernels import apply_bound
from plain import Forks, Symbol, load
from scipy import stats
from scipy.special import logsumexp

import sterna
from sterna.explorers.gibbs import Gibbs
from sterna.models.spin_glass import draw_couplings

LEVEL = 1e-6
CASES = list(itertools.product([(3, 2), (2, 3), (2, 2), (3, 3)], ["normal", "binary"], [True, False]))


def plain_sum(spins, couplings, periodic):
    """Sum over edges, from every site to the next along every axis."""
    size, dim = spins.shape[0], spins.ndim
    total = 0.0
    for number, site in enumerate(itertools.product(range(size), repeat=dim)):
        for axis in range(dim):
            other = list(site)
            other[axis] += 1
            if other[axis] == size:
                if not periodic:
                    continue
                other[axis] = 0
            total += couplings[number, axis] * spins[site] * spins[tuple(other)]
    return total


@pytest.mark.parametrize(("lattice", "couplings", "periodic"), CASES)
def test_log_likelihood_and_local_change_are_those_of_the_plain_sum(lattice, couplings, periodic):
    size, dim = lattice
    target = sterna.models.spin_glass(size, dim, 7, couplings, periodic, inverse_temperature=0.7)
    drawn = draw_couplings((size**dim, dim), 7, couplings)
    rng = np.random.default_rng(1)
    for _ in range(5):
        spins = rng.choice([-1.0, 1.0], size=(size,) * dim)
        assert target.log_densities(spin=spins)[1] == pytest.approx(0.7 * plain_sum(spins, drawn, periodic), abs=1e-12)
    # `Slice` and `Gibbs` follow the local change, the heat bath its own sums
    states = rng.choice([-1.0, 1.0], size=(20, size**dim))
    for explorer in (target.explorer, Gibbs(), sterna.Slice()):
        after, log_densities, _ = apply_bound(target, explorer.bind(target), states, 0.5, times=3)
        assert not np.array_equal(after, states)
        for x, row in zip(after, log_densities, strict=True):
            assert row[:2] == pytest.approx(target.log_densities(x), abs=1e-9)


def all_states(target):
    states = np.array(list(itertools.product((-1.0, 1.0), repeat=target.dimension)))
    return states, np.array([target.log_densities(x) for x in states])


def law_of(log_densities, beta):
    return np.exp(
        log_densities[:, 0] + beta * log_densities[:, 1] - logsumexp(log_densities[:, 0] + beta * log_densities[:, 1])
    )


def deviation(target, beta, faults=()):
    """Return how far the exact transition matrix of the kernel, as its source stands, moves the distribution."""
    states, log_densities = all_states(target)
    forks = Forks()
    names = {
        "uniform": lambda stream: Symbol(forks),
        "as_pointer": lambda array, kind: array,
        "first_coordinate": lambda updates, count, stream: 0,
    }
    sweep = load("models/kernels/heat_bath.py", faults, **names).explore_weighted_spins
    bath, n = target.explorer, target.dimension
    parameters = [n, bath.coupling, bath.field, bath.adjacent.shape[1]]
    data = [bath.adjacent.ravel().tolist(), bath.weights.ravel().tolist()]
    number = {tuple(x): k for k, x in enumerate(states)}
    distribution, after = law_of(log_densities, beta), np.zeros(len(states))
    for k, state in enumerate(states):

        def run(k=k, state=state):
            x, own = list(state), list(log_densities[k])
            sweep(SimpleNamespace(dimension=n), x, own, beta, parameters, None, data, None)
            return number[tuple(x)]

        for probability, end in forks.outcomes(run):
            after[end] += distribution[k] * probability
    return np.abs(after - distribution).max()


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.5, 1.0])
def test_the_transition_matrix_leaves_the_distribution_unchanged(beta):
    assert deviation(sterna.models.spin_glass(2, 2, seed=3), beta) < 1e-12


@pytest.mark.parametrize("periodic", [True, False])
def test_the_transition_matrix_in_three_dimensions(periodic):
    assert deviation(sterna.models.spin_glass(2, 3, seed=3, periodic=periodic), 0.5) < 1e-12


# Couplings of the first site of the default model.
RECORDED = [0.020178, 0.345584, 0.256486, 0.821618, -0.292457, 0.330437]

FAULTS = {
    "not annealed": ("(field - beta * coupling * total)", "(field - coupling * total)"),
    "weights left out": ("total += weights[k] * x", "total += x"),
    "one neighbour too few": ("degree * i + degree)", "degree * i + degree - 1)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_transition_matrix(fault):
    assert deviation(sterna.models.spin_glass(2, 2, seed=3), 0.5, [FAULTS[fault]]) > 1e-3


@pytest.mark.parametrize("beta", [0.1, 1.0])
@pytest.mark.parametrize("passes", [1.0, 0.3])
def test_compiled_draws(beta, passes):
    """Chi-square over all 512 states of a 3 x 3 lattice at 1e-6, rare ones together."""
    target, n_draws = sterna.models.spin_glass(3, 2, inverse_temperature=0.4), 60_000
    states, log_densities = all_states(target)
    distribution = law_of(log_densities, beta)
    chosen = np.random.default_rng(2).choice(len(states), size=n_draws, p=distribution)
    after, _, _ = apply_bound(target, replace(target.explorer, passes=passes).bind(target), states[chosen], beta)
    number = ((after > 0) @ (2 ** np.arange(8, -1, -1))).astype(int)
    counts, likely = np.bincount(number, minlength=512), distribution * n_draws > 10
    seen, wanted = (np.append(part[likely], part[~likely].sum()) for part in (counts, distribution * n_draws))
    keep = wanted > 5
    assert stats.chisquare(seen[keep], wanted[keep] * seen[keep].sum() / wanted[keep].sum()).pvalue > LEVEL


@pytest.mark.parametrize(("size", "dim", "couplings"), [(3, 2, "normal"), (2, 3, "binary")])
def test_runs_find_the_evidence(size, dim, couplings):
    """Within 4 standard errors: a false alarm of 6e-5."""
    target = sterna.models.spin_glass(size, dim, couplings=couplings)
    exact = logsumexp(all_states(target)[1].sum(axis=1))
    estimate = sterna.sample(target, n_rounds=11, n_copies=1, progress=False).log_evidence
    assert abs(estimate.value - exact) < 4 * estimate.error


def test_couplings_follow_from_the_seed():
    first, again, other = (sterna.models.spin_glass(4, 3, seed=seed).explorer for seed in (5, 5, 6))
    assert np.array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)
    assert set(np.unique(sterna.models.spin_glass(4, 3, couplings="binary").explorer.weights)) == {-1.0, 1.0}
    rounded = np.round(sterna.models.spin_glass().explorer.weights[0], 6)
    assert rounded.tolist() == RECORDED
    free = sterna.models.spin_glass(4, 3, seed=5, periodic=False).explorer.weights
    assert np.array_equal(free[free != 0], first.weights[free != 0])


def test_the_heat_bath_of_other_couplings_is_refused():
    first, other = (sterna.models.spin_glass(3, 2, seed=seed) for seed in (1, 2))
    with pytest.raises(sterna.OptionError, match="another model"):
        other.explorer.bind(first)


# A graph that is no lattice: degrees from 1 to 4, an odd cycle, an edge that is given twice.
EDGES = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 2], [0, 1], [5, 4]]
OWN = [1.0, -0.7, 0.4, 1.3, -2.0, 0.3, 0.5, 0.9]


def test_couplings_of_ones_own_on_any_graph():
    """Energies of all 64 states by the plain sum over edges, and the transition matrix of the heat bath."""
    target = sterna.models.spin_glass(edges=EDGES, couplings=OWN, inverse_temperature=0.8)
    states, log_densities = all_states(target)
    first, second = np.array(EDGES).T
    plain = 0.8 * (states[:, first] * states[:, second]) @ np.array(OWN)
    assert log_densities[:, 1] == pytest.approx(plain, abs=1e-12)
    assert log_densities[:, 0] == pytest.approx(-6 * np.log(2), abs=1e-12)
    for beta in (0.0, 0.3, 1.0):
        assert deviation(target, beta) < 1e-12
    assert deviation(target, 0.5, [FAULTS["one neighbour too few"]]) > 1e-3


def test_runs_find_the_evidence_of_ones_own_couplings():
    """Within 4 standard errors of the sum over all states: a false alarm of 6e-5."""
    target = sterna.models.spin_glass(edges=EDGES, couplings=OWN)
    exact = logsumexp(all_states(target)[1].sum(axis=1))
    estimate = sterna.sample(target, n_rounds=11, progress=False).log_evidence
    assert abs(estimate.value - exact) < 4 * estimate.error


def test_a_lattice_as_a_graph():
    """The same couplings, site by site, give the same energies."""
    lattice = sterna.models.spin_glass(3, 2, seed=4)
    drawn = draw_couplings((9, 2), 4, "normal")
    edges, values = [], []
    for site in range(9):
        row, column = divmod(site, 3)
        for axis, other in enumerate((((row + 1) % 3) * 3 + column, row * 3 + (column + 1) % 3)):
            edges.append([site, other])
            values.append(drawn[site, axis])
    graph = sterna.models.spin_glass(edges=edges, couplings=values)
    states, log_densities = all_states(lattice)
    again = np.array([graph.log_densities(x) for x in states])
    assert again == pytest.approx(log_densities, abs=1e-12)


def test_random_couplings_on_a_graph_follow_from_the_seed():
    first, again, other = (sterna.models.spin_glass(edges=EDGES, seed=seed).explorer.weights for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(np.unique(sterna.models.spin_glass(edges=EDGES, couplings="binary").explorer.weights)) == {-1, 0, 1}


WRONG_GRAPHS = {
    "numbers need edges=": {"couplings": OWN},
    "give the two spins of every edge": {"edges": [0, 1]},
    "numbered from 0 on": {"edges": [[0, -1]]},
    "spin 1000 is named": {"edges": [[0, 1000]]},
    "joins spin 3 with itself": {"edges": [[0, 1], [3, 3]]},
    "2 edges need as many finite couplings": {"edges": [[0, 1], [1, 2]], "couplings": [1.0]},
    "but no numbers were given": {"edges": [[0, 1]], "couplings": ["a"]},
}


@pytest.mark.parametrize("message", WRONG_GRAPHS)
def test_what_is_no_graph_is_refused(message):
    with pytest.raises(sterna.OptionError, match=message):
        sterna.models.spin_glass(**WRONG_GRAPHS[message])


def test_what_is_no_lattice_is_refused():
    for wrong in ({"size": 1}, {"dim": 4}):
        with pytest.raises(sterna.OptionError, match="size must be at least 2, and dim 2 or 3"):
            sterna.models.spin_glass(**wrong)
    with pytest.raises(sterna.OptionError, match="inverse_temperature must be finite"):
        sterna.models.spin_glass(inverse_temperature=np.inf)
    with pytest.raises(sterna.OptionError, match='couplings must be "normal", "binary", or the coupling of every edge'):
        sterna.models.spin_glass(couplings="uniform")
