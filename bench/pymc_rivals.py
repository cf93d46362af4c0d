"""Compare NUTS, PyMC's sequential Monte Carlo and sterna on PyMC models with two modes.

Run `python bench/pymc_rivals.py`. The fraction of draws in one mode is compared with the exact one, from quadrature.
In pm.sample, discrete variables are updated by PyMC's own compound steps. Times include compilation, cached on disk.
"""

import contextlib
import io
import logging
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pymc as pm

import sterna

TOOLS = str(Path(__file__).parents[1] / "tests" / "tools")
SEEDS = (1, 2, 3)
# Seconds after which a run is stopped.
LIMIT = 300


def far_apart():
    """Return a model with two components that no local step can exchange."""
    y = np.concatenate([np.linspace(-6.0, -4.0, 8), np.linspace(4.0, 6.0, 12)])
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5, shape=2)
        pm.NormalMixture("y", w=[0.45, 0.55], mu=mu, sigma=1.0, observed=y)
    return model


def far_share():
    """Return the probability of mu[0] < mu[1], by quadrature."""
    from pymc_models import line
    from scipy import stats

    y = np.concatenate([np.linspace(-6.0, -4.0, 8), np.linspace(4.0, 6.0, 12)])
    grid, _ = line(-10, 10, 801)
    a, b = grid[:, None], grid[None, :]
    log_joint = stats.norm.logpdf(a, 0, 5) + stats.norm.logpdf(b, 0, 5)
    for one in y:
        log_joint = log_joint + np.logaddexp(
            np.log(0.45) + stats.norm.logpdf(one, a), np.log(0.55) + stats.norm.logpdf(one, b)
        )
    weights = np.exp(log_joint - log_joint.max())
    return float(weights[np.broadcast_to(a < b, weights.shape)].sum() / weights.sum())


def by_nuts(model, seed):
    with model:
        return pm.sample(1000, tune=1000, chains=4, cores=2, random_seed=seed, progressbar=False).posterior


def by_smc(model, seed):
    with model:
        return pm.sample_smc(2000, chains=4, cores=2, random_seed=seed, progressbar=False).posterior


def by_sterna(model, seed):
    return sterna.sample(model, n_copies=2, seed=seed, progress=False).posterior


SAMPLERS = {"pm.sample": by_nuts, "pm.sample_smc": by_smc, "sterna": by_sterna}


def cases():
    """Return the models and the exact probabilities of mu[0] < mu[1]."""
    from pymc_models import mixture, mixture_truth, mixture_with_indicators

    near = mixture_truth().means["below"]
    return {
        "two close modes": (mixture, near),
        "two distant modes": (far_apart, far_share()),
        "close modes, with indicators": (mixture_with_indicators, near),
    }


def one_run(case, sampler, seed):
    """Print the estimate and the seconds; runs in its own process."""
    model = cases()[case][0]()
    began = time.perf_counter()
    with contextlib.redirect_stderr(io.StringIO()):
        mu = SAMPLERS[sampler](model, int(seed))["mu"].values
    print("found", float((mu[..., 0] < mu[..., 1]).mean()), time.perf_counter() - began)


def found_by(case, sampler, seed):
    """Return the estimate and the seconds, from a process that is stopped with all its children after a time limit.

    If it did not end, or failed, return why.
    """
    command = [sys.executable, __file__, case, sampler, str(seed)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes, text=True, start_new_session=True)
    try:
        output, said = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"stopped after {LIMIT} seconds"
    if process.returncode != 0:
        return next((line for line in said.splitlines() if "Error: " in line), "failed")
    return [float(word) for word in output.split("found ")[1].split()]


def main():
    print("| model | exact fraction | sampler | estimates, three seeds | seconds, each |\n|---|---|---|---|---|")
    for case, (_, exact) in cases().items():
        for sampler in SAMPLERS:
            runs = []
            for seed in SEEDS:
                runs.append(found_by(case, sampler, seed))
                if isinstance(runs[-1], str):
                    break
            shares = ", ".join(run if isinstance(run, str) else f"{run[0]:.2f}" for run in runs)
            times = ", ".join("" if isinstance(run, str) else f"{run[1]:.1f}" for run in runs)
            print(f"| {case} | {exact:.3f} | {sampler} | {shares} | {times} |", flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.getLogger("pymc").setLevel(logging.CRITICAL)
    sys.path.insert(0, TOOLS)
    one_run(*sys.argv[1:]) if len(sys.argv) > 1 else main()
