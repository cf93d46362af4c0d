"""Attributes that an object does not have."""

import re

import pytest

import sterna
from sterna.ground.attributes import explains_attributes
from sterna.ground.other_names import OTHER_NAMES


@explains_attributes("sterna.Box", {"samples": "they are called draws"}, "read draws")
class Box:
    draws = 3

    @property
    def broken(self):
        return self.draws.nothing


def test_attributes_that_other_libraries_have_are_explained():
    assert Box().draws == 3
    with pytest.raises(AttributeError, match=r"^sterna.Box has no attribute 'samples': they are called draws.$"):
        _ = Box().samples


def test_other_attributes_are_missing_as_usual():
    assert getattr(Box(), "anything", 4) == 4
    with pytest.raises(AttributeError, match=r"^sterna.Box has no attribute 'drawz'$") as caught:
        _ = Box().drawz
    # by these Python finds a similar name
    assert (caught.value.name, type(caught.value.obj)) == ("drawz", Box)
    # an error inside a property is not hidden
    with pytest.raises(AttributeError, match=r"^'int' object has no attribute 'nothing'$"):
        _ = Box().broken


def test_items_are_explained():
    with pytest.raises(TypeError, match=r"^sterna.Box has no items, such as 'mu': read draws\.$"):
        Box()["mu"]
    with pytest.raises(TypeError, match="not iterable"):
        list(Box())


def test_what_hints_name_exists():
    for hint in OTHER_NAMES.values():
        for name in re.findall(r"sterna\.(\w+)", hint):
            assert hasattr(sterna, name), hint
    assert not set(OTHER_NAMES) & set(sterna.__all__)
