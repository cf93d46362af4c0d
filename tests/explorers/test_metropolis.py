"""Random-walk Metropolis leaves annealed laws unchanged: from exact draws, ten scans, to exact draws.

Each comparison is at 1e-7; with about 130 of them, a false alarm of the whole file has a probability below 1e-4.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from annealed import REAL_CASES, case, check_mean, invariance, tuned
from kernels import apply_bound
from plain import Forks, Symbol, load
from scipy import stats

import sterna
from sterna.explorers.metropolis import CENTRE, Metropolis

LEVEL = 1e-7
BETAS = [0.0, 0.1, 0.5, 1.0]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", [*REAL_CASES, "funnel", "mixed"])
def test_invariance(name, beta):
    assert invariance(Metropolis(moves=4), name, beta) > LEVEL


@pytest.mark.parametrize("name", ["normal", "bounded"])
def test_invariance_with_variances_alone(name):
    assert invariance(Metropolis(moves=4, covariance="diagonal"), name, 0.5) > LEVEL


LINE_FAULTS = {
    "no Jacobian": ("log_ratio += reference + read_line(", "log_ratio += reference + 0.0 * read_line("),
    "not annealed": ("log_ratio += beta * (there - here)", "log_ratio += there - here"),
    "reference left out": ("log_ratio += reference + read_line", "log_ratio += read_line"),
    "always accepted": ("if uniform(stream) < probability:", "if uniform(stream) < 1.0 or probability < 0.0:"),
}


def faulty_kernel(fault):
    """Compile the kernel with a fault in the step on the line."""
    lines = load("explorers/line_moves.py", [LINE_FAULTS[fault]], compiled=True)
    return load("explorers/metropolis.py", compiled=True, step=lines.step, acceptance=lines.acceptance).explore


@pytest.mark.parametrize("fault", LINE_FAULTS)
def test_planted_faults_are_caught(fault):
    assert invariance(Metropolis(moves=4), "bounded", 0.5, faulty_kernel(fault)) < LEVEL


OWN_FAULTS = {
    "steps that depend on the state": ("here[k] + scale * total", "here[k] * (1.0 + scale * total)"),
    "likelihood of the state before": ("logs[LOG_LIKELIHOOD], likelihood)", "likelihood, likelihood)"),
}


@pytest.mark.parametrize("fault", OWN_FAULTS)
def test_planted_faults_of_proposals_are_caught(fault):
    kernel = load("explorers/metropolis.py", [OWN_FAULTS[fault]], compiled=True).explore
    assert invariance(Metropolis(moves=4), "mixed", 0.5, kernel) < LEVEL


def transition_matrix(beta, reach, moves, faults=()):
    """Return states, law and transition matrix of the source itself, for an integer of six values and a binary one."""
    forks = Forks()
    lower, upper = np.array([2.0, 0.0]), np.array([7.0, 1.0])

    def likelihood(x):
        return math.sin(3.0 * x[0]) + x[1] * math.cos(x[0]) if x[0] != 5 else -math.inf

    def reference(x):
        return -0.2 * x[0] + 0.4 * x[1]

    def at(x, i, value):
        x[i] = value
        return reference(x)

    def likelihood_at(program, x, i, here, value, logs):
        x[i] = value
        return likelihood(x)

    module = load(
        "explorers/metropolis.py",
        faults,
        uniform=lambda stream: Symbol(forks),
        as_pointer=lambda array, kind: array,
        moved_on=lambda numbers, places: numbers[places:],
        read_line=lambda *arguments: 0.0,
        coordinate_reference=lambda program, x, i, value: at(x, i, value),
        reference_of=lambda program, x, i, here, logs: reference(x),
        coordinate_likelihood=likelihood_at,
    )
    program = SimpleNamespace(sort=[1, 2], lower=lower, upper=upper)
    parameters = np.array([moves, 0, 2, 1, 1.0, reach, 1.0])
    points = [np.array(p) for p in itertools.product(np.arange(2.0, 8.0), (0.0, 1.0))]
    places = {tuple(p): k for k, p in enumerate(points)}
    matrix = np.zeros((len(points), len(points)))
    for start in points:

        def run(start=start):
            x, logs = start.copy(), np.array([reference(start), likelihood(start), 0.0, 0.0])
            module.explore(program, x, logs, beta, parameters, np.zeros(20), [np.array([0, 1])], None)
            assert logs[:2] == pytest.approx([reference(x), likelihood(x)])
            return tuple(x)

        for probability, end in forks.outcomes(run):
            matrix[places[tuple(start)], places[end]] += probability
    logs = np.array([reference(p) + (beta * likelihood(p) if beta > 0 else 0.0) for p in points])
    law = np.exp(logs - logs.max())
    return points, law / law.sum(), matrix


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("reach", [1.0, 2.5, 6.0])
def test_exact_transitions_of_integers(beta, reach):
    """pi K = pi, to rounding, for the source itself; rows of states with likelihood zero have no part for beta > 0."""
    _, law, matrix = transition_matrix(beta, reach, moves=2)
    possible = law > 0
    assert matrix[possible].sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert law @ matrix == pytest.approx(law, abs=1e-12)


@pytest.mark.parametrize(
    "fault",
    [
        ("return 2.0 * lower - 1.0 - new", "return lower"),
        ("return 2.0 * upper + 1.0 - new", "return 2.0 * upper - new"),
        ("reference - reference_here, logs", "0.0, logs"),
    ],
    ids=["cut off at the bound", "folded at the bound itself", "reference left out"],
)
def test_planted_faults_of_transitions_are_caught(fault):
    _, law, matrix = transition_matrix(0.5, 2.0, 1, [fault])
    assert np.abs(law @ matrix - law).max() > 1e-3


def test_learned_covariance_and_scale():
    """After tuning, the factor is that of the law's covariance, and the acceptance near its best."""
    beta = 1.0
    chosen = case("normal")
    row = tuned(Metropolis(moves=4), "normal", beta)
    factor = np.zeros((3, 3))
    factor[np.tril_indices(3)] = row[CENTRE + 6 : CENTRE + 12]
    exact = np.linalg.inv(0.25 * np.eye(3) + beta * chosen.precision)
    # 500 draws: standard errors of 6 % for variances; four of them, and what is drawn towards zero
    assert factor @ factor.T == pytest.approx(exact, abs=0.25 * exact.max())
    states = chosen.draw(beta, 5000, np.random.default_rng(3))
    bound = Metropolis(moves=4).bind(chosen.target)
    statistics = apply_bound(chosen.target, bound, states, beta, parameters=row, times=1)[2]
    assert 0.2 < statistics[2] / statistics[1] < 0.45


def test_a_state_on_its_bound_is_left_again():
    """A reference of tiny shape draws numbers that round to 1; a walk must not be caught there."""
    target = sterna.Target(lambda p: 0.0 * p, {"p": sterna.Beta(0.3, 0.3)})
    states = np.full((1000, 1), target.program.upper[0])
    after = apply_bound(target, Metropolis(moves=50).bind(target), states, 1.0)[0]
    assert (after < 0.999).mean() > 0.5


def test_same_bits():
    one, other = (invariance_bits() for _ in range(2))
    assert np.array_equal(one, other)


def invariance_bits():
    chosen = case("mixed")
    states = chosen.draw(0.5, 50, np.random.default_rng(1))
    return apply_bound(chosen.target, Metropolis().bind(chosen.target), states, 0.5)[0]


EXPLORERS = {
    "alone": Metropolis(moves=6),
    "cycle": sterna.Cycle(Metropolis(moves=4), sterna.Slice(passes=0.5)),
    "block": {("z", "k"): Metropolis(moves=4), "x": sterna.Slice()},
    "other block": {("z", "x"): Metropolis(moves=6), "k": sterna.Slice()},
}


@pytest.mark.parametrize("way", EXPLORERS)
def test_in_a_run(way):
    """Evidence and moments within 4 standard errors of the exact ones: 6e-5 each."""
    result = sterna.sample(case("mixed").target, explorer=EXPLORERS[way], n_chains=5, n_rounds=10, progress=False)
    weights, means = case("mixed")._laws(1.0)[:2]
    k = np.arange(60)
    # with z = 0 and 1: integral of the normal density times exp(1.5 z x - (x - 1)^2 / 2)
    precision = 1.25
    ends = [math.exp(0.5 * (1 + 1.5 * z) ** 2 / precision - 0.5) / math.sqrt(4 * precision) for z in (0, 1)]
    shares = np.sum(stats.poisson.pmf(k, 6.0) * np.exp(-0.3 * abs(k - 7) + (k % 2 == 0)))
    exact = math.log((0.7 * ends[0] + 0.3 * ends[1]) * shares)
    estimate = result.log_evidence
    assert abs(estimate.value - exact) < 4 * estimate.error
    check_mean(result.posterior["x"].values.ravel(), weights @ means)


@pytest.mark.parametrize("arguments", [{"moves": 0}, {"moves": 2.5}, {"moves": True}, {"covariance": "dense"}])
def test_bad_options(arguments):
    with pytest.raises(sterna.errors.OptionError, match="Metropolis"):
        Metropolis(**arguments)
