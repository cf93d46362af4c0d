"""One model in two languages: the same reference and likelihood at the same states."""

import numpy as np
import pymc as pm
import pytensor
import pytest
from numpyro_models import SCHOOL_EFFECTS, SCHOOL_ERRORS, eight_schools

import sterna


def in_pymc():
    """Return the eight schools, centred, as in `numpyro_models.eight_schools`."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("effect", theta, SCHOOL_ERRORS, observed=SCHOOL_EFFECTS)
    return model


@pytest.mark.laws
def test_log_densities_are_the_same():
    """Both languages explore log tau, and store mu, tau and theta in the order of the model."""
    # by default PyTensor rounds the logarithm of 2 in the half-Cauchy density to single precision, an error of 6e-8
    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        ours = sterna.from_pymc(in_pymc())
    theirs = sterna.from_numpyro(eight_schools, SCHOOL_EFFECTS, SCHOOL_ERRORS)
    rng = np.random.default_rng(0)
    for state in rng.normal(0.0, 3.0, (20, 10)):
        assert ours.log_densities(state) == pytest.approx(theirs.log_densities(state), rel=1e-9, abs=1e-9)
        assert ours.gradient(state, 0.7) == pytest.approx(theirs.gradient(state, 0.7), rel=1e-9, abs=1e-9)
    values = [target.values(state) for target in (ours, theirs)]
    assert all(values[0][name] == pytest.approx(values[1][name], rel=1e-12) for name in ("mu", "tau", "theta"))
