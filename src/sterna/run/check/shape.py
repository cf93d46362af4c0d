"""The shape of the log-likelihood: which variables it depends on, and whether it jumps or stands still between jumps.

A jump is found by bisection: of an interval, the half in which the value changes more is cut again. If the last cuts
do not make the change smaller, the value jumps there; along a continuous function the change shrinks with the interval.
"""

import time

import numpy as np

from sterna.engine.interrupts import check_interrupts
from sterna.ground.values import REAL
from sterna.result.check_report import NOT_CHECKED, NOTE, OK, PROBLEM, CheckRow
from sterna.run.check.subject import Subject, evaluated, name_of_coordinate
from sterna.types import BoolArray, FloatArray

# Segments that are searched for jumps, how often each is cut, and the change that is a jump.
MAX_SEGMENTS, CUTS, LEAST_JUMP = 64, 36, 1e-3

# A change that is at least so much of what it was so many cuts before does not shrink.
LAST_CUTS, KEPT = 10, 0.5

# Above this share of the segments, jumps are a problem for explorers that follow a gradient.
MANY_JUMPS = 0.05

# How long a segment is, in spreads of the reference.
LENGTH = 1.0

# A step, in spreads, that crosses few jumps.
SMALL = 1e-6

# Pairs of draws between which a coordinate is changed before the likelihood is said not to depend on it, and the most
# coordinates that are looked at.
PAIRS, MAX_COORDINATES = 8, 200


def check_dependence(subject: Subject) -> CheckRow:
    """The likelihood depends on every variable."""
    target, name, states = subject.target, "variables", subject.positive
    kinds = _kinds(subject)
    if len(states) < 2:
        return CheckRow(name, NOT_CHECKED, f"{kinds}; too few draws of positive likelihood")
    began, unused, looked = time.perf_counter(), [], 0
    for i in range(min(target.dimension, MAX_COORDINATES)):
        if time.perf_counter() - began > subject.seconds:
            break
        looked += 1
        if not _depends_on(subject, states, i):
            unused.append(i)
    names = _names(subject, unused)
    if names and target.program.log_reference != 0:
        # as hyperparameters do
        text = f"{kinds}; the log-likelihood depends on all but {names}, which may act through the reference"
        return CheckRow(name, OK, text)
    if names and len(unused) < looked:
        text = f"{kinds}. The log-likelihood does not depend on {names}: is that intended?"
        return CheckRow(name, NOTE, text)
    if names:
        return CheckRow(name, NOTE, f"{kinds}. The log-likelihood depends on none of them at the draws that were tried")
    part = "" if looked == target.dimension else f" (the first {looked} coordinates were looked at)"
    return CheckRow(name, OK, f"{kinds}; the log-likelihood depends on all of them{part}")


def _kinds(subject: Subject) -> str:
    types = subject.target.program.value_type
    real = int((types == REAL).sum())
    discrete = len(types) - real
    found = [f"{n} {what}" for n, what in ((real, "real"), (discrete, "integer or binary")) if n]
    return f"{' and '.join(found)} coordinate{'' if len(types) == 1 else 's'}"


def _depends_on(subject: Subject, states: FloatArray, i: int) -> bool:
    """Whether the value changes if one coordinate of a draw is that of another draw."""
    target, pairs = subject.target, 0
    for _ in range(8 * PAIRS):
        check_interrupts()
        here, there = states[subject.rng.integers(len(states), size=2)]
        if here[i] == there[i]:
            continue
        other = here.copy()
        other[i] = there[i]
        found, problem = evaluated(target, np.stack([here, other]))
        pairs += 1
        if problem or found[0, 1] != found[1, 1]:
            return True
        if pairs == PAIRS:
            return False
    # a coordinate without another value
    return True


def _names(subject: Subject, coordinates: list[int]) -> str:
    """Return the variables, if all of their coordinates are there, and otherwise their elements."""
    if subject.target.view is not None:
        return ", ".join(f"coordinate {i}" for i in coordinates)
    found = []
    for v in subject.target.space.variables:
        mine = [i for i in coordinates if v.start <= i < v.stop]
        if len(mine) == v.stop - v.start:
            found.append(v.name)
        else:
            found += [name_of_coordinate(subject.target, i) for i in mine[:5]]
    return ", ".join(found)


def check_jumps(subject: Subject) -> CheckRow:
    """The log-likelihood is continuous along real coordinates, which explorers that follow a gradient need."""
    target, name = subject.target, "jumps"
    real = target.program.value_type == REAL
    if not real.any():
        return CheckRow(name, NOT_CHECKED, "there are no real variables")
    states = subject.positive
    n, searched, jumps = min(subject.affordable(CUTS, MAX_SEGMENTS, least=0), len(states)), 0, []
    if subject.affordable(CUTS, 1, least=0) == 0:
        return CheckRow(
            name, NOT_CHECKED, f"evaluations take too long for {CUTS} on a segment: max_seconds=60 has more"
        )
    for k in range(n):
        found = _largest_jump(subject, states[k], real)
        if found is not None:
            searched += 1
            if found[0] > LEAST_JUMP:
                jumps.append(found)
    if not jumps:
        if not searched:
            return CheckRow(name, NOT_CHECKED, "too few draws of positive likelihood")
        return CheckRow(name, OK, f"none on {searched} segments of one spread of the reference")
    size, where = max(jumps, key=lambda one: one[0])
    text = f"The log-likelihood jumps on {len(jumps)} of {searched} segments of one spread of the reference, by up to "
    text += f"{size:.3g} at {target.describe_point(where)}. "
    if _is_flat(subject, states[:n], real):
        text += (
            "Between the jumps it is constant: a variable that takes whole values alone is declared so, as with "
            "sterna.DiscreteUniform, Poisson or Categorical. "
        )
    if target.has_gradient and len(jumps) > MANY_JUMPS * searched:
        return CheckRow(
            name,
            PROBLEM,
            f'{text}Explorers that follow the gradient cannot see that: leave gradient= out, or use explorer="slice".',
        )
    return CheckRow(name, NOTE, f"{text}Slice and Metropolis sampling can do that; a gradient would not help here.")


def _is_flat(subject: Subject, states: FloatArray, real: BoolArray) -> bool:
    """Whether small steps of the real variables change nothing at nearly all states."""
    changed = 0
    for state in states:
        check_interrupts()
        step = SMALL * subject.spreads * subject.rng.standard_normal(len(state))
        found = _values(subject, np.stack([state, np.where(real, state + step, state)]))
        changed += bool(found[0] != found[1])
    return changed <= MANY_JUMPS * len(states)


def _largest_jump(subject: Subject, state: FloatArray, real: BoolArray) -> tuple[float, FloatArray] | None:
    """Return the change of the value in the shortest interval, and where that is; None if a value is not finite."""
    program = subject.target.program
    # at a bound of the support the value may go to infinity, however short the interval is
    room = 0.5 * np.minimum(state - program.lower, program.upper - state)
    step = LENGTH * subject.spreads * subject.rng.standard_normal(len(state))
    ends = np.stack([state, np.where(real, state + np.clip(step, -room, room), state)])
    values = _values(subject, ends)
    largest, changes = float(np.abs(values).max()), [abs(values[1] - values[0])]
    for _ in range(CUTS):
        check_interrupts()
        middle = 0.5 * (ends[0] + ends[1])
        value = _values(subject, middle[None])
        if not np.isfinite([*values, *value]).all():
            return None
        upper = abs(values[1] - value[0]) > abs(value[0] - values[0])
        ends, values = (
            (np.stack([middle, ends[1]]), np.array([value[0], values[1]]))
            if upper
            else (np.stack([ends[0], middle]), np.array([values[0], value[0]]))
        )
        largest = max(largest, float(np.abs(values).max()))
        changes.append(abs(values[1] - values[0]))
    shrinks = changes[-1] < KEPT * changes[-1 - LAST_CUTS]
    # what rounding makes of large values is no jump
    return (0.0 if shrinks else max(0.0, float(changes[-1]) - 1e-9 * largest)), ends[0]


def _values(subject: Subject, states: FloatArray) -> FloatArray:
    found, problem = evaluated(subject.target, states)
    return np.full(len(states), np.nan) if problem else found[:, 1]
