"""What users give to built-in models: a walk over all models and all of their numbers and switches."""

import inspect
import math

import numpy as np
import pytest

import sterna
from sterna.models.parameters import READERS, checked

SCALARS = [
    (name, parameter.name, parameter.annotation)
    for name in sterna.models.__all__
    for parameter in inspect.signature(getattr(sterna.models, name)).parameters.values()
    if parameter.annotation in READERS
]


@pytest.mark.parametrize(("model", "parameter", "kind"), SCALARS)
def test_wrong_numbers_and_switches_are_named(model, parameter, kind):
    wrong = ["a", [], 1j, *([2.5, math.nan, math.inf, True] if kind is int else [])]
    wrong += [] if kind == float | None else [None]
    for value in wrong:
        with pytest.raises(sterna.OptionError, match=rf"^{model}\({parameter}="):
            getattr(sterna.models, model)(**{parameter: value})


def test_unknown_parameters_are_explained():
    with pytest.raises(sterna.OptionError, match=r"^normal has no parameter dimension=: its parameters are dim, "):
        sterna.models.normal(dimension=3)


def test_whole_floats_are_whole_numbers():
    assert sterna.models.normal(3.0).dimension == 3
    assert sterna.models.discrete(np.float64(2.0)).dimension == 1


def test_data_that_are_no_numbers_are_errors_of_sterna():
    with pytest.raises(sterna.OptionError, match="glm raised ValueError: could not convert string to float: 'a'"):
        sterna.models.glm([1, 0], ["a", "b"])
    with pytest.raises(sterna.OptionError, match=r"phylo_species\(alignment=3\): give a dict of sequences"):
        sterna.models.phylo_species(3)
    with pytest.raises(sterna.OptionError, match="precision positive and finite"):
        sterna.models.normal(precision=math.inf)


def test_signatures_stay_for_help_and_the_command_line():
    def model(size: int = 3) -> int:
        """Return the size."""
        return size

    assert inspect.signature(checked(model)) == inspect.signature(model)
    assert checked(model)(np.int64(4)) == 4
