"""Every explorer leaves every annealed distribution invariant, at every beta.

All comparisons of `CASES` together raise a false alarm with probability at most 0.001: the level of each is 0.001
divided by their number, which is counted from the table. This holds for the short form and the long one (`make laws`).
"""

import pytest
from invariance import ALL, BETAS, CASES, LEVEL, p_values

from sterna.explorers.table import EXPLORERS

DRAWS = [4000, pytest.param(100_000, marks=pytest.mark.laws)]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("explorer", "law"), ALL)
@pytest.mark.parametrize("draws", DRAWS)
def test_law_is_left_unchanged(explorer, law, beta, draws):
    assert min(p_values(CASES[explorer][law], law, beta, draws)) > LEVEL


def test_every_explorer_is_in_the_table():
    assert set(EXPLORERS) <= set(CASES)
