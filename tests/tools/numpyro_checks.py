"""Checks of runs on NumPyro models against exact values."""

import numpy as np
from runs import check_mean

import sterna


def check_case(result, truth):
    """Check evidence and posterior means within 4 standard errors, or the same level with 40 batches: 6e-5 each."""
    found = result.log_evidence
    assert abs(found.value - truth.log_evidence) < 4 * found.error, (found, truth.log_evidence)
    for name, exact in truth.means.items():
        draws = sterna.numpyro_samples(result)[name].astype(float)
        for index in np.ndindex(*np.shape(exact)):
            check_mean(draws[(slice(None), *index)], np.asarray(exact)[index])


def run_case(model, arguments, n_rounds=11, explorer=None):
    """Run a model long enough to distinguish its exact values from those of a fault."""
    target = sterna.from_numpyro(model, *arguments)
    return sterna.sample(target, n_rounds=n_rounds, explorer=explorer or sterna.Slice(), progress=False)
