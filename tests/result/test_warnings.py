"""Every warning is given by a run that deserves it, and by none that does not."""

import functools
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from exact import normal_barrier
from independent import gain
from scipy import stats
from targets import corner, two_modes

import sterna
from sterna.result.advice import longer_run
from sterna.result.convergence import few_effective_draws
from sterna.result.goal import DEFAULT_GOAL, Goal
from sterna.result.warnings import (
    RUNS_PER_FALSE_ALARM,
    disagreeing_estimators,
    diverging_trajectories,
    draws_outside_the_reference,
    few_restarts,
    moved_evidence,
    too_few_chains,
    unknown_evidence,
)
from sterna.tuning.estimate import Estimate

KINDS = {
    "unknown": "The evidence is ",
    "zeros": "The likelihood is zero at all",
    "constant": "The log-likelihood is 2 at all draws",
    "rounds": "The run has not converged",
    "chains": "Too few chains",
    "reference": "The reference is far",
    "restarts": "(normal: at least 10; the rejections allow",
    "slow": "Exploration is slow",
    "evidence": "Estimators of the evidence disagree",
    "copies": "Copies disagree",
    "converged": "The target chain has not converged",
    "effective": "The run is too short: its",
    "outside": "have no finite integral",
}


def kinds(result):
    """Kinds of all warnings of a run."""
    return [next((kind for kind, words in KINDS.items() if words in text), text) for text in result.warnings]


def text_of(result, kind):
    return next(text for text in result.warnings if KINDS[kind] in text)


def settings_of(n_rounds=10, n_scans=None, **others):
    """What checks read of a run's settings."""
    n_scans = 2 ** (n_rounds + 1) - 2 if n_scans is None else n_scans
    return SimpleNamespace(**{"n_rounds": n_rounds, "n_scans": n_scans, "n_copies": 1, "until": None} | others)


@functools.cache
def normal(dim, precision, **options):
    return sterna.sample(sterna.models.normal(dim, precision), progress=False, **options)


# ------------------------------------------------------------------------------------------------ no warnings


@pytest.mark.parametrize("seed", range(1, 6))
def test_runs_without_fault_have_no_warnings(seed):
    """A false alarm of 3e-4 for each run's estimators; all else is far from its bounds."""
    target = sterna.Target(gain, {"z": sterna.Bernoulli(0.5, shape=10)})
    assert sterna.sample(target, n_rounds=10, n_copies=2, seed=seed, progress=False).warnings == []
    assert normal(5, 5.0, n_rounds=10, n_copies=2, seed=seed).warnings == []


def test_a_likelihood_that_never_varies():
    """As if data were forgotten; a likelihood that is constant or zero does vary."""
    flat = sterna.sample(lambda x: 2.0, {"x": sterna.Normal()}, n_rounds=8, progress=False)
    assert kinds(flat) == ["constant"]
    without_log = sterna.sample(lambda x: 1e-6 * np.exp(-x * x), {"x": sterna.Normal()}, n_rounds=8, progress=False)
    assert "at all draws" in without_log.warnings[0]
    assert "that it is a logarithm, since no value is negative" in without_log.warnings[0]
    halved = sterna.sample(lambda x: 2.0 if x > 0 else -np.inf, {"x": sterna.Normal()}, n_rounds=8, progress=False)
    assert kinds(halved) == []


def test_zeros_of_the_reference_are_no_reason_to_warn():
    result = sterna.sample(corner, {"x": sterna.Uniform(0, 1)}, n_rounds=12, path="prior", progress=False)
    assert result.last.zero_share > 0.85
    assert result.rejection[0] > 0.9
    assert kinds(result) == []


# ------------------------------------------------------------------------------------------------ too few chains


def advice(result):
    """The barrier and the number of chains that the warning names."""
    text = text_of(result, "chains")
    least = float(re.search(r"at least ([\d.]+);", text).group(1))
    return least, int(re.search(r"n_chains=(\d+) or more", text).group(1))


@pytest.mark.parametrize(("dim", "precision", "n_chains"), [(20, 20.0, 4), (100, 10.0, 5), (5, 1000.0, 3)])
def test_too_few_chains_are_told_a_number_that_suffices(dim, precision, n_chains):
    result = normal(dim, precision, n_chains=n_chains, n_rounds=8)
    least, wanted = advice(result)
    exact = normal_barrier(1.0, dim, precision)
    assert least < exact
    assert 'n_chains="auto"' in text_of(result, "chains")
    assert wanted <= 3 * exact
    enough = normal(dim, precision, n_chains=wanted, n_rounds=8)
    assert "chains" not in kinds(enough)
    # planted fault: the barrier that it has seen, which is bounded by the number of pairs, does not suffice
    assert math.ceil(2 * result.rejection.sum()) + 1 < 2 * exact


def test_advice_that_is_followed_leads_to_enough_chains():
    """If all rejections are 1, the number named is a first guess; the run with it names a better one."""
    n_chains = 3
    for _ in range(4):
        result = normal(100, 100.0, n_chains=n_chains, n_rounds=7)
        if "chains" not in kinds(result):
            break
        _, wanted = advice(result)
        assert wanted >= 2 * n_chains
        n_chains = wanted
    assert "chains" not in kinds(result)
    assert n_chains <= 4 * normal_barrier(1.0, 100, 100.0)


@pytest.mark.parametrize("family", ["normal", "exponential"])
def test_the_least_barrier_named_is_no_more_than_the_barrier(family):
    """Saturated rejections of random parts of the barrier: the correction for saturation never overshoots by 1 %."""
    from scipy.special import erf

    from sterna.tuning.barrier import without_saturation

    reject = {"normal": lambda x: erf(0.5 * math.sqrt(math.pi) * x), "exponential": np.tanh}[family]
    rng = np.random.default_rng(12)
    for _ in range(1000):
        parts = rng.uniform(0.0, 4.0) * rng.random(rng.integers(2, 10))
        seen = without_saturation(reject(parts), reject(parts[:-1] + parts[1:]))
        assert seen.sum() <= 1.01 * parts.sum()


def test_a_run_that_finds_the_number_is_told_to_take_more_rounds():
    result = normal(100, 100.0, n_rounds=2, explorer="slice")
    assert "use n_rounds=4 (4 times as many scans)" in text_of(result, "chains")


def test_enough_chains_are_not_too_few():
    assert "chains" not in kinds(normal(20, 20.0, n_chains=9, n_rounds=8))


def cliff(x):
    """Hugely negative where the likelihood should be zero."""
    return -1e6 if x > 0.1 else -0.5 * ((x - 0.05) / 0.001) ** 2


def test_huge_negative_likelihoods_are_told_from_too_few_chains():
    """Nine tenths of the reference are never swapped, and about half of the rest: 0.95, with an error of 0.005."""
    result = sterna.sample(cliff, {"x": sterna.Uniform(0, 1)}, n_chains=10, n_rounds=0, n_scans=3000, progress=False)
    text = text_of(result, "reference")
    assert "return -inf there" in text
    assert "chains" not in kinds(result)


def saturated_result(rejection, auto=False):
    """What the check for too few chains reads of a result."""
    last = SimpleNamespace(rejection_of_possible=np.array(rejection), zero_share=0.0)
    settings = settings_of(n_chains=len(rejection) + 1, auto_chains=auto)
    barrier = float(np.sum(rejection))
    return SimpleNamespace(last=last, settings=settings, global_barrier=barrier, recommended_n_chains=99)


@pytest.mark.parametrize(
    ("rejection", "words"),
    [
        ([0.6, 0.65, 0.7], None),
        ([0.1, 0.89, 0.1], None),
        ([0.66, 0.66, 0.66], "Too few chains"),
        ([0.1, 0.91, 0.1], "Too few chains"),
        ([0.95, 0.1, 0.1], "The reference is far"),
        ([0.95, 0.6, 0.7], "Too few chains"),
        ([0.95, 0.1], "Too few chains"),
        ([0.95], "Too few chains"),
    ],
)
def test_bounds_of_rejection(rejection, words):
    text = too_few_chains(saturated_result(rejection))
    assert text is None if words is None else words in text


# ---------------------------------------------------------------------------------------------------- restarts


def test_few_restarts_are_counted_in_the_worst_copy():
    result = sterna.sample(sterna.models.ising(), n_chains=8, n_rounds=3, n_copies=3, progress=False)
    fewest = min(result.last.restarts_of_copies)
    text = text_of(result, "restarts")
    assert text.startswith(f"Only {fewest} restart" if fewest else "No restarts")
    assert " in the worst copy (normal" in text
    assert f"the rejections allow {result.predicted_restarts / 3:.0f})" in text


def test_enough_restarts_are_not_few():
    result = sterna.sample(sterna.models.ising(), n_chains=8, n_rounds=10, progress=False)
    assert min(result.last.restarts_of_copies) >= 10
    assert "restarts" not in kinds(result)


def of_restarts(*restarts):
    """What the check for few restarts reads of a result."""
    rejections = SimpleNamespace(restarts_of_copies=restarts, zero_share=0.0, rejection_of_possible=np.full(3, 0.4))
    settings = settings_of(n_copies=len(restarts))
    return SimpleNamespace(last=rejections, settings=settings, predicted_restarts=12.0, explorations=3)


def test_ten_restarts_are_enough():
    assert few_restarts(of_restarts(10)) is None
    assert few_restarts(of_restarts(40, 10)) is None
    assert few_restarts(of_restarts(9)).startswith("Only 9 restarts (normal: at least 10;")
    assert few_restarts(of_restarts(40, 9)).startswith("Only 9 restarts in the worst copy")


@pytest.mark.parametrize(("restarts", "rounds"), [(9, 12), (6, 12), (5, 12), (4, 13), (1, 15), (0, 15)])
def test_a_run_with_few_restarts_is_told_how_many_rounds_give_twenty(restarts, rounds):
    """Twenty times the scans of one restart, in doublings: half as many would still be ten."""
    assert f"Use n_rounds={rounds} ({2 ** (rounds - 10)} times as many scans)." in few_restarts(of_restarts(restarts))


def test_a_longer_run_is_named_by_what_the_user_gave():
    """By rounds; by scans, if their number was given; and by both, if tuning is shorter than sampling."""

    def advice_of(factor, **settings):
        return longer_run(SimpleNamespace(settings=settings_of(**settings)), factor)

    assert advice_of(0.1) == "n_rounds=11 (2 times as many scans)"
    assert advice_of(4.0) == "n_rounds=12 (4 times as many scans)"
    assert advice_of(4.1) == "n_rounds=13 (8 times as many scans)"
    assert advice_of(4.1, n_scans=100) == "n_scans=410"
    assert advice_of(2.0, n_scans=1023) == "n_scans=2100 and n_rounds=11"
    assert advice_of(4.0, n_rounds=0, n_scans=500) == "n_scans=2000 and n_rounds=10"
    assert advice_of(2.0, n_scans=3) == "n_scans=6"
    # without options sampling ends by goals, after as many scans as tuning or more, and tuning may be what is missing
    assert advice_of(4.0, until=DEFAULT_GOAL) == "n_rounds=12 (4 times as many tuning scans)"
    assert advice_of(4.0, until=DEFAULT_GOAL, n_scans=5000) == "n_rounds=14 (16 times as many tuning scans)"
    assert advice_of(0.1, until=DEFAULT_GOAL, n_scans=100) == "n_rounds=11 (2 times as many tuning scans)"
    # goals of the user count from the scans of a run of that length on
    assert advice_of(4.0, until=Goal(ess=100.0)) == "n_scans=8200 and n_rounds=13"


def test_a_short_run_that_follows_its_advice_has_no_warning():
    """All of 10 seeds here, and 60 of 62 short runs of bench/advice.py; one of 3 may fail by chance."""
    quiet = 0
    for seed in (1, 2, 3):
        short = normal(5, 5.0, n_rounds=3, explorer="slice", seed=seed)
        rounds = [int(one) for text in short.warnings for one in re.findall(r"n_rounds=(\d+)", text)]
        assert 4 <= max(rounds) <= 10
        quiet += not normal(5, 5.0, n_rounds=max(rounds), explorer="slice", seed=seed).warnings
    assert quiet >= 2


# ------------------------------------------------------------------------------------------------ divergences


@pytest.mark.parametrize("chain", [1, 2, 3])
def test_divergences_of_any_chain(chain):
    result = SimpleNamespace(diverged=np.zeros(4), schedule=np.array([0.0, 0.25, 0.5, 1.0]), explorer="hmc")
    result.diverged[chain] = 0.002
    assert diverging_trajectories(result) is None
    result.diverged[chain] = 0.003
    assert f"At beta = {result.schedule[chain]:g}, 0.3% of" in diverging_trajectories(result)


# ------------------------------------------------------------------------------------------------ slow exploration


def test_slow_exploration_names_restarts_and_memory():
    """Of 400 restarts that the rejections allow about 40 come, and the alarm is given below 70."""
    result = normal(20, 20.0, n_chains=12, n_rounds=12, explorer=sterna.Slice(passes=0.05), explorations=1)
    text = text_of(result, "slow")
    assert f"{result.restarts} restarts, but the rejections would allow {result.predicted_restarts:.0f}" in text
    memory = result.energy_autocorrelation
    assert f"a correlation of {memory.max():.2f}" in text
    assert f"beta = {result.schedule[memory.argmax()]:.3g}" in text
    # twice the share that is normal, if restarts were proportional to explorations
    more = math.ceil(0.5 * result.predicted_restarts / result.restarts)
    assert f"(explorations={more})" in text
    followed = normal(20, 20.0, n_chains=12, n_rounds=11, explorer=sterna.Slice(passes=0.05), explorations=more)
    assert "slow" not in kinds(followed)
    assert "slow" not in kinds(normal(20, 20.0, n_chains=12, n_rounds=10))


# ------------------------------------------------------------------------------------------------------- evidence


def with_difference(value, error, freedom=math.inf):
    """A result two of whose estimators differ by so much."""
    pair = ("stepping_stone_forward", "bennett")
    differences = {pair: Estimate(value, error, freedom)}
    estimates = {"stepping_stone_forward": Estimate(1.0 + value, 0.1), "bennett": Estimate(1.0, 0.1)}
    last = SimpleNamespace(evidence=SimpleNamespace(differences=differences))
    return SimpleNamespace(last=last, evidence=estimates, settings=settings_of())


@pytest.mark.parametrize("freedom", [math.inf, 10.0, 2.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_estimators_disagree_beyond_what_chance_allows_once_in_ten_thousand(freedom, sign):
    distribution = stats.norm if math.isinf(freedom) else stats.t(freedom)
    limit = 0.1 * distribution.isf(0.5 / RUNS_PER_FALSE_ALARM)
    assert disagreeing_estimators(with_difference(sign * limit * 0.999, 0.1, freedom)) is None
    text = disagreeing_estimators(with_difference(sign * limit * 1.001, 0.1, freedom))
    assert f"stepping stone forward {1 + sign * limit * 1.001:.3f}, bennett 1.000" in text
    assert f"within {limit:.3f}" in text


@pytest.mark.parametrize(("value", "error"), [(math.nan, 0.1), (math.inf, math.nan), (5.0, math.inf), (5.0, math.nan)])
def test_estimators_without_value_or_error_cannot_disagree(value, error):
    assert disagreeing_estimators(with_difference(value, error)) is None


def test_estimators_of_a_run_that_has_not_converged_disagree():
    """No tuning, and one update of one in twenty coordinates per scan: the 500 scans only lead to the target."""
    options = {"n_chains": 12, "n_rounds": 0, "n_scans": 500}
    result = normal(20, 20.0, explorer=sterna.Slice(passes=0.05), **options)
    assert "evidence" in kinds(result)


def of_two_rounds(moved, n_scans=1024, error=0.03):
    """A result whose sampling phase moved the evidence by so much."""
    before = SimpleNamespace(n_scans=n_scans, log_evidence=Estimate(1.0, error))
    now = Estimate(1.0 + moved, 0.04)
    return SimpleNamespace(rounds=[before, SimpleNamespace()], log_evidence=now, settings=settings_of())


def test_evidence_that_moved_after_tuning():
    """Errors of 0.03 and 0.04 make one of 0.05, of which a right run moves by 3.89 once in 10 000 times."""
    limit = 0.05 * stats.norm.isf(0.5 / RUNS_PER_FALSE_ALARM)
    assert limit == pytest.approx(0.05 * 3.8906, rel=1e-4)
    for sign in (1, -1):
        assert moved_evidence(of_two_rounds(sign * 0.999 * limit)) is None
        assert "The run has not converged" in moved_evidence(of_two_rounds(sign * 1.001 * limit))
    # short rounds are not compared, nor those without an error
    assert moved_evidence(of_two_rounds(100.0, n_scans=255)) is None
    assert moved_evidence(of_two_rounds(100.0, n_scans=256)) is not None
    assert moved_evidence(of_two_rounds(100.0, error=math.nan)) is None


@pytest.mark.parametrize(
    ("value", "error", "known"), [(1.0, 0.9, True), (1.0, 1.1, False), (1.0, math.nan, False), (-math.inf, 0.1, False)]
)
def test_evidence_that_is_hardly_known(value, error, known):
    settings = settings_of(n_scans=10, n_copies=2)
    last = SimpleNamespace(zero_share=0.2)
    result = SimpleNamespace(log_evidence=Estimate(value, error), last=last, settings=settings, other_path=None)
    assert (unknown_evidence(result) is None) == known
    result.last.zero_share = 1.0
    assert "zero at all 20 draws" in unknown_evidence(result)


# --------------------------------------------------------------------------------------------------------- copies


def modes(n_chains, n_copies, n_scans=500, n_rounds=0):
    target = sterna.Target(two_modes, {"x": sterna.Uniform(-20, 20, shape=20)})
    options = {"n_chains": n_chains, "n_rounds": n_rounds, "n_scans": n_scans, "n_copies": n_copies}
    return sterna.sample(target, workers=1, progress=False, **options)


def test_copies_in_different_modes_disagree():
    """Two chains never swap, and each of twelve copies stays in a mode that a coin chose: a miss of 2^-11."""
    result = modes(2, 12)
    text = text_of(result, "copies")
    name = re.search(r"R-hat of (\S+) is", text).group(1)
    row = result.summary[name]
    assert row["r_hat"] > 1.05
    assert row["r_hat_within"] <= 1.05
    assert f"R-hat of {name} is {row['r_hat']:.2f} over all copies and {row['r_hat_within']:.2f} within" in text
    assert f"effective sample size of {row['ess']:.0f}" in text


def test_one_copy_cannot_disagree():
    assert not {"copies", "converged"} & set(kinds(modes(2, 1)))


def test_copies_that_visit_both_modes_agree():
    target = sterna.Target(two_modes, {"x": sterna.Uniform(-20, 20, shape=2)})
    result = sterna.sample(target, n_rounds=12, n_copies=2, progress=False)
    assert kinds(result) == []


def test_a_target_chain_that_has_not_converged_is_told_from_copies_that_disagree():
    """One update of twenty coordinates per scan, from the reference: the energy drifts during the whole run."""
    result = normal(20, 20.0, n_chains=12, n_rounds=0, n_scans=500, explorer=sterna.Slice(passes=0.05))
    assert "converged" in kinds(result)
    assert "copies" not in kinds(result)


# ------------------------------------------------------------------------------------------------ slow and far draws


def series(memory, n=4000):
    """Return a stand-in for a result whose log-likelihood is an autoregressive series."""
    rng, found = np.random.default_rng(1), np.zeros((1, n))
    for k in range(1, n):
        found[0, k] = memory * found[0, k - 1] + rng.standard_normal()
    return SimpleNamespace(
        log_likelihood=found,
        values={},
        target=SimpleNamespace(view=None),
        journeys=np.arange(n)[None],
        settings=settings_of(),
        explorations=3,
    )


def test_a_small_effective_sample_size_is_named():
    """Of 4000 draws, series of coefficient 0.995 have 10 effective ones, of 0.98 40; 300 draws are not counted."""
    text = few_effective_draws(series(0.995))
    assert text is not None
    size = int(re.search(r"count as (\d+) independent ones of log_likelihood", text).group(1))
    assert f"n_rounds={10 + math.ceil(math.log2(32 / size))}" in text
    # errors of a quarter of the standard deviation are no reason to warn
    assert few_effective_draws(series(0.98)) is None
    assert few_effective_draws(series(0.995, n=300)) is None


def test_a_target_without_a_finite_integral_is_named():
    """Flat under a normal reference: draws are limited only by where both logarithms cancel to rounding errors."""
    result = sterna.sample(lambda x: 0.5 * x * x, {"x": sterna.Normal()}, n_rounds=8, explorer="slice", progress=False)
    assert "outside" in kinds(result)


@pytest.mark.parametrize(("restarts", "warned"), [(0, True), (20, False)])
def test_replicas_that_have_run_away_together_are_told_to_check_the_sign(restarts, warned):
    """A large log-likelihood alone is that of many data."""
    result = SimpleNamespace(log_likelihood=3e9 + np.random.default_rng(1).normal(size=(1, 100)), restarts=restarts)
    assert ("Check the sign" in str(draws_outside_the_reference(result))) is warned


@pytest.mark.parametrize("offset", [0.0, 3e7])
def test_single_precision_is_named_where_it_matters(offset):
    """A likelihood in steps of 2 nats; without the offset, steps are too small to matter."""

    def log_likelihood(x, offset):
        return np.float32(np.float32(-0.5 * x * x) - np.float32(offset))

    target = sterna.Target(log_likelihood, {"x": sterna.Normal(0, 3)}, {"offset": offset}, compile=False)
    result = sterna.sample(target, n_rounds=7, explorer="slice", progress=False)
    found = [text for text in result.warnings if text.startswith("The log-likelihood has single precision")]
    assert len(found) == (offset > 0)
    if found:
        assert "rounded to steps of 2 nats" in found[0]


def test_large_integers_of_discrete_variables_are_no_rounding():
    target = sterna.Target(lambda z: 2e7 + 2.0 * z, {"z": sterna.DiscreteUniform(0, 100)}, compile=False)
    result = sterna.sample(target, n_rounds=6, progress=False)
    assert not any("single precision" in text for text in result.warnings)
