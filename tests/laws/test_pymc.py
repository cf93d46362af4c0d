"""Twelve PyMC models as their users write them, against answers that neither PyMC nor sterna had a part in."""

import pytest
from pymc_models import CASES, check_case

pytestmark = pytest.mark.laws


@pytest.mark.parametrize("name", CASES)
def test_model(name):
    """Evidence and means within 4 standard errors: a false alarm of 6e-5 for each of 43 numbers, 3e-3 in all."""
    result = check_case(CASES[name], n_rounds=12, n_copies=2)
    assert result.warnings == []
