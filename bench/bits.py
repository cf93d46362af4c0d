"""Fingerprints of runs, to compare two states of the source: SHA-256 of draws, index process and evidence.

Every run names its explorer, so that no choice depends on measured costs. Run it at both states and compare:

    python bench/bits.py > before.txt; ...; python bench/bits.py > after.txt; diff before.txt after.txt
"""

import hashlib
import sys

import numpy as np

import sterna

OPTIONS = {"n_rounds": 7, "n_copies": 2, "seed": 11, "progress": False}
DATA = {"y": np.array([1.2, -0.7, 3.1, 0.4])}


def log_likelihood(mu, sigma, y):
    return -y.size * np.log(sigma) - 0.5 * np.sum((y - abs(mu)) ** 2) / sigma**2


def gradient(mu, sigma, y):
    away = y - abs(mu)
    return np.sign(mu) * np.sum(away) / sigma**2, -y.size / sigma + np.sum(away**2) / sigma**3


def vector_likelihood(x):
    return -0.5 * np.sum((np.abs(x) - 2.0) ** 2) / 0.25


def mixed_likelihood(mu, k, flag):
    return -0.5 * (mu - k) ** 2 + 0.3 * k * flag


def metropolis_move(x, log_density, rng):
    proposal = x + 0.7 * rng.standard_normal(x.size)
    if np.log(rng.random()) < log_density(proposal) - log_density(x):
        x[:] = proposal


def many_points(mu, sigma, y):
    away = y[None, :] - np.abs(mu)[:, None]
    return -y.size * np.log(sigma) - 0.5 * np.sum(away**2, axis=1) / sigma**2


class BlackBox:
    """A likelihood that Numba cannot compile."""

    def __call__(self, mu, sigma, y):
        return log_likelihood(mu, sigma, y)


def mixture():
    reference = {"mu": sterna.Normal(0, 5), "sigma": sterna.HalfNormal(3)}
    return sterna.Target(log_likelihood, reference, DATA, gradient=gradient)


def vector():
    return sterna.Target(vector_likelihood, {"x": sterna.Normal(0, 3, shape=4)})


def mixed():
    reference = {"mu": sterna.Normal(0, 3), "k": sterna.Poisson(2), "flag": sterna.Bernoulli(0.3)}
    return sterna.Target(mixed_likelihood, reference)


def simplex():
    def weights(w, z):
        return 3.0 * np.log(w[0]) + np.log(w[2]) - 0.5 * np.sum(z**2) * w[1]

    reference = {"w": sterna.Dirichlet([1.0, 2.0, 0.7]), "z": sterna.MultivariateNormal([0, 1], [[1, 0.5], [0.5, 2]])}
    return sterna.Target(weights, reference)


def joint():
    def draw(rng):
        scale = rng.exponential()
        return scale, rng.normal(0.0, scale)

    def log_density(scale, effect):
        return -scale - np.log(scale) - 0.5 * (effect / scale) ** 2 - 0.5 * np.log(2 * np.pi)

    space = {"scale": sterna.Real(lower=0), "effect": sterna.Real()}
    return sterna.Target(lambda effect: -0.5 * (effect - 1.0) ** 2, sterna.Reference(draw, log_density, space))


def families():
    """Every family of one coordinate, drawn and explored."""
    reference = {
        "a": sterna.Uniform(-1, 2), "b": sterna.LogUniform(0.1, 5), "c": sterna.Exponential(0.7),
        "d": sterna.Gamma(2, 3),
        "e": sterna.InverseGamma(3, 2), "f": sterna.Beta(0.7, 2), "g": sterna.Cauchy(0, 1), "h": sterna.StudentT(4),
        "i": sterna.LogNormal(0, 1), "j": sterna.Categorical([0.2, 0.5, 0.3]), "k": sterna.Geometric(0.3),
        "l": sterna.Binomial(7, 0.4), "m": sterna.HalfCauchy(2), "n": sterna.DiscreteUniform(-2, 5),
        "o": sterna.Laplace(0, 1), "p": sterna.Logistic(0, 1), "q": sterna.Gumbel(0, 1), "r": sterna.Weibull(2, 1),
        "s": sterna.Pareto(3, 1), "t": sterna.TruncatedNormal(0, 1, -1, 3), "u": sterna.HalfStudentT(3),
        "v": sterna.NegativeBinomial(3, 2), "w": sterna.Spin(0.2), "x": sterna.Poisson(1.5), "y": sterna.HalfNormal(2),
    }  # fmt: skip

    def log_likelihood(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y):  # noqa: E741
        total = a + b + c + d + e + f + np.tanh(g) + h + i + j + k + l + np.tanh(m) + n + o + p + q + r + s + t + u
        return -0.02 * (total + v + w + x + y - 20.0) ** 2

    return sterna.Target(log_likelihood, reference)


def fitted():
    def log_posterior(mu, sigma):
        return -0.5 * (mu - 3.0) ** 2 / sigma**2 - np.log(sigma) - sigma

    return sterna.Target(log_posterior, sterna.FittedReference({"mu": sterna.Real(), "sigma": sterna.Real(lower=0)}))


def quantiles():
    from scipy import stats

    return sterna.Target(lambda a, b: -0.5 * (a - b) ** 2, {"a": stats.skewnorm(3), "b": stats.norm(1, 2)})


def cube():
    return sterna.Target(
        lambda a, b: -0.5 * (a * a + (b - a) ** 2), sterna.PriorTransform(lambda u: 9 * u - 4, ["a", "b"])
    )


def from_pymc():
    import pymc as pm

    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        sigma = pm.HalfNormal("sigma", 2)
        pm.Normal("y", pm.math.abs(mu), sigma, observed=DATA["y"])
    return sterna.from_pymc(model)


def from_numpyro():
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    def model(y=None):
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        sigma = numpyro.sample("sigma", dist.HalfNormal(2))
        numpyro.sample("y", dist.Normal(jnp.abs(mu), sigma), obs=y)

    return sterna.from_numpyro(model, y=DATA["y"])


def from_jax():
    import jax.numpy as jnp

    def log_likelihood(mu, y):
        return -0.5 * jnp.sum((y - jnp.abs(mu)) ** 2)

    return sterna.JaxTarget(log_likelihood, {"mu": sterna.Normal(0, 5)}, DATA)


def black_box(**options):
    reference = {"mu": sterna.Normal(0, 5), "sigma": sterna.HalfNormal(3)}
    return sterna.Target(BlackBox(), reference, DATA, **options)


def in_one_call():
    reference = {"mu": sterna.Normal(0, 5), "sigma": sterna.HalfNormal(3)}
    return sterna.Target(many_points, reference, DATA, vectorized=True)


S = sterna
CASES = {
    "slice": (mixture, S.Slice(), {}),
    "slice, half a pass": (vector, S.Slice(passes=0.5), {"keep": "all", "thin": 3}),
    "slice, mixed": (mixed, "slice", {"scheme": "seo"}),
    "slice, families": (families, S.Slice(), {"n_chains": 5}),
    "slice, simplex": (simplex, S.Slice(), {}),
    "slice, joint reference": (joint, S.Slice(), {}),
    "slice, fitted reference": (fitted, S.Slice(), {}),
    "slice, quantiles": (quantiles, S.Slice(), {}),
    "slice, cube": (cube, S.Slice(), {}),
    "metropolis": (vector, "metropolis", {"n_copies": 3}),
    "evolution": (vector, "evolution", {}),
    "independence": (families, "independence", {}),
    "fitted": (vector, "fitted", {}),
    "elliptical": (vector, "elliptical", {}),
    "hmc": (mixture, "hmc", {}),
    "mala": (mixture, "mala", {}),
    "automala": (mixture, "automala", {}),
    "gibbs": (lambda: S.models.spin_glass(size=3), "gibbs", {}),
    "cycle": (mixture, S.Cycle(S.Evolution(1), S.Fitted(1), S.HMC()), {}),
    "mix": (mixture, S.Mix(S.Slice(), S.Metropolis(), weights=[0.3, 0.7]), {}),
    "blocks": (mixed, {"mu": S.Metropolis(), ("k", "flag"): S.Slice()}, {}),
    "move": (mixture, metropolis_move, {"explorations": 2}),
    "move in Python": (lambda: black_box(compile=False), metropolis_move, {}),
    "model ising": (lambda: S.models.ising(size=4), None, {}),
    "model rotor": (lambda: S.models.rotor(size=4), None, {}),
    "model spin_glass": (lambda: S.models.spin_glass(size=4), None, {}),
    "model mixture": (S.models.mixture, None, {"n_rounds": 5}),
    "model hierarchical": (S.models.hierarchical, "slice", {"n_rounds": 4}),
    "model phylo_species": (S.models.phylo_species, None, {"n_rounds": 4}),
    "model spike_slab": (S.models.spike_slab, None, {"n_rounds": 4}),
    "model wright_fisher": (S.models.wright_fisher, "slice", {"n_rounds": 5}),
    "model copy_number": (S.models.copy_number, None, {"n_rounds": 2, "n_copies": 1}),
    "model phylo_cancer": (lambda: S.models.phylo_cancer(), None, {"n_rounds": 2, "n_copies": 1}),
    "black box": (black_box, S.Slice(), {}),
    "black box, two processes": (black_box, S.Slice(), {"workers": 2, "n_rounds": 5}),
    "vectorised": (in_one_call, S.Slice(), {}),
    "pymc": (from_pymc, S.Slice(), {}),
    "pymc hmc": (from_pymc, S.HMC(), {}),
    "numpyro": (from_numpyro, S.Slice(), {"n_rounds": 5}),
    "jax": (from_jax, S.Slice(), {"n_rounds": 5}),
    "jax hmc": (from_jax, S.HMC(), {"n_rounds": 5}),
}  # fmt: skip


def fingerprint(result):
    digest = hashlib.sha256()
    for record in result.records:
        for part in (record.draws, record.log_likelihood, record.positions):
            digest.update(np.ascontiguousarray(part).tobytes())
    for one in result.rounds:
        digest.update(one.index_process.tobytes() + one.schedule.tobytes() + one.rejection.tobytes())
    numbers = [x for e in result.evidence.values() for x in (e.value, e.error)]
    digest.update(np.array([*numbers, result.restarts, result.global_barrier, result.evaluations]).tobytes())
    return digest.hexdigest()


def main(wanted):
    for name, (build, explorer, options) in CASES.items():
        if wanted and not any(text in name for text in wanted):
            continue
        result = sterna.sample(build(), explorer=explorer, **{**OPTIONS, **options})
        print(f"{name:32} {fingerprint(result)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
