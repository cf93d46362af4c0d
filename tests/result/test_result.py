"""What a result offers, and its warnings."""

import builtins
import copy
import dataclasses
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import sterna
from sterna.result.other_names import OTHER_NAMES
from sterna.result.rounds import Rounds, cells


def quadratic(a, b, c):
    return -0.5 * a * a + 0.1 * b.sum() + np.log(c[0])


@pytest.fixture(scope="module")
def result():
    reference = {"a": sterna.Normal(), "b": sterna.Poisson(2.0, shape=(2, 3)), "c": sterna.Dirichlet([1.0, 2.0, 3.0])}
    return sterna.sample(quadratic, reference, n_chains=5, n_rounds=5, n_copies=2, keep="all", thin=3, progress=False)


def test_posterior(result):
    posterior = result.posterior
    assert dict(posterior.sizes) == {"copy": 2, "draw": 20, "b_dim_0": 2, "b_dim_1": 3, "c_dim_0": 3}
    assert posterior["b"].dtype == np.int64
    assert np.allclose(posterior["c"].sum("c_dim_0"), 1.0)
    chains = result.chains
    assert chains["a"].dims == ("copy", "draw", "chain")
    assert np.array_equal(chains["beta"], result.schedule)
    assert np.array_equal(chains["a"].isel(chain=-1), posterior["a"])


def test_names_of_other_samplers_are_explained(result):
    with pytest.raises(AttributeError, match=r"^sterna.Result has no attribute 'samples': the draws are in result.pos"):
        _ = result.samples
    with pytest.raises(AttributeError, match="'logZ': it is called log_evidence"):
        _ = result.logZ
    for hint in OTHER_NAMES.values():
        for name in re.findall(r"result\.(\w+)", hint) + re.findall(r"it is called (\w+)", hint):
            assert hasattr(result, name), hint
    assert not set(OTHER_NAMES) & set(dir(result))
    assert not hasattr(result, "_ipython_display_")


def test_a_variable_named_beta_is_kept_beside_the_schedule():
    reference = {"beta": sterna.Normal()}
    small = sterna.sample(lambda beta: -beta * beta, reference, n_chains=3, n_rounds=2, keep="all", progress=False)
    assert small.chains["beta"].dims == ("copy", "draw", "chain")
    assert np.array_equal(small.chains["annealing_beta"], small.schedule)


def test_log_likelihood_is_that_of_the_draws(result):
    draws = result.posterior.isel(copy=1, draw=7)
    expected = quadratic(float(draws["a"]), draws["b"].values, draws["c"].values)
    assert result.log_likelihood[1, 7] == pytest.approx(expected)


def test_chains_that_were_not_kept_are_an_error():
    small = sterna.sample(sterna.models.discrete(), n_chains=3, n_rounds=2, progress=False)
    with pytest.raises(sterna.OptionError, match='keep="all"'):
        _ = small.chains


def test_summary_and_dict(result):
    assert len(result.summary) == 1 + 6 + 3
    assert {"a", "b[0,0]", "b[1,2]", "c[2]"} <= set(result.summary)
    json.dumps(result.to_dict(), allow_nan=False)
    assert "sterna.Result of quadratic" in repr(result)


def test_errors_that_are_unknown_are_null_in_json():
    """No replica travels along 8 chains in 6 scans, so that the error of the evidence is unknown."""
    unknown = sterna.sample(sterna.models.ising(), n_chains=8, n_rounds=2, progress=False)
    assert np.isnan(unknown.log_evidence.error)
    found = json.loads(json.dumps(unknown.to_dict(), allow_nan=False))
    assert found["log_evidence"]["value"] == unknown.log_evidence.value
    assert found["log_evidence"]["error"] is None
    assert found["log_evidence"]["interval"] == [None, None]


def test_what_is_printed(result):
    """The answer comes first: whether to trust it, the posterior, the evidence; the rounds are last."""
    lines = str(result).splitlines()
    assert lines[0].startswith("quadratic, 62 scans of 5 chains in 2 copies: ")
    assert lines[2].split() == ["variable", "mean", "±", "error", "sd", "5", "%", "median", "95", "%", "ess", "r-hat"]
    assert lines[3].split()[:2] == ["a", f"{result.posterior['a'].mean().item():.4g}"]
    assert [line.split()[0] for line in lines[3:13]] == list(result.summary)
    assert repr(result.summary).splitlines() == lines[2:13]
    assert lines[15].startswith("log evidence    ")
    assert str(result.log_evidence) in lines[15]
    assert repr(result.rounds).splitlines() == lines[-8:]
    assert lines[-8].split()[-4:] == ["log", "evidence", "memory", "seconds"]
    assert not any(line != line.rstrip() or "\x1b" in line for line in lines)


@pytest.mark.parametrize(
    ("warnings", "verdict"), [([], "no warnings."), (["bad"], "1 warning, see below."), (["a", "b"], "2 warnings, see")]
)
def test_the_first_line_says_whether_there_are_warnings(result, warnings, verdict):
    judged = copy.copy(result)
    # computed when first asked for, so that it can be set
    judged.__dict__["warnings"] = warnings
    assert verdict in str(judged).splitlines()[0]
    assert verdict in judged._repr_html_()
    assert all(f"Warning: {text}" in str(judged).splitlines() for text in warnings)


def with_evidence(result, **estimates):
    """Return the result with other estimates of the evidence."""
    evidence = dataclasses.replace(result.last.evidence, estimates=result.last.evidence.estimates | estimates)
    last = dataclasses.replace(result.last, evidence=evidence)
    return dataclasses.replace(result, rounds=Rounds([*result.rounds[:-1], last]))


def test_only_usable_estimates_of_the_evidence_are_shown(result):
    broken = {
        "stepping_stone_backward": sterna.Estimate(3.0, 29.0),
        "stepping_stone_forward": sterna.Estimate(np.nan, np.nan),
        "thermodynamic_sum": sterna.Estimate(1.0, 0.1, bias=-3.8e9),
    }
    poor = with_evidence(result, bennett=sterna.Estimate(1.5, 0.1), **broken)
    text = repr(poor.evidence)
    assert "bennett " in text.splitlines()[0]
    assert "1.5000 ± 0.1000" in text
    named = "stepping_stone_forward, stepping_stone_backward, thermodynamic_sum"
    assert text.splitlines()[-1] == f"not usable for this run: {named}"
    assert "e+09" not in text
    assert dict(poor.evidence) == result.last.evidence.estimates | {"bennett": sterna.Estimate(1.5, 0.1)} | broken
    for shown in (str(poor), poor._repr_html_()):
        assert "backward" not in shown
        assert "unusable" not in shown


def test_the_report_compares_the_best_estimate_with_similar_ones_only(result):
    best = sterna.Estimate(1.5, 0.1)
    others = {
        "stepping_stone_forward": sterna.Estimate(1.6, 0.29),
        "stepping_stone_backward": sterna.Estimate(2.0, 0.31),
    }
    shown = with_evidence(result, **{result.evidence_name: best}, **others)
    for text in (str(shown), shown._repr_html_()):
        assert "stepping stone forward 1.6000 ± 0.2900" in text
        assert "backward" not in text
    assert "stepping_stone_backward" in repr(shown.evidence)


class Page(HTMLParser):
    """Collects text and elements, and checks that elements end as they begin."""

    def __init__(self, text):
        super().__init__()
        self.text, self.rows, self.opened = "", [], []
        self.feed(text)
        assert self.opened == []

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.opened[-1] in ("td", "th"):
            self.rows[-1].append(data)


def test_what_a_notebook_shows(result):
    page = Page(result._repr_html_())
    assert str(result).splitlines()[0] in page.text
    assert [row[0] for row in page.rows[1:11]] == list(result.summary)
    assert page.rows[0] == ["variable", "mean", "± error", "sd", "5 %", "median", "95 %", "ess", "r-hat"]
    assert page.rows[-1] == list(cells(result.last.row()))
    for text in (*result.warnings, *result.notes, str(result.log_evidence)):
        assert text in page.text


def test_html_is_escaped(result):
    note = "a < b & <script>alert('x')</script>"
    odd = dataclasses.replace(result, notes=[note])
    assert "<script>" not in odd._repr_html_()
    assert note in Page(odd._repr_html_()).text


def test_text_is_plain_in_a_notebook_and_with_colours_wanted(result, monkeypatch):
    class ZMQInteractiveShell:
        """What tells rich that it runs in a notebook."""

    plain = str(result)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert str(result) == plain
    assert "\x1b" not in plain


def test_notes_are_printed():
    result = sterna.sample(
        lambda x: 0.0 * len(str({})) - x, {"x": sterna.Normal()}, n_chains=2, n_rounds=2, progress=False
    )
    assert len(result.notes) == 1
    assert f"Note: {result.notes[0]}" in str(result).splitlines()


def test_rows_that_are_not_printed_are_counted():
    """A report shows twenty, of more scalars than there are coordinates where a simplex has one the more."""
    reference = {"p": sterna.Dirichlet([1.0] * 70)}
    result = sterna.sample(lambda p: p[0], reference, n_chains=2, n_rounds=3, progress=False)
    assert "... and 50 more" in str(result).splitlines()
    assert repr(result.summary).splitlines()[-1] == "... and 10 more"


def test_barrier_functions(result):
    assert result.cumulative_barrier(0.0) == 0
    assert result.cumulative_barrier(1.0) == pytest.approx(result.global_barrier)
    # what saturation takes from the sum of rejections is given back: here very little
    assert result.global_barrier == pytest.approx(result.rejection.sum(), rel=0.1)
    betas = np.linspace(0.05, 0.95, 19)
    slope = (result.cumulative_barrier(betas + 1e-6) - result.cumulative_barrier(betas - 1e-6)) / 2e-6
    assert np.allclose(result.local_barrier(betas), slope, atol=1e-5)


def test_rounds_double_and_index_process_is_a_permutation(result):
    assert [r.n_scans for r in result.rounds] == [2, 4, 8, 16, 32, 62]
    assert (np.sort(result.index_process, axis=-1) == np.arange(5)).all()


def test_index_process_moves_as_deo_proposes():
    """At odd scans only pairs (1, 2), (3, 4), ... may swap, at even scans (0, 1), (2, 3), ..."""
    ising = sterna.sample(sterna.models.ising(), n_chains=7, n_rounds=4, n_scans=400, progress=False)
    paths = ising.index_process[0].astype(int)
    for scan in range(1, 400):
        # entry k is after scan k + 1
        parity = (scan + 1) % 2
        lower = np.minimum(paths[scan], paths[scan - 1])
        moved = paths[scan] != paths[scan - 1]
        assert (lower[moved] % 2 == parity).all()


def test_too_few_chains_are_named():
    poor = sterna.sample(sterna.models.normal(dim=50, precision=100), n_chains=4, n_rounds=8, progress=False)
    assert any("Too few chains" in text and "n_chains=" in text for text in poor.warnings)


def test_too_few_restarts_are_named():
    short = sterna.sample(sterna.models.ising(), n_chains=8, n_rounds=2, progress=False)
    assert any(text.startswith(("Only", "No restarts")) for text in short.warnings)


def test_slow_exploration_is_named():
    """With one update a scan the measured rate falls far below what the rejections would allow."""
    frozen = sterna.sample(
        sterna.models.normal(dim=20, precision=20),
        n_chains=15,
        n_rounds=11,
        explorer=sterna.Slice(passes=0.05),
        explorations=1,
        progress=False,
    )
    good = sterna.sample(sterna.models.normal(dim=20, precision=20), n_chains=15, n_rounds=11, progress=False)
    assert any("Exploration is slow" in text for text in frozen.warnings)
    assert not good.warnings
