"""Cost of an evaluation: compiled by Numba, and by JAX for all chains at once. Prints microseconds of CPU time.

Run with JAX_CPU_ENABLE_ASYNC_DISPATCH=0 to see what a call costs that is not handed to another thread.
"""

import time

import jax.numpy as jnp
import numpy as np

import sterna

CHAINS = 30


def plain_normal(x):
    return -2.0 * np.sum(x**2)


def jax_normal(x):
    return -2.0 * jnp.sum(x**2)


def plain_logistic(beta, design, y):
    eta = design @ beta
    return np.sum(y * eta - np.logaddexp(0.0, eta))


def plain_gradient(beta, design, y):
    return design.T @ (y - 1.0 / (1.0 + np.exp(-(design @ beta))))


def jax_logistic(beta, design, y):
    eta = design @ beta
    return jnp.sum(y * eta - jnp.logaddexp(0.0, eta))


def plain_matrix(x, design):
    """Twenty products with a matrix of 200 rows: an expensive likelihood."""
    state = np.outer(np.ones(200), x)
    for _ in range(20):
        state = np.tanh(design @ state)
    return -np.sum(state**2)


def jax_matrix(x, design):
    state = jnp.outer(jnp.ones(200), x)
    for _ in range(20):
        state = jnp.tanh(design @ state)
    return -jnp.sum(state**2)


def measure(name, target, explorer, scans):
    """Print CPU and wall time per evaluation, of values and gradients, after a run that compiles everything."""
    options = {"n_chains": CHAINS, "explorer": explorer, "progress": False, "explorations": 1}
    sterna.sample(target, n_rounds=3, n_scans=4, **options)
    began, clock = time.process_time(), time.perf_counter()
    result = sterna.sample(target, n_rounds=3, n_scans=scans, **options)
    count = result.evaluations + result.gradient_evaluations
    cpu, wall = time.process_time() - began, time.perf_counter() - clock
    print(f"{name:<42}{count:>9}{cpu / count * 1e6:>12.2f}{wall / count * 1e6:>12.2f}", flush=True)


def main():
    rng = np.random.default_rng(1)
    design = rng.standard_normal((1000, 20))
    data = {"design": design, "y": (rng.random(1000) < 0.5).astype(float)}
    print(f"{'':<42}{'count':>9}{'CPU us':>12}{'wall us':>12}")
    prior = {"x": sterna.Normal(0, 1, shape=5)}
    measure("normal d=5, slices, Numba", sterna.Target(plain_normal, prior), sterna.Slice(), 2000)
    vectorised = sterna.Target(lambda x: -2.0 * np.sum(x**2, axis=1), prior, vectorized=True)
    measure("normal d=5, slices, NumPy batch", vectorised, sterna.Slice(), 100)
    measure("normal d=5, slices, JAX", sterna.JaxTarget(jax_normal, prior), sterna.Slice(), 100)
    prior = {"beta": sterna.Normal(0, 1, shape=20)}
    compiled = sterna.Target(plain_logistic, prior, data, gradient=plain_gradient)
    measure("logistic 1000 x 20, slices, Numba", compiled, sterna.Slice(), 4)
    measure("logistic 1000 x 20, slices, JAX", sterna.JaxTarget(jax_logistic, prior, data), sterna.Slice(), 4)
    measure("logistic 1000 x 20, HMC, Numba", compiled, sterna.HMC(), 40)
    measure("logistic 1000 x 20, HMC, JAX", sterna.JaxTarget(jax_logistic, prior, data), sterna.HMC(), 40)
    prior = {"x": sterna.Normal(0, 1, shape=3)}
    heavy = {"design": rng.standard_normal((200, 200)) / 20}
    measure("20 products of 200 x 200, slices, Numba", sterna.Target(plain_matrix, prior, heavy), sterna.Slice(), 4)
    measure("20 products of 200 x 200, slices, JAX", sterna.JaxTarget(jax_matrix, prior, heavy), sterna.Slice(), 4)


if __name__ == "__main__":
    main()
