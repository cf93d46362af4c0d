"""TensorFlow Probability's ReplicaExchangeMC on JAX: prior and tempered likelihood, Hamiltonian Monte Carlo."""

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow_probability.substrates.jax as tfp
from problem import Outcome, Problem, Settings, clock
from unbounded import draw_prior, log_likelihood, log_prior, to_prior

REPLICAS, HOTTEST, LEAPFROGS, BLOCK, COPIES = 16, 1e-4, 5, 100, 4
RATES = {"hamiltonian": 0.65, "walk": 0.3}


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    began, block, copies = clock(), 20 if problem.busy else BLOCK, 1 if problem.busy else COPIES
    kind = "walk" if problem.busy else "hamiltonian"
    # geometric, as its documentation recommends, and 0, where replicas sample the prior
    betas = np.append(np.geomspace(1.0, HOTTEST, REPLICAS - 1), 0.0)
    prior, likelihood = log_prior(problem), log_likelihood(problem)
    many = jax.vmap(jax.vmap(likelihood))

    def tempered(u):
        return many(u) if u.ndim == 3 else jax.vmap(likelihood)(u)

    def one_block(key, states, steps):
        def make(target, **_):
            sizes = steps[:, None, None]
            if problem.busy:
                proposal = tfp.mcmc.random_walk_normal_fn(scale=sizes)
                return tfp.mcmc.RandomWalkMetropolis(target, new_state_fn=proposal)
            return tfp.mcmc.HamiltonianMonteCarlo(target, step_size=sizes, num_leapfrog_steps=LEAPFROGS)

        kernel = tfp.mcmc.ReplicaExchangeMC(
            target_log_prob_fn=None,
            inverse_temperatures=betas,
            make_kernel_fn=make,
            swap_proposal_fn=tfp.mcmc.even_odd_swap_proposal_fn(1.0),
            state_includes_replicas=True,
            untempered_log_prob_fn=prior,
            tempered_log_prob_fn=tempered,
        )

        def traced(_, results):
            rates = jnp.exp(jnp.minimum(0.0, results.pre_swap_replica_results.log_accept_ratio))
            return rates, results.post_swap_replica_states[0]

        _, (rates, all_states) = tfp.mcmc.sample_chain(block, states, kernel=kernel, trace_fn=traced, seed=key)
        return all_states[:, 0], all_states[-1], rates.mean(axis=(0, 2))

    key, rng = jax.random.key(seed), np.random.default_rng(seed)
    states = draw_prior(problem, rng, REPLICAS, copies)
    steps = np.full(REPLICAS, 0.5)
    start = clock()
    compiled = jax.jit(one_block).lower(key, states, jnp.asarray(steps)).compile()
    compile_seconds = clock() - start
    kept, blocks = [], 0
    # no rule says when to stop: half of the time tunes the step sizes and is discarded
    budget, sampling = settings.budget + compile_seconds, False
    while not kept or clock() - began < budget:
        key, used = jax.random.split(key)
        cold, states, rates = compiled(used, states, jnp.asarray(steps))
        blocks += 1
        if sampling:
            kept.append(np.asarray(cold))
        else:
            steps *= np.exp(np.asarray(rates) - RATES[kind])
            sampling = clock() - began - compile_seconds > 0.5 * settings.budget
    chains = np.asarray(to_prior(problem)(jnp.asarray(np.concatenate(kept)))).transpose(1, 0, 2)
    evaluations = blocks * block * REPLICAS * copies * (1 if problem.busy else LEAPFROGS)
    return Outcome(chains, evaluations, compile_seconds=compile_seconds)
