"""Every explorer leaves every annealed distribution invariant, at every beta.

All comparisons of `CASES` together raise a false alarm with probability at most 0.001: the level of each is 0.001
divided by their number, which is counted from the table. This holds for the long form (`make laws`), and for the short
one, which compares at two of the betas.
"""

import pytest
from invariance import ALL, BETAS, CASES, LEVEL, p_values

from sterna.explorers.table import EXPLORERS

# At the reference, where a likelihood of zero counts for nothing, and where the likelihood counts in part.
SHORT = [pytest.param(4000, beta, id=f"{beta:g}") for beta in (0.0, 0.5)]
LONG = [pytest.param(100_000, beta, id=f"{beta:g}, long", marks=pytest.mark.laws) for beta in BETAS]


@pytest.mark.parametrize(("draws", "beta"), SHORT + LONG)
@pytest.mark.parametrize(("explorer", "law"), ALL)
def test_law_is_left_unchanged(explorer, law, beta, draws):
    assert min(p_values(CASES[explorer][law], law, beta, draws)) > LEVEL


def test_every_explorer_is_in_the_table():
    assert set(EXPLORERS) <= set(CASES)
