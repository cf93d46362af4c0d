"""PyMC's unnamed distributions as references: densities, shapes, and what is refused."""

import numpy as np
import pytest
from families import PYMC
from prior_checks import assert_same_density, target_of

import sterna

pm = pytest.importorskip("pymc")
pytensor = pytest.importorskip("pytensor")


@pytest.fixture(autouse=True)
def double_precision():
    """Else PyTensor takes Python's numbers, even its own log(2), to be of single precision."""
    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        yield


def log_prob(frozen):
    """PyMC's own log-density as a function of the value."""
    point = frozen.type()
    function = pm.compile([point], pm.logp(frozen, point), mode="FAST_COMPILE")
    return lambda value: function(np.asarray(value, dtype=point.type.dtype))


@pytest.mark.parametrize("name", PYMC)
def test_density_is_pymcs(name):
    frozen = PYMC[name](pm)
    assert type(frozen.owner.op).__name__ == name.split()[0]
    assert_same_density(frozen, log_prob(frozen), number=8)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: pm.Normal.dist(np.array([1.0, 2.0]), 3.0), (2,)),
        (lambda: pm.Gamma.dist(np.array([1.0, 2.0]), 3.0, shape=(3, 2)), (3, 2)),
        (lambda: pm.HalfNormal.dist(2.0, shape=3), (3,)),
        (lambda: pm.HalfNormal.dist(2.0, shape=pytensor.shared(3)), (3,)),
        (lambda: pm.Poisson.dist(2.0, size=(2, 2)), (2, 2)),
        (lambda: pm.Categorical.dist(np.array([0.2, 0.8]), shape=3), (3,)),
        (lambda: pm.TruncatedNormal.dist(np.array([1.0, 2.0]), 2.0, lower=0.5, shape=(2, 2)), (2, 2)),
    ],
)
def test_shapes(make, shape):
    frozen = make()
    assert assert_same_density(frozen, log_prob(frozen), number=6).shape == (6, *shape)


def test_a_scale_taken_for_a_rate_is_caught():
    with pytest.raises(AssertionError, match="Not equal"):
        assert_same_density(sterna.Exponential(0.5), log_prob(pm.Exponential.dist(2.0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pm.SkewNormal.dist(0.0, 1.0, 2.0), "PyMC's SkewNormalRV, which has no counterpart"),
        (lambda: pm.Flat.dist(), "is flat, an improper prior"),
        (lambda: pm.Normal.dist(pm.Normal.dist(), 1.0), "depends on another random variable"),
        (lambda: pm.Normal.dist(0.0, pm.HalfStudentT.dist(3.0, 2.0)), "depends on another random variable"),
        (lambda: pm.Dirichlet.dist(np.ones(2), shape=(3, 2)), "a batch of vectors"),
        (lambda: pm.math.exp(pm.Normal.dist()), "no counterpart"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(sterna.TargetError, match=message):
        target_of(make())
