"""The README, the documentation and the examples, run as written."""

import ast
import importlib.util
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

ROOT = Path(__file__).parents[2]


PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))]


@pytest.mark.parametrize("name", PAGES)
def test_code_is_valid_and_names_what_exists(name):
    """All pages quickly, but for what a page adds itself; `make laws` runs those that take long."""
    import sterna

    blocks = re.findall(r"```python[^\n]*\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block))]
    added = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sterna":
            assert node.attr in added or hasattr(sterna, node.attr), node.attr


def test_readme(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    scope = {}
    exec(code, scope)
    result = scope["result"]
    assert result.warnings == []
    # both signs of mu have the same weight
    share = float((result.posterior["mu"] > 0).mean())
    assert 0.2 < share < 0.8
    # what the page says is printed, within 6 standard errors, whichever explorer was chosen: 6e-5 each
    said = [float(number) for number in re.findall(r"# (-?[\d.]+)[: ]", code)]
    assert abs(said[0] - share) < 4 * 0.05
    assert abs(said[1] - result.log_evidence.value) < 6 * result.log_evidence.error
    printed = capsys.readouterr().out.splitlines()
    assert printed[:4] == [str(share), str(result.log_evidence), str(result.global_barrier), "[]"]


@pytest.mark.laws
def test_moving_in(capsys):
    """All calls give the same evidence: each within 4 standard errors of quadrature, 6e-5 each."""
    blocks = re.findall(r"```python( pymc)?\n(.*?)```", (ROOT / "docs" / "moving_in.md").read_text(), re.DOTALL)
    if importlib.util.find_spec("pymc") is None:
        blocks = [block for block in blocks if not block[0]]
    scope = {}
    exec("\n".join(code for _, code in blocks), scope)

    def given_mu(mu):
        """Integrate over sigma; the prior of mu is left out, because SciPy's densities are slower than the integral."""
        return integrate.quad(
            lambda sigma: math.exp(-sigma + scope["log_likelihood"](np.array([mu, sigma]), scope["y"])), 1e-3, 15
        )[0]

    priors = {"normal": stats.norm(0, 10), "uniform": stats.uniform(-10, 20)}
    exact = {
        name: math.log(2 * integrate.quad(lambda mu, prior=prior: prior.pdf(mu) * given_mu(mu), 0, 10)[0])
        for name, prior in priors.items()
    }
    for name in ("result", "fitted", "cube", "smc", "exchange"):
        if name in scope:
            found = scope[name].log_evidence
            assert abs(found.value - exact["uniform" if name == "cube" else "normal"]) < 4 * found.error, name
            assert scope[name].warnings == []


def test_example(capsys):
    runpy.run_path(str(ROOT / "examples" / "transmitter.py"), run_name="__main__")
    text = capsys.readouterr().out
    assert "weight of the north-western mode" in text


def test_example_is_right():
    """Weight and evidence within 4 standard errors of the grid: a false-alarm rate of 1e-3 with 25 batches."""
    example = runpy.run_path(str(ROOT / "examples" / "transmitter.py"))
    import sterna

    result = sterna.sample(example["target"](), n_chains=10, n_rounds=13, progress=False)
    west, evidence = example["exact_west"]()
    found = (result.posterior["y"] > result.posterior["x"]).values[0]
    assert abs(found.mean() - west) <= 4 * example["batch_error"](found)
    assert abs(result.log_evidence.value - evidence) <= 4 * result.log_evidence.error


@pytest.mark.laws
def test_jax_page(capsys):
    """The examples run, each on its own; both signs of the mean are sampled, and plates are dimensions."""
    first, second = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "jax.md").read_text(), re.DOTALL)
    scope = {}
    exec(first, scope)
    assert 0.05 < float((scope["result"].posterior["mean"] > 0).mean()) < 0.95
    scope = {}
    exec(second, scope)
    assert scope["result"].posterior["now"].dims == ("copy", "draw", "time")
    assert scope["predicted"]["count"].shape == (510, 10)


@pytest.mark.laws
def test_black_box(capsys):
    scope = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs/black_box.md").read_text(), re.DOTALL):
        exec(code, scope)
        assert scope["result"].restarts > 0


def test_check_page(capsys, tmp_path, monkeypatch):
    """The wrong gradient is found, and a run on disk has no problem, but for 1e-4 of all seeds."""
    model, run = re.findall(r"```python(?: run)?\n(.*?)```", (ROOT / "docs/check.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    scope = {}
    exec(model, scope)
    assert capsys.readouterr().out.startswith("False problem\nlog_likelihood: 1 problem, see below.")
    assert scope["report"].problems[0].startswith("gradient: gradient gives the slope")
    exec(run, scope)
    assert "ising: no problem was found." in capsys.readouterr().out


def test_when_densities_fail(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/when_densities_fail.md").read_text(), re.DOTALL)
    scope = {}
    exec(code, scope)
    assert scope["result"].failed_evaluations.likelihood_raised > 0
    assert "likelihood_raised=" in capsys.readouterr().out


def test_trees_and_spins(capsys):
    """The evidence of the spins within 4 standard errors, 6e-5 each; that of the ring by its transfer matrix."""
    scope, found = {}, []
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs/trees_and_spins.md").read_text(), re.DOTALL):
        exec(code, scope)
        found.append(scope["result"].log_evidence)
    assert len(found) == 4
    assert abs(found[0].value - found[1].value) < 4 * math.hypot(found[0].error, found[1].error)
    assert abs(found[2].value - scope["exact"]) < 4 * found[2].error
    shares = np.exp(-0.3 * np.array([-1, 1])) / (2 * math.cosh(0.3))
    transfer = np.exp(0.7 * np.outer([-1, 1], [-1, 1])) * shares
    exact = math.log(np.trace(np.linalg.matrix_power(transfer, 8)))
    assert abs(found[3].value - exact) < 4 * found[3].error


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    page = ROOT / name
    for link in re.findall(r"\]\((?!https:)([^)#]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link


CHECK_OF_ADDED_FAMILY = """
import sys
import numpy as np
from scipy import stats
sys.path.insert(0, {tools!r})
import sterna
from distribution_checks import FALSE_ALARM, draw, draw_for_kernels, log_density, p_of_distribution, slope
from families import CONTINUOUS, SCIPY_CONTINUOUS
from sterna.reference.adapters import as_distribution
{rows}
distribution, law = CONTINUOUS["LogLogistic"]
points = law.ppf(np.linspace(0.02, 0.98, 40))
assert np.allclose(log_density(distribution, points), law.logpdf(points), rtol=1e-11)
step = 1e-5 * points
differences = (law.logpdf(points + step) - law.logpdf(points - step)) / (2 * step)
assert np.allclose(slope(distribution, points), differences, rtol=1e-6, atol=1e-6)
assert p_of_distribution(draw(distribution, 20_000), law) > FALSE_ALARM
assert p_of_distribution(draw_for_kernels(distribution, 20_000), law) > FALSE_ALARM
found = as_distribution(SCIPY_CONTINUOUS["fisk"], "prior")
assert repr(found).startswith("Scaled(distribution=LogLogistic(alpha=2.5, beta=3.0), loc=1.0"), found
assert "LogLogistic" in sterna.__all__
"""


@pytest.mark.laws
def test_adding_a_distribution(tmp_path):
    """The page's lines in one file of a copy of the package make a new distribution; false-alarm rate 2e-6."""
    page = (ROOT / "docs" / "adding_a_distribution.md").read_text()
    lines, rows = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shutil.copytree(ROOT / "src" / "sterna", tmp_path / "sterna", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "sterna" / "distributions" / "half_line.py").open("a") as file:
        file.write("\n\n" + lines)
    check = CHECK_OF_ADDED_FAMILY.format(tools=str(ROOT / "tests" / "tools"), rows=rows)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", check], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
