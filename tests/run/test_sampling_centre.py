"""The centre around which a round sums its energies."""

import numpy as np

import sterna


def steep(level):
    return -(10.0**level)


def test_huge_energies_of_the_reference_cost_no_digits_elsewhere():
    """Under the reference energies reach -1e250, of which nothing may enter the sums of the other chains."""
    target = sterna.Target(steep, {"level": sterna.Uniform(-2.0, 250.0)})
    result = sterna.sample(target, n_chains=8, n_rounds=8, keep_log_likelihoods=True, progress=False)
    found, exact = result.last.log_likelihoods.mean[1:], result.log_likelihoods.mean(axis=(0, 1))[1:]
    np.testing.assert_allclose(found, exact, rtol=1e-9)
    assert np.isfinite(result.energy_autocorrelation).all()
