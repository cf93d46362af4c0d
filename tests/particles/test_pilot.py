"""Evidence of whole runs that choose their betas by a threshold: unbiased, because a pilot chooses them."""

import numpy as np
import pytest
from populations import run_as_users_do
from targets import CONJUGATE_LOG_EVIDENCE, conjugate

import sterna

RUNS = 300


def run(**options):
    return run_as_users_do(conjugate(), RUNS, "slice", n_particles=50, threshold=0.9, **options)


def test_a_pilot_makes_z_unbiased_and_errors_calibrated():
    """The mean of Z is within 4 standard errors, a false-alarm rate of 6e-5.

    The number of 95 % intervals that cover the exact value has a standard deviation of 3.8 in 300, or 1.3 %; intervals
    of 50 particles are first-order in 1/N, so that 87 % are left to them: at least 4 standard deviations below 92 %.
    """
    many = run()
    assert abs(many.distance(CONJUGATE_LOG_EVIDENCE)) <= 4
    assert np.mean([low <= CONJUGATE_LOG_EVIDENCE <= high for low, high in many.intervals]) >= 0.87


@pytest.mark.laws
def test_a_population_that_chooses_its_own_betas_is_biased():
    """The fault that the pilot avoids is seen by the same comparison."""
    assert run(n_pilot=0).distance(CONJUGATE_LOG_EVIDENCE) > 4


def test_a_pilot_has_a_quarter_of_the_particles():
    options = {"threshold": 0.9, "progress": False}
    for given, n_particles, expected in ((None, 1000, 250), (None, 200, 100), (None, 20, 20), (7, 20, 7), (0, 20, 0)):
        result = sterna.smc(sterna.models.normal(2), n_particles=n_particles, n_pilot=given, **options)
        assert result.settings.n_pilot == expected
        assert result.frozen == (expected > 0)
        assert len(result.rounds) == (expected > 0)
        assert ("n_pilot=0" in str(result)) == (expected == 0)
    assert result.states.shape == (1, 20, 2)
