"""BlackJAX's adaptive tempered SMC; Hamiltonian Monte Carlo with the particles' variances, or random walks."""

import blackjax
import blackjax.smc.resampling as resampling
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.smc import adaptive_tempered, extend_params
from blackjax.smc.tuning.from_particles import inverse_mass_matrix_from_particles
from problem import Outcome, Problem, Settings, clock
from unbounded import draw_prior, log_likelihood, log_prior, to_prior

# of its documentation: 10 000 particles, an effective size of 0.75 after each step; ten moves are its default
PARTICLES, BUSY_PARTICLES, TARGET_ESS, MOVES, LEAPFROGS = 10_000, 1000, 0.75, 10, 10
HAMILTONIAN_RATE, WALK_RATE = 0.65, 0.234


def walk_step(key, state, log_density, step_size, scales):
    """Propose from a normal distribution with the particles' scales."""
    kernel = blackjax.additive_step_random_walk.build_kernel()
    return kernel(key, state, log_density, lambda key, x: step_size * scales * jax.random.normal(key, x.shape))


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    size = 200 if settings.quick else BUSY_PARTICLES if problem.busy else PARTICLES
    step, init = blackjax.hmc.build_kernel(), blackjax.hmc.init
    if problem.busy:
        step, init = walk_step, blackjax.additive_step_random_walk.init
    kernel = adaptive_tempered.build_kernel(
        log_prior(problem), log_likelihood(problem), step, init, resampling.systematic, TARGET_ESS
    )

    def parameters(particles, size_of_step):
        variances = jnp.diag(jnp.atleast_2d(inverse_mass_matrix_from_particles(particles)))
        if problem.busy:
            return extend_params({"step_size": size_of_step, "scales": jnp.sqrt(variances)})
        return extend_params(
            {"step_size": size_of_step, "inverse_mass_matrix": variances, "num_integration_steps": LEAPFROGS}
        )

    def one(key, state, size_of_step):
        state, info = kernel(key, state, MOVES, parameters(state.particles, size_of_step))
        return state, info.log_likelihood_increment, info.update_info.acceptance_rate.mean()

    key, rng = jax.random.key(seed), np.random.default_rng(seed)
    state = adaptive_tempered.init(draw_prior(problem, rng, size))
    began, size_of_step = clock(), 0.5
    compiled = jax.jit(one).lower(key, state, jnp.asarray(size_of_step)).compile()
    compile_seconds, log_z, stages = clock() - began, 0.0, 0
    rate = WALK_RATE if problem.busy else HAMILTONIAN_RATE
    while state.tempering_param < 1.0:
        key, used = jax.random.split(key)
        state, increment, accepted = compiled(used, state, jnp.asarray(size_of_step))
        log_z, stages = log_z + float(increment), stages + 1
        # as its `update_scale_from_acceptance_rate`
        size_of_step *= float(np.exp(float(accepted) - rate))
    draws = np.asarray(to_prior(problem)(state.particles))
    # a resampled population: its effective size cannot be larger than the number of different particles
    ess = float(len(np.unique(draws[:, 0])))
    evaluations = size * MOVES * stages * (1 if problem.busy else LEAPFROGS)
    return Outcome(draws, evaluations, ess, None, log_z, None, compile_seconds)
