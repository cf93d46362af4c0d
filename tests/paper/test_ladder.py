"""Ladders of chains: exact acceptance on the normal model, how they end, and the bits."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import sterna
from sterna.engine.added_chain import (
    ADDED,
    ARR,
    FIRST_RHO,
    MMV,
    UPPER,
    Progress,
    beta_below,
    new_adaptation,
    next_rho,
)
from sterna.paper import ladder as ladders
from sterna.paper.adaptive_reversible import ladder_options, run_arr, run_mmv
from sterna.paper.ladder import Grower, Ladder, Rung
from sterna.run import start
from sterna.run.running import started

DIM, PRECISION = 5, 50.0
SHORT = {"n_scans": 50, "n_burn_in": 50, "workers": 1}


def precision_at(beta, precision=PRECISION):
    return 1.0 + beta * (precision - 1.0)


def acceptance(lower, upper, precision=PRECISION, dim=DIM):
    """Mean acceptance of a swap on the normal model: twice the probability that the energies are in the wrong order."""
    return 2.0 * stats.f.cdf(precision_at(lower, precision) / precision_at(upper, precision), dim, dim)


def grower_of(target, rule, max_steps=100_000, seed=1, explorer="slice"):
    options = ladder_options(1, "reference", "seo", 1, "target", seed, 1)
    with started(target, options, explorer=explorer) as (runtime, state):
        yield Grower(runtime, state, rule, max_steps)


@pytest.fixture(params=[ARR, MMV], ids=["arr", "mmv"])
def grower(request):
    yield from grower_of(sterna.models.normal(DIM, PRECISION), request.param)


@pytest.fixture
def one_grower():
    yield from grower_of(sterna.models.normal(DIM, PRECISION), MMV)


def adapt(grower, n_steps):
    """Run steps and go on when the chain is done."""
    adaptation = new_adaptation()
    grower.number = 1
    grower.schedule[ADDED] = beta_below(grower.rule, 1.0, FIRST_RHO)
    while (done := int(adaptation.progress[Progress.steps])) < n_steps:
        grower._run(ADDED, adaptation, done + 1, n_steps)
        adaptation.progress[Progress.done] = 0.0
    return adaptation


def test_beta_converges_to_that_of_the_desired_acceptance(grower):
    """Of MMV, rho scatters by sqrt(gain * 0.12 / (2 * 0.2)) = 0.03 after 20 000 steps, and the acceptance by 0.006.

    Here 0.12 is the variance of the acceptance and 0.2 its slope in rho. ARR scatters by 0.003, and has not forgotten
    its first steps, which it does by the power 0.2: it is 5 times as far away. Five deviations are a false-alarm rate
    of 6e-7 for MMV.
    """
    adapt(grower, 20_000)
    found = acceptance(grower.schedule[ADDED], 1.0)
    assert abs(found - 0.23) < (0.03 if grower.rule == MMV else 0.08)


FAULTS = [
    lambda rule, rho, n, accepted: (next_rho(rule, rho, n, 0.46 - accepted), rule),
    lambda rule, rho, n, accepted: (next_rho(rule, rho, n, accepted), 1 - rule),
    lambda rule, rho, n, accepted: (next_rho(1 - rule, rho, n, accepted), rule),
    lambda rule, rho, n, accepted: (next_rho(rule, rho, n, 1.0 if accepted > 0.5 else 0.0), rule),
]


def follow(rule, recent, step):
    """Return the beta after the updates of a series, each made by `step`, which returns rho and the rule of the map."""
    rho = FIRST_RHO
    for n, accepted in enumerate(recent):
        rho, of_map = step(rule, rho, n, accepted)
    return beta_below(of_map, 0.4, rho)


def test_a_run_makes_the_updates_of_its_rule(grower):
    """The betas of the engine follow from the acceptance probabilities that it has seen, and not by a faulty rule."""
    n, adaptation = 90, new_adaptation()
    grower.number, grower.schedule[UPPER] = 1, 0.4
    grower.schedule[ADDED] = beta_below(grower.rule, 0.4, FIRST_RHO)
    grower._run(ADDED, adaptation, 1, n)
    assert adaptation.progress[Progress.steps] == n, "with so few steps the interval is too wide"
    recent = adaptation.recent[:n]
    right = follow(grower.rule, recent, lambda rule, rho, n, accepted: (next_rho(rule, rho, n, accepted), rule))
    assert grower.schedule[ADDED] == pytest.approx(right, rel=1e-12)
    for fault in FAULTS:
        assert abs(grower.schedule[ADDED] / follow(grower.rule, recent, fault) - 1) > 1e-3


def test_chains_are_where_they_are_accepted_as_desired():
    """The interval leaves 0.05, of which the truth is 5 deviations of at most 0.03 away once in a million."""
    found = run_mmv(sterna.models.normal(DIM, PRECISION), explorer="slice", **SHORT).ladder
    betas = found.schedule[::-1]
    inner = [rung for rung in found.rungs if rung.beta > 0]
    assert inner
    for k, rung in enumerate(inner):
        assert abs(acceptance(rung.beta, betas[k]) - 0.23) < 0.05 + 5 * 0.03
        assert abs(rung.acceptance - 0.23) <= 0.05


def test_a_ladder_ends_at_the_reference_if_that_is_accepted_as_desired():
    """Between 0 and 1 the acceptance is 0.23: the chain approaches 0 and is tried there, 5.5 errors of 0.009 wide."""
    precision = 1.0 / stats.f.ppf(0.115, DIM, DIM)
    assert acceptance(0.0, 1.0, precision) == pytest.approx(0.23)
    found = run_mmv(sterna.models.normal(DIM, precision), explorer="slice", **SHORT).ladder
    assert found.schedule.tolist() == [0.0, 1.0]
    assert found.rungs[0].done
    assert found.rungs[0].beta == 0.0
    assert abs(found.rungs[0].acceptance - 0.23) <= 0.05
    assert not found.failed
    assert found.steps[0] < 100_000
    assert found.n_steps == found.steps[0] + 1000
    assert "not done" not in found.note


def test_a_chain_that_swaps_too_often_is_moved_to_the_reference():
    found = run_arr(sterna.models.normal(2, 1.2), explorer="slice", max_steps=300, **SHORT)
    assert found.ladder.schedule.tolist() == [0.0, 1.0]
    assert found.ladder.steps == (300,)
    assert not found.ladder.failed
    assert "not done after 300" in found.ladder.note
    assert found.ladder.note in found.result.notes


def test_a_chain_that_never_swaps_ends_a_failed_ladder():
    """As ARR in the paper: its steps become too short before the second chain is near enough."""
    found = run_arr(sterna.models.normal(80, 1e5), explorer="slice", max_steps=200, **SHORT)
    assert found.ladder.schedule.tolist() == [0.0, 1.0]
    assert found.ladder.failed
    assert found.result.rejection.sum() == pytest.approx(1.0)
    assert Ladder((Rung(0.0, 10, 0.1, 1.0, True),)).failed is False


def test_nothing_has_moved_after_a_chain_was_tried_at_the_reference(one_grower):
    adapt(one_grower, 100)
    pair = one_grower.pair
    before = [pair.states.copy(), pair.log_densities[:, :2].copy(), pair.chain_of.copy(), pair.replica_of.copy()]
    evaluations = one_grower.evaluations[0]
    tried = one_grower._try_at_reference()
    assert one_grower.evaluations[0] > evaluations
    for old, new in zip(before, (pair.states, pair.log_densities[:, :2], pair.chain_of, pair.replica_of), strict=True):
        assert np.array_equal(old, new)
    # the reference itself has been tried: its exact draws are swapped with the target's as they should be
    exact = acceptance(0.0, 1.0)
    assert abs(ladders.mean_acceptance(tried) - exact) < 5 * math.sqrt(exact / 1000)


def test_evidence_and_moments_are_exact():
    """Within 4.5 errors: a false-alarm rate of 7e-6 each."""
    for scheme in ("seo", "deo"):
        result = run_mmv(
            sterna.models.normal(DIM, PRECISION),
            n_scans=2000,
            n_burn_in=200,
            scheme=scheme,
            explorer="slice",
            workers=1,
        ).result
        assert result.settings.scheme == scheme
        assert abs(result.log_evidence.value + 0.5 * DIM * math.log(PRECISION)) < 4.5 * result.log_evidence.error
        square = result.mean(lambda posterior: (posterior["x"] ** 2).sum("x_dim_0"))
        assert abs(square.value - DIM / PRECISION) < 4.5 * square.error
        assert len(result.rounds) == 2
        betas = result.schedule
        exact = [1 - acceptance(lower, upper) for lower, upper in itertools.pairwise(betas)]
        # the mean of 2000 correlated probabilities of deviation 0.35
        assert np.abs(result.rejection - exact).max() < 0.08


def same(first, second):
    one, other = first.result, second.result
    arrays = [(one.states, other.states), (one.rejection, other.rejection), (one.index_process, other.index_process)]
    return first.ladder == second.ladder and all(np.array_equal(*pair) for pair in arrays)


def test_bits_do_not_depend_on_threads_or_on_who_explores(monkeypatch):
    target = sterna.models.normal(3, 20.0)
    options = {"n_scans": 30, "n_burn_in": 30, "max_steps": 300, "start": "smc", "explorer": "slice"}
    one = run_mmv(target, workers=1, **options)
    assert same(one, run_mmv(target, workers=2, **options))
    # now threads share the two replicas from the second block of steps on
    monkeypatch.setattr(ladders, "SHARED_SCAN_SECONDS", 0.0)
    assert same(one, run_mmv(target, workers=2, **options))
    assert same(one, run_mmv(target, workers=3, **options))
    assert not same(one, run_mmv(target, workers=1, seed=2, **options))


def test_draws_follow_all_of_the_burn_in(monkeypatch):
    """Both are as long as asked for, also if they are longer than their records at first, and have the same bits."""
    target = sterna.models.normal(3, 20.0)
    options = {"n_scans": 50, "n_burn_in": 70, "max_steps": 100, "explorer": "slice", "workers": 1}
    whole = run_mmv(target, **options)
    assert [one.n_scans for one in whole.result.rounds] == [70, 50]
    assert np.isfinite(whole.result.log_evidence.value)
    monkeypatch.setattr(start, "FIRST_SCANS", 16)
    grown = run_mmv(target, **options)
    assert [one.n_scans for one in grown.result.rounds] == [70, 50]
    assert np.array_equal(whole.result.states, grown.result.states)
    assert not np.array_equal(whole.result.states, run_mmv(target, **options | {"n_burn_in": 69}).result.states)


def squares(x):
    return -0.5 * float(np.sum((x - 1.0) ** 2))


@pytest.mark.laws
def test_bits_do_not_depend_on_who_evaluates():
    reference = {"x": sterna.Normal(0, 1, shape=2)}
    compiled, python = (sterna.Target(squares, reference, compile=compile) for compile in (True, False))
    options = {"n_scans": 10, "n_burn_in": 0, "max_steps": 20, "explorer": "metropolis"}
    one = run_arr(compiled, **options)
    assert same(one, run_arr(python, **options))
    assert same(one, run_arr(python, workers=2, **options))


def test_evaluations_are_all_counted():
    calls = [0]

    def count(x):
        calls[0] += 1
        return -0.5 * float(x * x)

    target = sterna.Target(count, {"x": sterna.Normal(0, 1)}, compile=False)
    result = run_arr(target, n_scans=10, n_burn_in=10, max_steps=50, explorer="metropolis").result
    # not counted are those that check the target before the run
    assert result.evaluations <= calls[0] <= result.evaluations + 60


def test_wrong_options_are_refused():
    target = sterna.models.normal(2)
    with pytest.raises(sterna.Error, match="n_burn_in"):
        run_arr(target, n_burn_in=-1)
    with pytest.raises(sterna.Error, match="max_steps"):
        run_mmv(target, max_steps=0)
    with pytest.raises(sterna.OptionError, match="scheme"):
        run_mmv(target, scheme="both")
