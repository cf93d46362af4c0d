"""Eight methods on the mixture model at about equal budget, which two figures show."""

from __future__ import annotations

import numpy as np

from sterna import models
from sterna.paper.figure import Tables, table
from sterna.paper.figures.shared import methods
from sterna.paper.study import Study

CHAINS = 30
SHOWN = 4000
CAPTION = "300 observations, with which the paper's Λ of 8 and 30 chains agree; its caption has 155 variables"


def compute(study: Study) -> Tables:
    """Run all methods; budgets are numbers of explorations, those of rivals at least as large as that of NRPT."""
    rounds, scans = study.choose((11, 5000), (7, 250))
    budget = CHAINS * (2 ** (rounds + 1) - 2 + scans)
    # the paper's MMV finds 8 chains, and half of its scans are burn-in
    ladder_scans, steps = budget // 16, study.choose(100_000, 2000)
    particles, threshold = study.choose(2000, 150), study.choose(0.99, 0.97)
    chosen = [
        methods.nrpt(CHAINS, rounds, scans),
        methods.chain_alone(rounds, budget),
        methods.mmv(ladder_scans, steps),
        methods.mmv(ladder_scans, steps, "deo"),
        methods.annealed_importance(particles * 5 // 4, threshold),
        *(methods.sequential(particles, threshold, count, f"SCM-{count}") for count in (5, 20, 100)),
    ]
    found = methods.run_methods(study, "mixture", models.mixture(), chosen)
    draws: list[tuple[object, ...]] = []
    modes: list[tuple[object, ...]] = []
    for one in found:
        mu = one.values["mu"]
        first = mu[:, 0] < mu[:, 1]
        edges = np.linspace(mu.min(), mu.max(), 31)
        heights = [np.histogram(mu[:, k], edges)[0] / len(mu) for k in (0, 1)]
        apart = 0.5 * float(np.abs(heights[0] - heights[1]).sum())
        modes.append((one.method, float(first.mean()), int(np.diff(first).sum()), apart))
        kept = methods.thinned(len(mu), SHOWN)
        draws += [(one.method, k, *mu[k]) for k in kept]
    heads = ("method", "share_of_first_order", "switches", "distance_of_marginals")
    return {
        "draws": table(("method", "draw", "mu_0", "mu_1"), draws),
        "methods": methods.methods_table(found),
        "modes": table(heads, modes),
    }
