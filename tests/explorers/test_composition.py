"""Explorers made of others: they keep the law, tune every part, and reach every variable."""

import math

import numpy as np
import pytest
from annealed import law, mixed_parts
from kernels import apply_bound, draws_of
from scipy import stats

import sterna
from sterna.explorers.composition import Blocks

DRAWS = 20_000
LEVEL = 1e-6


TARGET = law("mixed").target

COMPOSITIONS = {
    "cycle": sterna.Cycle(sterna.Slice(), sterna.Slice(passes=0.5)),
    "mix": sterna.Mix(sterna.Slice(), sterna.Slice(passes=2), weights=[3, 1]),
    "blocks": Blocks({"x": sterna.Slice(passes=2), ("k", "z"): sterna.Slice()}),
    "nested": Blocks({("z", "k"): sterna.Cycle(sterna.Slice(), sterna.Mix(sterna.Slice())), "x": sterna.Slice()}),
}


def test_mix_draws_parts_by_their_weights():
    """False-alarm rate: 1e-6. One part leaves states alone, the other always moves the real variable."""
    still, moving = sterna.Slice(passes=0), sterna.Slice()
    target = sterna.models.normal(1)
    states = np.random.default_rng(1).standard_normal((DRAWS, 1))
    mix = sterna.Mix(still, moving, weights=[0.8, 0.2])
    after, _, _ = apply_bound(target, mix.bind(target), states, 0.5, times=1)
    assert stats.binomtest(int((after != states).sum()), DRAWS, 0.2).pvalue > LEVEL


def test_every_part_is_tuned_by_its_own_statistics():
    target = sterna.Target(lambda a, b: -0.5 * a * a - 50.0 * b * b, {"a": sterna.Normal(), "b": sterna.Normal()})
    bound = Blocks({"b": sterna.Slice(), "a": sterna.Slice()}).bind(target)
    row = bound.start(draws_of(target))
    # head, then updates, count, rounds, width, first width and doublings of each part
    assert row[[1, 2, 7, 8]].tolist() == [1, 1, 1, 1]
    # every part sums up in its own place how far it moved, and how often
    assert (apply_bound(target, bound, np.ones((10, 2)), 1.0)[2] > 0).tolist() == [True] * 4
    statistics = np.array([[0.0, 0.0, 0.0, 0.0], [0.5, 10.0, 8.0, 10.0]])
    tuned = bound.tune(np.tile(row, (2, 1)), statistics)
    assert tuned[1, [4, 10]] == pytest.approx([0.15, 2.4])
    assert (tuned[0, [3, 9]] == row[[3, 9]] + 1).all()
    assert np.array_equal(np.delete(tuned[0], [3, 9]), np.delete(row, [3, 9]))
    carried = bound.carry(tuned, np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0]))
    assert carried.shape == (3, len(row))
    assert carried[:, [4, 10]] == pytest.approx(np.tile([0.15, 2.4], (3, 1)))
    assert np.array_equal(bound.merge([statistics, statistics]), 2 * statistics)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_runs_are_right_and_repeat(name):
    """Evidence within 4 standard errors of the exact one: a false alarm of 1e-3 with the error's freedom, each."""
    runs = [
        sterna.sample(TARGET, explorer=COMPOSITIONS[name], n_rounds=11, n_copies=2, workers=w, progress=False)
        for w in (1, 2)
    ]
    assert np.array_equal(runs[0].posterior["x"], runs[1].posterior["x"])
    weights, _, _, counts = mixed_parts(1.0)
    exact = math.log(weights.sum() * counts.sum())
    found = runs[0].log_evidence
    assert abs(found.value - exact) <= 4 * found.error


def test_dict_of_explorers_is_taken():
    result = sterna.sample(TARGET, explorer={("x", "z", "k"): sterna.Slice()}, n_rounds=4, progress=False)
    assert result.explorer == "x and z and k: slice"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sterna.Cycle(), "Cycle is empty"),
        (lambda: sterna.Cycle(sterna.Slice), "which is not an explorer"),
        (lambda: sterna.Mix(sterna.Slice(), weights=[1, 2]), "one weight for each of the 1 explorers"),
        (lambda: sterna.Mix(sterna.Slice(), sterna.Slice(), weights=[-1, 2]), "none negative"),
        (lambda: Blocks({"x": sterna.Slice()}).bind(TARGET), "leaves out z, k"),
        (lambda: Blocks({"y": sterna.Slice()}).bind(TARGET), "the variables are z, x, k"),
        (lambda: sterna.Cycle(Blocks({"x": sterna.Slice()})).bind(TARGET, np.array([1])), "cannot be part of another"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(sterna.OptionError, match=message):
        make()


def test_parts_share_nothing():
    """A second binding has tables of its own, so that two runs of one explorer cannot meet."""
    explorer = sterna.Cycle(sterna.Slice())
    first, second = explorer.bind(TARGET), explorer.bind(TARGET)
    assert first.data[0].ctypes.data != second.data[0].ctypes.data
