"""References whose user says that they are normalised: one with a constant left out is refused before the run."""

import math

import pytest

import sterna

LOG_NORMAL = -0.5 * math.log(2.0 * math.pi)


def draw(rng):
    scale = rng.exponential()
    return scale, rng.normal(0.0, scale)


def log_density(scale, effect):
    return -scale - math.log(scale) - 0.5 * (effect / scale) ** 2 + LOG_NORMAL


def log_density_twice(scale, effect):
    return math.log(2.0) + log_density(scale, effect)


def log_likelihood(effect):
    return -0.5 * (effect - 1.0) ** 2


SPACE = {"scale": sterna.Real(lower=0), "effect": sterna.Real()}


def run(density, n_rounds=2, **options):
    reference = sterna.Reference(draw, density, SPACE, **options)
    return sterna.sample(log_likelihood, reference, n_rounds=n_rounds, explorer=sterna.Slice(), progress=False)


def test_a_constant_factor_is_refused():
    """A bounded coordinate, and a scale on which another depends. A sound reference is refused once in 1e6 runs."""
    run(log_density, normalized=True)
    with pytest.raises(sterna.TargetError, match=r"integral of log_density's exponential is (1\.9|2).*, not 1"):
        run(log_density_twice, normalized=True)
    # without the word of its user, a density need not be normalised
    run(log_density_twice)


def test_what_is_normalised_may_begin_at_a_mixture():
    reference = sterna.Reference(draw, log_density, SPACE, normalized=True)
    options = {"n_rounds": 5, "path": "fitted", "explorer": sterna.Slice(), "progress": False}
    assert sterna.sample(log_likelihood, reference, **options).other_path is not None
    with pytest.raises(sterna.OptionError, match="a function, which may not be normalised"):
        sterna.sample(log_likelihood, sterna.Reference(draw, log_density, SPACE), **options)


def test_nothing_else_than_a_word_is_taken():
    with pytest.raises(sterna.TargetError, match="normalized='yes'"):
        sterna.Reference(draw, log_density, SPACE, normalized="yes")
