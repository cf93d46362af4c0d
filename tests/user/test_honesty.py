"""The battery of `make honesty` itself: how it classifies planted results, its exact answers, and its quick form."""

import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sterna
from sterna.tuning.estimate import Estimate

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import honesty
import honesty_exact
import honesty_geometry
import honesty_healthy
from honesty_outcome import (
    OTHER_REASON,
    RIGHT,
    RIGHT_REASON,
    SILENT,
    UNKNOWN_KIND,
    WARNINGS,
    Problem,
    Truth,
    kind_of_warning,
    outcome_of,
)

SICK = frozenset({"R-hat", "draws"})


def planted(log_evidence, warnings=(), draws=None, error=None):
    """Return a run that ends as told."""

    def run(seed):
        if error is not None:
            raise error
        values = {"x": np.random.default_rng(seed).standard_normal((2, 1000)) if draws is None else draws}
        journeys = np.arange(values["x"].size).reshape(values["x"].shape)
        return SimpleNamespace(
            log_evidence=log_evidence,
            values=values,
            journeys=journeys,
            warnings=list(warnings),
            evaluations=1,
            restarts=2,
        )

    return run


X = Truth("mean of x", 0.0, 1.0, lambda values: values["x"])
R_HAT, FEW = "R-hat of x is 1.3", "Only 3 restarts (normal: at least 10)"
GOOD, BAD, HUGE = Estimate(1.3, 0.1), Estimate(1.5, 0.1), Estimate(1e9, 0.1)
NEVER_VARIED = np.ones((1, 100))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (planted(GOOD), RIGHT),
        (planted(GOOD, [FEW]), RIGHT),
        (planted(BAD), SILENT),
        (planted(BAD, [FEW]), OTHER_REASON),
        (planted(BAD, [FEW, R_HAT]), RIGHT_REASON),
        # five errors off, with so few degrees of freedom that this is not surprising
        (planted(Estimate(1.5, 0.1, 6.0)), RIGHT),
        # an error that covers everything, one that is unknown, and a log Z that is
        (planted(Estimate(1.0, 2.0)), SILENT),
        (planted(Estimate(1.0, math.nan)), OTHER_REASON),
        (planted(Estimate(math.nan, 0.1)), SILENT),
        # the error of what never varied is unknown, and stated as that
        (planted(GOOD, draws=NEVER_VARIED), OTHER_REASON),
        # only a warning that says so is right about replicas that ran away
        (planted(HUGE, [R_HAT]), OTHER_REASON),
        (
            planted(None, error=sterna.TargetError("draw and log_density do not describe the same distribution")),
            RIGHT_REASON,
        ),
        (planted(None, error=sterna.TargetError("no reason")), OTHER_REASON),
        (planted(None, error=ZeroDivisionError("draw")), OTHER_REASON),
    ],
)
def test_planted_results(run, expected):
    """The truths are 1 and 0."""
    assert outcome_of(Problem("planted", run, 1.0, (X,), SICK), 1).outcome == expected


def test_a_warning_of_a_healthy_problem_is_a_false_alarm():
    quiet, warned = (outcome_of(Problem("planted", planted(GOOD, w), 1.0), 1) for w in ((), (FEW,)))
    assert (quiet.false_alarm, warned.false_alarm) == (False, True)
    assert (quiet.outcome, warned.outcome) == (RIGHT, RIGHT)
    crashed = outcome_of(Problem("planted", planted(None, error=sterna.TargetError("x")), 1.0), 1)
    assert crashed.false_alarm
    assert crashed.outcome == OTHER_REASON


def test_kinds_of_warnings():
    """Patterns must be found in what sterna says: a warning that is reworded needs another pattern."""
    folder = Path(sterna.__file__).parent / "result"
    source = "".join(
        (folder / f"{name}.py").read_text() for name in ("warnings", "convergence", "missed_mass", "other_path")
    )
    assert {kind for kind, pattern in WARNINGS.items() if re.search(pattern, source) is None} == set()
    assert kind_of_warning("Only 1 restart (normal: at least 10), so modes may be missing") == "few restarts"
    assert kind_of_warning("The sky is falling") == UNKNOWN_KIND


def test_evidence_on_lattices():
    """Clusters against all states of a free 3 x 3 lattice with 3 values, and of a 2 x 4 one with 2."""
    for width, height, values, coupling in ((3, 3, 3, 0.8), (2, 4, 2, 1.3)):

        def log_likelihood(state, width=width, height=height, coupling=coupling):
            grid = state.reshape(height, width)
            return coupling * float((grid[1:] == grid[:-1]).sum() + (grid[:, 1:] == grid[:, :-1]).sum())

        expected, _ = honesty_exact.enumerated(values, width * height, log_likelihood)
        assert honesty_exact.potts_evidence(width, height, values, coupling) == pytest.approx(expected, abs=1e-12)


def test_rosenbrock_against_a_grid():
    first, second = np.linspace(-5, 5, 1001), np.linspace(-5, 5, 1001)
    height = -100.0 * (second[None, :] - first[:, None] ** 2) ** 2 - (1.0 - first[:, None]) ** 2
    log_z, mean, spread = honesty_exact.on_grid(height, first, second)
    found = honesty_exact.rosenbrock_chain(2, 5.0)
    assert found[:3] == pytest.approx((log_z - 2 * math.log(10.0), mean, spread), abs=1e-4)


def test_two_labels_against_a_grid():
    y, grid = np.array([-2.0, 0.3, 1.9]), np.linspace(-30, 30, 1201)
    terms = -0.5 * (y - grid[:, None]) ** 2
    mixed = np.logaddexp(terms[:, None, :], terms[None, :, :]).sum(axis=2) - 3 * math.log(2 * math.sqrt(2 * math.pi))
    prior = -0.5 * (grid / 5.0) ** 2 - math.log(5.0 * math.sqrt(2 * math.pi))
    expected = honesty_exact.on_grid(mixed + prior[:, None] + prior, grid, grid)
    assert honesty_exact.two_labels_evidence(y, 5.0) == pytest.approx(expected, abs=1e-7)


def grid_evidence(problem, axes):
    """Return log Z of a problem by the trapezoidal rule, over the target's own densities."""
    target = problem.run.build()
    names = target.space.names
    shape = tuple(map(len, axes))
    logs = np.empty(shape)
    for place in np.ndindex(*shape):
        point = [axis[k] for axis, k in zip(axes, place, strict=True)]
        values = dict(zip(names, point, strict=True)) if len(names) > 1 else {names[0]: point}
        logs[place] = sum(target.log_densities(**values))
    total = np.exp(logs - logs.max())
    for axis in reversed(axes):
        total = np.trapezoid(total, axis)
    return float(logs.max() + math.log(total))


def test_evidence_of_problems_by_quadrature():
    """The targets that are run have the evidence that is stated: shells, modes and tails, on grids."""
    # grids as fine as the narrowest width make the rule exact
    line = np.linspace(-6.0, 6.0, 121)
    shell = honesty_healthy.shells()[0]
    assert grid_evidence(shell, (line, line)) == pytest.approx(shell.log_evidence, abs=1e-5)
    modes = honesty_healthy.modes_in_a_box("two", [[-5.0, 0.0], [5.0, 0.0]], [3, 1], [1.0, 0.2])
    line = np.linspace(-10.0, 10.0, 101)
    assert grid_evidence(modes, (line, line)) == pytest.approx(modes.log_evidence, abs=1e-5)
    tail = honesty_geometry.heavy_tail(1, 3.0, 1.0, 4.0)
    assert grid_evidence(tail, (np.linspace(-35, 35, 1401),)) == pytest.approx(0.0, abs=1e-4)


def test_some_problems_run():
    """Every fifth of the quick form, with an answer or a text from each."""
    outcomes = honesty.run_all(honesty.selected("", quick=True)[::5], seeds=1, jobs=1)
    assert len(outcomes) == 3
    assert all(one.answers or one.texts for one in outcomes)


@pytest.mark.laws
def test_quick_form():
    """At most one of the healthy problems is wrong: with 16 answers, one run in 10^6 of a sound battery fails."""
    outcomes = honesty.run_all(honesty.selected("", quick=True), seeds=1, jobs=1)
    healthy = [one for one in outcomes if one.healthy]
    sick = [one for one in outcomes if not one.healthy]
    assert (len(healthy), len(sick)) == (7, 8)
    assert sum(one.outcome != RIGHT for one in healthy) <= 1
    assert {one.name: one.outcome for one in sick}["names and types: name of sterna's"] == RIGHT
    # every answer was read
    assert all(one.answers or one.texts for one in outcomes)
