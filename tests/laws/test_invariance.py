"""Every explorer leaves every annealed distribution invariant, at every beta.

All comparisons of `CASES` together raise a false alarm with probability at most 0.001: the level of each is 0.001
divided by their number, which is counted from the table. This holds for the long form (`make laws`), and for the short
one, which compares some at two of the betas, and most at one.
"""

import pytest
from invariance import ALL, BETAS, CASES, LEVEL, p_values

from sterna.explorers.table import EXPLORERS

# At the reference a likelihood of zero counts for nothing: one law of each kind of variables.
AT_REFERENCE = ("cliff", "mixed", "few_values", "lattice", "glass", "rotors")


@pytest.mark.parametrize(("explorer", "law"), ALL)
def test_law_is_left_unchanged(explorer, law):
    """Where the likelihood counts in part, and some laws at the reference too."""
    for beta in (0.0, 0.5) if law in AT_REFERENCE else (0.5,):
        assert min(p_values(CASES[explorer][law], law, beta, 4000)) > LEVEL


@pytest.mark.laws
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("explorer", "law"), ALL)
def test_law_is_left_unchanged_at_any_beta(explorer, law, beta):
    assert min(p_values(CASES[explorer][law], law, beta, 100_000)) > LEVEL


def test_every_explorer_is_in_the_table():
    assert set(EXPLORERS) <= set(CASES)
