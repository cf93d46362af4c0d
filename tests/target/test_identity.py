"""What a target is, by content: the same in every process, and another if anything of it changes."""

import functools
import json
import subprocess
import sys

import numpy as np
import pytest

import sterna
from sterna.target.identity import digest, identity_of

FACTOR = 2.0


class Model:
    """A user's class with state, a helper method and slots in a subclass."""

    def __init__(self, scale=1.0):
        self.scale = {"a": scale, "names": {"x", "y", "z"}}
        self.itself = self

    def __call__(self, x):
        return self.helper(x)

    def helper(self, x):
        return -self.scale["a"] * x * x


class Slotted(Model):
    __slots__ = ("other",)

    def __init__(self, other):
        super().__init__()
        self.other = other


def reads_global(x):
    return FACTOR * x if x in {"a", "b", 1} else x


def calls(x):
    return reads_global(x)


def closure(value):
    weights = np.full(3, value)
    return lambda x: np.sum(weights * x)


def default(x, scale=1.0):
    return scale * x


def values():
    """Things of which a digest is taken in two processes."""
    return [
        Model(), Slotted(3), reads_global, calls, closure(1.0), default, functools.partial(default, scale=2.0),
        Model().helper, {"b": 1, "a": {3, 1, 2}}, np.arange(3), np.array(["a", None], dtype=object), math_function,
    ]  # fmt: skip


def math_function(x):
    import math

    return [math.sin(y) for y in range(3)]


IN_ANOTHER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import test_identity
print(json.dumps([test_identity.digest(one) for one in test_identity.values()]))
"""


def test_digests_are_those_of_another_process(monkeypatch):
    """The hash of texts, and so the order of sets, is another one there."""
    found = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        command = [sys.executable, "-c", IN_ANOTHER, __file__.rpartition("/")[0]]
        found.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert found[0] == found[1]
    assert len(set(found[0])) == len(found[0])


def changed_method(self, x):
    return 0.0


CHANGES = {
    "attribute": (Model(), Model(2.0)),
    "slot": (Slotted(1), Slotted(2)),
    "closure": (closure(1.0), closure(1.5)),
    "partial": (functools.partial(default, scale=1.0), functools.partial(default, scale=2.0)),
    "class": (Model(), Slotted(1)),
    "array": (np.zeros(3), np.zeros((3, 1))),
    "type of numbers": (np.zeros(3), np.zeros(3, dtype=np.float32)),
    "minus zero": (0.0, -0.0),
    "constant": (lambda x: x + 1, lambda x: x + 2),
    "set in code": (lambda x: x in {"a", "b"}, lambda x: x in {"a", "c"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen(change):
    before, after = CHANGES[change]
    assert digest(before) != digest(after)


@pytest.mark.parametrize("name", ["FACTOR", "reads_global"])
def test_what_a_function_reads_or_calls(monkeypatch, name):
    before = digest(calls)
    monkeypatch.setitem(globals(), name, 3.0 if name == "FACTOR" else default)
    assert digest(calls) != before


def test_a_helper_method_and_a_default(monkeypatch):
    before = digest(Model()), digest(default)
    monkeypatch.setattr(Model, "helper", changed_method)
    monkeypatch.setattr(default, "__defaults__", (2.0,))
    assert all(one != other for one, other in zip(before, (digest(Model()), digest(default)), strict=True))


def test_objects_of_libraries_are_known_by_names_and_numbers():
    pandas = pytest.importorskip("pandas")
    assert digest(pandas.Series([1.0, 2.0])) != digest(pandas.Series([1.0, 3.0]))
    assert digest(np.random.default_rng(1)) == digest(np.random.default_rng(2))


def test_all_built_in_models_have_one():
    for build in (sterna.models.normal, sterna.models.ising, sterna.models.phylo_species):
        assert identity_of(build().prepare()) == identity_of(build().prepare())


def test_priors_are_told_apart():
    def parts(distribution):
        return identity_of(sterna.Target(Model(), {"x": distribution}).prepare())["the reference of 'x'"]

    found = [sterna.Normal(0, 1), sterna.Normal(0, 2), sterna.Cauchy(0, 1), sterna.Laplace(0, 1), sterna.Uniform(-1, 1)]
    assert len({parts(one) for one in found}) == len(found)
