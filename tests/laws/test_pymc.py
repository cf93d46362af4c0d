"""Twelve PyMC models as users write them, compared with answers computed without PyMC and sterna."""

import re
import runpy
from pathlib import Path

import pytest
from pymc_models import CASES, check_case

pytestmark = pytest.mark.laws


@pytest.mark.parametrize("name", CASES)
def test_model(name):
    """Evidence and means within 4 standard errors: a false-alarm rate of 6e-5 for each of 43 numbers, 3e-3 in total."""
    result = check_case(CASES[name], n_rounds=12, n_copies=2)
    assert result.warnings == []


def test_page_and_example(capsys):
    """Run the program of the page, and the example; evidence within 4 standard errors of quadrature: 6e-5."""
    root = Path(__file__).parents[2]
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "pymc.md").read_text(), re.DOTALL)
    scope = {}
    exec(code, scope)
    found = scope["result"].log_evidence
    assert abs(found.value + 21.4897) < 4 * found.error
    runpy.run_path(str(root / "examples" / "pymc_mixture.py"), run_name="__main__")
    assert "log evidence" in capsys.readouterr().out
