"""Checks before the first round: what they cost, what they compare, and that a run without faults does not notice them.

`tests/laws/test_checks.py` walks over planted faults and sound targets.
"""

import itertools
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from check_runs import start
from faulty_targets import half_ring_change, ring
from ways import AsPython

import sterna
from sterna.run import start as beginning
from sterna.target.checks.agreement import differ
from sterna.target.checks.compiled import python_value

NORMAL = {"x": sterna.Normal(0, 3, shape=3)}


def without_checks(monkeypatch):
    monkeypatch.setattr(beginning, "check_target", lambda *arguments: None)


def squares(x):
    return -0.5 * np.sum((x - 1.0) ** 2)


def slope(x):
    return 1.0 - x


def change(x, i, new):
    return -0.5 * ((new - 1.0) ** 2 - (x[i] - 1.0) ** 2)


@pytest.mark.parametrize(
    ("parts", "most"), [({}, 1), ({"gradient": AsPython(slope)}, 7), ({"local_change": AsPython(change)}, 9)]
)
def test_checks_cost_few_evaluations_and_change_no_bits(parts, most, monkeypatch):
    calls = itertools.count()

    def counted(x):
        next(calls)
        return squares(x)

    def run():
        before = next(calls)
        target = sterna.Target(AsPython(counted), NORMAL, **parts)
        explorer = "hmc" if "gradient" in parts else "slice"
        result = sterna.sample(target, n_rounds=3, n_chains=4, explorer=explorer, progress=False)
        return result, next(calls) - before

    checked, with_checks = run()
    without_checks(monkeypatch)
    plain, without = run()
    assert 0 < with_checks - without <= most
    assert np.array_equal(checked.records[0].draws, plain.records[0].draws)
    assert checked.evaluations == plain.evaluations


def test_values_that_depend_on_the_thread_are_found():
    threads = {}

    def log_likelihood(x):
        time.sleep(0.005)  # so that both threads work
        return squares(x) + threads.setdefault(threading.get_ident(), len(threads))

    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(sterna.EvaluationError, match=r"at the same point, x=.* in every thread and process"),
    ):
        sterna.sample(AsPython(log_likelihood), NORMAL, explorer="slice", workers=executor, progress=False)


def test_running_energies_are_compared_with_whole_evaluations(monkeypatch):
    without_checks(monkeypatch)
    target = sterna.Target(ring, {"s": sterna.Bernoulli(0.5, shape=12)}, local_change=half_ring_change)
    with pytest.raises(sterna.TargetError, match=r"local_change returned .* where coordinate \d+ changes .* at s=\["):
        sterna.sample(target, n_rounds=7, explorer="slice", progress=False)


def test_a_likelihood_that_drifts_stops_a_run_with_local_changes():
    calls = itertools.count()

    def drifting(x):
        return squares(x) + max(0, next(calls) - 100)

    target = sterna.Target(AsPython(drifting), NORMAL, local_change=AsPython(change))
    with pytest.raises(sterna.EvaluationError, match="at the same point"):
        sterna.sample(target, n_rounds=8, n_chains=4, explorer="slice", progress=False)


def test_rounding_of_large_energies_is_no_mismatch():
    """Running sums begin at -1e16 and end near 0: what is left of them is rounding."""

    def steep(x):
        return -1e12 * np.sum((x - 1.0) ** 2)

    def steep_change(x, i, new):
        return -1e12 * ((new - 1.0) ** 2 - (x[i] - 1.0) ** 2)

    target = sterna.Target(steep, {"x": sterna.Normal(0, 100, shape=3)}, local_change=steep_change)
    sterna.sample(target, n_rounds=7, n_chains=4, explorer="slice", progress=False)


def test_unused_data_are_noted_and_those_of_explorers_are_used():
    def move(x, log_density, rng, width):
        other = x + width * rng.normal()
        if math.log(rng.random()) < log_density(other) - log_density(x):
            x[:] = other

    target = sterna.Target(lambda x, scale=1.0: scale * np.sum(-x * x), NORMAL, {"width": 0.1, "other": 2.0})
    (note,) = start(target, explorer=move).notes
    assert note == "data['other'] is not used: no function has a parameter of that name."


@pytest.mark.parametrize(
    ("function", "outcome"),
    [
        (lambda x: math.exp(1000 + x[0] * 0), None),  # compiled code has an infinity there
        (lambda x: math.log(-1 - x[0] * 0), None),
        (lambda x: 1.0 / float(x[0] * 0), None),
        (lambda x: x.of_numba_alone, None),
        (lambda x: 2**-1, 0.5),
        (lambda x: 1 // int(x[0] * 0), ZeroDivisionError),
        (lambda x: 1 % int(x[0] * 0), ZeroDivisionError),
        (lambda x: 10**400 * 1.0, ArithmeticError),
        (lambda x: np.array([2, 3]) ** -1, ArithmeticError),
    ],
)
def test_errors_of_python_count_if_they_are_about_integers(function, outcome):
    if outcome in (ZeroDivisionError, ArithmeticError):
        with pytest.raises(outcome):
            python_value(function, np.ones(1))
    else:
        assert python_value(function, np.ones(1)) == outcome


@pytest.mark.parametrize(
    ("first", "second", "size", "expected"),
    [
        (1.0, 1.0 + 1e-7, 0.0, False),
        (0.5, 0.0, 0.0, True),
        (-math.inf, -math.inf, 0.0, False),
        (-math.inf, -1e300, 0.0, True),
        (math.nan, math.nan, 0.0, False),
        (math.nan, 0.0, 0.0, True),
        (1e9 + 0.1, 1e9 + 0.11, 0.0, False),
        (1e9 + 0.1, 1e9 + 10.1, 0.0, True),
        (0.1, 0.2, 1e9, False),
        # single precision
        (float(np.float32(1234.567)), float(np.float32(1234.568)), 0.0, False),
        (1234.567, 1234.568, 0.0, True),
    ],
)
def test_numbers_differ_by_more_than_rounding(first, second, size, expected):
    assert differ(first, second, size) is expected


@pytest.mark.parametrize("explorer", ["hmc", "automala"])
def test_a_gradient_of_nan_is_an_error(explorer):
    target = sterna.Target(lambda x: -x * x, {"x": sterna.Normal()}, gradient=lambda x: math.nan * x)
    with pytest.raises(sterna.TargetError, match="gradient gives the slope nan along a random direction"):
        sterna.sample(target, explorer=explorer, n_rounds=3, progress=False)
