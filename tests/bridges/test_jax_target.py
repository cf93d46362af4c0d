"""Targets of JAX functions: against plain ones and closed forms, their calls, and what is refused."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import check_mean

import sterna
from sterna.bridges import jax_batches
from sterna.ground.user_function import uses_jax
from sterna.search.check import Check

Y = np.array([0.3, 1.2, -0.4, 2.0])
REFERENCE = {
    "mu": sterna.Normal(0, 2),
    "sigma": sterna.HalfNormal(1.5),
    "share": sterna.Dirichlet([1.0, 2.0, 3.0]),
    "pair": sterna.MultivariateNormal([0.5, -0.5], [[2.0, 0.6], [0.6, 1.0]]),
    "k": sterna.Poisson(2.0),
    "grid": sterna.Uniform(-1, 1, shape=(2, 2)),
}


def plain(mu, sigma, share, pair, k, grid, y):
    total = -0.5 * np.sum(((y - mu - k) / sigma) ** 2) - y.size * np.log(sigma)
    return total + np.sum(np.arange(3) * np.log(share)) - np.sum(pair**4) + grid[0, 1] * grid[1, 0] * k


def batched(mu, sigma, share, pair, k, grid, y):
    total = -0.5 * jnp.sum(((y - mu - k) / sigma) ** 2) - y.size * jnp.log(sigma)
    return total + jnp.sum(jnp.arange(3) * jnp.log(share)) - jnp.sum(pair**4) + grid[0, 1] * grid[1, 0] * k


def states(target, n):
    from sterna.engine.round import draw_states
    from sterna.ground.streams import new_stream

    found = np.zeros((n, target.dimension))
    draw_states(target.block, 3, found, np.zeros(1, dtype=np.int64), new_stream())
    return found


def test_same_densities_as_a_plain_function():
    """All kinds of variables, those stored in other coordinates too; and gradients by central differences."""
    ours = sterna.JaxTarget(batched, REFERENCE, {"y": Y})
    theirs = sterna.Target(plain, REFERENCE, {"y": Y})
    real = ours.program.value_type == 0
    for x in states(ours, 3):
        assert np.allclose(ours.log_densities(x), theirs.log_densities(x), rtol=1e-12)
        found = ours.gradient(x, 0.7)
        assert (found[~real] == 0).all()
        for i in np.flatnonzero(real):
            step = np.zeros(ours.dimension)
            step[i] = 1e-6 * max(1.0, abs(x[i]))
            high, low = (np.dot(theirs.log_densities(point), (1.0, 0.7)) for point in (x + step, x - step))
            assert found[i] == pytest.approx((high - low) / (2 * step[i]), rel=1e-4, abs=1e-4)


def normal(x):
    return -2.0 * jnp.sum(x**2)


@pytest.mark.parametrize("explorer", [sterna.Slice(), sterna.HMC()], ids=["slice", "hmc"])
def test_normal_law(explorer):
    """Evidence and a second moment in closed form: a false alarm of 6e-5 each."""
    target = sterna.JaxTarget(normal, {"x": sterna.Normal(0, 1, shape=3)})
    result = sterna.sample(target, explorer=explorer, n_chains=5, n_rounds=8, progress=False)
    assert abs(result.log_evidence.value + 1.5 * np.log(5.0)) < 4 * result.log_evidence.error
    check_mean(np.asarray(result.posterior["x"])[0, :, 0] ** 2, 0.2)
    # a wrong distribution is told from the right one
    with pytest.raises(AssertionError):
        check_mean(np.asarray(result.posterior["x"])[0, :, 0] ** 2, 0.4)


def test_same_draws_as_a_vectorised_function():
    """Where arithmetic is exact, a run is the same as that of NumPy's function, to the last bit."""
    space = {"x": sterna.DiscreteUniform(-8, 8, shape=3)}
    ours = sterna.JaxTarget(lambda x: -0.25 * jnp.sum(jnp.abs(x)), space)
    theirs = sterna.Target(lambda x: -0.25 * np.abs(x).sum(axis=1), space, vectorized=True)
    alone = sterna.Target(lambda x: -0.25 * np.sum(np.abs(x)), space)
    runs = [
        sterna.sample(t, n_chains=4, n_rounds=5, explorer=sterna.Slice(), progress=False) for t in (ours, theirs, alone)
    ]
    for other in runs[1:]:
        assert np.array_equal(runs[0].posterior["x"], other.posterior["x"])
        assert runs[0].evaluations == other.evaluations


def test_same_bits_again_and_for_any_workers():
    target = sterna.JaxTarget(normal, {"x": sterna.Normal(0, 1, shape=3)})
    runs = [
        sterna.sample(target, explorer=sterna.HMC(), n_chains=5, n_rounds=5, n_copies=2, workers=w, progress=False)
        for w in (1, 2, 2)
    ]
    for other in runs[1:]:
        assert np.array_equal(runs[0].posterior["x"], other.posterior["x"])


def test_one_call_serves_all_chains_and_finds_the_gradient_too(monkeypatch):
    """A value at a point whose gradient is remembered costs no call, and the reference's draw joins another call."""
    calls = []
    original = jax_batches.batch_function_of

    def counted(function, data, places):
        made = original(function, data, places)

        def evaluate(points, size):
            calls.append((len(places), len(points)))
            return made.evaluate(points, size)

        return type(made)(evaluate, made.slots, made.reason)

    monkeypatch.setattr("sterna.bridges.jax_target.batch_function_of", counted)
    # the search for missed mass makes calls of its own
    monkeypatch.setattr("sterna.run.tune.search_after_tuning", lambda runtime, state: state.search)
    monkeypatch.setattr("sterna.run.outcome.check_at_end", lambda runtime, state, log_evidence: Check())
    target = sterna.JaxTarget(normal, {"x": sterna.Normal(0, 1, shape=3)})
    calls.clear()
    result = sterna.sample(target, explorer=sterna.MALA(), n_chains=6, n_rounds=5, explorations=1, progress=False)
    scans = sum(one.n_scans for one in result.rounds)
    # all starting points at once, and again for a check; then a scan of MALA's two moves: gradients at the state and at
    # two others
    assert calls == [(1, 6)] * 2 + [(2, 6), (2, 5), (2, 5)] * scans
    assert result.evaluations == 6 + (1 + 5 * 2) * scans


def test_rows():
    assert [jax_batches.rows_for(n, n) for n in (1, 8, 9, 13, 17, 30, 33, 100)] == [8, 8, 12, 16, 24, 32, 48, 128]
    assert [jax_batches.rows_for(n, 30) for n in (30, 17, 16, 9, 8, 1)] == [32, 32, 16, 16, 8, 8]
    assert [jax_batches.rows_for(n, 20) for n in (20, 13, 12, 1)] == [24, 24, 12, 12]


def test_trees():
    """A pytree of distributions gives the function the same tree of values."""
    reference = {"layer": [{"w": sterna.Normal(0, 1, shape=2), "b": sterna.Normal()}], "scale": (sterna.HalfNormal(),)}

    def log_likelihood(tree, y):
        (layer,), (scale,) = tree["layer"], tree["scale"]
        return -0.5 * jnp.sum((y - layer["w"].sum() - layer["b"]) ** 2) / scale

    target = sterna.JaxTarget(log_likelihood, reference, {"y": Y})
    assert target.space.names == ["layer_0_b", "layer_0_w", "scale_0"]
    exact = -0.5 * np.sum((Y - 0.3 - 0.1) ** 2) / 2.0
    found = target.log_densities(layer_0_b=0.1, layer_0_w=[0.1, 0.2], scale_0=2.0)[1]
    assert found == pytest.approx(exact, rel=1e-14)
    (note,) = target.notes
    assert "one call" in note


def test_two_names_of_a_tree_that_are_one():
    with pytest.raises(sterna.TargetError, match="'a_b'"):
        sterna.JaxTarget(normal, {"a": {"b": sterna.Normal()}, "a_b": sterna.Normal()})


def test_a_gradient_that_jax_cannot_find():
    """The run goes on without, and says so."""

    def log_likelihood(x):
        return -jax.lax.while_loop(lambda v: v > 1.0, lambda v: 0.5 * v, x**2)

    target = sterna.JaxTarget(log_likelihood, {"x": sterna.Normal()})
    assert not target.has_gradient
    assert any("There is no gradient" in note for note in target.notes)
    assert target.log_densities(x=2.0)[1] == -1.0


def branching(x):
    return -x if x > 0 else x


def vector(x):
    return -(jnp.zeros(3) + x)


def unknown(x, other):
    return x


@pytest.mark.parametrize(
    ("function", "words"),
    [(branching, "jax.lax.cond"), (vector, "forget a sum"), (unknown, "parameter 'other'"), (3, "not a function")],
)
def test_refusals(function, words):
    with pytest.raises(sterna.TargetError, match=words):
        sterna.JaxTarget(function, {"x": sterna.Normal()})


def test_what_is_no_reference():
    with pytest.raises(sterna.TargetError, match="neither a dict"):
        sterna.JaxTarget(normal, "x")
    with pytest.raises(sterna.TargetError, match="no distribution"):
        sterna.JaxTarget(normal, {"a": {"b": 3.0}})


def test_an_error_names_its_point():
    """NaN in one row of a batch, at whichever chain."""
    target = sterna.JaxTarget(lambda x: jnp.log(x), {"x": sterna.Normal()}, name="logarithm")
    with pytest.raises(sterna.EvaluationError, match="log-likelihood is NaN at x=-"):
        sterna.sample(target, n_chains=4, n_rounds=2, explorer=sterna.Slice(), progress=False)


def test_points_of_nan_may_be_rejected():
    target = sterna.JaxTarget(lambda x: jnp.log(x) - x * x, {"x": sterna.Normal()}, name="logarithm")
    for explorer in ("slice", "hmc"):
        result = sterna.sample(
            target, n_chains=4, n_rounds=4, explorer=explorer, path="prior", on_error="reject", progress=False
        )
        assert result.failed_evaluations.likelihood_nan == result.failed_evaluations.of_likelihood > 0
        assert (result.states > 0.0).all()


def test_sterna_alone_imports_no_bridge():
    code = "import sterna, sys; sterna.JaxTarget; assert not {'jax', 'numpyro'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lists_and_tuples_are_part_of_the_function():
    """They may be shapes, which JAX must know."""

    def log_likelihood(x, shape, weights):
        return -jnp.sum(jnp.ones(shape)) * x**2 - sum(float(weight) for weight in weights)

    target = sterna.JaxTarget(log_likelihood, {"x": sterna.Normal()}, {"shape": (2, 3), "weights": [1, 2]})
    assert target.log_densities(x=1.0)[1] == -9.0


def with_jax(x):
    return -jnp.sum(x**2)


def calls_jax(x):
    return with_jax(x)


@pytest.mark.parametrize("function", [with_jax, calls_jax, jax.jit(with_jax)], ids=["itself", "by another", "jitted"])
def test_plain_targets_of_jax_functions_are_told_of_jax_targets(function):
    (note,) = sterna.Target(function, {"x": sterna.Normal(0, 1, shape=2)}).notes
    assert "runs as Python, not compiled: it uses JAX, which Numba cannot compile; sterna.JaxTarget" in note


def test_a_gradient_by_jax_is_not_given_to_numba():
    """Numba would compile JAX itself, for minutes."""
    target = sterna.Target(with_jax, {"x": sterna.Normal(0, 1, shape=2)}, gradient=jax.grad(with_jax))
    assert np.allclose(target.gradient([1.0, 2.0]), [-3.0, -6.0])
    assert any(note.startswith("gradient runs as Python") and "sterna.JaxTarget" in note for note in target.notes)


def test_jax_is_not_looked_for_unless_it_is_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "jax")
    assert not uses_jax(with_jax)


def test_a_jax_target_takes_a_prior_and_explains_its_arguments():
    reference = {"x": sterna.Normal(0, 1, shape=2)}
    assert sterna.JaxTarget(with_jax, prior=reference).space.names == ["x"]
    with pytest.raises(sterna.OptionError, match="two names for the same thing"):
        sterna.JaxTarget(with_jax, reference, prior=reference)
    with pytest.raises(sterna.OptionError, match=r"sterna.JaxTarget has no option vectorized="):
        sterna.JaxTarget(with_jax, reference, vectorized=True)
    with pytest.raises(sterna.TargetError, match="data= is of type list"):
        sterna.JaxTarget(with_jax, reference, [1.0])
