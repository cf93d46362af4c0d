"""Checks before the first round find every planted fault, and let everything that is sound pass.

The comparison of draws with densities refuses a sound reference with a probability below 1e-5 per run, about 1e-6 in
fact; the other checks compare
numbers that are equal but for rounding. The faults are found with any seed.
"""

import faulty_targets
import pytest
from check_runs import start
from sound_targets import FAMILIES, sound_target

import sterna

# Faults and families of sound targets that every test run tries; `make laws` tries all of them, with more seeds.
QUICK_FAULTS = [
    "inverse of an integer",
    "division by zero",
    "stale helper",
    "noise, compiled",
    "noise of a batch",
    "forgotten neighbour",
    "forgotten term of the reference",
    "wrong sign of one component",
    "draws too wide",
    "density without its Jacobian",
    "misspelt data",
    "truth value among numbers",
]
QUICK_FAMILIES = ["regression", "counts", "hierarchy", "chaos"]


def refuses(name, seed):
    fault = faulty_targets.FAULTS[name]()
    with pytest.raises(sterna.Error, match=fault.message):
        start(fault.target, seed, **fault.options)


@pytest.mark.parametrize("name", QUICK_FAULTS)
def test_a_planted_fault_is_found(name):
    refuses(name, seed=1)


@pytest.mark.laws
@pytest.mark.parametrize("name", list(faulty_targets.FAULTS))
def test_planted_faults_are_found_with_every_seed(name):
    for seed in range(20):
        refuses(name, seed)


@pytest.mark.parametrize("family", QUICK_FAMILIES)
def test_a_sound_target_passes(family):
    start(sound_target(family, 1))


@pytest.mark.laws
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_sound_targets_pass(family, seed):
    target = sound_target(family, seed)
    for run in range(4):
        start(target, run)


@pytest.mark.laws
@pytest.mark.parametrize("name", sterna.models.__all__)
def test_built_in_models_pass(name):
    target = getattr(sterna.models, name)()
    for seed in range(4):
        start(target, seed)


@pytest.mark.laws
def test_pymc_models_pass():
    pytest.importorskip("pymc")
    from pymc_models import CASES

    for case in CASES.values():
        start(sterna.from_pymc(case.model()))


@pytest.mark.laws
def test_numpyro_models_pass():
    pytest.importorskip("numpyro")
    from numpyro_models import CASES

    for case in CASES.values():
        start(sterna.from_numpyro(case.model, *case.arguments))
