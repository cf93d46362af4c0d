"""Problems in JAX on unbounded coordinates: logistic for a uniform prior, standard normal for a normal one."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from problem import FloatArray, Problem

jax.config.update("jax_enable_x64", True)


def to_prior(problem: Problem) -> Callable[[Any], Any]:
    """Return the map to the coordinates of the problem; the last axis is the coordinate."""
    prior = problem.prior

    def mapped(u):
        uniform = prior.first + (prior.second - prior.first) * jax.nn.sigmoid(u)
        return jnp.where(prior.is_normal, prior.first + prior.second * u, uniform)

    return mapped


def log_prior(problem: Problem) -> Callable[[Any], Any]:
    """Return the density of one unbounded vector."""
    is_normal = problem.prior.is_normal

    def of(u):
        logistic = -jnp.logaddexp(0.0, u) - jnp.logaddexp(0.0, -u)
        return jnp.sum(jnp.where(is_normal, -0.5 * u**2 - 0.5 * np.log(2 * np.pi), logistic), axis=-1)

    return of


def log_likelihood(problem: Problem) -> Callable[[Any], Any]:
    """Return the log-likelihood of one unbounded vector; a busy one is called back and has no gradient."""
    mapped, plain = to_prior(problem), problem.plain()
    if not problem.busy:
        return lambda u: problem.log_likelihood(mapped(u), jnp)
    shape = jax.ShapeDtypeStruct((), jnp.float64)

    def called(x: FloatArray) -> FloatArray:
        return np.float64(plain(np.asarray(x)))

    return lambda u: jax.pure_callback(called, shape, mapped(u), vmap_method="sequential")


def draw_prior(problem: Problem, rng: np.random.Generator, *shape: int) -> Any:
    """Draw unbounded vectors from the prior."""
    number = (*shape, problem.dimension)
    return jnp.asarray(np.where(problem.prior.is_normal, rng.standard_normal(number), rng.logistic(size=number)))
