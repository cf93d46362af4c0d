"""The README and the examples, run as they stand."""

import re
import runpy
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/design.md", "docs/pymc.md"])
def test_links_lead_somewhere(name):
    page = ROOT / name
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link
