"""All problems, cheap ones first, and all packages."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from problem import Problem

# Cheap ones first, so that a comparison that is ended early has a table.
ORDER = (
    "egg box, d=2", "shells, d=2", "equal modes, d=2", "unequal modes, d=2", "Rosenbrock, d=2", "product, d=2",
    "change point, d=3", "label switching, d=5", "ODE, d=5", "shells, d=10", "equal modes, d=10",
    "unequal modes, d=10", "log-gamma, d=10", "Rosenbrock, d=10", "spike and slab, d=20", "equal modes, d=30",
    "unequal modes, d=30", "slow: two modes, d=5", "slow: correlated, d=6",
)  # fmt: skip
QUICK = ("equal modes, d=2", "label switching, d=5")

# The name in tables, and the module in `packages`.
PACKAGES = {
    "sterna": "sterna_compiled",
    "sterna (Python)": "sterna_python",
    "dynesty": "dynesty_static",
    "UltraNest": "ultranest_reactive",
    "nautilus": "nautilus_sampler",
    "pocoMC": "pocomc_sampler",
    "reddemcee": "reddemcee_pt",
    "ptemcee": "ptemcee_pt",
    "PTMCMCSampler": "ptmcmc_sampler",
    "emcee": "emcee_ensemble",
    "PyMC SMC": "pymc_smc",
    "BlackJAX SMC": "blackjax_smc",
    "tfp exchange": "tfp_exchange",
}


def problem_of(name: str) -> Problem:
    """Build the problem of this name."""
    import problems_data
    import problems_modes

    built = problems_modes.PROBLEMS | problems_data.PROBLEMS
    assert sorted(built) == sorted(ORDER), "ORDER names every problem once"
    problem = built[name]()
    assert problem.name == name, f"{problem.name} is called {name} in its table"
    return problem


def skipped(problem: str, package: str) -> str | None:
    """Return why a package does not run on a problem."""
    if package == "sterna" and problem.startswith("slow"):
        return "a black box is not compiled"
    return None
