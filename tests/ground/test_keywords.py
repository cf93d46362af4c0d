"""Keywords that a function does not have."""

import inspect

import pytest

import sterna
from sterna.ground.keywords import explains_keywords


def plain(first, *, seed=1, thin=2):
    """Return what was given."""
    return first, seed, thin


explaining = explains_keywords("plain", {"random_seed": "give seed="})(plain)


def test_known_keywords_pass():
    assert explaining(1, seed=3) == (1, 3, 2)
    assert explaining(first=1) == (1, 1, 2)


@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ("random_seed", "^plain has no option random_seed=: give seed=.$"),
        ("Random_Seed", "^plain has no option Random_Seed=: give seed=.$"),
        ("tihn", r"^plain has no option tihn=: did you mean thin=\? Its options are first, seed, thin.$"),
        ("colour", "^plain has no option colour=: its options are first, seed, thin.$"),
    ],
)
def test_unknown_keywords_are_explained(keyword, message):
    with pytest.raises(sterna.OptionError, match=message):
        explaining(1, **{keyword: 2})


def test_all_unknown_keywords_are_named():
    with pytest.raises(sterna.OptionError, match=r"random_seed=.*colour="):
        explaining(1, random_seed=2, colour=3)


def test_too_many_arguments_by_position_are_explained():
    with pytest.raises(
        sterna.OptionError, match=r"^plain takes first by position: give its other options by name \(seed="
    ):
        explaining(1, 2)
    with pytest.raises(sterna.OptionError, match=r"^sterna.Normal takes mu, sigma by position.*\(shape=\)"):
        sterna.Normal(0, 1, 3)


def test_signature_and_text_stay_for_help():
    assert inspect.signature(explaining) == inspect.signature(plain)
    assert explaining.__doc__ == plain.__doc__
    assert "n_chains" in inspect.signature(sterna.sample).parameters
    assert "gradient" in inspect.signature(sterna.Target).parameters
    assert list(inspect.signature(sterna.Normal).parameters) == ["mu", "sigma", "shape"]
