"""The path from a fitted mixture: right where the path from the prior fails, the same bits, and what is said of it."""

import dataclasses
import math

import numpy as np
import pytest
from interruptions import load, pause_after, save

import sterna
from sterna.errors import OptionError
from sterna.result.other_path import MAX_OUTSIDE, OtherPath
from sterna.run import blocks
from sterna.run.options import Options
from sterna.run.running import begin_run, continue_run
from sterna.run.state import RunState
from sterna.tuning.estimate import Estimate

DIMENSION, WIDTHS, WEIGHTS = 5, (0.1, 0.6), (0.7, 0.3)
CENTRES = (-4.0, 4.0)
LOG_EVIDENCE = -DIMENSION * math.log(20.0)


def unequal(x):
    """Two normal modes of widths 1 : 6, normalised: the prior's path loses the narrow one."""
    near, far = 0.0, 0.0
    for i in range(x.size):
        # Python's powers may differ from compiled ones in their last bit
        near += (x[i] + 4.0) * (x[i] + 4.0)
        far += (x[i] - 4.0) * (x[i] - 4.0)
    first = math.log(0.7) - 5 * math.log(0.1) - 0.5 * near / 0.01
    second = math.log(0.3) - 5 * math.log(0.6) - 0.5 * far / 0.36
    high = max(first, second)
    return high + math.log(math.exp(first - high) + math.exp(second - high)) - 2.5 * math.log(2.0 * math.pi)


class InPython:
    """The same function in a form that Numba cannot compile."""

    def __call__(self, x):
        return unequal(x)


NARROW_ONES = "The target has 2 modes, and narrower ones may be missing"
REFERENCE = {"x": sterna.Uniform(-10, 10, shape=DIMENSION)}
TARGET = sterna.Target(unequal, REFERENCE)
SLICE = sterna.Slice()


@pytest.fixture(scope="module")
def result():
    return sterna.sample(TARGET, n_rounds=9, path="fitted", progress=False)


def test_weights_and_evidence_of_modes_of_unequal_width(result):
    """Each interval fails once in 1e5 runs."""
    level = 1 - 1e-5
    low, high = result.log_evidence.interval(level)
    assert low < LOG_EVIDENCE < high
    assert result.log_evidence.error < 0.1
    low, high = result.mean(lambda posterior: posterior["x"][..., 0] < 0).interval(level)
    assert low < WEIGHTS[0] < high < low + 0.4
    # with modes of such widths, others that are as narrow would be overlooked at most places
    assert [text.partition(":")[0] for text in result.warnings] == [NARROW_ONES]
    assert result.modes.planted.half_as_wide < 0.5
    assert result.global_barrier < 1.5


def test_the_path_from_the_prior_loses_the_narrow_mode():
    """What the test above could not find if it ran along that path; the run says that mass was missed."""
    lost = sterna.sample(TARGET, n_rounds=9, path="prior", progress=False)
    assert (lost.posterior["x"].values[..., 0] < 0).mean() < 0.1
    assert any("Mass was missed" in warning for warning in lost.warnings)


def test_by_default_the_run_takes_the_path_that_finds_more_mass():
    found = sterna.sample(TARGET, n_rounds=9, progress=False)
    assert found.settings.path == "auto"
    assert found.other_path is not None
    assert found.why_path
    assert found.why_path in str(found)
    assert abs(found.log_evidence.value - LOG_EVIDENCE) < 5 * found.log_evidence.error


def test_the_table_of_modes(result):
    """Weights as above; their intervals fail once in 1e5 runs each."""
    first, second = result.modes
    for mode, weight, width, centre in zip((first, second), WEIGHTS, WIDTHS, CENTRES, strict=True):
        low, high = mode.weight.interval(1 - 1e-5)
        assert low < weight < high
        assert np.allclose(mode.values["x"], centre, atol=0.2)
        assert mode.width == pytest.approx(np.full(DIMENSION, width), rel=0.2)
        assert mode.journeys > 10
    # most of the prior leads to the wide mode
    assert first.basin_share < second.basin_share
    assert first.basin_share + second.basin_share == pytest.approx(1.0)
    assert "mode  weight" in str(result)
    for text in ("basin share", result.modes.rows()[0][1], result.modes.detection_limit):
        assert text in str(result)
        assert text in result._repr_html_()
    assert result.to_dict()["modes"]["modes"][0]["weight"]["value"] == first.weight.value


def test_log_likelihoods_are_those_of_the_target(result):
    prepared = TARGET.prepare()
    for state, value in zip(result.states[0, ::200], result.log_likelihood[0, ::200], strict=True):
        assert prepared.log_densities(state)[1] == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_the_divergence_is_that_of_the_target_from_the_prior(result):
    """By the entropies of two separate normal modes. False-alarm rate: 6e-7 (five standard errors)."""
    exact = DIMENSION * math.log(20.0)
    for weight, width in zip(WEIGHTS, WIDTHS, strict=True):
        exact += weight * (math.log(weight) - 0.5 * DIMENSION * math.log(2.0 * math.pi * math.e * width**2))
    found = result.divergences["kl_target_to_reference"]
    assert abs(found.value - exact) < 5 * found.error < 1.0
    # planted fault: that of the target from the mixture
    assert abs(result.last.divergences["kl_target_to_reference"].value - exact) > 5.0


def test_the_other_path_is_shown_and_takes_a_fifth(result):
    other = result.other_path
    assert len(other.mixture.weights) == 2
    assert np.allclose(other.mixture.weights.sum(), 1.0)
    assert other.round.n_chains > result.settings.n_chains
    assert other.round.n_scans < result.settings.n_scans / 4
    assert "fitted mixture of 2 components" in str(result)
    assert result.to_dict()["other_path"]["restarts"] == other.round.restarts
    assert result.settings.seed == 1


def test_the_bits_do_not_depend_on_workers_pauses_or_python(monkeypatch, tmp_path):
    options = {"n_rounds": 6, "n_copies": 2, "seed": 3, "path": "fitted"}
    whole = bits(sterna.sample(TARGET, explorer=SLICE, progress=False, workers=2, **options))
    assert bits(sterna.sample(TARGET, explorer=SLICE, progress=False, workers=1, **options)) == whole
    python = sterna.Target(InPython(), REFERENCE)
    assert bits(sterna.sample(python, explorer=SLICE, progress=False, **options)) == whole
    monkeypatch.setattr(blocks, "BLOCK_SECONDS", 1e-12)
    # in the first rounds along one path, then in those along both, and in the sampling phase
    state = begin_run(TARGET, Options(**options), explorer=SLICE, pause=pause_after(3))
    for block_ends in (30, 100, 200):
        save(state, tmp_path)
        state = continue_run(TARGET, load(tmp_path), explorer=SLICE, pause=pause_after(block_ends))
        assert isinstance(state, RunState)
    assert state.mixture is not None
    save(state, tmp_path)
    assert bits(continue_run(TARGET, load(tmp_path), explorer=SLICE)) == whole


def bits(result):
    other = result.other_path.round
    parts = [*(record.draws for record in result.records), result.rejection, other.rejection, result.log_likelihood]
    numbers = [result.log_evidence.value, other.log_evidence.value, result.evaluations, other.restarts]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in [*parts, np.array(numbers)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "mixture"}, "path='mixture' is not known"),
        ({"path": "fitted", "n_rounds": 3}, "n_rounds=3 is less than 4"),
        ({"path": "fitted", "reference": {"x": sterna.Poisson(3)}}, "x is not real"),
        ({"path": "fitted", "reference": {"x": sterna.CircularUniform()}}, "x is periodic"),
        ({"path": "fitted", "reference": sterna.FittedReference({"x": sterna.Real()})}, "fitted already"),
    ],
)
def test_where_no_mixture_can_be_fitted(options, words):
    with pytest.raises(OptionError) as error:
        sterna.sample(lambda x: -x * x, **{"reference": {"x": sterna.Normal(0, 1)}, **options}, progress=False)
    assert words in str(error.value)


def test_the_report_says_why_the_path_begins_at_the_reference():
    short = sterna.sample(TARGET, n_rounds=4, explorer=SLICE, progress=False)
    assert short.why_path == "from the reference, because a search for modes needs more than n_rounds=4"
    assert short.why_path in str(short)


def changed(result, **values):
    """Return the result with another report of the path from the prior."""
    return dataclasses.replace(result, other_path=dataclasses.replace(result.other_path, **values))


def with_evidence(result, more):
    """Return the result as if the path from the prior had found so many standard errors more."""
    other: OtherPath = result.other_path
    error = math.hypot(result.log_evidence.error, 0.1)
    found = Estimate(result.log_evidence.value + more * error, 0.1, freedom=1e6)
    return changed(result, round=dataclasses.replace(other.round, evidence=Chosen(found)))


@dataclasses.dataclass(frozen=True)
class Chosen:
    best: Estimate


def test_paths_that_disagree_are_a_warning(result):
    """The planted fault is mass that only the path from the prior has found."""
    assert not any("found more mass" in warning for warning in with_evidence(result, 3.0).warnings)
    assert any("found more mass" in warning for warning in with_evidence(result, 6.0).warnings)


def test_draws_outside_the_mixture_are_a_warning(result):
    assert not any("no component" in w for w in changed(result, outside=0.9 * MAX_OUTSIDE).warnings)
    assert any("no component" in w for w in changed(result, outside=1.1 * MAX_OUTSIDE).warnings)
    # only if enough replicas travelled along the path from the prior
    known = changed(with_evidence(result, 0.0), outside_from_prior=0.5)
    assert any("path from the reference" in w for w in known.warnings)
    unknown = dataclasses.replace(known.other_path.round, evidence=Chosen(Estimate(0.0, math.nan)))
    assert not any("path from the reference" in w for w in changed(known, round=unknown).warnings)


@pytest.mark.parametrize("explorer", ["elliptical", "independence"])
def test_an_explorer_that_cannot_follow_a_mixture_is_refused_at_once(explorer):
    def log_likelihood(x):
        raise AssertionError("evaluated")

    reference = {"x": sterna.Normal(0, 1, shape=2)}
    with pytest.raises(sterna.OptionError, match="cannot explore along the path from a fitted mixture"):
        sterna.sample(log_likelihood, reference, path="fitted", explorer=explorer, progress=False)


def test_a_constant_likelihood_is_named_along_both_paths():
    for path in ("prior", "fitted"):
        found = sterna.sample(lambda x: 2.0, REFERENCE, path=path, n_rounds=5, explorer=SLICE, progress=False)
        assert any("The log-likelihood is 2 at all draws" in text for text in found.warnings)


def test_a_search_looks_at_as_many_draws_as_it_is_given():
    def draws(search):
        options = {"n_rounds": 6, "path": "fitted", "explorer": SLICE, "progress": False}
        return sterna.sample(TARGET, search=search, **options).modes.planted.draws

    assert draws(0.0) == 0
    few, many = draws(0.1), draws(0.8)
    assert few > 0
    # without the first search, which has a share of 0.025
    assert many == pytest.approx(few * 0.775 / 0.075, rel=0.1)


@pytest.mark.parametrize("search", [-0.1, 11, "much", True, math.nan])
def test_a_share_that_is_not_possible_is_refused(search):
    with pytest.raises(sterna.OptionError, match="search="):
        sterna.sample(TARGET, search=search, progress=False)
