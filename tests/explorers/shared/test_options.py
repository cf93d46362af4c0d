"""Options of explorers: a walk over all explorers and all parameters of their constructors."""

import dataclasses
import math

import numpy as np
import pytest

import sterna
from sterna.errors import OptionError
from sterna.explorers.composition import Blocks
from sterna.explorers.table import EXPLORERS

# None of these can be the value of any option.
WRONG = ["a", b"a", [], {}, (1, 2), math.nan, math.inf, -1, 1j, object(), int]
OPTIONS = [(make, one.name) for make in EXPLORERS.values() for one in dataclasses.fields(make)]
NAMES = [f"{make.__name__}({name})" for make, name in OPTIONS]


def flip(x, log_density, rng):
    x[:] = -x


def conditional(i, beta):
    return np.zeros(2)


def test_the_walk_knows_all_explorers():
    assert {make for make, _ in OPTIONS} == set(EXPLORERS.values())


@pytest.mark.parametrize(("make", "name"), OPTIONS, ids=NAMES)
def test_wrong_options_are_named(make, name):
    wrong = [value for value in WRONG if not (name == "conditional" and value is int)]
    for value in wrong:
        with pytest.raises(OptionError) as caught:
            make(**{name: value})
        assert str(caught.value).startswith(f"{make.__name__}({name}=")
        assert "give" in str(caught.value)


@pytest.mark.parametrize(("make", "name"), OPTIONS, ids=NAMES)
def test_whole_floats_are_whole_numbers(make, name):
    """A fraction is refused unless the option may be one."""
    default = next(one for one in dataclasses.fields(make) if one.name == name).default
    is_whole = isinstance(default, int) and not isinstance(default, bool) and name != "passes"
    if is_whole or name in ("moves", "archive", "at_once", "steps", "trajectories"):
        made = make(**{name: np.float64(12.0)})
        assert getattr(made, name) == 12
        assert type(getattr(made, name)) is int
        with pytest.raises(OptionError):
            make(**{name: 12.5})


@pytest.mark.parametrize("local", ["no", 0, None])
def test_a_switch_is_true_or_false(local):
    with pytest.raises(OptionError, match="give True or False"):
        sterna.Slice(local=local)


@pytest.mark.parametrize("weights", ["ab", [1], [None, 1], [1, -1], [0, 0], [[1], [2]], 3])
def test_weights_are_checked(weights):
    with pytest.raises(OptionError, match=r"Mix\(weights="):
        sterna.Mix(sterna.Slice(), sterna.HMC(), weights=weights)


SHOWN = [
    "Slice()",
    "Slice(passes=0.5, local=False)",
    "Metropolis(moves=5, covariance='full')",
    "HMC(steps=3)",
    "Gibbs(conditional=conditional)",
    "Move(flip)",
    "Cycle(Slice(passes=0.5), Move(flip))",
    "Mix(Slice(), HMC(steps=3), weights=[1, 2])",
    "Mix(Slice(), Elliptical())",
    "Best(Slice(), Evolution(archive=50), Fitted(freedom=4.0))",
    "Cycle(Mix(AutoMALA(metric='dense'), MALA()), Independence(at_once=2))",
]


@pytest.mark.parametrize("text", SHOWN)
def test_explorers_are_shown_as_one_could_type_them(text):
    names = {name: getattr(sterna, name) for name in sterna.__all__} | {"flip": flip, "conditional": conditional}
    made = eval(text, names)
    assert repr(made) == text
    assert repr(eval(repr(made), names)) == text


def test_a_dict_of_explorers_is_shown_as_a_dict():
    blocks = Blocks({"z": sterna.Slice(), ("mu", "sigma"): flip})
    assert repr(blocks) == "{'z': Slice(), ('mu', 'sigma'): Move(flip)}"


def test_explorers_of_models_are_shown_without_their_arrays():
    assert repr(sterna.models.ising(3).explorer) == "SpinHeatBath(coupling=1.0, field=0.0, passes=1.0)"


@pytest.mark.parametrize("key", [0, None, (), ("mu", 1), frozenset(["mu"])])
def test_keys_of_a_dict_of_explorers_are_names(key):
    with pytest.raises(OptionError, match="a key is the name of a variable"):
        Blocks({key: sterna.Slice()})


def test_keys_of_a_dict_of_explorers_are_names_as_python_has_them():
    assert list(Blocks({"\u00b5": sterna.Slice()}).explorers) == [("\u03bc",)]
    with pytest.raises(OptionError, match="two keys for \u03bc"):
        Blocks({"\u00b5": sterna.Slice(), "\u03bc": sterna.Slice()})


@pytest.mark.parametrize(
    ("part", "words"),
    [("slice", "a name alone"), (sterna.HMC, r"give one such as sterna.HMC\(\)"), (None, r"give one such as sterna.S")],
)
def test_parts_that_are_no_explorers_are_named(part, words):
    with pytest.raises(OptionError, match=words):
        sterna.Cycle(sterna.Slice(), part)
