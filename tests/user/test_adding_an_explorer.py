"""The explorer of docs/adding_an_explorer.md, run as it is written there.

That it keeps to its memory and so on is checked with all other explorers, in tests/explorers/test_conformance.py.
"""

import numpy as np
import pytest
from documented import example_explorer
from invariance import LEVEL, p_values

import sterna


@pytest.mark.parametrize("name", ["gaussian", "bounded", "joint"])
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_it_leaves_distributions_unchanged(name, beta):
    assert min(p_values(example_explorer().Steps(), name, beta, 4000)) > LEVEL


@pytest.mark.parametrize(
    "fault",
    [
        ("acceptance(beta, log_ratio,", "acceptance(beta, 0.0,"),
        ("acceptance(beta, log_ratio,", "acceptance(1.0, log_ratio,"),
    ],
    ids=["reference left out", "not annealed"],
)
def test_a_fault_would_be_noticed(fault):
    assert min(p_values(example_explorer(fault).Steps(), "bounded", 0.5, 20_000)) < LEVEL


def test_it_runs_and_is_tuned():
    result = sterna.sample(
        sterna.models.normal(3), explorer=example_explorer().Steps(), n_chains=4, n_rounds=7, progress=False
    )
    assert result.explorer == "steps"
    assert np.isfinite(result.log_evidence.value)
