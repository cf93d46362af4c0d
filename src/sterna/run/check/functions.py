"""A user's functions compared with each other: the checks of every run, at many more points."""

import time
from typing import NoReturn

import numpy as np

from sterna.engine.interrupts import check_interrupts
from sterna.errors import Error
from sterna.ground.values import REAL
from sterna.result.check_report import NOT_CHECKED, NOTE, OK, CheckRow
from sterna.run.check.subject import Subject, evaluated, name_of_coordinate
from sterna.target.checks.changes import check_changes
from sterna.target.checks.compiled import check_compiled, comparable_functions
from sterna.target.checks.data_names import check_data_names
from sterna.target.checks.draws import MAX_DRAWS, check_draws, draws_and_density_are_own
from sterna.target.checks.normalised import DRAWS, check_normalised
from sterna.target.checks.slopes import Wrong, betas_of_gradient, gradient_is_own, raise_wrong, wrong_gradients

# What the comparison of draws with their density may have, relative to that of every run.
MORE_DRAWS, SECONDS_FOR_DRAWS = 8, 1.0

# Points at which gradients, local changes and Python's values are compared, at most.
MAX_GRADIENTS, MAX_CHANGES, MAX_COMPILED = 512, 64, 1024

# Entries that are compared to find the wrong one, at most, and the step of differences, in spreads.
MAX_ENTRIES, STEP = 200, 1e-5

# The share of points at which a gradient may disagree with differences, as at a kink.
MAX_WRONG = 0.05


def check_data(subject: Subject) -> CheckRow:
    """No entry of data is misspelt or not a number."""
    target = subject.target
    notes = [*check_data_names(target), *([target.odd_data.strip()] if target.odd_data else [])]
    if notes:
        return CheckRow("data", NOTE, " ".join(notes))
    names = ", ".join(target.data)
    return CheckRow("data", OK, f"all are used: {names}" if names else "there are none")


def check_reference_draws(subject: Subject) -> CheckRow:
    """Draws of the reference have its density."""
    target, name = subject.target, "draws of the reference"
    if not draws_and_density_are_own(target):
        return CheckRow(name, OK, "drawn by the library that also computes their density")
    most = MORE_DRAWS * MAX_DRAWS
    check_draws(target, subject.draw, subject.rng, most, min(SECONDS_FOR_DRAWS, subject.seconds))
    return CheckRow(name, OK, f"up to {most} draws and moves that leave log_density unchanged agree")


def check_normalisation(subject: Subject) -> CheckRow:
    """The reference's density integrates to one, if its user says so."""
    target, name = subject.target, "normalisation"
    if not target.says_normalized:
        text = target.unnormalized
        if text:
            return CheckRow(name, NOT_CHECKED, f"not needed: the log evidence is relative to the reference ({text})")
        return CheckRow(name, OK, "the reference's density is normalised by construction")
    if (target.program.value_type != REAL).any() or target.program.circles.any():
        return CheckRow(name, NOT_CHECKED, "there are integers or angles, to which nothing is fitted")
    check_normalised(target, subject.draw, subject.rng)
    return CheckRow(name, OK, f"the integral of the reference's density is 1, as far as {DRAWS} draws show")


def check_compilation(subject: Subject) -> CheckRow:
    """Compiled functions return what they return as Python."""
    target, name = subject.target, "compiled code"
    functions = comparable_functions(target)
    if not functions:
        why = (
            "nothing is compiled"
            if not target.compiled
            else "the functions are sterna's own, or compiled by those who wrote them"
        )
        return CheckRow(name, NOT_CHECKED, why)
    n = min(MAX_COMPILED, len(subject.states))
    check_compiled(target, functions, subject.states[:n], subject.log_densities[:n], subject.seconds)
    return CheckRow(name, OK, f"up to {n} points gave the same values as Python")


def check_gradients(subject: Subject) -> CheckRow:
    """The gradient agrees with differences."""
    target, name = subject.target, "gradient"
    if not target.has_gradient:
        return CheckRow(name, NOT_CHECKED, "there is none; with gradient= there are more explorers")
    target.prepare_gradient()
    if target.program.likelihood_gradient == 0 or not gradient_is_own(target):
        return CheckRow(name, OK, "derived by the library of the model")
    states, judged = subject.positive, 0
    n = min(subject.affordable(4, MAX_GRADIENTS), len(states))
    for beta in betas_of_gradient(target):
        wrong: list[Wrong] = []
        judged = 0
        began = time.perf_counter()
        for first in range(0, n, 8):
            check_interrupts()
            some, found = wrong_gradients(target, states[first : first + 8], beta, subject.spreads, subject.rng)
            judged, wrong = judged + some, wrong + found
            if time.perf_counter() - began > subject.seconds:
                break
        if len(wrong) > max(MAX_WRONG * judged, 0 if judged < 8 else 1):
            _raise_wrong(subject, beta, wrong[0], len(wrong), judged)
    if judged == 0:
        return CheckRow(name, NOTE, "differences converged at no draw of the reference, so that nothing is known")
    return CheckRow(name, OK, f"agrees with differences along random directions at {judged} points")


def _raise_wrong(subject: Subject, beta: float, wrong: Wrong, n: int, judged: int) -> NoReturn:
    """Raise the error of a wrong gradient, with how often it is wrong and where it is most."""
    try:
        raise_wrong(subject.target, beta, wrong)
    except Error as error:
        raise type(error)(f"{error} It is wrong at {n} of {judged} points.{_worst_entry(subject, wrong)}") from None


def _worst_entry(subject: Subject, wrong: Wrong) -> str:
    """Name the entry of the gradient that is most wrong at a point, for the change over a spread of the reference."""
    target, state = subject.target, wrong.state
    if target.dimension > MAX_ENTRIES or not np.isfinite(wrong.slope):
        return ""
    entries, differences = target.gradient(state), np.full(target.dimension, np.nan)
    for i in np.flatnonzero(target.program.value_type == REAL):
        ends = np.stack([state, state])
        ends[:, i] += STEP * subject.spreads[i] * np.array([1.0, -1.0])
        found, problem = evaluated(target, ends)
        if not problem:
            above, below = found.sum(axis=1)
            differences[i] = (above - below) / (ends[0, i] - ends[1, i])
    errors = np.abs(entries - differences) * subject.spreads
    if not np.isfinite(errors).any():
        return ""
    worst = int(np.nanargmax(errors))
    return (
        f" The entry of {name_of_coordinate(target, worst)} is furthest off there: with the reference's gradient it "
        f"is {float(entries[worst]):.6g}, and differences give {float(differences[worst]):.6g}."
    )


def check_local_changes(subject: Subject) -> CheckRow:
    """Local changes agree with two whole evaluations."""
    target, name = subject.target, "local change"
    program = target.program
    if program.likelihood_change == 0 and program.reference_change == 0:
        return CheckRow(name, NOT_CHECKED, "there is none")
    known = np.flatnonzero(subject.log_densities[:, 1] > -np.inf)
    known = known[: subject.affordable(16, MAX_CHANGES)]
    for k in known:
        check_interrupts()
        one = slice(k, k + 1)
        check_changes(target, subject.states[one], subject.log_densities[one], subject.states, subject.rng)
    return CheckRow(name, OK, f"agrees with two whole evaluations, of 4 coordinates at each of {len(known)} states")
