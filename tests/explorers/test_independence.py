"""Independence proposals: exact transitions, and runs. The draws are those of `test_families.py`."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from annealed import law
from kernels import apply_bound
from plain import Forks, Symbol, load, load_families
from runs import check_bounded_run

import sterna
from sterna.explorers.independence import Independence

BETAS = [0.0, 0.1, 0.5, 1.0]


def transition_matrix(beta, faults=()):
    """Return law and transition matrix of the source itself, for an integer of four values and a binary one."""
    forks = Forks()
    numbers = np.array([1.0, 4.0, -math.log(4.0), 0.0, 0.0, 1.0, math.log(0.3), math.log(0.7)])

    def likelihood(x):
        return math.sin(3.0 * x[0]) + x[1] * math.cos(x[0]) if x[0] != 3 else -math.inf

    densities, families = load_families("distributions/finite.py", uniform=lambda stream: Symbol(forks))
    module = load(
        "explorers/independence.py",
        faults,
        uniform=lambda stream: Symbol(forks),
        int_pointer=lambda array: array,
        coordinate_log_density=densities.coordinate_log_density,
        draw_from_stream=densities.draw_from_stream,
        log_likelihood=lambda program, x, reference, log_densities: likelihood(x),
    )
    program = SimpleNamespace(
        family=[families["DiscreteUniform"], families["Bernoulli"]],
        constants=numbers,
        table=None,
        lower=[1.0, 0.0],
        upper=[4.0, 1.0],
        circles=np.zeros(4),
    )
    points = [np.array(p) for p in itertools.product(np.arange(1.0, 5.0), (0.0, 1.0))]
    places = {tuple(p): k for k, p in enumerate(points)}
    matrix = np.zeros((len(points), len(points)))
    for start in points:

        def run(start=start):
            x, log_densities = start.copy(), np.array([0.0, likelihood(start), 0.0, 0.0])
            module.explore(
                program, x, log_densities, beta, np.array([1.0, 2.0, 2.0]), np.zeros(4), [np.array([0, 1])], None
            )
            return tuple(x)

        for probability, end in forks.outcomes(run):
            matrix[places[tuple(start)], places[end]] += probability
    weights = np.array([(0.3, 0.7)[int(p[1])] * (math.exp(beta * likelihood(p)) if beta > 0 else 1.0) for p in points])
    return weights / weights.sum(), matrix


@pytest.mark.parametrize("beta", BETAS)
def test_exact_transitions(beta):
    """pi K = pi, to rounding, for the source itself."""
    exact, matrix = transition_matrix(beta)
    assert matrix[exact > 0].sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert exact @ matrix == pytest.approx(exact, abs=1e-12)


def test_planted_fault_of_transitions_is_caught():
    exact, matrix = transition_matrix(0.5, [("acceptance(beta, 0.0", "acceptance(1.0, 0.0")])
    assert np.abs(exact @ matrix - exact).max() > 1e-3


def test_energies_and_evaluations():
    chosen = law("mixed")
    states = chosen.draw(1.0, 100, np.random.default_rng(1))
    bound = Independence(moves=3).bind(chosen.target)
    after, log_densities, _ = apply_bound(chosen.target, bound, states, 1.0, times=2)
    assert (log_densities[:, 2] == 6).all()
    for state, row in zip(after, log_densities, strict=True):
        assert row[:2] == pytest.approx(chosen.target.log_densities(state), rel=1e-9)


EXPLORERS = {
    "alone": Independence(moves=6),
    "cycle": sterna.Cycle(Independence(moves=2), sterna.Slice(passes=0.5)),
    "block": {"w": Independence(moves=2), ("s", "p"): sterna.Slice()},
}


@pytest.mark.parametrize("way", EXPLORERS)
def test_in_a_run(way):
    """Evidence and a mean at 6e-5 each."""
    check_bounded_run(EXPLORERS[way], names=("w",))


def test_a_reference_of_ones_own_is_refused():
    with pytest.raises(sterna.errors.OptionError, match="named distributions"):
        Independence().bind(law("funnel").target)


@pytest.mark.parametrize("arguments", [{"moves": 0}, {"at_once": 0}, {"at_once": 1.5}])
def test_bad_options(arguments):
    with pytest.raises(sterna.errors.OptionError, match="Independence"):
        Independence(**arguments)
