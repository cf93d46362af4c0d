"""Log-densities that are NaN, -inf or +inf or raise: every cell of the table in docs/when_densities_fail.md."""

import copy
import itertools
import math
import re
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import sterna
from sterna.engine.program import EVALUATIONS, LOG_LIKELIHOOD, LOG_REFERENCE
from sterna.engine.round import end_scan, explore_some, new_copy
from sterna.result.failed_evaluations import FailedEvaluations, failed_in
from sterna.run import search as run_search
from sterna.run.blocks import place_of, run_blocks
from sterna.run.options import Options
from sterna.run.running import started
from sterna.run.start import find_starting_points
from sterna.run.tune import tune
from sterna.workers.point_errors import errors_at_point

TABLE = Path(__file__).parents[2] / "docs/when_densities_fail.md"

STAGES = ("start", "exploration", "swap", "tuning, new reference", "tuning, search")
FUNCTIONS = ("likelihood", "reference")
# one chain for each beta of the table
BETAS = ("0", "between", "1")
KINDS = {"NaN": math.nan, "-inf": -math.inf, "+inf": math.inf, "exception": None}
ON_ERROR = ("raise", "reject")

COUNTED = {"NaN": "nan", "+inf": "infinite", "exception": "raised"}


class Function:
    """A log-density that fails in one of the ways at the calls that it is told; calls are counted from 0."""

    def __init__(self):
        self.rest()

    def rest(self):
        """Do not fail."""
        self.calls, self.kind, self.fails = 0, "", lambda call: False

    def arm(self, kind, fails=lambda call: True):
        """Fail at some of the calls from now on."""
        self.calls, self.kind, self.fails = 0, kind, fails

    def __call__(self, value):
        self.calls += 1
        if not self.fails(self.calls - 1):
            return value
        if KINDS[self.kind] is None:
            raise ZeroDivisionError("armed")
        return KINDS[self.kind]


LIKELIHOOD, REFERENCE = Function(), Function()
ARMED = {"likelihood": LIKELIHOOD, "reference": REFERENCE}


def log_likelihood(x):
    return LIKELIHOOD(-0.5 * (x - 1.0) ** 2)


def log_reference(x):
    return REFERENCE(-0.5 * x * x)


def own_reference():
    return sterna.Reference(lambda rng: rng.normal(), log_reference, {"x": sterna.Real()})


STACK = ExitStack()


@pytest.fixture(scope="module", autouse=True)
def close_runs():
    yield
    STACK.close()
    opened.cache_clear()


@cache
def opened(function, fitted, on_error):
    """Begin a run, with three chains, and run its first round; the states before and after that are changed by none."""
    LIKELIHOOD.rest()
    REFERENCE.rest()
    reference = {"x": sterna.Normal(0, 1)} if function == "likelihood" else own_reference()
    target = sterna.Target(
        log_likelihood, sterna.FittedReference({"x": sterna.Real()}) if fitted else reference, compile=False
    )
    options = Options(n_chains=3, n_rounds=2, explorations=1, path="prior", workers=1, on_error=on_error)
    runtime, before = STACK.enter_context(started(target, options, explorer="slice"))
    after = copy.deepcopy(before)
    run_blocks(runtime, after)
    return runtime, before, after


def documented():
    """Read the table: the texts for -inf, "raise" and "reject" by (stage, function, beta)."""
    rows = [line.strip("|").split("|") for line in TABLE.read_text().splitlines() if line.startswith("|")]
    found = {}
    for stage, function, betas, *outcomes in ([cell.strip() for cell in row] for row in rows[2:]):
        for beta in betas.split(", "):
            assert (stage, function, beta) not in found, "the table has a cell twice"
            found[stage, function, beta] = outcomes
    return found


DOCUMENTED = documented()


def outcome_of(stage, function, beta, kind, on_error):
    """Return the word of the table for a cell."""
    zero, raises, rejects = DOCUMENTED[stage, function, beta]
    return zero if kind == "-inf" else raises if on_error == "raise" else rejects


def failed(function, kind, on_error, number=1):
    """Return what must have been counted."""
    if kind == "-inf" or on_error == "raise":
        return FailedEvaluations()
    return FailedEvaluations(**{f"{function}_{COUNTED[kind]}": number})


def check_error(error, function, kind, *places):
    """Check that a message says what failed, where, and both log-densities as far as they are known."""
    text = str(error)
    assert re.search(r"\bx=-?\d", text)
    for place in places:
        assert place in text
    if "impossible state" in text:
        return
    name = "log_likelihood" if function == "likelihood" else "The reference's log_density"
    if kind == "exception":
        assert text.startswith(f"{name} raised ZeroDivisionError: armed at x=")
        value = "not known"
    else:
        value = kind
        what = "The log-likelihood" if function == "likelihood" else "The reference's log-density"
        assert text.startswith(f"{what} is {kind} at x=")
    known = r"-?[\d.e-]+"
    reference, likelihood = (known, re.escape(value)) if function == "likelihood" else (re.escape(value), "not eval")
    assert re.search(f"At this point log_reference is {reference} and log_likelihood is {likelihood}", text)


def check_start(runtime, state, function, chain, kind, on_error, expected):
    """Let the first draw for one chain fail."""
    tried = (new_copy(3, 1),)

    def start():
        find_starting_points(runtime, state.settings, state.tuned.schedule, tried)

    ARMED[function].arm(kind, lambda call: call == chain)
    place = f"while looking for starting points (copy 0, chain {chain}, beta={state.tuned.schedule[chain]:.6g})"
    if expected == "error":
        with pytest.raises(sterna.EvaluationError) as caught:
            start()
        check_error(caught.value, function, kind, place)
        return
    assert expected == "another draw"
    start()
    assert ARMED[function].calls == 4
    assert np.isfinite(tried[0].log_densities[:, :2]).all()
    # all others start where they do without the failure
    same = tried[0].states[:, 0] == state.copies[0].states[:, 0]
    assert same.tolist() == [k != chain for k in range(3)]
    assert failed_in(tried[0].log_densities) == failed(function, kind, on_error)


def check_exploration(runtime, state, function, chain, kind, on_error, expected):
    """Let all evaluations of the exploration of one chain fail."""
    one, before = state.copies[0], copy.deepcopy(state.copies[0])
    replica = int(one.replica_of[chain])

    def explore():
        with errors_at_point(runtime.target, one, place_of(state, 0)):
            explore_some(runtime.plan(state), state.statistics[0], 3, 0, one, replica, replica + 1, runtime.streams[0])

    ARMED[function].arm(kind)
    if expected == "error":
        with pytest.raises(sterna.EvaluationError) as caught:
            explore()
        beta = f"{state.tuned.schedule[chain]:.6g}"
        check_error(caught.value, function, kind, f"in round 1 of tuning, scan 3 (copy 0, chain {chain}, beta={beta})")
        row = before.log_densities[replica]
        last = f"log_reference was {row[LOG_REFERENCE]:.10g} and log_likelihood {row[LOG_LIKELIHOOD]:.10g}"
        assert (last in str(caught.value)) == (chain > 0)
        return
    explore()
    row, calls = one.log_densities[replica], ARMED[function].calls
    assert calls > 0
    assert failed_in(one.log_densities) == failed(function, kind, on_error, calls)
    if expected == "kept":
        assert one.states[replica] != before.states[replica]
        assert math.isfinite(row[LOG_REFERENCE])
        assert row[LOG_LIKELIHOOD] == -math.inf
        check_kept_at_reference(runtime, state)
    else:
        assert expected == "stays away"
        np.testing.assert_array_equal(one.states, before.states)
        np.testing.assert_array_equal(one.log_densities[:, :EVALUATIONS], before.log_densities[:, :EVALUATIONS])


def check_kept_at_reference(runtime, state):
    """A state of likelihood zero never leaves the reference's chain: its swaps are rejected with certainty."""
    for scan in (1, 2):
        end_scan(runtime.plan(state), 0, state.copies[0], state.records[0], scan)
        assert state.copies[0].accepted[0] == 0.0
        assert state.copies[0].log_densities[state.copies[0].replica_of[0], LOG_LIKELIHOOD] == -math.inf


def check_swap(runtime, state, function, chain, kind, on_error, expected):
    """Let all evaluations fail: there are none, and so every chain has the same outcome."""
    assert expected == "not evaluated"
    one, before = state.copies[0], copy.deepcopy(state.copies[0])
    ARMED[function].arm(kind)
    for scan in range(1, 3):
        end_scan(runtime.plan(state), 0, one, state.records[0], scan)
    assert ARMED[function].calls == 0
    # states and log-densities stay with their replicas
    np.testing.assert_array_equal(one.states, before.states)
    np.testing.assert_array_equal(one.log_densities, before.log_densities)


def check_new_reference(runtime, state, function, chain, kind, on_error, expected):
    """Let the state of one chain fail when it is evaluated again under a fitted reference."""
    replica = int(state.copies[0].replica_of[chain])
    runtime.restore_fitted(state.fitted)
    ARMED[function].arm(kind, lambda call: call == replica)
    if expected == "error":
        with pytest.raises(sterna.EvaluationError) as caught:
            tune(runtime, state)
        check_error(caught.value, function, kind, "This happened when the reference was fitted after round 1 of tuning")
        return
    after = tune(runtime, state).copies[0]
    if expected == "not evaluated":
        assert ARMED[function].calls == 0
        return
    assert expected == "moved"
    assert ARMED[function].calls == 3
    donor = 0 if replica > 0 else 1
    np.testing.assert_array_equal(after.states[replica], after.states[donor])
    np.testing.assert_array_equal(after.log_densities[replica, :2], after.log_densities[donor, :2])
    assert np.isfinite(after.log_densities[:, :2]).all()
    assert failed_in(after.log_densities) == failed(function, kind, on_error)


def check_search(runtime, state, function, chain, kind, on_error, expected):
    """Let all evaluations of a search for missed mass fail, which looks at the target alone."""
    before = copy.deepcopy(state.copies[0])
    ARMED[function].arm(kind)
    found = run_search.search_after_tuning(runtime, state)
    assert ARMED[function].calls > 0
    assert found.optima == ()
    assert expected == ("avoided" if chain == 2 else "not evaluated")
    np.testing.assert_array_equal(state.copies[0].states, before.states)
    np.testing.assert_array_equal(state.copies[0].log_densities, before.log_densities)


CHECKS = dict(zip(STAGES, (check_start, check_exploration, check_swap, check_new_reference, check_search), strict=True))
CELLS = list(itertools.product(STAGES, FUNCTIONS, BETAS, KINDS, ON_ERROR))


@pytest.mark.parametrize(("stage", "function", "beta", "kind", "on_error"), CELLS)
def test_every_cell_is_as_documented(stage, function, beta, kind, on_error, monkeypatch):
    monkeypatch.setattr(run_search, "budget_of", lambda *_: 1000)
    fitted = stage == "tuning, new reference"
    runtime, before, after = opened("likelihood" if fitted else function, fitted, on_error)
    state = copy.deepcopy(after if stage.startswith("tuning") else before)
    try:
        expected = outcome_of(stage, function, beta, kind, on_error)
        CHECKS[stage](runtime, state, function, BETAS.index(beta), kind, on_error, expected)
    finally:
        ARMED[function].rest()


PLACES = {
    "checks": ("in the checks before the first round", {}),
    "tuning": ("in round 2 of tuning, scan ", {}),
    "sampling": ("while sampling, scan ", {}),
    "mixture": ("along the path from a fitted mixture, scan ", {"n_rounds": 8, "path": "fitted"}),
    "particles": ("in step ", {"start": "smc"}),
}


@pytest.mark.parametrize("name", PLACES)
def test_an_error_names_its_place(name):
    """The likelihood fails at later and later calls, until it does so at the place."""
    text, more = PLACES[name]
    target = sterna.Target(log_likelihood, {"x": sterna.Normal(0, 1)}, compile=False)
    options = {"n_chains": 3, "n_rounds": 2, "n_scans": 20, "path": "prior", "explorer": "slice", "progress": False}
    first, found = 3, []
    while first < 100_000:
        LIKELIHOOD.arm("NaN", lambda call, first=first: call >= first)
        try:
            sterna.sample(target, **options | more)
            break
        except sterna.EvaluationError as error:
            found.append(str(error))
        finally:
            LIKELIHOOD.rest()
        first = int(first * 1.3) + 1
    assert any(text in one for one in found)
    assert all("This happened" in one and "log_likelihood is NaN" in one for one in found)
    for one in found:
        # log-reference and log-likelihood are those of the point itself, along any path
        point, value = (
            float(re.search(r"at x=([-\d.e]+\d)", one)[1]),
            float(re.search(r"reference is (\S+) and", one)[1]),
        )
        assert value == pytest.approx(norm.logpdf(point))
        assert ("last state before" in one) == ("scan" in one and "chain 0" not in one and "mixture" not in one)


def test_the_table_has_these_cells_and_no_others():
    assert set(DOCUMENTED) == set(itertools.product(STAGES, FUNCTIONS, BETAS))
