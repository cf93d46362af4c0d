"""NumPyro models: the split of their density, draws, names, and what is refused."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from numpyro.infer.util import log_density, potential_energy
from numpyro_checks import check_case, run_case
from numpyro_models import CASES, NORMAL_DATA
from scipy import stats

import sterna
from sterna.bridges import numpyro_sites


def target_of(name):
    return sterna.from_numpyro(CASES[name].model, *CASES[name].arguments)


def states_of(target, n=5):
    """Draws from the reference, by the target's own function."""
    reference = np.zeros((n, target.dimension))
    from sterna.engine.round import draw_states
    from sterna.ground.streams import new_stream

    draw_states(target.block, 7, reference, np.zeros(1, dtype=np.int64), new_stream())
    return reference


def check_split(name):
    """Reference and likelihood add up to NumPyro's own density: of the variables, and of the unconstrained ones."""
    case, target = CASES[name], target_of(name)
    sites = target.view.model.sites
    for x in states_of(target):
        total = sum(target.log_densities(x))
        values = target.values(x)
        discrete = {k: values[k] for k, site in sites.items() if site.discrete}
        line = {k: x[s.start : s.stop].reshape(s.stored) for k, s in sites.items() if not s.discrete}
        with jax.enable_x64(True):
            known = handlers.substitute(case.model, data=discrete)
            energy = potential_energy(known, case.arguments, {}, line)
            assert total == pytest.approx(-float(energy), abs=1e-9, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_split_adds_up(name):
    check_split(name)


def test_split_without_jacobian_is_caught(monkeypatch):
    monkeypatch.setattr(numpyro_sites.Site, "log_jacobian", lambda self, stored, found: 0.0)
    with pytest.raises(AssertionError):
        check_split("censored")


def test_parts_of_the_split():
    """The reference is the prior alone, and the likelihood that of the data, in closed form."""
    target = target_of("normal_normal")
    reference, likelihood = target.log_densities(np.array([0.7]))
    with jax.enable_x64(True):
        assert reference == pytest.approx(float(dist.Normal(0.0, 2.0).log_prob(0.7)), abs=1e-12)
        exact = 2.0 * float(dist.Normal(0.7, 1.5).log_prob(NORMAL_DATA).sum())
    assert likelihood == pytest.approx(exact, abs=1e-12)


def test_nan_means_density_zero():
    """As in NumPyro's own samplers; half of a normal distribution is left, within 4 standard errors (6e-5)."""

    def model():
        mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
        numpyro.factor("half", jnp.where(mu > 0.0, 0.0, jnp.nan))

    result = sterna.sample(sterna.from_numpyro(model), n_rounds=6, n_chains=4, progress=False)
    assert (result.posterior["mu"] > 0).all()
    assert abs(result.log_evidence.value - math.log(0.5)) < 4 * result.log_evidence.error < 0.8


def test_gradients():
    """Both gradients are those of the log-densities, by central differences."""
    target = target_of("eight_schools")
    x = 0.3 * np.arange(target.dimension) - 0.5
    for beta in (0.0, 0.4):
        found = target.gradient(x, beta)
        for i, step in enumerate(1e-5 * np.eye(target.dimension)):
            high, low = (np.dot(target.log_densities(point), (1.0, beta)) for point in (x + step, x - step))
            assert found[i] == pytest.approx((high - low) / 2e-5, abs=1e-6)


def test_scale_of_an_unobserved_site():
    """The reference is the site's unscaled distribution, and the remaining power is likelihood."""

    def model():
        with handlers.scale(scale=3.0):
            numpyro.sample("x", dist.Gamma(2.0, 1.0))

    target = sterna.from_numpyro(model)
    reference, likelihood = target.log_densities(np.array([0.5]))
    with jax.enable_x64(True):
        unscaled = float(dist.Gamma(2.0, 1.0).log_prob(jnp.exp(0.5)))
        joint = float(log_density(model, (), {}, {"x": jnp.exp(0.5)})[0])
    assert reference == pytest.approx(unscaled + 0.5, abs=1e-12)
    assert reference + likelihood == pytest.approx(joint + 0.5, abs=1e-12)


def test_scan():
    """Sites of a state space model, of which each step samples one entry."""

    def model(y):
        spread = numpyro.sample("spread", dist.HalfNormal(1.0))

        def step(x, seen):
            x = numpyro.sample("x", dist.LogNormal(jnp.log(x), spread))
            numpyro.sample("y", dist.Normal(x, 1.0), obs=seen)
            return x, None

        scan(step, 1.0, y)

    y = np.array([1.0, 2.0, 3.0])
    target = sterna.from_numpyro(model, y)
    with jax.enable_x64(True):
        energy = potential_energy(model, (y,), {}, {"spread": jnp.array(0.1), "x": jnp.array([0.2, 0.3, 0.4])})
    assert sum(target.log_densities(np.array([0.1, 0.2, 0.3, 0.4]))) == pytest.approx(-float(energy), abs=1e-9)


def test_mask_of_observations():
    def model(y):
        x = numpyro.sample("x", dist.Normal(0.0, 1.0))
        with handlers.mask(mask=np.array([True, False, True])):
            numpyro.sample("y", dist.Normal(x, 1.0).expand([3]), obs=y)

    target = sterna.from_numpyro(model, np.array([1.0, 50.0, 2.0]))
    with jax.enable_x64(True):
        exact = float(dist.Normal(0.3, 1.0).log_prob(jnp.array([1.0, 2.0])).sum())
    assert target.log_densities(np.array([0.3]))[1] == pytest.approx(exact, abs=1e-12)


def test_edges_have_density_zero():
    """A value that rounds to the edge of its support, and an integer beyond a bound that another site sets."""

    def model():
        scale = numpyro.sample("scale", dist.HalfCauchy(1.0))
        numpyro.sample("effect", dist.Normal(0.0, scale))
        n = numpyro.sample("n", dist.Poisson(3.0))
        numpyro.sample("k", dist.Binomial(n, 0.5))
        numpyro.factor("nothing", 0.0)

    target = sterna.from_numpyro(model)
    assert target.log_densities(np.array([-800.0, 0.1, 2.0, 1.0])) == (-np.inf, -np.inf)
    assert target.log_densities(np.array([900.0, 0.1, 2.0, 1.0])) == (-np.inf, -np.inf)
    assert target.log_densities(np.array([0.0, 0.1, 2.0, 3.0])) == (-np.inf, -np.inf)
    assert np.isfinite(target.log_densities(np.array([0.0, 0.1, 2.0, 2.0]))).all()


def test_posterior_has_the_models_names_and_predicts():
    """Short, and right: evidence and two means, each a false alarm of 6e-5."""
    case = CASES["normal_normal"]
    result = run_case(case.model, case.arguments, n_rounds=9, explorer=sterna.HMC())
    check_case(result, case.truth())
    assert list(result.posterior) == ["mu", "twice"]
    assert np.allclose(result.posterior["twice"], 2.0 * result.posterior["mu"])
    samples = sterna.numpyro_samples(result)
    with jax.enable_x64(True):
        predicted = numpyro.infer.Predictive(case.model, samples)(jax.random.key(1), jnp.zeros(5))
    assert predicted["twice"].shape == samples["mu"].shape


def test_plates_are_dimensions():
    def model():
        with numpyro.plate("row", 2, dim=-2), numpyro.plate("column", 3, dim=-1):
            x = numpyro.sample("x", dist.Dirichlet(jnp.ones(4)))
            numpyro.deterministic("first", x[..., 0])
        numpyro.factor("weight", numpyro.sample("a/b", dist.Normal(0.0, 1.0)))

    target = sterna.from_numpyro(model)
    result = sterna.sample(target, n_rounds=2, n_chains=2, explorer=sterna.Slice(), progress=False)
    assert result.posterior["x"].dims == ("copy", "draw", "row", "column", "x_dim_2")
    assert result.posterior["first"].dims == ("copy", "draw", "row", "column")
    assert np.allclose(result.posterior["x"].sum("x_dim_2"), 1.0)
    assert "a/b" in result.posterior
    assert "a/b" in result.summary


def test_same_bits_again_and_for_any_workers():
    """For one worker and for two, and for a target made again."""
    options = {"n_chains": 4, "n_rounds": 4, "n_copies": 2, "explorer": sterna.Slice(), "progress": False}
    target = target_of("change_point")
    runs = [sterna.sample(target, workers=w, **options) for w in (1, 2)]
    runs.append(sterna.sample(target_of("change_point"), **options))
    for other in runs[1:]:
        assert np.array_equal(runs[0].posterior["rate"], other.posterior["rate"])
        assert runs[0].log_evidence.value == other.log_evidence.value


def test_draws_are_of_the_stream_alone():
    """Kolmogorov's test of NumPyro's draws through the replicas' streams: a false alarm of 1e-4."""
    from scipy import stats

    target = target_of("censored")
    draws = np.exp(states_of(target, 2000)[:, 0])
    assert stats.kstest(draws, stats.gamma(2.0, scale=1 / 1.5).cdf).pvalue > 1e-4
    assert np.array_equal(draws, np.exp(states_of(target, 2000)[:, 0]))


def test_data_are_copied():
    def model(y):
        numpyro.sample("y", dist.Normal(numpyro.sample("x", dist.Normal(0.0, 1.0)), 1.0).expand([3]), obs=y)

    y = np.zeros(3)
    target = sterna.from_numpyro(model, y)
    y[:] = 100.0
    assert target.log_densities(np.zeros(1))[1] == pytest.approx(-1.5 * np.log(2 * np.pi))


def test_jax_elsewhere_keeps_its_32_bits():
    target_of("censored").log_densities(np.array([0.1]))
    assert jnp.zeros(1).dtype == np.float32


def subsampled():
    with numpyro.plate("data", 10, subsample_size=3):
        numpyro.sample("x", dist.Normal(0.0, 1.0))


def with_parameter():
    numpyro.sample("x", dist.Normal(numpyro.param("centre", 0.0), 1.0))


def with_key():
    numpyro.sample("x", dist.Normal(0.0, 1.0))
    jax.random.normal(numpyro.prng_key())


def masked():
    with handlers.mask(mask=np.array([True, False])):
        numpyro.sample("x", dist.Normal(0.0, 1.0).expand([2]))


def improper():
    numpyro.sample("x", dist.ImproperUniform(dist.constraints.real, (), ()))


def fixed():
    numpyro.sample("x", dist.Delta(1.0))


def multinomial():
    numpyro.sample("x", dist.Multinomial(3, jnp.ones(2) / 2))


def branching():
    if numpyro.sample("x", dist.Normal(0.0, 1.0)) > 0:
        numpyro.factor("positive", 1.0)


def empty():
    numpyro.sample("x", dist.Normal(0.0, 1.0), obs=0.0)


def unobserved(y=None):
    x = numpyro.sample("x", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(x, 1.0), obs=y)


def of_data(x, *, y, scale=1.0):
    numpyro.sample("y", dist.Normal(numpyro.sample("mu", dist.Normal(x, scale)), 1.0), obs=y)


def shaped_by_a_value():
    numpyro.factor("size", jnp.zeros(numpyro.sample("x", dist.Poisson(1.0))).sum())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (unobserved, "no observed site and no factor, so its posterior is its prior. Give the data"),
        (of_data, r"of_data\(x, \*, y, scale=1.0\) cannot be .* argument: 'x'.*from_numpyro\(model, x=x, y=y\)"),
        (shaped_by_a_value, "has a shape that depends on"),
        (subsampled, "subsample of 3 of 10"),
        (with_parameter, "parameter 'centre'"),
        (with_key, "random key"),
        (masked, "is masked"),
        (improper, "ImproperUniform"),
        (fixed, "Delta"),
        (multinomial, "depend on each other"),
        (branching, "branches on the value"),
        (empty, "no unobserved"),
    ],
)
def test_refusals(model, words):
    with pytest.raises(sterna.TargetError, match=words):
        sterna.from_numpyro(model)


def test_a_shape_may_depend_on_data():
    def model(group, y):
        sizes = jnp.zeros(group.max() + 1)
        effect = numpyro.sample("effect", dist.Normal(sizes, 1.0).to_event(1))
        numpyro.sample("y", dist.Normal(effect[group], 1.0), obs=y)

    target = sterna.from_numpyro(model, np.array([0, 1, 1, 2]), np.zeros(4))
    assert target.dimension == 3


def test_names_that_are_alike_as_identifiers_are_kept_apart():
    def model():
        a, b = (numpyro.sample(name, dist.Normal(0.0, 1.0)) for name in ("a.b", "a/b"))
        numpyro.sample("y", dist.Normal(a + 2 * b, 0.1), obs=3.0)

    result = sterna.sample(sterna.from_numpyro(model), n_rounds=4, n_chains=3, progress=False)
    assert list(result.posterior) == ["a.b", "a/b"]


def test_plates_of_several_sizes_name_no_dimension():
    def model():
        for name, size in (("x", 2), ("z", 3)):
            with numpyro.plate("row", size):
                numpyro.sample(name, dist.Normal(0.0, 1.0))
        numpyro.factor("one", 1.0)

    result = sterna.sample(sterna.from_numpyro(model), n_rounds=3, n_chains=3, progress=False)
    assert result.posterior["x"].dims[2:] == ("x_dim_0",)
    assert result.posterior["z"].dims[2:] == ("z_dim_0",)


def test_not_a_model():
    with pytest.raises(sterna.TargetError, match=r"numpyro\.sample statements"):
        sterna.from_numpyro(3)


def test_arviz_has_observations_and_pointwise_log_likelihoods():
    """Two observed sites, scaled by a number and by an array, and a factor, which is no observation."""

    def model(y, z):
        mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
        with numpyro.plate("row", len(y)), numpyro.handlers.scale(scale=jnp.array([1.0, 3.0, 1.0])):
            numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)
        with numpyro.handlers.scale(scale=2.0):
            numpyro.sample("z", dist.Poisson(jnp.exp(mu)), obs=z)
        numpyro.factor("penalty", -(mu**2))

    y = np.array([0.5, -1.0, 2.0])
    result = sterna.sample(sterna.from_numpyro(model, y, 3), n_rounds=4, n_chains=4, progress=False)
    tree = result.to_arviz()
    mu = tree["posterior"]["mu"].values
    pointwise = tree["log_likelihood"]
    assert set(pointwise.data_vars) == set(tree["observed_data"].data_vars) == {"y", "z"}
    assert pointwise["y"].dims == ("chain", "draw", "row")
    expected = [1.0, 3.0, 1.0] * stats.norm(mu[..., None], 1.0).logpdf(y)
    assert pointwise["y"].values == pytest.approx(expected, abs=1e-12)
    assert pointwise["z"].values == pytest.approx(2.0 * stats.poisson(np.exp(mu)).logpmf(3), abs=1e-12)
    assert np.array_equal(tree["observed_data"]["y"], y)
