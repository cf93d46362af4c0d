"""Which of the two paths is better: the one on which a given error costs less, unless the mixture has more mass."""

import math
from collections.abc import Sequence

import numpy as np

from sterna.run.state import RunState
from sterna.run.tune import total_evaluations
from sterna.search.curvature import Optimum
from sterna.search.search import MAX_OPTIMA

# The path from the mixture is also better if its evidence is larger by so many standard errors.
MORE_MASS = 4.0

# Laplace's method is usually right within so many nats.
MORE_NATS = 1.0


def finds_more(optima: Sequence[Optimum], after: RunState) -> bool:
    """Whether optima have more mass, by Laplace's method, than the path from the prior has found.

    As many optima as a search keeps are those of a ridge or a shell, where the same mass is counted many times.
    """
    masses = [one.log_mass for one in optima]
    return 0 < len(masses) < MAX_OPTIMA and bool(
        np.logaddexp.reduce(masses) > after.rounds[-1].log_evidence.value + MORE_NATS
    )


def _price(state: RunState) -> float:
    """Return the evaluations times the squared error of the evidence in the last round: what a given error costs."""
    last = state.rounds[-1]
    evaluations = evaluations_per_exploration(state) * last.n_chains * last.explorations * last.n_scans
    error = last.log_evidence.error if last.log_evidence.valid else math.inf
    return evaluations * error**2 if math.isfinite(error) else math.inf


def is_better(fitted: RunState, beside: RunState) -> bool:
    """Whether the path from the mixture is cheaper, or has found mass that the path from the prior has not."""
    price = _price(fitted)
    if not math.isfinite(price):
        return False
    more = fitted.rounds[-1].log_evidence - beside.rounds[-1].log_evidence
    return fitted.price * price < _price(beside) or (math.isfinite(more.error) and more.value > MORE_MASS * more.error)


def reason_of(fitted: RunState, beside: RunState) -> str:
    """Say how the paths compare."""
    price, other = fitted.price * _price(fitted), _price(beside)
    if math.isinf(price):
        return "because too few replicas travelled from the mixture"
    if math.isinf(other):
        return "because too few replicas travelled from the reference"
    if other == 0.0 and not is_better(fitted, beside):
        return "because the likelihood hardly varies along the path from the reference"
    if price < other or not is_better(fitted, beside):
        return f"because a given error took {price / other:.2g} times as long as from the reference"
    evidences = [one.rounds[-1].log_evidence for one in (fitted, beside)]
    return f"because it has more mass, a log evidence of {evidences[0]} instead of {evidences[1]} while tuning"


def load_of(state: RunState) -> int:
    """Return the explorations of chains in a scan."""
    return state.tuned.n_chains * state.tuned.explorations


def evaluations_per_exploration(state: RunState) -> float:
    """Return the evaluations of one exploration of a chain, over all rounds so far; 0 if there were none.

    A gradient counts as several.
    """
    explorations = sum(one.n_scans * one.n_chains * one.explorations for one in state.rounds) * len(state.copies)
    evaluations, gradients = total_evaluations(state)
    spent = evaluations + gradients * (2 if state.cost is None else state.cost.gradient)
    return spent / explorations if explorations else 0.0
