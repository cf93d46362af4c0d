"""The README and the examples, run as they stand."""

import importlib.util
import math
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

ROOT = Path(__file__).parents[2]


def test_readme(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    scope = {}
    exec(code, scope)
    result = scope["result"]
    assert result.warnings == []
    # both signs of mu have the same weight
    share = float((result.posterior["mu"] > 0).mean())
    assert 0.2 < share < 0.8


def test_moving_in(capsys):
    """All ways in give one evidence: each within 4 standard errors of quadrature, 6e-5 each."""
    blocks = re.findall(r"```python( pymc)?\n(.*?)```", (ROOT / "docs" / "moving_in.md").read_text(), re.DOTALL)
    if importlib.util.find_spec("pymc") is None:
        blocks = [block for block in blocks if not block[0]]
    scope = {}
    exec("\n".join(code for _, code in blocks), scope)
    exact = {}
    for name, prior in (("normal", stats.norm(0, 10)), ("uniform", stats.uniform(-10, 20))):

        def density(sigma, mu, prior=prior):
            return prior.pdf(mu) * math.exp(-sigma + scope["log_likelihood"](np.array([mu, sigma]), scope["y"]))

        exact[name] = math.log(2 * integrate.dblquad(density, 0, 10, 1e-3, 15)[0])
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
    """Weight and evidence within 4 standard errors of the grid's: a false alarm of 1e-3 with 25 batches."""
    example = runpy.run_path(str(ROOT / "examples" / "transmitter.py"))
    import sterna

    result = sterna.sample(example["target"](), n_chains=10, n_rounds=13, progress=False)
    west, evidence = example["exact_west"]()
    found = (result.posterior["y"] > result.posterior["x"]).values[0]
    assert abs(found.mean() - west) <= 4 * example["batch_error"](found)
    assert abs(result.log_evidence.value - evidence) <= 4 * result.log_evidence.error


def test_jax_page(capsys):
    """Its examples run, each on its own; both signs of the mean are seen, and plates are dimensions."""
    first, second = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "jax.md").read_text(), re.DOTALL)
    scope = {}
    exec(first, scope)
    assert 0.05 < float((scope["result"].posterior["mean"] > 0).mean()) < 0.95
    scope = {}
    exec(second, scope)
    assert scope["result"].posterior["now"].dims == ("copy", "draw", "time")
    assert scope["predicted"]["count"].shape == (510, 10)


def test_black_box(capsys):
    scope = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs/black_box.md").read_text(), re.DOTALL):
        exec(code, scope)
        assert scope["result"].restarts > 0


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))])
def test_links_lead_somewhere(name):
    page = ROOT / name
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link
