"""Gibbs sampling draws finite coordinates from their exact conditional laws.

Transition matrices are those of the code as it stands, and leave the law unchanged to 1e-12. Each comparison of laws is
a chi-square test at 1e-6, below 1e-4 for the whole file; runs are within 4 standard errors, a false alarm of 6e-5 each.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from kernels import apply, apply_bound
from plain import Forks, Symbol, load
from scipy import stats
from scipy.special import logsumexp
from ways import WAYS, compiled

import sterna
from sterna.engine.program import BINARY, EVALUATIONS
from sterna.explorers.gibbs import Gibbs, explore

LEVEL = 1e-6
DRAWS = 30_000
BETAS = [0.0, 0.1, 0.5, 1.0]

# A spin, a category of probability zero among four, and an integer from -1 to 1: 24 states.
REFERENCE = {
    "s": sterna.Spin(0.3),
    "c": sterna.Categorical([0.1, 0.5, 0.0, 0.4]),
    "k": sterna.DiscreteUniform(-1, 1),
}


def log_likelihood(s, c, k):
    if s == 1 and c == 3 and k == 0:
        return -np.inf
    return 0.8 * s * k + 0.5 * c * s - 0.7 * k * c


def states_and_logs(target):
    """All states of a small target and both of their log-densities."""
    p = target.program
    ranges = [
        (low, high) if sort == BINARY else np.arange(low, high + 1)
        for sort, low, high in zip(p.sort, p.lower, p.upper, strict=True)
    ]
    states = np.array(list(itertools.product(*ranges)))
    return states, np.array([target.log_densities(x) for x in states])


def law_of(logs, beta):
    annealed = logs[:, 0] + (beta * logs[:, 1] if beta > 0 else 0.0)
    return np.exp(annealed - logsumexp(annealed))


def plain_sweep(faults, forks, states, logs):
    """The kernel's own source as Python, on tables of densities."""
    number = {tuple(x): k for k, x in enumerate(states)}

    def at(x, i, value, column):
        x[i] = value
        return logs[number[tuple(x)], column]

    names = {
        "uniform": lambda stream: Symbol(forks),
        "coordinate_reference": lambda program, x, i, value: at(x, i, value, 0),
        "reference_of": lambda program, x, i, here, own: own[0],
        "coordinate_likelihood": lambda program, x, i, here, value, own: at(x, i, value, 1),
        "as_pointer": lambda array, kind: array,
        "first_coordinate": lambda updates, count, stream: 0,
    }
    module = load("explorers/gibbs.py", faults, **names)
    # the source's functions find each other, but base's is compiled and cannot be read by symbols
    module.annealed = lambda reference, beta, likelihood: reference + (beta * likelihood if beta > 0 else 0.0)
    return module.explore


def transition_matrix(target, beta, faults=()):
    states, logs = states_and_logs(target)
    forks, p = Forks(), target.program
    sweep = plain_sweep(faults, forks, states, logs)
    program = SimpleNamespace(sort=p.sort, lower=p.lower, upper=p.upper)
    number = {tuple(x): k for k, x in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    dimension = target.dimension
    for k, state in enumerate(states):
        if not np.isfinite(law_of(logs, beta)[k]) or law_of(logs, beta)[k] == 0:
            matrix[k, k] = 1.0
            continue

        def run(k=k, state=state):
            x, own = list(state), list(logs[k])
            sweep(program, x, own, beta, [dimension, dimension], None, [range(dimension)], None)
            assert own == pytest.approx(logs[number[tuple(x)]], rel=1e-12)
            return number[tuple(x)]

        for probability, end in forks.outcomes(run):
            matrix[k, end] += probability
    return matrix, law_of(logs, beta)


@pytest.mark.parametrize("beta", BETAS)
def test_the_transition_matrix_leaves_the_law_unchanged(beta):
    matrix, law = transition_matrix(sterna.Target(log_likelihood, REFERENCE), beta)
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(law @ matrix - law).max() < 1e-12


def test_one_update_is_the_conditional_law():
    target = sterna.Target(lambda c: 0.9 * c * (c - 2.0), {"c": sterna.Categorical([0.2, 0.3, 0.4, 0.1])})
    matrix, law = transition_matrix(target, 0.7)
    assert np.abs(matrix - law).max() < 1e-12


FAULTS = {
    "not annealed": ("density = annealed(reference, beta, likelihood)", "density = reference + likelihood"),
    "values before the last forgotten": ("total = log_sum(total, last)", "total = max(total, last)"),
    "reference left out": ("density = annealed(reference,", "density = annealed(0.0,"),
    "old value left out": ("total, last = annealed(", "total, last = -1.0 + annealed("),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_transition_matrix(fault):
    matrix, law = transition_matrix(sterna.Target(log_likelihood, REFERENCE), 0.5, [FAULTS[fault]])
    assert np.abs(law @ matrix - law).max() > 1e-3


def p_value(target, explorer, beta, kernel=None, n_draws=DRAWS):
    states, logs = states_and_logs(target)
    law = law_of(logs, beta)
    chosen = np.random.default_rng(6).choice(len(states), size=n_draws, p=law)
    after, ends, _ = apply_bound(target, explorer.bind(target), states[chosen], beta, kernel=kernel)
    number = {tuple(x): k for k, x in enumerate(states)}
    counts = np.zeros(len(states))
    for x in after:
        counts[number[tuple(x)]] += 1
    for k in range(0, n_draws, 499):
        assert ends[k, :2] == pytest.approx(target.log_densities(after[k]), rel=1e-9)
    assert counts[law == 0].sum() == 0
    return stats.chisquare(counts[law > 0], law[law > 0] * n_draws).pvalue


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("passes", [1.0, 0.4])
def test_compiled_draws(beta, passes):
    assert p_value(sterna.Target(log_likelihood, REFERENCE), Gibbs(passes), beta) > LEVEL


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught_in_compiled_draws(fault):
    kernel = load("explorers/gibbs.py", [FAULTS[fault]], compiled=True).explore
    assert p_value(sterna.Target(log_likelihood, REFERENCE), Gibbs(), 0.5, kernel) < LEVEL


def test_binary_coordinates_are_drawn_as_by_slice_sampling():
    """Same law, same numbers: a binary coordinate of `Slice` is a Gibbs update."""
    target = sterna.models.ising(size=2, coupling=0.3)
    states, _ = states_and_logs(target)
    row = np.array([4.0, 4.0, *np.ones(8)])
    ours, _ = apply(target, explore, np.repeat(states, 20, axis=0), 0.6, row)
    theirs, _ = apply(target, sterna.Slice().bind(target).kernel, np.repeat(states, 20, axis=0), 0.6, row)
    assert np.array_equal(ours, theirs)
    assert not np.array_equal(ours, np.repeat(states, 20, axis=0))


# A reference whose coordinates depend on each other: b is drawn, and then n, whose law depends on b.
TABLE = np.array([[0.2, 0.1, 0.0], [0.1, 0.25, 0.35]])


def draw_joint(rng, table):
    place = np.searchsorted(np.cumsum(table.ravel()), rng.random())
    return place // 3, 5 + place % 3


def log_joint(b, n, table):
    return np.log(table[b, n - 5]) if table[b, n - 5] > 0 else -np.inf


def joint_target(way):
    space = {"b": sterna.Binary(), "n": sterna.Integer(5, 7)}
    reference = sterna.Reference(draw_joint, way(log_joint), space)
    return sterna.Target(way(lambda b, n: 0.6 * b * n - 0.2 * n), reference, {"table": TABLE})


@WAYS
@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_joint_references(beta, way):
    n_draws = DRAWS if way is compiled else 3000
    assert p_value(joint_target(way), Gibbs(), beta, n_draws=n_draws) > LEVEL


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
    for _, logs, _ in results:
        assert (logs[:, EVALUATIONS] == 5 * 3).all()


def test_one_value_is_never_left_and_costs_nothing():
    target = sterna.Target(lambda a, b: 0.1 * a + b, {"a": sterna.DiscreteUniform(2, 2), "b": sterna.Bernoulli(0.5)})
    bound = Gibbs().bind(target, np.array([0]))
    after, logs, _ = apply_bound(target, bound, [[2.0, 0.0], [2.0, 1.0]], 1.0)
    assert after.tolist() == [[2.0, 0.0], [2.0, 1.0]]
    assert (logs[:, EVALUATIONS] == 0).all()


# A mixture: which of three components each of four numbers comes from, given their means.
SEEN = np.array([-1.8, 0.3, 2.2, 1.1])
SHARES = np.array([0.5, 0.2, 0.3])
MIXTURE = {"mu": sterna.Normal([-2.0, 0.0, 2.0], 0.5), "z": sterna.Categorical(SHARES, shape=4)}


def mixture(z, mu, y):
    return -0.5 * np.sum((y - mu[z]) ** 2)


def conditional(i, beta, mu, y, shares):
    return np.log(shares) - 0.5 * beta * (y[i] - mu) ** 2


def mixture_target(way=lambda function: function, **options):
    return sterna.Target(way(mixture), MIXTURE, {"y": SEEN, "shares": SHARES}, **options)


def mixture_log_evidence():
    """Given all z the means are independent normals, and there are only 81 vectors z."""
    total = []
    for z in itertools.product(range(3), repeat=4):
        log = np.log(SHARES[list(z)]).sum()
        for k, prior in enumerate([-2.0, 0.0, 2.0]):
            y = SEEN[[place for place in range(4) if z[place] == k]]
            n = len(y)
            if n:
                covariance = np.eye(n) + 0.25
                log += stats.multivariate_normal(np.full(n, prior), covariance).logpdf(y) + 0.5 * n * math.log(
                    2 * math.pi
                )
        total.append(log)
    return float(logsumexp(total))


@WAYS
@pytest.mark.parametrize("beta", BETAS)
def test_the_users_conditional_law(way, beta):
    """Against draws from the mixture's own conditional laws, of which every z[i] has one given the means."""
    target, draws = mixture_target(), 20_000
    bound = Gibbs(conditional=way(conditional)).bind(target, np.arange(3, 7))
    mu = np.array([-1.5, 0.4, 1.9])
    states = np.hstack([np.tile(mu, (draws, 1)), np.zeros((draws, 4))])
    after, logs, _ = apply_bound(target, bound, states, beta, times=1)
    assert np.array_equal(after[:, :3], states[:, :3])
    for i in range(4):
        weights = np.exp(conditional(i, beta, mu, SEEN, SHARES))
        counts = np.bincount(after[:, 3 + i].astype(int), minlength=3)
        assert stats.chisquare(counts, draws * weights / weights.sum()).pvalue > LEVEL
    for k in range(0, draws, 499):
        assert logs[k, :2] == pytest.approx(target.log_densities(after[k]), rel=1e-9)
    assert logs[:, EVALUATIONS].max() == 1


CONDITIONAL_FAULTS = {
    "values forgotten": ("total = log_sum(total, weight)", "total = weight"),
    "beta left out": ("(as_address(x), place, beta,", "(as_address(x), place, 1.0,"),
    "wrong coordinate": ("(as_address(x), place, beta,", "(as_address(x), 0 * place, beta,"),
}


@pytest.mark.parametrize("fault", CONDITIONAL_FAULTS)
def test_planted_faults_of_conditional_draws_are_caught(fault):
    kernel = load("explorers/gibbs.py", [CONDITIONAL_FAULTS[fault]], compiled=True).explore_by_conditional
    target, beta, draws, mu = mixture_target(), 0.5, 20_000, np.array([-1.5, 0.4, 1.9])
    bound = Gibbs(conditional=conditional).bind(target, np.arange(3, 7))
    states = np.hstack([np.tile(mu, (draws, 1)), np.zeros((draws, 4))])
    after, _, _ = apply_bound(target, bound, states, beta, times=1, kernel=kernel)
    p_values = []
    for i in range(4):
        weights = np.exp(conditional(i, beta, mu, SEEN, SHARES))
        counts = np.bincount(after[:, 3 + i].astype(int), minlength=3)
        p_values.append(stats.chisquare(counts, draws * weights / weights.sum()).pvalue)
    assert min(p_values) < LEVEL


def test_conditional_laws_with_a_local_change_and_a_joint_reference():
    target = joint_target(lambda function: function)

    def law(i, beta, b, n, table):
        if i == 0:
            return np.log(table[:, n - 5] + 1e-300) + beta * (0.6 * np.arange(2) * n)
        with_zero = np.log(table[b] + 1e-300)
        return with_zero + beta * (0.6 * b - 0.2) * np.arange(5, 8)

    assert p_value(target, Gibbs(conditional=law), 0.5) > LEVEL
    local = sterna.Target(hill, {"z": sterna.DiscreteUniform(0, 3, shape=2)}, local_change=hill_change)

    def own(i, beta, z):
        return beta * (0.3 * np.arange(4.0) ** 2 - 0.2 * np.arange(4.0) * z[1 - i])

    assert p_value(local, Gibbs(conditional=own), 0.5) > LEVEL


@pytest.mark.parametrize("explorer", [Gibbs(), Gibbs(conditional=conditional)], ids=["evaluated", "given"])
def test_runs_find_the_evidence_of_a_mixture(explorer):
    blocks = {"z": explorer, "mu": sterna.Slice()}
    result = sterna.sample(mixture_target(), explorer=blocks, n_rounds=11, n_copies=1, progress=False)
    estimate = result.log_evidence
    assert abs(estimate.value - mixture_log_evidence()) < 4 * estimate.error
    again = sterna.sample(mixture_target(), explorer=blocks, n_rounds=11, n_copies=1, progress=False)
    assert again.log_evidence.value == estimate.value


def test_runs_in_a_cycle():
    target = sterna.Target(lambda s, c, k: 1.2 * s * k + 0.5 * c * s, REFERENCE)
    _, logs = states_and_logs(target)
    explorer = sterna.Cycle(Gibbs(), sterna.Slice())
    estimate = sterna.sample(target, explorer=explorer, n_rounds=10, n_copies=1, progress=False).log_evidence
    assert abs(estimate.value - logsumexp(logs.sum(axis=1))) < 4 * estimate.error


def test_compiled_and_python_conditional_laws_give_the_same_bits():
    class Plain:
        def __call__(self, i, beta, mu, y, shares):
            return conditional(i, beta, mu, y, shares)

    runs = []
    for law in (conditional, Plain()):
        blocks = {"z": Gibbs(conditional=law), "mu": sterna.Slice()}
        target = mixture_target()
        runs.append(sterna.sample(target, explorer=blocks, n_rounds=5, n_copies=1, progress=False).log_likelihood)
        assert target.compiled == (law is conditional)
    assert np.array_equal(*runs)
    assert any("conditional runs as Python" in note for note in target.notes)


def test_wrong_conditional_laws_are_refused():
    def without_prior(i, beta, mu, y):
        return -0.5 * beta * (y[i] - mu) ** 2

    def without_beta(i, beta, mu, y, shares):
        return np.log(shares) - 0.5 * (y[i] - mu) ** 2

    def too_short(i, beta, mu):
        return mu[:2]

    for law, message in (
        (without_prior, r"z\[0\].*those of the target"),
        (without_beta, r"at beta=0.5"),
        (too_short, r"all 3 values"),
    ):
        with pytest.raises(sterna.Error, match=message):
            sterna.sample(
                mixture_target(), explorer={"z": Gibbs(conditional=law), "mu": sterna.Slice()}, progress=False
            )


def test_log_probabilities_that_are_no_numbers_stop_the_run():
    def later_nan(i, beta, mu, y, shares):
        return conditional(i, beta, mu, y, shares) if beta == 1.0 or beta == 0.5 else np.full(3, np.nan)

    def later_nothing(i, beta, mu, y, shares):
        return conditional(i, beta, mu, y, shares) if beta == 1.0 or beta == 0.5 else np.full(3, -np.inf)

    for law, message in ((later_nan, "conditional returned is NaN"), (later_nothing, "-inf for every value")):
        with pytest.raises(sterna.EvaluationError, match=message):
            sterna.sample(
                mixture_target(), explorer={"z": Gibbs(conditional=law), "mu": sterna.Slice()}, progress=False
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
