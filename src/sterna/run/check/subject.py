"""A target under check: draws of its reference with their log-densities, and the time that checks may take."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sterna.engine.evaluation import evaluate
from sterna.engine.interrupts import check_interrupts
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE
from sterna.engine.round import REPLICA, draw_states, new_copy
from sterna.errors import Error, describe
from sterna.ground.streams import new_stream
from sterna.result.check_report import NOT_CHECKED, PROBLEM, CheckRow
from sterna.target.checks.draws import spreads_of
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray
from sterna.workers.point_errors import errors_at_point

# Draws of the reference that are evaluated, at most and at least.
MAX_POINTS, MIN_POINTS = 4096, 2

# They have at most so many coordinates together, and so many are drawn first, to see what a draw takes.
MAX_NUMBERS, TIMED_DRAWS = 10**7, 16

# After so many failures the others are not looked for, because each may take long.
MAX_FAILURES = 200

Draw = Callable[[int], FloatArray]


@dataclass
class Subject:
    """A target under check."""

    target: PreparedTarget
    seed: int
    seconds: float
    """What each kind of check may take, about."""
    states: FloatArray
    """Draws of the reference at which both log-densities are known, those of likelihood zero among them."""
    log_densities: FloatArray
    """(log-reference, log-likelihood) of each."""
    n_evaluated: int
    """Draws that were evaluated, with those that failed."""
    failures: list[str]
    """What went wrong at draws that failed."""
    seconds_per_evaluation: float
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([0xC4EC, self.seed])

    @property
    def draw(self) -> Draw:
        """What draws from the reference: the first ones are always the same."""
        return partial(draw_reference, self.target, self.seed)

    @property
    def positive(self) -> FloatArray:
        """The draws of positive likelihood."""
        return self.states[self.log_densities[:, 1] > -np.inf]

    @property
    def spreads(self) -> FloatArray:
        """How far the reference spreads in every coordinate."""
        return spreads_of(self.states)[1]

    def affordable(self, evaluations_each: float, most: int, least: int = MIN_POINTS) -> int:
        """Return how many points a check can pay for."""
        each = max(self.seconds_per_evaluation, 2e-5) * evaluations_each
        return max(least, min(most, int(self.seconds / each)))

    @property
    def zero_share(self) -> float:
        """The share of the draws at which the likelihood is zero."""
        known = len(self.states)
        return float(np.mean(self.log_densities[:, 1] == -np.inf)) if known else float("nan")


def draw_reference(target: PreparedTarget, seed: int, n: int) -> FloatArray:
    """Return n independent draws from the reference."""
    draws = np.zeros((n, target.dimension))
    copy = new_copy(1, target.dimension)._replace(states=draws)
    with errors_at_point(target, copy):
        draw_states(target.block, seed, draws, copy.at_work, new_stream())
    return draws


def new_subject(target: PreparedTarget, seed: int, seconds: float) -> Subject:
    """Draw from the reference, and evaluate as many draws as the time pays for."""
    draws = draw_reference(target, seed, _number_of_draws(target, seed, seconds))
    # the first may load code
    evaluated(target, draws[:1])
    failures: list[str] = []
    began, known = time.perf_counter(), []
    found = np.full((len(draws), 2), np.nan)
    for k, state in enumerate(draws):
        if k >= MIN_POINTS and (time.perf_counter() - began > seconds or len(failures) >= MAX_FAILURES):
            break
        check_interrupts()
        values, text = evaluated(target, state[None])
        if text:
            failures.append(text)
        else:
            found[k] = values[0]
            known.append(k)
    n = len(known) + len(failures)
    cost = (time.perf_counter() - began) / max(n, 1)
    return Subject(target, seed, seconds, draws[known], found[known], n, failures, cost)


def _number_of_draws(target: PreparedTarget, seed: int, seconds: float) -> int:
    """Return how many draws time and memory pay for."""
    draw_reference(target, seed, 1)
    began = time.perf_counter()
    draw_reference(target, seed, TIMED_DRAWS)
    each = (time.perf_counter() - began) / TIMED_DRAWS
    most = min(MAX_POINTS, MAX_NUMBERS // target.dimension, int(seconds / max(each, 1e-9)))
    return max(TIMED_DRAWS, most)


def evaluated(target: PreparedTarget, states: FloatArray) -> tuple[FloatArray, str]:
    """Return (log-reference, log-likelihood) at states, and what went wrong at the first that failed."""
    copy, found = new_copy(len(states), states.shape[1])._replace(states=states), np.full((len(states), 2), np.nan)
    try:
        with errors_at_point(target, copy):
            for k, state in enumerate(states):
                copy.at_work[REPLICA] = k
                evaluate(target.block, np.ascontiguousarray(state), copy.log_densities[k])
                found[k] = copy.log_densities[k, LOG_REFERENCE], copy.log_densities[k, LOG_LIKELIHOOD]
    except Error as error:
        return found, str(error)
    return found, ""


def name_of_coordinate(target: PreparedTarget, i: int) -> str:
    """Return what users call a coordinate of the state."""
    if target.view is not None:
        return f"coordinate {i}"
    for v in target.space.variables:
        if v.start <= i < v.stop:
            return v.name if v.stop - v.start == 1 else f"element {i - v.start} of {v.name}"
    return f"coordinate {i}"


def row_of(name: str, function: Callable[[Subject], CheckRow], subject: Subject) -> CheckRow:
    """Make a check; whatever it raises becomes its row."""
    check_interrupts()
    try:
        return function(subject)
    except Error as error:
        return CheckRow(name, PROBLEM, str(error))
    except Exception as error:  # a check that fails must not end the others
        return CheckRow(name, NOT_CHECKED, f"the check itself failed with {describe(error)}")
