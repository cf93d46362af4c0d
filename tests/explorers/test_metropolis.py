"""What is special to random-walk Metropolis: exact transitions of integers, its tuning, and its edges."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from annealed import PRECISION, law, mixed_parts
from invariance import tuned
from kernels import apply_bound
from plain import Forks, Symbol, load
from runs import check_mean

import sterna
from sterna.explorers.metropolis import Metropolis, Parameters, Statistics
from sterna.ground.rows import columns

BETAS = [0.0, 0.1, 0.5, 1.0]


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

    def likelihood_at(program, x, i, here, value, reference, log_densities):
        x[i] = value
        return likelihood(x)

    module = load(
        "explorers/metropolis.py",
        faults,
        uniform=lambda stream: Symbol(forks),
        int_pointer=lambda array: array,
        field_pointer=columns,
        read_line=lambda *arguments: 0.0,
        coordinate_reference=lambda program, x, i, here, value, log_densities: at(x, i, value),
        reference_of=lambda program, x, i, here, log_densities: reference(x),
        coordinate_likelihood=likelihood_at,
    )
    program = SimpleNamespace(value_type=[1, 2], lower=lower, upper=upper)
    parameters = np.array([moves, 0, 2, 1, 1.0, reach, 1.0])
    points = [np.array(p) for p in itertools.product(np.arange(2.0, 8.0), (0.0, 1.0))]
    places = {tuple(p): k for k, p in enumerate(points)}
    matrix = np.zeros((len(points), len(points)))
    for start in points:

        def run(start=start):
            x, log_densities = start.copy(), np.array([reference(start), likelihood(start), 0.0, 0.0])
            module.explore(program, x, log_densities, beta, parameters, np.zeros(20), [np.array([0, 1])], None)
            assert log_densities[:2] == pytest.approx([reference(x), likelihood(x)])
            return tuple(x)

        for probability, end in forks.outcomes(run):
            matrix[places[tuple(start)], places[end]] += probability
    log_densities = np.array([reference(p) + (beta * likelihood(p) if beta > 0 else 0.0) for p in points])
    weights = np.exp(log_densities - log_densities.max())
    return points, weights / weights.sum(), matrix


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("reach", [1.0, 2.5, 6.0])
def test_exact_transitions_of_integers(beta, reach):
    """pi K = pi, to rounding, for the source itself; rows of states with likelihood zero have no part for beta > 0."""
    _, exact, matrix = transition_matrix(beta, reach, moves=2)
    assert matrix[exact > 0].sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert exact @ matrix == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(
    "fault",
    [
        ("return 2.0 * lower - 1.0 - new", "return lower"),
        ("return 2.0 * upper + 1.0 - new", "return 2.0 * upper - new"),
        ("reference - reference_here, log_densities", "0.0, log_densities"),
    ],
    ids=["cut off at the bound", "folded at the bound itself", "reference left out"],
)
def test_planted_faults_of_transitions_are_caught(fault):
    _, exact, matrix = transition_matrix(0.5, 2.0, 1, [fault])
    assert np.abs(exact @ matrix - exact).max() > 1e-3


def test_learned_covariance_and_scale():
    """After tuning, the factor is that of the law's covariance, and the acceptance near its best."""
    beta = 1.0
    chosen = law("gaussian")
    bound = Metropolis(moves=4).bind(chosen.target)
    row = tuned(bound, "gaussian", beta)
    factor = np.zeros((3, 3))
    factor[np.tril_indices(3)] = columns(row, Parameters.factor, 3, 6, 0)
    exact = np.linalg.inv(0.25 * np.eye(3) + beta * PRECISION)
    # 500 draws: standard errors of 6 % for variances; four of them, and what is drawn towards zero
    assert factor @ factor.T == pytest.approx(exact, abs=0.25 * exact.max())
    states = chosen.draw(beta, 5000, np.random.default_rng(3))
    statistics = apply_bound(chosen.target, bound, states, beta, parameters=row, times=1)[2]
    assert 0.2 < statistics[Statistics.accepted] / statistics[Statistics.proposed] < 0.45


def test_a_state_on_its_bound_is_left_again():
    """A reference of tiny shape draws numbers that round to 1; a walk must not be caught there."""
    target = sterna.Target(lambda p: 0.0 * p, {"p": sterna.Beta(0.3, 0.3)})
    states = np.full((1000, 1), target.program.upper[0])
    after = apply_bound(target, Metropolis(moves=50).bind(target), states, 1.0)[0]
    assert (after < 0.999).mean() > 0.5


EXPLORERS = {
    "alone": Metropolis(moves=6),
    "cycle": sterna.Cycle(Metropolis(moves=4), sterna.Slice(passes=0.5)),
    "block": {("z", "k"): Metropolis(moves=4), "x": sterna.Slice()},
    "other block": {("z", "x"): Metropolis(moves=6), "k": sterna.Slice()},
}


@pytest.mark.parametrize("way", EXPLORERS)
def test_in_a_run(way):
    """Evidence and moments within 4 standard errors of the exact ones: 6e-5 each."""
    result = sterna.sample(law("mixed").target, explorer=EXPLORERS[way], n_chains=5, n_rounds=10, progress=False)
    weights, means, _, counts = mixed_parts(1.0)
    exact = math.log(weights.sum() * counts.sum())
    estimate = result.log_evidence
    assert abs(estimate.value - exact) < 4 * estimate.error
    check_mean(result.posterior["x"].values.ravel(), weights @ means / weights.sum())


@pytest.mark.parametrize("arguments", [{"moves": 0}, {"moves": 2.5}, {"moves": True}, {"covariance": "dense"}])
def test_bad_options(arguments):
    with pytest.raises(sterna.errors.OptionError, match="Metropolis"):
        Metropolis(**arguments)
