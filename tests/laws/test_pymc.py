"""Twelve PyMC models as their users write them, against answers that neither PyMC nor sterna had a part in."""

import re
import runpy
from pathlib import Path

import pytest
from pymc_models import CASES, check_case

pytestmark = pytest.mark.laws


@pytest.mark.parametrize("name", CASES)
def test_model(name):
    """Evidence and means within 4 standard errors: a false alarm of 6e-5 for each of 43 numbers, 3e-3 in all."""
    result = check_case(CASES[name], n_rounds=12, n_copies=2)
    assert result.warnings == []


def test_page_and_example(capsys):
    """Run the page's program, and the example; evidence within 4 standard errors of quadrature's: 6e-5."""
    root = Path(__file__).parents[2]
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "pymc.md").read_text(), re.DOTALL)
    scope = {}
    exec(code, scope)
    found = scope["result"].log_evidence
    assert abs(found.value + 21.4897) < 4 * found.error
    runpy.run_path(str(root / "examples" / "pymc_mixture.py"), run_name="__main__")
    assert "log evidence" in capsys.readouterr().out
