"""Simulation-based calibration of whole default runs, tuning and choice of explorer included.

A parameter is drawn from its prior, data from the model, and the rank of the parameter among 99 draws of the posterior
is uniform if sampling is right (Cook, Gelman and Rubin 2006; Talts et al. 2018), as is that of the log-likelihood at
the parameter (Modrák et al. 2023). All three models have several modes. False alarms: 1e-3 for each test, by a
simultaneous band; in the quick form 1e-4.
"""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from rank_bands import is_inside, level_of_band, rank_of

import sterna

N_DRAWS = 99
OPTIONS = {"until": {"ess": 400}, "n_rounds": 8, "n_scans": 500, "progress": False, "workers": 1}


@dataclass(frozen=True)
class Model:
    """A prior, a model of data, and the function from which sterna samples."""

    log_likelihood: object
    reference: dict
    draw: object
    """Draws parameters from the prior."""
    simulate: object
    """Draws data, given parameters."""


def of_sign(mu, y):
    return -0.5 * np.sum((y - np.abs(mu)) ** 2)


def of_labels(mu, y):
    total = 0.0
    for value in y:
        total += np.logaddexp(-0.5 * (value - mu[0]) ** 2, -0.5 * (value - mu[1]) ** 2)
    return total


def of_switch(x, z, y):
    return -0.5 * np.sum((y - 3.0 * (2.0 * z - 1.0) * x) ** 2)


def simulate_labels(rng, mu):
    return rng.normal(mu[rng.integers(2, size=6)])


MODELS = {
    "sign": Model(
        of_sign,
        {"mu": sterna.Normal(0, 2)},
        lambda rng: {"mu": rng.normal(0, 2)},
        lambda rng, mu: rng.normal(abs(mu), size=3),
    ),
    "labels": Model(
        of_labels, {"mu": sterna.Normal(0, 4, shape=2)}, lambda rng: {"mu": rng.normal(0, 4, size=2)}, simulate_labels
    ),
    "switch": Model(
        of_switch,
        {"x": sterna.Normal(0, 1), "z": sterna.Bernoulli(0.3)},
        lambda rng: {"x": rng.normal(), "z": int(rng.random() < 0.3)},
        lambda rng, x, z: rng.normal(3.0 * (2.0 * z - 1.0) * x, size=2),
    ),
}


def ranks_of(name, count, seed, beta=1.0, **options):
    """Return the ranks of parameters and of the log-likelihood, for so many simulated data sets.

    A `beta` other than 1 samples from the wrong distribution: a planted fault.
    """
    model, rng = MODELS[name], np.random.default_rng(seed)
    ranks = {}
    for number in range(count):
        truth = model.draw(rng)
        y = model.simulate(rng, **truth)
        target = sterna.Target(model.log_likelihood if beta == 1.0 else TEMPERED[name], model.reference, {"y": y})
        result = sterna.sample(target, seed=seed + number, **OPTIONS | options)
        kept = np.linspace(0, result.states.shape[1] - 1, N_DRAWS).astype(int)
        scalars = {key: (value, result.values[key][0, kept]) for key, value in truth.items() if np.ndim(value) == 0}
        scalars |= {
            key: (value[0], result.values[key][0, kept, 0]) for key, value in truth.items() if np.ndim(value) > 0
        }
        at_truth = model.log_likelihood(**truth, y=y)
        found = [
            model.log_likelihood(**{key: result.values[key][0, k] for key in truth}, y=y) for k in kept
        ]  # not result.log_likelihood, which a fault would change too
        scalars["log-likelihood"] = at_truth, np.array(found)
        for key, (value, draws) in scalars.items():
            ranks.setdefault(key, []).append(rank_of(value, draws, rng))
    return {key: np.array(value) for key, value in ranks.items()}


def tempered_sign(mu, y):
    return 0.8 * of_sign_plain(mu, y)


def of_sign_plain(mu, y):
    return -0.5 * np.sum((y - np.abs(mu)) ** 2)


TEMPERED = {"sign": tempered_sign}


def test_the_band_holds_uniform_ranks():
    """Uniform ranks leave a band of level 0.05 in 5 % of cases: 4 standard errors, 6e-5."""
    rng, n = np.random.default_rng(5), 1000
    level = level_of_band(80, 20, 0.05)
    inside = [is_inside_of(rng.integers(20, size=80), 20, level) for _ in range(n)]
    assert abs(np.mean(inside) - 0.95) < 4 * math.sqrt(0.05 * 0.95 / n) + 0.01


def is_inside_of(ranks, n_ranks, level):
    from rank_bands import cumulative, tail

    return tail(cumulative(ranks, n_ranks), n_ranks, len(ranks)) >= level


@pytest.mark.parametrize(
    "shift",
    [lambda u: u**0.6, lambda u: 0.5 + 0.75 * (u - 0.5), lambda u: np.where(u < 0.5, 2 * u**2, 1 - 2 * (1 - u) ** 2)],
)
def test_the_band_excludes_ranks_of_wrong_distributions(shift):
    """Shifted, too narrow and too wide posteriors."""
    u = np.random.default_rng(6).random(1000)
    assert not is_inside((shift(u) * 100).astype(int).clip(0, 99), 100)[0]


def test_ranks_of_few_simulated_data_are_uniform():
    for quantity, ranks in ranks_of("sign", 40, 100).items():
        assert is_inside(ranks, N_DRAWS + 1, 1e-4)[0], quantity


@pytest.mark.laws
@pytest.mark.parametrize("name", MODELS)
def test_ranks_of_simulated_data_are_uniform(name):
    for quantity, ranks in ranks_of(name, 1000, 1).items():
        inside, relative = is_inside(ranks, N_DRAWS + 1)
        assert inside, f"{quantity}: {relative:.2g} of the band's level"


@pytest.mark.laws
def test_a_target_chain_at_another_beta_is_noticed():
    """A planted fault: the distribution sampled is that of beta = 0.8."""
    assert not all(is_inside(ranks, N_DRAWS + 1)[0] for ranks in ranks_of("sign", 1000, 1, beta=0.8).values())


@pytest.mark.laws
def test_swaps_that_are_always_accepted_are_noticed(tmp_path):
    """A planted fault in a copy of the source, which another process compiles."""
    import shutil

    shutil.copytree(Path(sterna.__file__).parent, tmp_path / "sterna")
    path = tmp_path / "sterna" / "engine" / "communication.py"
    text = path.read_text()
    faulty = text.replace("    return math.exp(", "    return 1.0 + 0.0 * math.exp(")
    assert faulty != text
    path.write_text(faulty)
    script = (
        "import sys\n"
        f"sys.path[:0] = {[str(tmp_path), str(Path(__file__).parents[1] / 'tools'), str(Path(__file__).parent)]!r}\n"
        "from test_simulated_data import N_DRAWS, ranks_of\n"
        "from rank_bands import is_inside\n"
        "found = ranks_of('sign', 1000, 1, path='prior')\n"
        "print(all(is_inside(ranks, N_DRAWS + 1)[0] for ranks in found.values()))\n"
    )
    environment = os.environ | {"STERNA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "False\n"


@pytest.mark.laws
@pytest.mark.parametrize("name", MODELS)
def test_parameters_and_data_that_are_drawn_in_turn_keep_the_prior(name):
    """Geweke's joint test: data given parameters, then parameters by a run given data; 6e-5 for each moment."""
    model, rng = MODELS[name], np.random.default_rng(2)
    truth, found = model.draw(rng), []
    for number in range(600):
        y = model.simulate(rng, **truth)
        target = sterna.Target(model.log_likelihood, model.reference, {"y": y})
        result = sterna.sample(target, seed=number, n_rounds=6, n_scans=60, progress=False, workers=1)
        truth = {key: result.values[key][0, -1] for key in truth}
        found.append([np.ravel(value)[0] for value in truth.values()])
    exact = np.array([[np.ravel(value)[0] for value in model.draw(rng).values()] for _ in range(100_000)], dtype=float)
    chain = np.array(found, dtype=float)
    for power in (1, 2):
        batches = (chain**power).reshape(30, -1, chain.shape[1]).mean(axis=1)
        error = batches.std(axis=0, ddof=1) / math.sqrt(30)
        z = (batches.mean(axis=0) - (exact**power).mean(axis=0)) / error
        # Student's with 29 degrees of freedom
        assert (np.abs(z) < 4.7).all()
