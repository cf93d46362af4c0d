"""The gradient compared with differences of the log-density along random directions."""

from typing import NamedTuple, NoReturn

import numpy as np

from sterna.errors import TargetError
from sterna.ground.user_function import Bridged
from sterna.ground.values import REAL
from sterna.target.checks.agreement import SINGLE_TOLERANCE, attempt, tolerance_of
from sterna.target.gradient import LIKELIHOOD_GRADIENT, REFERENCE_GRADIENT
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray

# Each point costs two evaluations, and two more if its first difference disagrees.
MAX_STATES = 3

# Steps of the central differences, in spreads of the reference.
WIDE, NARROW = 1e-4, 1e-5

# Relative to the sum of the absolute terms of the slope.
TOLERANCE = 1e-4

# How far the two differences may be apart, compared with what they are compared with.
CONVERGENCE = 10.0


class Wrong(NamedTuple):
    """A point at which the gradient is wrong."""

    state: FloatArray
    slope: float
    difference: float


def check_gradient(target: PreparedTarget, states: FloatArray, spreads: FloatArray, rng: np.random.Generator) -> None:
    """Compare the gradients that explorers follow with differences, at some states.

    An error needs a majority of the points at which the differences converge: a gradient may be wrong at a kink.
    """
    if target.program.likelihood_gradient == 0 or not gradient_is_own(target):
        return
    for beta in betas_of_gradient(target):
        judged, wrong = wrong_gradients(target, states[:MAX_STATES], beta, spreads, rng)
        if 2 * len(wrong) > judged:
            raise_wrong(target, beta, wrong[0])


def betas_of_gradient(target: PreparedTarget) -> tuple[float, ...]:
    """Return the betas at which gradients are compared: 0 shows the reference's gradient alone."""
    own = any(one.function.entry_point is REFERENCE_GRADIENT for one in target.functions)
    return (0.0, 1.0) if own else (1.0,)


def wrong_gradients(
    target: PreparedTarget, states: FloatArray, beta: float, spreads: FloatArray, rng: np.random.Generator
) -> tuple[int, list[Wrong]]:
    """Return at how many states the gradient could be judged, and those at which it is wrong."""
    verdicts = [_compare(target, state, beta, spreads, rng) for state in states]
    judged = [verdict for verdict in verdicts if verdict is not None]
    return len(judged), [verdict for verdict in judged if isinstance(verdict, Wrong)]


def gradient_is_own(target: PreparedTarget) -> bool:
    """Return whether the user wrote the gradient; those of other libraries are derived."""
    of_likelihood = [one.function for one in target.functions if one.function.entry_point is LIKELIHOOD_GRADIENT]
    return all(function.given is not None and not isinstance(function.given, Bridged) for function in of_likelihood)


def _compare(
    target: PreparedTarget, state: FloatArray, beta: float, spreads: FloatArray, rng: np.random.Generator
) -> Wrong | bool | None:
    """Return whether the gradient is right, where it is wrong, or None if the point does not tell."""
    program = target.program
    room = np.minimum(state - program.lower, program.upper - state)
    steps = np.where(program.value_type == REAL, np.minimum(spreads, 0.5 * room), 0.0) * rng.standard_normal(len(state))
    gradient = attempt(target.gradient, state, beta)
    if gradient is None or not steps.any():
        return None
    wide = _difference(target, state, steps, beta, WIDE)
    if wide is None:
        return None
    if not np.isfinite(gradient).all():
        # at a state of finite density, where explorers would follow it
        return Wrong(state, float("nan"), wide[0])
    slope, size = float(gradient @ steps), float(np.abs(gradient * steps).sum())
    if abs(slope - wide[0]) <= TOLERANCE * size + wide[1]:
        return True
    narrow = _difference(target, state, steps, beta, NARROW)
    if narrow is None:
        return None
    doubt = TOLERANCE * max(size, abs(narrow[0])) + narrow[1] + CONVERGENCE * abs(wide[0] - narrow[0])
    return Wrong(state, slope, narrow[0]) if abs(slope - narrow[0]) > doubt else None


def _difference(
    target: PreparedTarget, state: FloatArray, steps: FloatArray, beta: float, width: float
) -> tuple[float, float] | None:
    """Return the central difference along a direction, and its rounding error."""
    ends = [
        attempt(_value, target, np.clip(state + sign * width * steps, target.program.lower, target.program.upper), beta)
        for sign in (1.0, -1.0)
    ]
    above, below = ends
    if above is None or below is None or not np.isfinite([above, below]).all():
        return None
    error = 1e-15 if tolerance_of(above, below) < SINGLE_TOLERANCE else 1e-6
    return (above - below) / (2 * width), error * max(abs(above), abs(below)) / width


def _value(target: PreparedTarget, state: FloatArray, beta: float) -> float:
    if beta == 0.0:
        return target.log_reference(state)
    log_reference, log_likelihood = target.log_densities(state)
    return log_reference + beta * log_likelihood


def raise_wrong(target: PreparedTarget, beta: float, wrong: Wrong) -> NoReturn:
    """Raise the error of a wrong gradient."""
    label, density = (
        ("gradient", "log_reference + log_likelihood") if beta else ("The reference's gradient", "log_density")
    )
    raise TargetError(
        f"{label} gives the slope {wrong.slope!r} along a random direction, and differences of {density} give "
        f"{wrong.difference!r}, at {target.describe_point(wrong.state)}. Check its signs and that it returns the "
        "derivative with respect to each variable itself; without a gradient, sterna runs too."
    )
