"""Compares NUTS, PyMC's sequential Monte Carlo and sterna on PyMC models of two modes.

Run `python bench/pymc_rivals.py`. The share of draws in one mode is compared with the exact one, by quadrature.
Discrete variables are moved by PyMC's own compound steps in pm.sample. Seconds count compilation, kept on disk.
"""

import contextlib
import io
import logging
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pymc as pm

import sterna

TOOLS = str(Path(__file__).parents[1] / "tests" / "tools")
SEEDS = (1, 2, 3)


def far_apart():
    """Write two components that no local step can exchange."""
    y = np.concatenate([np.linspace(-6.0, -4.0, 8), np.linspace(4.0, 6.0, 12)])
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5, shape=2)
        pm.NormalMixture("y", w=[0.45, 0.55], mu=mu, sigma=1.0, observed=y)
    return model


def far_share():
    """Share of mu[0] < mu[1], by quadrature."""
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


def main():
    warnings.filterwarnings("ignore")
    logging.getLogger("pymc").setLevel(logging.CRITICAL)
    sys.path.insert(0, TOOLS)
    from pymc_models import mixture, mixture_truth, mixture_with_indicators

    near = mixture_truth().means["below"]
    cases = {
        "two near modes": (mixture, near),
        "two far modes": (far_apart, far_share()),
        "two near modes, with indicators": (mixture_with_indicators, near),
    }
    print("| model | exact share | sampler | shares found, three seeds | seconds, each |\n|---|---|---|---|---|")
    for name, (make, exact) in cases.items():
        for sampler, run in {"pm.sample": by_nuts, "pm.sample_smc": by_smc, "sterna": by_sterna}.items():
            shares, seconds = [], []
            for seed in SEEDS:
                model = make()
                began = time.perf_counter()
                with contextlib.redirect_stderr(io.StringIO()):
                    mu = run(model, seed)["mu"].values
                seconds.append(time.perf_counter() - began)
                shares.append(float((mu[..., 0] < mu[..., 1]).mean()))
            found = ", ".join(f"{share:.2f}" for share in shares)
            times = ", ".join(f"{one:.1f}" for one in seconds)
            print(f"| {name} | {exact:.3f} | {sampler} | {found} | {times} |", flush=True)


if __name__ == "__main__":
    main()
