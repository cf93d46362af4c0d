"""A likelihood that is zero, NaN or raises on half of the space: the reference's chain follows the whole reference.

The target's chain follows the other half, and the evidence is that of this half.
"""

import math

import numpy as np
import pytest
from plain import load
from scipy.integrate import quad
from scipy.stats import binomtest, norm
from ways import AsPython

import sterna
from sterna.run import blocks
from sterna.target import guarded

# False alarms of both binomial tests of a run together, and of each comparison with an estimated error: normal errors
# exceed 4 standard errors with probability 6e-5.
LEVEL, STANDARD_ERRORS = 1e-6, 4.0


def positive(x):
    return -2.0 * (x - 0.7) ** 2


def zero(x):
    return positive(x) if x >= 0.0 else -math.inf


def nan(x):
    return positive(x) if x >= 0.0 else math.nan


def infinite(x):
    return positive(x) if x >= 0.0 else math.inf


def raises(x):
    if x < 0.0:
        raise ValueError("negative")
    return positive(x)


FUNCTIONS = {
    "zero": zero,
    "NaN": nan,
    "+inf": infinite,
    "exception": raises,
    "exception in Python": AsPython(raises),
}

MASS = [quad(lambda x, k=k: x**k * norm.pdf(x) * math.exp(positive(x)), 0.0, np.inf)[0] for k in (0, 1)]
LOG_EVIDENCE, MEAN = math.log(MASS[0]), MASS[1] / MASS[0]


def run(function, seed=1):
    return sterna.sample(
        function,
        {"x": sterna.Normal(0, 1)},
        n_chains=5,
        n_rounds=8,
        n_scans=4000,
        keep="all",
        explorer="slice",
        path="prior",
        on_error="raise" if function is zero else "reject",
        seed=seed,
        progress=False,
    )


def faults_of(result):
    """Return what is wrong with a result, by name."""
    chains = result.chains["x"].values[0]
    mean = result.summary["x"]
    error = result.log_evidence
    # draws of the reference are independent
    p_values = [binomtest(int((chains[:, 0] < x).sum()), len(chains), norm.cdf(x)).pvalue for x in (0.0, 1.0)]
    found = {
        "reference": min(p_values) < LEVEL / len(p_values),
        "support": bool((chains[:, 1:] < 0.0).any()),
        "mean": abs(mean["mean"] - MEAN) > STANDARD_ERRORS * mean["mcse"],
        "evidence": abs(error.value - LOG_EVIDENCE) > STANDARD_ERRORS * error.error,
    }
    return {name for name, is_wrong in found.items() if is_wrong}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_chain_follows_its_own_distribution(name):
    result = run(FUNCTIONS[name])
    assert faults_of(result) == set()
    # chain 0 alone has so many failures while sampling
    below_zero = int((result.chains["x"].values[0][:, 0] < 0.0).sum())
    assert (result.failed_evaluations.of_likelihood >= below_zero) == (name != "zero")


def test_all_ways_have_the_same_bits():
    """A failure that is rejected is a likelihood of zero, and nothing else."""
    states = {run(function).states.tobytes() for function in FUNCTIONS.values()}
    assert len(states) == 1


@pytest.mark.parametrize("name", ["zero", "NaN"])
def test_a_reference_that_is_drawn_again_where_the_likelihood_is_zero_is_noticed(name, monkeypatch):
    """Planted fault: then chain 0 follows half of the reference, and the evidence is twice as large."""
    once = "        draw_reference(program, x, stream)\n        refresh(program, x, log_densities)\n        check_draw("
    again = (
        "        log_densities[LOG_LIKELIHOOD] = -math.inf\n"
        "        while log_densities[LOG_LIKELIHOOD] == -math.inf:\n"
        "            draw_reference(program, x, stream)\n"
        "            refresh(program, x, log_densities)\n"
        "        check_draw("
    )
    faulty = load("engine/round.py", [(once, again)], compiled=True)
    monkeypatch.setattr(blocks, "run_scans", faulty.run_scans)
    assert faults_of(run(FUNCTIONS[name])) >= {"reference", "evidence"}


def test_a_failure_that_counts_as_likelihood_one_is_noticed(monkeypatch):
    """Planted fault: a value that is rejected must not become a number."""
    monkeypatch.setattr(guarded, "RAISED", 0.0)
    assert faults_of(run(FUNCTIONS["exception in Python"])) >= {"support", "mean", "evidence"}
