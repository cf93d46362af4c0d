"""Gibbs sampling draws finite coordinates from their exact conditional laws.

Transition matrices are those of the code as it stands, and leave the law unchanged to 1e-12. Each comparison of laws is
a chi-square test at 1e-6, below 1e-4 for the whole file; runs are within 4 standard errors, a false alarm of 6e-5 each.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from annealed import (
    NUMBERS,
    PRIOR_MEANS,
    SHARES,
    Table,
    conditional,
    finite,
    joint_values,
    law,
    mixture_target,
)
from invariance import BETAS, chi_square
from kernels import apply, apply_bound
from plain import Forks, Symbol, load
from scipy import stats
from scipy.special import logsumexp
from ways import AsPython

import sterna
from sterna.engine.program import EVALUATIONS
from sterna.explorers.gibbs import Gibbs, explore

LEVEL = 1e-6


def plain_sweep(faults, forks, log_densities):
    """The kernel's own source as Python, on a table of densities by state."""

    def at(x, i, value, column):
        x[i] = value
        return log_densities[tuple(x)][column]

    names = {
        "uniform": lambda stream: Symbol(forks),
        "coordinate_reference": lambda program, x, i, here, value, own: at(x, i, value, 0),
        "reference_of": lambda program, x, i, here, own: own[0],
        "coordinate_likelihood": lambda program, x, i, here, value, reference, own: at(x, i, value, 1),
        "int_pointer": lambda array: array,
        "first_coordinate": lambda updates, count, stream: 0,
    }
    module = load("explorers/gibbs.py", faults, **names)
    # the source's functions find each other, but base's is compiled and cannot be read by symbols
    module.annealed = lambda reference, beta, likelihood: reference + (beta * likelihood if beta > 0 else 0.0)
    return module.explore


def transition_matrix(target, beta, faults=()):
    table, forks, p = Table.of(target), Forks(), target.program
    log_densities = {tuple(x): own[:2] for x, own in zip(table.states, table.log_densities, strict=True)}
    number = {x: k for k, x in enumerate(log_densities)}
    exact = table.law(beta)
    sweep = plain_sweep(faults, forks, log_densities)
    program = SimpleNamespace(value_type=p.value_type, lower=p.lower, upper=p.upper)
    matrix = np.zeros((len(number), len(number)))
    dimension = target.dimension
    for k, state in enumerate(table.states):
        if exact[k] == 0:
            matrix[k, k] = 1.0
            continue

        def run(k=k, state=state):
            x, own = list(state), list(log_densities[tuple(state)])
            sweep(program, x, own, beta, [dimension, dimension], None, [range(dimension)], None)
            assert own == pytest.approx(log_densities[tuple(x)], rel=1e-12)
            return number[tuple(x)]

        for probability, end in forks.outcomes(run):
            matrix[k, end] += probability
    return matrix, exact


@pytest.mark.parametrize("beta", BETAS)
def test_the_transition_matrix_leaves_the_law_unchanged(beta):
    matrix, exact = transition_matrix(law("few_values").target, beta)
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(exact @ matrix - exact).max() < 1e-12


def test_one_update_is_the_conditional_law():
    target = sterna.Target(lambda c: 0.9 * c * (c - 2.0), {"c": sterna.Categorical([0.2, 0.3, 0.4, 0.1])})
    matrix, exact = transition_matrix(target, 0.7)
    assert np.abs(matrix - exact).max() < 1e-12


FAULTS = {
    "not annealed": ("density = annealed(reference, beta, likelihood)", "density = reference + likelihood"),
    "values before the last forgotten": ("total = log_sum(total, last)", "total = max(total, last)"),
    "reference left out": ("density = annealed(reference,", "density = annealed(0.0,"),
    "old value left out": ("total, last = annealed(", "total, last = -1.0 + annealed("),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_transition_matrix(fault):
    matrix, exact = transition_matrix(law("few_values").target, 0.5, [FAULTS[fault]])
    assert np.abs(exact @ matrix - exact).max() > 1e-3


def p_value(chosen, explorer, beta, draws=20_000):
    """Chi-square over all states, after ten scans from exact draws."""
    states = chosen.draw(beta, draws, np.random.default_rng(1))
    after, _, _ = apply_bound(chosen.target, explorer.bind(chosen.target), states, beta)
    return chi_square(*chosen.cells(beta, after)[0])


@pytest.mark.parametrize("beta", BETAS)
def test_a_share_of_a_pass(beta):
    assert p_value(law("few_values"), Gibbs(0.4), beta) > LEVEL


def test_binary_coordinates_are_drawn_as_by_slice_sampling():
    """Same law, same numbers: a binary coordinate of `Slice` is a Gibbs update."""
    target = sterna.models.ising(size=2, coupling=0.3)
    states = Table.of(target).states
    row = np.array([4.0, 4.0, *np.ones(8)])
    ours, _ = apply(target, explore, np.repeat(states, 20, axis=0), 0.6, row)
    theirs, _ = apply(target, sterna.Slice().bind(target).kernel, np.repeat(states, 20, axis=0), 0.6, row)
    assert np.array_equal(ours, theirs)
    assert not np.array_equal(ours, np.repeat(states, 20, axis=0))


@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_joint_references_in_python(beta):
    assert p_value(joint_values(AsPython), Gibbs(), beta, 3000) > LEVEL


def hill(z):
    return 0.3 * np.sum(z * z) - 0.2 * z[0] * z[1]


def hill_change(x, i, new):
    other = x[1 - i] if i < 2 else 0.0
    return 0.3 * (new * new - x[i] * x[i]) - 0.2 * (new - x[i]) * other


def test_local_changes_are_used_and_every_other_value_costs_one():
    reference = {"z": sterna.DiscreteUniform(0, 3, shape=5)}
    whole = sterna.Target(hill, reference)
    local = sterna.Target(hill, reference, local_change=hill_change)
    states = np.random.default_rng(1).integers(0, 4, size=(200, 5))
    results = [apply_bound(t, Gibbs().bind(t), states, 0.5, times=1) for t in (whole, local)]
    assert np.array_equal(results[0][0], results[1][0])
    assert results[0][1][:, :2] == pytest.approx(results[1][1][:, :2], abs=1e-12)
    for _, log_densities, _ in results:
        assert (log_densities[:, EVALUATIONS] == 5 * 3).all()


def test_one_value_is_never_left_and_costs_nothing():
    target = sterna.Target(lambda a, b: 0.1 * a + b, {"a": sterna.DiscreteUniform(2, 2), "b": sterna.Bernoulli(0.5)})
    bound = Gibbs().bind(target, np.array([0]))
    after, log_densities, _ = apply_bound(target, bound, [[2.0, 0.0], [2.0, 1.0]], 1.0)
    assert after.tolist() == [[2.0, 0.0], [2.0, 1.0]]
    assert (log_densities[:, EVALUATIONS] == 0).all()


def mixture_log_evidence():
    """Given all z the means are independent normals, and there are only 81 vectors z."""
    total = []
    for z in itertools.product(range(3), repeat=4):
        log = np.log(SHARES[list(z)]).sum()
        for k, prior in enumerate(PRIOR_MEANS):
            y = NUMBERS[[place for place in range(4) if z[place] == k]]
            n = len(y)
            if n:
                covariance = np.eye(n) + 0.25
                log += stats.multivariate_normal(np.full(n, prior), covariance).logpdf(y) + 0.5 * n * math.log(
                    2 * math.pi
                )
        total.append(log)
    return float(logsumexp(total))


def test_conditional_laws_in_python_cost_one_evaluation():
    chosen = law("components")
    states = chosen.draw(0.5, 3000, np.random.default_rng(1))
    bound = Gibbs(conditional=AsPython(conditional)).bind(chosen.target, chosen.block)
    after, log_densities, _ = apply_bound(chosen.target, bound, states, 0.5, times=1)
    assert chi_square(*chosen.cells(0.5, after)[0]) > LEVEL
    assert log_densities[:, EVALUATIONS].max() == 1


def test_conditional_laws_with_a_local_change_and_a_joint_reference():
    def of_table(i, beta, b, n, table):
        if i == 0:
            return np.log(table[:, n - 5] + 1e-300) + beta * (0.6 * np.arange(2) * n)
        with_zero = np.log(table[b] + 1e-300)
        return with_zero + beta * (0.6 * b - 0.2) * np.arange(5, 8)

    assert p_value(joint_values(), Gibbs(conditional=of_table), 0.5) > LEVEL
    local = sterna.Target(hill, {"z": sterna.DiscreteUniform(0, 3, shape=2)}, local_change=hill_change)

    def own(i, beta, z):
        return beta * (0.3 * np.arange(4.0) ** 2 - 0.2 * np.arange(4.0) * z[1 - i])

    assert p_value(finite(local), Gibbs(conditional=own), 0.5) > LEVEL


@pytest.mark.parametrize("explorer", [Gibbs(), Gibbs(conditional=conditional)], ids=["evaluated", "given"])
def test_runs_find_the_evidence_of_a_mixture(explorer):
    blocks = {"z": explorer, "mu": sterna.Slice()}
    result = sterna.sample(mixture_target(), explorer=blocks, n_rounds=11, n_copies=1, progress=False)
    estimate = result.log_evidence
    assert abs(estimate.value - mixture_log_evidence()) < 4 * estimate.error
    again = sterna.sample(mixture_target(), explorer=blocks, n_rounds=11, n_copies=1, progress=False)
    assert again.log_evidence.value == estimate.value


def test_runs_in_a_cycle():
    target = law("few_values").target
    log_densities = Table.of(target).log_densities[:, :2]
    explorer = sterna.Cycle(Gibbs(), sterna.Slice())
    estimate = sterna.sample(target, explorer=explorer, n_rounds=10, n_copies=1, progress=False).log_evidence
    assert abs(estimate.value - logsumexp(log_densities.sum(axis=1))) < 4 * estimate.error


def test_compiled_and_python_conditional_laws_give_the_same_bits():
    target = mixture_target()
    runs = [
        sterna.sample(
            target, explorer={"z": Gibbs(conditional=way), "mu": sterna.Slice()}, n_rounds=5, n_copies=1, progress=False
        )
        for way in (conditional, AsPython(conditional), conditional)
    ]
    for one in runs:
        assert np.array_equal(one.log_likelihood, runs[0].log_likelihood)
        # said of the run, not of the target
        assert any("conditional runs as Python" in note for note in one.notes) == (one is runs[1])
    assert target.compiled


def test_wrong_conditional_laws_are_refused():
    def without_prior(i, beta, mu, y):
        return -0.5 * beta * (y[i] - mu) ** 2

    def without_beta(i, beta, mu, y, shares):
        return np.log(shares) - 0.5 * (y[i] - mu) ** 2

    def too_short(i, beta, mu):
        return mu[:2]

    for wrong, message in (
        (without_prior, r"z\[0\].*those of the target"),
        (without_beta, r"at beta=0.5"),
        (too_short, r"all 3 values"),
    ):
        with pytest.raises(sterna.Error, match=message):
            sterna.sample(
                mixture_target(), explorer={"z": Gibbs(conditional=wrong), "mu": sterna.Slice()}, progress=False
            )


def test_log_probabilities_that_are_no_numbers_stop_the_run():
    def later_nan(i, beta, mu, y, shares):
        return conditional(i, beta, mu, y, shares) if beta == 1.0 or beta == 0.5 else np.full(3, np.nan)

    def later_nothing(i, beta, mu, y, shares):
        return conditional(i, beta, mu, y, shares) if beta == 1.0 or beta == 0.5 else np.full(3, -np.inf)

    for wrong, message in ((later_nan, "conditional returned is NaN"), (later_nothing, "-inf for every value")):
        with pytest.raises(sterna.EvaluationError, match=message):
            sterna.sample(
                mixture_target(), explorer={"z": Gibbs(conditional=wrong), "mu": sterna.Slice()}, progress=False
            )


def test_what_has_not_few_values_is_refused():
    target = sterna.Target(lambda x, z: x * z, {"x": sterna.Normal(), "z": sterna.Bernoulli(0.5)})
    with pytest.raises(
        sterna.OptionError, match=r'x is real: give a dict of explorers, such as {"x": sterna.Slice\(\)'
    ):
        Gibbs().bind(target)
    for many in (sterna.Poisson(3.0), sterna.DiscreteUniform(0, 256)):
        with pytest.raises(sterna.OptionError, match=r"n has more than 256: explore it by {\"n\": sterna.Slice"):
            Gibbs().bind(sterna.Target(lambda n: 0.1 * n, {"n": many}))
    assert Gibbs().bind(sterna.Target(lambda n: 0.1 * n, {"n": sterna.DiscreteUniform(0, 255)})).n_row == 1
    with pytest.raises(sterna.OptionError, match="not a function"):
        Gibbs(conditional=3)
    with pytest.raises(sterna.OptionError, match="passes"):
        Gibbs(passes=-1)
    with pytest.raises(sterna.TargetError, match="neither a variable"):
        Gibbs(conditional=lambda i, beta, q: q).bind(mixture_target(), np.arange(3, 7))
