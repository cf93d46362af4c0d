"""PyMC's sequential Monte Carlo with its defaults: 2000 draws, independent Metropolis-Hastings, four chains."""

import logging
import math
from typing import Any, ClassVar

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from problem import FloatArray, Outcome, Problem, Settings, clock
from pymc.smc.kernels import IMH
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

CHAINS = 4


class Counting(IMH):
    """The default kernel, which also counts evaluations and measures how long compilation takes."""

    evaluations: ClassVar[int] = 0
    compiling: ClassVar[float] = 0.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        began = clock()
        super().__init__(*args, **kwargs)
        Counting.compiling += clock() - began

    def _initialize_kernel(self) -> None:
        super()._initialize_kernel()
        Counting.evaluations += self.draws

    def mutate(self) -> None:
        super().mutate()
        Counting.evaluations += self.draws * self.n_steps


class Called(Op):
    """A Python function of a vector, as PyMC's documentation wraps a black box."""

    def __init__(self, function) -> None:
        self.function = function

    def make_node(self, x):
        return Apply(self, [pt.as_tensor(x)], [pt.dscalar()])

    def perform(self, node, inputs, outputs) -> None:
        outputs[0][0] = np.asarray(self.function(inputs[0]))


def model_of(problem: Problem) -> pm.Model:
    """Return the prior as random variables, and the likelihood as a potential of the vector of all of them."""
    prior, plain = problem.prior, problem.plain()
    with pm.Model() as model:
        if prior.is_normal.all():
            x = pm.Normal("x", prior.first, prior.second)
        elif not prior.is_normal.any():
            x = pm.Uniform("x", prior.first, prior.second)
        else:
            families = [pm.Normal if one else pm.Uniform for one in prior.is_normal]
            x = pt.stack(
                [families[i](f"x{i}", prior.first[i], prior.second[i]) for i in range(problem.dimension)], axis=-1
            )
        value = Called(plain)(x) if problem.busy else problem.log_likelihood(x, pt)
        pm.Potential("log_likelihood", value)
    return model


def last(values: Any) -> FloatArray:
    """Return the last finite value of each chain: PyMC records log Z at each stage, and pads with NaN."""
    return np.array([np.asarray(chain, dtype=float).ravel()[-1] for chain in values])


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    logging.getLogger("pymc").setLevel(logging.ERROR)
    draws = 200 if settings.quick else 2000
    with model_of(problem):
        idata = pm.sample_smc(draws, Counting, chains=CHAINS, cores=1, random_seed=seed, progressbar=False)
    posterior = idata.posterior
    names = ["x"] if "x" in posterior else [f"x{i}" for i in range(problem.dimension)]
    chains = np.concatenate([posterior[name].values.reshape(CHAINS, draws, -1) for name in names], axis=2)
    logs = last(idata.sample_stats["log_marginal_likelihood"].values)
    # the mean of the estimates of Z, which are unbiased; its error from their scatter
    ratios = np.exp(logs - logs.max())
    log_z = float(logs.max() + math.log(ratios.mean()))
    error = float(ratios.std(ddof=1) / ratios.mean() / math.sqrt(CHAINS))
    return Outcome(chains, Counting.evaluations, log_evidence=log_z, error=error, compile_seconds=Counting.compiling)
