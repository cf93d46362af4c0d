"""`sterna.check` finds every planted fault in the row that it belongs to, and no problem in sound models."""

import json
import math
import os
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import faulty_targets as faulty
import numpy as np
import pytest
from faulty_targets import NORMAL, PAIR
from ways import AsPython

import sterna
from sterna.result.check_report import NOTE, PROBLEM
from sterna.run.check.forecast import Forecast, seconds_on

# A check of a cheap model, in a suite with many.
SECONDS = 2.0


@dataclass(frozen=True)
class Planted:
    """A fault: what makes the arguments of the check, the row that must find it, and a part of its text."""

    arguments: Any
    row: str
    text: str
    outcome: str = PROBLEM


def squares(x):
    return -0.5 * np.sum((x - 1.0) ** 2)


def nan_far_out(x):
    return np.sqrt(29.0 - x) if x < 30.0 else -0.5 * math.nan


def infinite(x):
    return math.inf if x > 25.0 else -0.5 * x**2


def fails(x):
    if x > 20.0:
        raise RuntimeError("the solver did not converge")
    return -0.5 * x**2


def by_process(x):
    return -0.5 * x**2 + 1e-3 * os.getpid()


def by_thread(x):
    return -0.5 * x**2 + (0.0 if threading.current_thread() is threading.main_thread() else 2.0)


def shared_buffer():
    buffer = np.zeros(3)

    def log_likelihood(x):
        for i in range(3):
            buffer[i] = x[i]
        return -0.5 * sum(float(value) ** 2 for value in buffer)

    return log_likelihood


def remembers():
    last = [0.0]

    def log_likelihood(x):
        value = -0.5 * x**2 + 0.1 * last[0]
        last[0] = x
        return value

    return log_likelihood


def changes_data(x, y):
    y[0] = x[0]
    return -0.5 * np.sum((x - y) ** 2)


def crosstalk(x):
    return -0.5 * np.sum((x - x.mean(axis=0)) ** 2, axis=1)


def steps(x):
    return -0.5 * np.sum(np.floor(x) ** 2)


def slope_of_steps(x):
    return -np.floor(x)


def nearly_never(x):
    return 0.0 if x > 32.0 else -math.inf


def nowhere(x):
    return -math.inf


def one_of_two(a, b):
    return -0.5 * (a - 1.0) ** 2


def forgotten_constant():
    def log_density(a, b):
        return -0.5 * a**2 - 0.5 * (math.log(b) / 0.5) ** 2 - math.log(b)

    space = {"a": sterna.Real(), "b": sterna.Real(lower=0)}
    joint = sterna.Reference(faulty.draw_pair, log_density, space, normalized=True)
    return sterna.Target(lambda a, b: -0.5 * (a - b) ** 2, joint, {"width": 1.0})


def draws_outside():
    space = {"a": sterna.Real(lower=0)}
    joint = sterna.Reference(lambda rng: abs(rng.normal()) - 1e-3, lambda a: -0.5 * a**2, space)
    return sterna.Target(lambda a: -a, joint)


def draws_without_density():
    joint = sterna.Reference(
        lambda rng: rng.normal(), lambda a: -0.5 * a**2 if a > -2.0 else -math.inf, {"a": sterna.Real()}
    )
    return sterna.Target(lambda a: -0.5 * a**2, joint)


def ring_with_half_a_change():
    return sterna.Target(faulty.ring, {"s": sterna.Bernoulli(0.5, shape=12)}, local_change=faulty.half_ring_change)


def of(target, **options):
    return (target,), options


FAULTS = {
    "draws too wide": Planted(
        lambda: of(faulty.reference(1.3, faulty.log_density)), "draws of the reference", "same distribution"
    ),
    "density without its Jacobian": Planted(
        lambda: of(faulty.reference(1.0, faulty.without_jacobian)), "draws of the reference", "do not describe the same"
    ),
    "draws outside of the space": Planted(
        lambda: of(draws_outside()), "draws of the reference", "drew an impossible state"
    ),
    "draws where the density is zero": Planted(
        lambda: of(draws_without_density()), "support", "of 4096 of its own draws"
    ),
    "density not normalised": Planted(lambda: of(forgotten_constant()), "normalisation", "not 1. Add the constants"),
    "noise": Planted(lambda: of(sterna.Target(faulty.noisy, NORMAL)), "repeated evaluations", "at the same point"),
    "state that depends on the order of calls": Planted(
        lambda: of(sterna.Target(AsPython(remembers()), NORMAL)), "repeated evaluations", "at the same point"
    ),
    "points of a batch that affect each other": Planted(
        lambda: of(sterna.Target(crosstalk, PAIR, vectorized=True)), "repeated evaluations", "log_likelihood returned"
    ),
    "depends on the process": Planted(
        lambda: of(sterna.Target(AsPython(by_process), NORMAL)), "processes", "in another process"
    ),
    "depends on the thread": Planted(
        lambda: of(sterna.Target(AsPython(by_thread), NORMAL)), "threads", "in another thread"
    ),
    "a buffer that threads share": Planted(
        lambda: of(sterna.Target(AsPython(shared_buffer()), PAIR)), "threads", "such as a buffer"
    ),
    "NaN on a part": Planted(lambda: of(sterna.Target(nan_far_out, NORMAL)), "log-likelihood", "log-likelihood is NaN"),
    "+inf on a part": Planted(lambda: of(sterna.Target(infinite, NORMAL)), "log-likelihood", "log-likelihood is +inf"),
    "exception on a part": Planted(
        lambda: of(sterna.Target(fails, NORMAL)), "log-likelihood", "RuntimeError: the solver did not converge"
    ),
    "modifies its data": Planted(
        lambda: of(sterna.Target(AsPython(changes_data), PAIR, {"y": np.zeros(3)})), "log-likelihood", "read-only"
    ),
    "a truth value": Planted(
        lambda: of(sterna.Target(lambda x: np.array(x > 0), NORMAL, compile=False)), "log-likelihood", "a truth value"
    ),
    "an array": Planted(
        lambda: of(sterna.Target(lambda x: np.array([x, x]), NORMAL, compile=False)), "log-likelihood", "one number"
    ),
    "text": Planted(lambda: of(sterna.Target(lambda x: "1.0", NORMAL)), "log-likelihood", "must return one number"),
    "wrong sign of the gradient": Planted(
        lambda: of(sterna.Target(squares, PAIR, gradient=lambda x: x - 1.0)), "gradient", "gives the slope"
    ),
    "gradient off in one coordinate": Planted(
        lambda: of(sterna.Target(squares, PAIR, gradient=faulty.wrong_component)),
        "gradient",
        "The entry of element 1 of x",
    ),
    "jumps under a gradient": Planted(
        lambda: of(sterna.Target(steps, PAIR, gradient=slope_of_steps)), "jumps", "cannot see that"
    ),
    "jumps": Planted(lambda: of(sterna.Target(steps, PAIR)), "jumps", "a gradient would not help", NOTE),
    "whole values declared as real": Planted(
        lambda: of(sterna.Target(steps, PAIR)), "jumps", "Between the jumps it is constant", NOTE
    ),
    "forgotten neighbour": Planted(lambda: of(ring_with_half_a_change()), "local change", "add those that it forgets"),
    "integer overflow": Planted(
        lambda: of(sterna.Target(faulty.factorial, NORMAL, {"n": 25})), "compiled code", "have 64 bits"
    ),
    "stale captured value": Planted(
        lambda: of(faulty.stale(faulty.change_default(faulty.distance), faulty.with_helper)),
        "compiled code",
        "make it again",
    ),
    "zero nearly everywhere": Planted(
        lambda: of(sterna.Target(nearly_never, NORMAL)), "zero likelihood", "have likelihood zero"
    ),
    "zero everywhere": Planted(lambda: of(sterna.Target(nowhere, NORMAL)), "zero likelihood", "100 % of 4096 draws"),
    "misspelt data": Planted(
        lambda: of(sterna.Target(faulty.misspelt, NORMAL, {"yy": 3.0})), "data", "keeps its default"
    ),
    "variable without effect": Planted(
        lambda: of(sterna.Target(one_of_two, {"a": sterna.Normal(0, 1), "b": sterna.Normal(0, 1)})),
        "variables",
        "does not depend on b",
        NOTE,
    ),
    "wrong conditional": Planted(lambda: of(faulty.mixture(), explorer=faulty.GIBBS), "run", "conditional"),
    "no reference": Planted(lambda: of(squares), "target", "without a reference"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name):
    planted = FAULTS[name]
    arguments, options = planted.arguments()
    report = sterna.check(*arguments, max_seconds=SECONDS, progress=False, **options)
    row = report[planted.row]
    assert (row.outcome, planted.text in row.text) == (planted.outcome, True), report
    assert report.ok is (planted.outcome != PROBLEM)


@pytest.mark.laws
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found_with_every_seed(name):
    planted = FAULTS[name]
    for seed in (2, 3, 4):
        arguments, options = planted.arguments()
        report = sterna.check(*arguments, max_seconds=SECONDS, seed=seed, progress=False, **options)
        assert report[planted.row].outcome == planted.outcome, report


def test_there_are_twenty_planted_faults():
    assert sum(planted.outcome == PROBLEM for planted in FAULTS.values()) >= 20


def no_problem(target):
    report = sterna.check(target, max_seconds=SECONDS, progress=False)
    assert report.ok, report
    assert math.isfinite(report.seconds), report
    return report


@pytest.mark.parametrize("name", ["ising", "glm", "change_point"])
def test_no_problem_in_a_built_in_model(name):
    no_problem(getattr(sterna.models, name)())


@pytest.mark.laws
@pytest.mark.parametrize("name", sterna.models.__all__)
def test_no_problem_in_built_in_models(name):
    no_problem(getattr(sterna.models, name)())


def test_a_report_is_readable_and_plain():
    report = sterna.check(sterna.models.normal(2), until={"log_evidence": 0.1}, max_seconds=SECONDS, progress=False)
    assert str(report).startswith("normal: no problem was found.")
    lines = str(report).splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["cost", "barrier", "time"]
    assert "<div" in report._repr_html_()
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert found["ok"] is True
    assert found["goal"] == {"log_evidence": 0.1}
    assert found["seconds_range"][0] < found["seconds"]
    assert 0.0 < found["barrier"] < 5
    assert {row["name"] for row in found["rows"]} == {row.name for row in report}
    with pytest.raises(KeyError, match="'speed' is no row of this report; its rows are target, data"):
        report["speed"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cores": 0}, "cores=0: give the number"),
        ({"max_seconds": -1}, "max_seconds=-1"),
        ({"until": {"evidence": 1}}, "is not known. Goals are"),
        ({"explorer": "magic"}, "'magic' is not known"),
    ],
)
def test_mistakes_in_the_call_are_errors(options, text):
    with pytest.raises(sterna.OptionError, match=text):
        sterna.check(sterna.models.normal(2), progress=False, **options)


def test_a_check_calls_an_expensive_likelihood_no_longer_than_it_may():
    """Ten times the likelihood that a check of one second can afford at all of its points."""

    def log_likelihood(x):
        time.sleep(0.01)
        return -0.5 * x**2

    began = time.perf_counter()
    report = sterna.check(AsPython(log_likelihood), NORMAL, max_seconds=1.0, progress=False)
    assert report.ok, report
    assert time.perf_counter() - began < 20
    assert 0.01 < report.seconds_per_evaluation < 0.03
    assert report.seconds > 10


@pytest.mark.parametrize(
    ("processes", "cores", "here", "share"),
    [
        (None, 4, 2, 0.5),  # 8 chains on 4 cores instead of 2
        (None, 6, 2, 0.5),  # the busiest core still has two chains
        (None, 64, 2, 0.25),
        (0.01, 8, 1, 0.01005 / 0.01 / 8),
        (0.0001, 8, 1, 1.2),  # this process serves the others
    ],
)
def test_more_cores_share_the_chains_of_a_scan(processes, cores, here, share):
    found = Forecast(
        seconds=100.0, factor=1.5, scans=1000, scan_seconds=0.01, barrier=3.0, n_chains=8, chains_in_use=8,
        is_whole=False, is_out_of_reach=False, is_known=True, is_cold=False, summary=None, result=None,
    )  # fmt: skip
    assert seconds_on(found, cores, here, processes) == pytest.approx(100 * share)
    assert seconds_on(replace(found, scan_seconds=1e-4), 8, 2, None) == 100.0
