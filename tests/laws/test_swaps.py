"""The swap kernel and the complete scan, by enumeration of every outcome of the engine's own source."""

import itertools
import math

import numpy as np
import pytest
from kernels import slice_row
from plain import Forks, Symbol, load, load_families

from sterna.engine.stop import new_stop
from sterna.ground.rows import columns
from sterna.ground.values import BINARY

EVEN, ODD = 0, 1
# A target on three points, and schedules of three and four chains.
LOG_LIKELIHOOD = np.array([0.0, 1.3, -0.7])
REFERENCE = np.array([0.5, 0.2, 0.3])
SCHEDULES = [np.array([0.0, 0.35, 1.0]), np.array([0.0, 0.2, 0.55, 1.0])]

LAW_CHANGING_FAULTS = {
    "log-ratio 1 % off": ("(next_beta - beta) * (", "1.01 * (next_beta - beta) * ("),
    "sign swapped": ("(log_likelihood - next_log_likelihood)", "(next_log_likelihood - log_likelihood)"),
    "schedule difference left out": ("(next_beta - beta) * (", "("),
    "overlapping pairs decided from the energies before the swaps": (
        "range(parity, accepted.size, 2)",
        "range(accepted.size)",
    ),
}


def annealed(beta):
    weights = REFERENCE * np.exp(beta * LOG_LIKELIHOOD)
    return weights / weights.sum()


def joint_law(schedule):
    laws = [annealed(beta) for beta in schedule]
    return np.array([math.prod(p) for p in itertools.product(*laws)])


def swap_matrix(schedule, parity, faults=()):
    """Return the transition matrix of one communication step over the states of all chains."""
    forks = Forks()
    code = load("engine/communication.py", faults, swap_uniform=lambda key, pair: Symbol(forks))
    points = list(itertools.product(range(3), repeat=len(schedule)))
    number = {point: k for k, point in enumerate(points)}
    matrix = np.zeros((len(points), len(points)))
    for point in points:
        log_densities = np.zeros((len(schedule), 4))
        log_densities[:, 1] = LOG_LIKELIHOOD[list(point)]

        def step(log_densities=log_densities):
            chains = np.arange(len(schedule))
            chain_of, replica_of = chains.copy(), chains.copy()
            accepted = np.zeros(len(schedule) - 1)
            code.measure(schedule, log_densities, replica_of, accepted)
            code.swap(chain_of, replica_of, accepted, parity, None)
            assert (chain_of[replica_of] == chains).all(), "the two maps must be inverse to each other"
            return tuple(replica_of)

        for probability, replicas in forks.outcomes(step):
            matrix[number[point], number[tuple(point[j] for j in replicas)]] += probability
    return matrix


def invariance_gap(law, matrix):
    return np.abs(law @ matrix - law).max()


def balance_gap(law, matrix):
    flow = law[:, None] * matrix
    return np.abs(flow - flow.T).max()


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["3 chains", "4 chains"])
def test_swaps_keep_the_law_and_deo_is_not_reversible(schedule):
    law = joint_law(schedule)
    even, odd = swap_matrix(schedule, EVEN), swap_matrix(schedule, ODD)
    for matrix in (even, odd):
        assert np.allclose(matrix.sum(axis=1), 1.0, atol=1e-14)
        assert invariance_gap(law, matrix) < 1e-12
    assert balance_gap(law, (even + odd) / 2) < 1e-12
    assert balance_gap(law, even @ odd) > 1e-3


@pytest.mark.parametrize("fault", LAW_CHANGING_FAULTS)
def test_planted_swap_faults_are_caught(fault):
    schedule = SCHEDULES[0]
    matrices = [swap_matrix(schedule, parity, [LAW_CHANGING_FAULTS[fault]]) for parity in (EVEN, ODD)]
    assert max(invariance_gap(joint_law(schedule), matrix) for matrix in matrices) > 1e-6


def numbers_asked_for(parity, faults=()):
    """Return the keys and pairs of the random numbers that a communication step of six chains uses."""
    asked = []

    def swap_uniform(key, pair):
        asked.append((key, pair))
        return 0.5

    code = load("engine/communication.py", faults, swap_uniform=swap_uniform)
    chains = np.arange(6)
    code.swap(chains.copy(), chains.copy(), np.full(5, 0.7), parity, "key of the scan")
    return asked


def test_every_pair_has_a_random_number_of_its_own():
    """With one number for all pairs each swap is right by itself, but not jointly, which a matrix of symbols hides."""
    assert numbers_asked_for(EVEN) == [("key of the scan", pair) for pair in (0, 2, 4)]
    assert numbers_asked_for(ODD) == [("key of the scan", pair) for pair in (1, 3)]
    # planted fault
    assert len(set(numbers_asked_for(EVEN, [("swap_uniform(key, pair)", "swap_uniform(key, 0)")]))) == 1


def acceptance_gap(faults=()):
    """Return the largest difference between the code's acceptance probability and the paper's formula."""
    code = load("engine/communication.py", faults)
    numbers = [(0.0, 0.3, -5.0, 2.0), (0.2, 0.9, 1.0, -3.0), (0.0, 1e-9, -1e12, 4.0), (0.5, 1.0, 0.1, 0.1)]
    formula = [math.exp(min(0.0, (b1 - b0) * (-l1 + l0))) for b0, b1, l0, l1 in numbers]
    return max(abs(code.acceptance(*n) - f) for n, f in zip(numbers, formula, strict=True))


def test_acceptance_is_the_formula_which_a_scaled_one_is_not():
    """A scaled acceptance leaves the distribution invariant, so only the formula can detect it."""
    scaled = [("return math.exp(min(", "return 0.9 * math.exp(min(")]
    matrix = swap_matrix(SCHEDULES[0], EVEN, scaled)
    assert invariance_gap(joint_law(SCHEDULES[0]), matrix) < 1e-12
    assert acceptance_gap(scaled) > 0.05
    assert acceptance_gap() < 1e-15


def test_likelihood_zero_is_never_passed_on():
    code = load("engine/communication.py")
    assert code.acceptance(0.0, 1e-300, -math.inf, 5.0) == 0.0


# --- the complete scan: two binary coordinates, three chains, through the source of run_scans ---

SCHEDULE = np.array([0.0, 0.4, 1.0])
CHANCE = np.array([0.3, 0.6])


def pair_log_likelihood(x):
    return 1.1 * x[0] - 0.4 * x[1] + 1.7 * x[0] * x[1]


def scan_matrix(parity, faults=None):
    """Return the transition matrix of one full scan (exploration, then swaps) of the engine's source."""
    faults = faults or {}
    forks = Forks()
    names = {
        "uniform": lambda stream: Symbol(forks),
        "as_pointer": lambda address, kind: None,
        "int_pointer": lambda address: np.arange(2),
        "field_pointer": columns,
        "as_address": lambda x: x,
        "generator_of": lambda stream: None,
    }
    densities, numbers = load_families(
        "distributions/finite.py", faults.get("distributions", ()), uniform=names["uniform"]
    )
    program_code = load("engine/program.py", faults.get("program", ()), **names)
    program_code.coordinate_log_density = densities.coordinate_log_density
    program_code.draw_coordinate = densities.draw_coordinate
    program_code.likelihood_value = lambda address, x, dimension, data: pair_log_likelihood(x)
    program_code.ceiling_of = lambda address, stop: stop[0]
    # the only pointer that slice sampling uses is that of its coordinates
    names = names | {"as_pointer": lambda address, kind: np.arange(2)}
    explorer = load("explorers/slice.py", faults.get("slice", ()), **names)
    explorer.first_coordinate = lambda updates, dimension, stream: 0
    binary = load("explorers/gibbs.py", faults.get("gibbs", ()), **names)
    binary.annealed = lambda reference, beta, likelihood: reference + beta * likelihood
    for name in ("coordinate_reference", "coordinate_likelihood", "reference_of"):
        setattr(binary, name, getattr(program_code, name))
    explorer.draw_value = binary.draw_value
    swaps = load(
        "engine/communication.py", faults.get("communication", ()), swap_uniform=lambda key, pair: Symbol(forks)
    )
    code = load("engine/round.py", faults.get("round", ()), **names)
    for name in ("draw_reference", "refresh", "log_likelihood", "log_reference"):
        setattr(code, name, getattr(program_code, name))
    code.measure, code.swap, code.parity_of = swaps.measure, swaps.swap, lambda *_: parity
    code.row = lambda matrix, k: matrix[k]
    code.view = lambda block: block
    code.call_explore = lambda address, arguments: explorer.explore(*arguments)
    code.start_stream = code.scan_key = code.follow = lambda *_: None
    code.add_pairs = code.add_chains = code.add_states = code.batch_of = lambda *_: None
    logs_of_chance = np.stack([np.zeros(2), np.ones(2), np.log(1 - CHANCE), np.log(CHANCE)], axis=1)
    program = program_code.Program(
        dimension=2, log_likelihood=1, likelihood_change=0, log_reference=0, reference_change=0, draw_reference=0,
        likelihood_gradient=0, reference_gradient=0, whole_gradient=0, is_ratio=0, data=0,
        value_type=np.full(2, BINARY), lower=np.zeros(2), upper=np.ones(2),
        family=np.full(2, numbers["Bernoulli"]), constants=logs_of_chance.ravel(), table=np.zeros(1),
        circles=np.zeros(4), stop=new_stop(),
    )  # fmt: skip
    return _scan_matrix(code, program, forks)


def _scan_matrix(code, program, forks):
    plan = code.Plan(
        block=program, explore=1, explorer_data=np.zeros(1), explorations=1, scheme=0, schedule=SCHEDULE,
        parameters=np.tile(slice_row([1.0, 1.0]), (3, 1)), pivot=np.zeros(2), centre=np.zeros(3), seed=1,
        round_number=1, batch_scans=1, batches=1, thin=1,
    )  # fmt: skip
    points = list(itertools.product(itertools.product((0.0, 1.0), repeat=2), repeat=3))
    number = {point: k for k, point in enumerate(points)}
    matrix = np.zeros((len(points), len(points)))
    for point in points:

        def scan(point=point):
            copy = code.new_copy(3, 2)
            copy.states[:] = point
            for j in range(3):
                code.refresh(program, copy.states[j], copy.log_densities[j])
            statistics = np.zeros((3, 4))
            record = type("Record", (), {"scans": np.ones(1), "trips": None})
            code.run_scans(plan, 0, copy, statistics, record, 1, 1, np.zeros(5))
            return tuple(tuple(copy.states[copy.replica_of[i]]) for i in range(3))

        for probability, outcome in forks.outcomes(scan):
            matrix[number[point], number[outcome]] += probability
    return matrix


def scan_law():
    """Return the product of the three annealed distributions over the states of one scan."""
    points = list(itertools.product((0.0, 1.0), repeat=2))
    prior = np.array([math.prod(np.where(np.array(p) == 1, CHANCE, 1 - CHANCE)) for p in points])
    energy = np.array([pair_log_likelihood(p) for p in points])
    laws = [prior * np.exp(beta * energy) / np.sum(prior * np.exp(beta * energy)) for beta in SCHEDULE]
    return np.array([math.prod(p) for p in itertools.product(*laws)])


@pytest.mark.parametrize("parity", [EVEN, ODD])
def test_a_full_scan_keeps_the_law(parity):
    matrix = scan_matrix(parity)
    assert np.allclose(matrix.sum(axis=1), 1.0, atol=1e-13)
    assert invariance_gap(scan_law(), matrix) < 1e-12


DRAW = "        draw_reference(program, x, stream)\n"
AT_CHAIN = "plan.schedule[chain], parameters"

SCAN_FAULTS = {
    "energy stale after exploration": {"gibbs": [("    log_densities[LOG_LIKELIHOOD] = likelihood_chosen\n", "")]},
    "the reference draws with other probabilities": {
        "distributions": [("uniform(stream) < math.exp(log_p_first)", "uniform(stream) < 0.5")]
    },
    "energy stale after the reference's draw": {
        "round": [(DRAW + "        refresh(program, x, log_densities)\n", DRAW)]
    },
    "explored at the chain above": {"round": [(AT_CHAIN, "plan.schedule[min(chain + 1, 2)], parameters")]},
    "explored at its first chain for ever": {"round": [("chain = copy.chain_of[replica]", "chain = 1")]},
    "swaps without the schedule": {"communication": [("(next_beta - beta) * (", "(")]},
}


@pytest.mark.parametrize("fault", SCAN_FAULTS)
def test_planted_scan_faults_are_caught(fault):
    assert invariance_gap(scan_law(), scan_matrix(EVEN, SCAN_FAULTS[fault])) > 1e-6
