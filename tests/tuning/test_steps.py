"""Sums and differences of steps, and the curve through them, have the errors of their influences."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sterna.tuning.batches import standard_error
from sterna.tuning.evidence_curve import evidence_curve
from sterna.tuning.steps import Steps

PAIRS = 4
NONE = np.zeros(PAIRS)
# Larger and smaller than what the influences below show.
THEORY = np.array([1.0, 0.0, 3.0, 0.5])


def steps(seed, least=NONE):
    """Steps whose influences are correlated between pairs, as swaps correlate them."""
    rng = np.random.default_rng(seed)
    influence = rng.standard_normal((2, 50, PAIRS)) - 0.7 * rng.standard_normal((2, 50, 1))
    return Steps(rng.standard_normal(PAIRS), influence, least)


def error_of(influence):
    return standard_error(influence)[0]


def test_error_of_a_difference_is_that_of_the_difference_of_influences():
    first, second = steps(1), steps(2)
    found = first.minus(second).total()
    assert found.value == pytest.approx(first.value.sum() - second.value.sum())
    assert found.error == pytest.approx(error_of((first.influence - second.influence).sum(axis=2)))
    # what both share cancels
    both = Steps(first.value, first.influence + second.influence, NONE)
    assert both.minus(second).total().error == pytest.approx(first.total().error)
    assert first.minus(first).total().error == 0.0


def test_least_variances_of_a_difference_add_up():
    first, second = steps(1, THEORY), steps(1, 2 * THEORY)
    assert first.minus(second).total().error == pytest.approx(math.sqrt(3 * THEORY.sum()))


@pytest.mark.parametrize("least", [NONE, 1e-4 * THEORY, THEORY])
def test_errors_of_the_curve_are_those_of_the_sums_of_its_steps(least):
    """At every beta that of log Z(beta)/Z(0): what draws show, or theory if that is more."""
    all_steps = steps(3, least)
    energies = SimpleNamespace(zero_share=0.0, mean=np.zeros(PAIRS + 1))
    curve = evidence_curve(np.linspace(0.0, 1.0, PAIRS + 1), all_steps, energies)
    expected = [0.0]
    for k in range(1, PAIRS + 1):
        drawn = error_of(all_steps.influence[:, :, :k].sum(axis=2))
        expected.append(max(drawn, math.sqrt(least[:k].sum())))
    assert curve.error == pytest.approx(expected)
    assert curve.value == pytest.approx([0.0, *np.cumsum(all_steps.value)])
