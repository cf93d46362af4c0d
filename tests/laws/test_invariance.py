"""Every explorer leaves every annealed law unchanged, at every beta.

All comparisons of `CASES` together raise a false alarm with a probability of at most 0.001: each is made at 0.001 over
their number, which is counted from the table. That holds for the short form and for the long one (`make laws`).
"""

import pytest
from invariance import ALL, BETAS, CASES, LEVEL, p_values

from sterna.run.given import EXPLORERS

DRAWS = [4000, pytest.param(100_000, marks=pytest.mark.laws)]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("explorer", "law"), ALL)
@pytest.mark.parametrize("draws", DRAWS)
def test_law_is_left_unchanged(explorer, law, beta, draws):
    assert min(p_values(CASES[explorer][law], law, beta, draws)) > LEVEL


def test_every_explorer_is_in_the_table():
    assert set(EXPLORERS) <= set(CASES)
