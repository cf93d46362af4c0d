"""Runs with periodic variables against exact evidences and circular means, for every way to give an angle.

Each estimate is compared at 5 of its standard errors, Student's with many degrees of freedom: about one false alarm in
1e5 runs of a test. Bessel functions give the exact answers.
"""

import math

import numpy as np
import pytest
from quick import first
from scipy import stats
from scipy.special import iv, ive

import sterna

RUN = {"explorer": "slice", "n_rounds": 9, "n_copies": 2, "seed": 1, "progress": False}

SEEN = np.array([3.0, -2.9, 2.8, 3.1, -3.0])
MU, KAPPA = 1.0, 0.5
# given the angles seen, each with concentration 2, the angle is von Mises again
PULL = KAPPA * np.exp(1j * MU) + 2 * np.exp(1j * SEEN).sum()
LOG_EVIDENCE = math.log(iv(0, abs(PULL)) / iv(0, KAPPA))


def seen_near(a, y):
    assert -math.pi <= a < math.pi
    return 2.0 * np.sum(np.cos(y - a))


def check_angle(result, pull=PULL, log_evidence=LOG_EVIDENCE, name="a"):
    """Compare evidence, circular mean, mean vector and summary with those of a von Mises distribution."""
    centre, strength = np.angle(pull), abs(pull)
    assert result.warnings == []
    assert abs(result.log_evidence.value - log_evidence) < 5 * result.log_evidence.error
    cosine = result.mean(lambda posterior: np.cos(posterior[name] - centre).values)
    assert abs(cosine.value - ive(1, strength) / ive(0, strength)) < 5 * cosine.error
    sine = result.mean(lambda posterior: np.sin(posterior[name] - centre).values)
    assert abs(sine.value) < 5 * sine.error
    row = result.summary[name]
    assert abs(np.angle(np.exp(1j * (row["mean"] - centre)))) < 5 * row["mcse"]
    assert row["mcse"] < 0.05
    assert row["r_hat"] < 1.05
    assert "modes" not in row


def joint_draw(rng):
    # any turn will do
    return rng.vonmises(1.0, 0.5) + 2.0 * np.pi


def joint_density(a):
    return 0.5 * np.cos(a - 1.0) - np.log(2 * np.pi * 1.0634833707413236)


WAYS = {
    "sterna": lambda: {"a": sterna.VonMises(MU, KAPPA)},
    "scipy": lambda: {"a": stats.vonmises(KAPPA, MU)},
    "joint": lambda: sterna.Reference(joint_draw, joint_density, {"a": sterna.Angle()}),
}


@pytest.mark.parametrize("way", first(1, WAYS))
def test_an_angle_on_both_sides_of_the_cut(way):
    check_angle(sterna.sample(seen_near, WAYS[way](), {"y": SEEN}, **RUN))


def test_the_cut_may_be_anywhere():
    def near_midnight(hour, y):
        assert 0 <= hour < 24
        return 2.0 * np.sum(np.cos(2 * np.pi * (y - hour) / 24))

    hours = (SEEN - math.pi) * 24 / (2 * math.pi) % 24
    result = sterna.sample(near_midnight, {"hour": sterna.CircularUniform(0, 24)}, {"y": hours}, **RUN)
    pull = 2 * np.exp(2j * math.pi * hours / 24).sum()
    assert abs(result.log_evidence.value - math.log(iv(0, abs(pull)))) < 5 * result.log_evidence.error
    row = result.summary["hour"]
    away = (row["mean"] - np.angle(pull) * 24 / (2 * math.pi) + 12) % 24 - 12
    assert abs(away) < 5 * row["mcse"] < 1
    assert row["q5"] < row["mean"] < row["q95"] < row["q5"] + 6
    assert result.to_arviz()["posterior"]["hour"].max() < 24


def test_two_modes_one_of_them_at_the_cut():
    """Two von Mises modes of weights 0.7 and 0.3, an interval of two variables, as one vector."""

    def two(x):
        first = math.log(0.7) + 30 * (math.cos(x[0] - 3.1) - 1)
        return np.logaddexp(first, math.log(0.3) + 30 * (math.cos(x[0] - 0.3) - 1)) - 0.5 * (x[1] - 1) ** 2

    reference = {"a": sterna.CircularUniform(), "b": sterna.Normal(0, 1)}
    result = sterna.sample(two, reference, **RUN)
    exact = math.log(ive(0, 30)) + stats.norm.logpdf(1, 0, math.sqrt(2)) + 0.5 * math.log(2 * math.pi)
    assert abs(result.log_evidence.value - exact) < 5 * result.log_evidence.error
    share = result.mean(lambda posterior: np.abs(posterior["a"].values) > 1.7)
    assert abs(share.value - 0.7) < 5 * share.error
    modes = sorted(result.summary["a"]["modes"], key=lambda mode: -mode["share"])
    assert len(modes) == 2
    assert abs(np.angle(np.exp(1j * (modes[0]["mean"] - 3.1)))) < 0.05
    assert modes[1]["mean"] == pytest.approx(0.3, abs=0.1)


def test_a_ring_of_rotors():
    """The evidence of n angles in a ring, exp(k cos(a_i - a_j)), is the sum of the n-th powers of Bessel functions."""

    def ring(a, coupling):
        total = 0.0
        for i in range(a.size):
            total += math.cos(a[i] - a[i - 1])
        return coupling * total

    n, coupling = 5, 2.0
    result = sterna.sample(ring, {"a": sterna.CircularUniform(shape=n)}, {"coupling": coupling}, **RUN)
    assert result.warnings == []
    bessel = iv(np.abs(np.arange(-30, 31)), coupling)
    assert abs(result.log_evidence.value - math.log(np.sum(bessel**n))) < 5 * result.log_evidence.error
    slopes = 0.5 * (iv(np.abs(np.arange(-31, 30)), coupling) + iv(np.abs(np.arange(-29, 32)), coupling))
    exact = np.sum(bessel ** (n - 1) * slopes) / np.sum(bessel**n)
    neighbours = result.mean(lambda posterior: np.cos(posterior["a"].values - np.roll(posterior["a"], 1, -1)).mean(-1))
    assert abs(neighbours.value - exact) < 5 * neighbours.error
    # turns of all angles together are alike, so that the mean of one alone is unknown
    assert all(math.isnan(row["mcse"]) or row["mcse"] > 0.1 for row in result.summary.values())


@pytest.mark.parametrize("fault", first(1, ["no wrap", "density"]))
def test_faults_are_caught(fault):
    """A cut, which keeps a chain on its side, is no error of the evidence; a wrong density or interval is."""
    if fault == "density":
        result = sterna.sample(seen_near, {"a": sterna.VonMises(MU, 2 * KAPPA)}, {"y": SEEN}, **RUN)
        with pytest.raises(AssertionError):
            check_angle(result)
    else:
        # without a circular summary, the mean is on the other side and two modes are found
        result = sterna.sample(seen_near, {"a": sterna.Uniform(-math.pi, math.pi)}, {"y": SEEN}, **RUN)
        pull = 2 * np.exp(1j * SEEN).sum()
        with pytest.raises(AssertionError):
            check_angle(result, pull, math.log(iv(0, abs(pull))))


@pytest.mark.laws
def test_angles_of_a_pymc_model():
    """An angle, and another that is uniform with PyMC's circular transform: both densities repeat on the line."""
    pm = pytest.importorskip("pymc")
    from pymc.distributions.transforms import circular

    with pm.Model() as model:
        a = pm.VonMises("a", MU, KAPPA)
        b = pm.Uniform("b", -math.pi, math.pi, default_transform=circular)
        pm.Potential("seen", 2.0 * pm.math.cos(SEEN - a).sum() + 1.5 * pm.math.cos(b - a))
    result = sterna.sample(model, **RUN)
    check_angle(result, log_evidence=LOG_EVIDENCE + math.log(iv(0, 1.5)))
    assert np.abs(result.states).max() <= math.pi
    strength = ive(1, abs(PULL)) / ive(0, abs(PULL)) * iv(1, 1.5) / iv(0, 1.5)
    # the circular deviation of b, from the length of its mean vector
    assert result.summary["b"]["sd"] == pytest.approx(math.sqrt(-2 * math.log(strength)), rel=0.1)


def test_a_circular_transform_behind_another_is_refused():
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        a = pm.Uniform("a", -math.pi, math.pi, transform=pm.distributions.transforms.circular)
        pm.Potential("seen", pm.math.cos(a))
    with pytest.raises(sterna.TargetError, match=r"give default_transform=pm\.distributions\.transforms\.circular"):
        sterna.from_pymc(model)


def numpyro_target():
    numpyro, dist = pytest.importorskip("numpyro"), pytest.importorskip("numpyro.distributions")
    import jax.numpy as jnp

    def model(y):
        a = numpyro.sample("a", dist.VonMises(MU, KAPPA))
        with numpyro.plate("two", 2):
            numpyro.sample("b", dist.VonMises(a, 1.5))
        numpyro.factor("seen", 2.0 * jnp.sum(jnp.cos(y - a)))

    return sterna.from_numpyro(model, SEEN)


def test_angles_of_a_numpyro_model_are_stored_as_they_are():
    target = numpyro_target()
    assert [v.periodic for v in target.space.variables] == [True, True]
    state = np.array([-3.0, 0.1, 3.1])
    log_reference, log_likelihood = target.log_densities(state)
    exact = stats.vonmises.logpdf(-3.0, KAPPA, MU) + stats.vonmises.logpdf(state[1:], 1.5, -3.0).sum()
    assert log_reference == pytest.approx(exact, rel=1e-12)
    assert log_likelihood == pytest.approx(2 * np.cos(SEEN + 3.0).sum(), rel=1e-12)
    assert target.log_densities(state + 4 * math.pi) == pytest.approx((log_reference, log_likelihood), rel=1e-12)


@pytest.mark.laws
def test_angles_of_a_numpyro_model():
    result = sterna.sample(numpyro_target(), **RUN)
    check_angle(result)
    assert np.abs(result.states).max() <= math.pi
    strength = ive(1, abs(PULL)) / ive(0, abs(PULL)) * iv(1, 1.5) / iv(0, 1.5)
    for name in ("b[0]", "b[1]"):
        assert result.summary[name]["sd"] == pytest.approx(math.sqrt(-2 * math.log(strength)), rel=0.1)
