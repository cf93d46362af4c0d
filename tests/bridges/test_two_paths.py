"""Models of other libraries along the path from a fitted mixture: two modes of widths 1 : 4."""

import math

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pymc as pm
import pytensor.tensor as pt
import pytest
from quick import first

import sterna
from sterna.engine import callback
from sterna.engine.evaluation import evaluate, evaluate_gradient
from sterna.engine.program import N_LOG_DENSITIES
from sterna.search.mixture import Mixture
from sterna.target.mixture_target import MixtureTarget

# in 4 dimensions, under a prior of width 5
D, PRIOR_WIDTH, CENTRES, WIDTHS, WEIGHTS = 4, 5.0, (-3.0, 3.0), (0.1, 0.4), (0.7, 0.3)


def exact():
    """The evidence and the share of the narrow mode, by convolution with the prior."""
    variances = [PRIOR_WIDTH**2 + width**2 for width in WIDTHS]
    logs = [
        math.log(weight) - 0.5 * D * (centre**2 / variance + math.log(2.0 * math.pi * variance))
        for weight, centre, variance in zip(WEIGHTS, CENTRES, variances, strict=True)
    ]
    total = np.logaddexp(*logs)
    return total, math.exp(logs[0] - total)


def log_modes(x, ops):
    """The sum of both modes, normalised."""
    parts = [
        math.log(weight) - 0.5 * ops.sum(((x - centre) / width) ** 2) - D * math.log(width * math.sqrt(2.0 * math.pi))
        for weight, centre, width in zip(WEIGHTS, CENTRES, WIDTHS, strict=True)
    ]
    return ops.logaddexp(*parts)


@pytest.fixture(scope="module")
def pymc_target():
    with pm.Model() as model:
        x = pm.Normal("x", 0, PRIOR_WIDTH, shape=D)
        # a potential is likelihood, so that the prior stays normalised
        pm.Potential("modes", log_modes(x, pt))
    return sterna.from_pymc(model)


def numpyro_model():
    x = numpyro.sample("x", dist.Normal(0.0, PRIOR_WIDTH).expand([D]).to_event(1))
    numpyro.factor("modes", log_modes(x, jnp))


def check(result):
    """Evidence and weight; each fails once in 1e5 runs. Without the narrow mode, the evidence is 1.2 lower."""
    log_evidence, share = exact()
    low, high = result.log_evidence.interval(1 - 1e-5)
    assert low < log_evidence < high
    assert result.log_evidence.error < 0.25
    low, high = result.mean(lambda posterior: posterior["x"][..., 0] < 0).interval(1 - 1e-5)
    assert low < share < high
    assert result.other_path is not None


def test_pymc_with_the_same_bits_for_any_number_of_threads(pymc_target):
    options = {"n_rounds": 7, "n_copies": 2, "path": "fitted", "explorer": sterna.HMC(), "progress": False}
    one, two = (sterna.sample(pymc_target, workers=workers, **options) for workers in (1, 2))
    check(one)
    assert np.array_equal(one.states, two.states)
    assert one.log_evidence.value == two.log_evidence.value


def test_pymc_takes_the_path_that_finds_both_modes_by_default(pymc_target):
    check(sterna.sample(pymc_target, n_rounds=9, progress=False))


@pytest.mark.parametrize("explorer", first(1, [sterna.HMC(), sterna.Slice()]))
def test_numpyro(explorer):
    target = sterna.from_numpyro(numpyro_model)
    check(sterna.sample(target, n_rounds=5, path="fitted", explorer=explorer, progress=False))


def test_a_batch_is_asked_once_for_an_evaluation_and_first_for_what_answers_most():
    """A call for the gradient also has both log-densities; planted fault: one that is asked for a density first."""
    target = MixtureTarget(sterna.from_numpyro(numpyro_model).prepare())
    target.prepare_gradient()
    target.set_mixture(Mixture(np.array(WEIGHTS), np.outer(CENTRES, np.ones(D)), np.outer(WIDTHS, np.ones(D)), 0.1))
    slots = (callback.REFERENCE, callback.LIKELIHOOD, callback.REFERENCE_GRADIENT, callback.GRADIENT)
    names, asked = dict(zip(target.handles(slots), slots, strict=True)), []

    def recording(handle):
        def ask(x, out=None):
            asked.append(names[handle])
            if out is None:
                return -1.0
            out[:] = 0.0
            return None

        return ask

    x, log_densities = np.ones(D), np.zeros(N_LOG_DENSITIES)
    with callback.override({handle: recording(handle) for handle in names}):
        evaluate(target.block, x, log_densities)
        assert asked == [callback.REFERENCE, callback.LIKELIHOOD]
        asked.clear()
        evaluate_gradient(target.block, x, 0.5, log_densities, np.zeros(D), np.zeros(D))
        assert asked == [callback.GRADIENT, callback.REFERENCE, callback.REFERENCE_GRADIENT]
