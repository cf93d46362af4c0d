"""What is special to trajectories: their metric, step size and number of steps, and their edges."""

import math

import numpy as np
import pytest
from annealed import law
from kernels import apply_bound, draws_of
from runs import check_joint_run

import sterna
from sterna.errors import OptionError
from sterna.explorers import automala, hamiltonian
from sterna.explorers.automala import AutoMALA
from sterna.explorers.hamiltonian import HMC, MALA, share_diverged
from sterna.explorers.leapfrog import ACCEPTED, DIVERGED, DOUBLINGS, DRAWS, FEWEST, HEAD, MOST, STEP_SIZE, SUMS, TRIED
from sterna.explorers.metric import packed, tuned_metric, tuned_step_size, unpacked

WAYS = {"hmc": (HMC(steps=5), hamiltonian), "automala": (AutoMALA(trajectories=2), automala)}


@pytest.mark.parametrize("way", WAYS)
def test_plain_and_general_steps_are_the_same(way):
    """The plain line is a faster way to the same numbers, but for rounding."""
    explorer, module = WAYS[way]
    chosen = law("gaussian")
    states = chosen.draw(0.5, 500, np.random.default_rng(1))
    bound = explorer.bind(chosen.target)
    assert bound.kernel is module.explore_plain
    plain, plain_logs, _ = apply_bound(chosen.target, bound, states, 0.5, times=3)
    general, general_logs, _ = apply_bound(chosen.target, bound, states, 0.5, kernel=module.explore, times=3)
    assert np.allclose(plain, general, rtol=1e-9, atol=1e-9)
    assert np.allclose(plain_logs, general_logs, rtol=1e-9)


def steep(x):
    return -(x**4) * 1e80


def steep_gradient(x):
    return -4e80 * x**3


def test_a_trajectory_beyond_all_numbers_is_rejected():
    """AutoMALA halves its steps thirty times, and none of them serves."""
    target = sterna.Target(steep, {"x": sterna.Normal(0, 1)}, gradient=steep_gradient)
    states = np.random.default_rng(1).standard_normal((50, 1))
    for explorer in (HMC(steps=20), HMC(steps=20, metric="dense"), MALA(), AutoMALA()):
        after, log_densities, sums = apply_bound(target, explorer.bind(target), states, 1.0)
        assert np.array_equal(after, states)
        assert sums[ACCEPTED] == 0
        assert sums[DOUBLINGS] == (-30 * sums[TRIED] if explorer == AutoMALA() else 0)
        assert np.isfinite(log_densities).all()


def test_sums_are_moments_on_the_line():
    chosen = law("bounded")
    states = chosen.draw(1.0, 1, np.random.default_rng(1))
    bound = HMC().bind(chosen.target)
    row = bound.start(draws_of(chosen.target))
    after, _, sums = apply_bound(chosen.target, bound, states, 1.0, times=1)
    w, s, p = after[0]
    line = np.array([math.log((w + 2) / (3 - w)), math.log(s), math.log(p / (1 - p))])
    z = np.clip((line - row[HEAD : HEAD + 3]) / row[HEAD + 3 : HEAD + 6], -10, 10)
    assert sums[DRAWS] == 1
    assert np.allclose(sums[SUMS:], [*z, *z**2], rtol=1e-9)


def rows_of(z):
    """Statistics of standardised draws, for a diagonal and for a dense metric."""
    head = np.zeros(SUMS)
    head[DRAWS] = len(z)
    return (
        np.concatenate([head, z.sum(axis=0), (z**2).sum(axis=0)]),
        np.concatenate([head, z.sum(axis=0), packed(z.T @ z)]),
    )


def test_metric_learns_covariance():
    """Scales within 3 %, four standard errors of 10 000 draws; correlations, which vary less, within 0.03."""
    exact = np.array([[4.0, 1.9], [1.9, 1.0]])
    z = np.random.default_rng(2).multivariate_normal([1.0, -2.0], exact, 10_000)
    for dense, sums in zip((False, True), rows_of(z), strict=True):
        start = [1.0, 0.3, 1.0, 1.0, 2.0, 2.0 if dense else 1.0, 5.0, 7.0, 10.0, 1.0]
        row = np.array(start + ([10.0, 0.0, 1.0] if dense else []))
        tuned = tuned_metric(np.stack([row, row]), np.stack([np.zeros_like(sums), sums]), 2)
        assert np.array_equal(tuned[0], row)
        assert tuned[1, HEAD : HEAD + 4] == pytest.approx([15.0, 5.0, 20.0, 1.0], rel=0.03)
        # the step stays what it was in units of the state
        assert tuned[1, STEP_SIZE] == pytest.approx(0.3 / math.sqrt(2.0), rel=0.03)
        if dense:
            factor = np.tril(unpacked(tuned[1, HEAD + 4 :], 2))
            covariance = factor @ factor.T / np.outer([20.0, 1.0], [20.0, 1.0])
            assert covariance == pytest.approx(np.array([[1, 0.95], [0.95, 1]]), abs=0.03)


@pytest.mark.parametrize("dense", [False, True])
def test_metric_survives_few_and_degenerate_draws(dense):
    rng = np.random.default_rng(3)
    sets = [
        np.zeros((0, 3)),
        np.zeros((1, 3)),
        np.zeros((2, 3)),
        np.ones((4, 3)),
        np.full((4, 3), 10.0),
        rng.standard_normal((2, 3)),
        rng.standard_normal((8, 1)) * np.ones(3),
        rng.standard_normal((8, 3)) * [0.0, 1.0, 1e-12],
    ]
    head = [1.0, 0.5, 1.0, 1.0, 3.0, 2.0 if dense else 1.0]
    row = np.array([*head, 0, 0, 0, 1, 1, 1, *(packed(np.eye(3)) if dense else [])])
    sums = np.stack([rows_of(z)[int(dense)] for z in sets])
    tuned = tuned_metric(np.tile(row, (len(sets), 1)), sums, 3)
    assert np.isfinite(tuned).all()
    assert (tuned[:, HEAD + 3 : HEAD + 6] > 0).all()
    assert (tuned[:, STEP_SIZE] > 0).all()
    assert np.array_equal(tuned[:2], np.tile(row, (2, 1)))
    # two draws move no scale by more than a factor of a few
    assert (np.abs(np.log(tuned[5, HEAD + 3 : HEAD + 6])) < 2).all()


def test_step_size_follows_acceptance():
    parameters = np.ones((5, 8))
    statistics = np.zeros((5, 4))
    statistics[1:, TRIED] = 100
    statistics[1:, 1] = [0.0, 30.0, 80.0, 100.0]
    sizes = tuned_step_size(parameters, statistics, 0.8, 2.0)[:, STEP_SIZE]
    assert sizes[0] == 1
    assert sizes[1] == 0.125
    assert 0.125 < sizes[2] < 1
    assert sizes[3] == pytest.approx(1)
    assert sizes[4] == 4


def test_number_of_steps():
    target = law("gaussian").target
    row = HMC(steps=10, jitter=0.5).bind(target).start(draws_of(target))
    assert (row[FEWEST], row[MOST]) == (5, 15)
    row = HMC(steps=10, jitter=0.0).bind(target).start(draws_of(target))
    assert (row[FEWEST], row[MOST]) == (10, 10)
    row = HMC(jitter=0.0).bind(target).start(draws_of(target))
    assert row[FEWEST] == math.ceil(0.5 * math.pi / row[STEP_SIZE])


@pytest.mark.parametrize(
    "explorer",
    [
        HMC(),
        HMC(metric="dense"),
        MALA(),
        sterna.Cycle(HMC(steps=2), sterna.Slice(passes=0.5)),
        {"x": HMC(), "y": sterna.Slice()},
    ],
    ids=["hmc", "dense", "mala", "cycle", "block"],
)
def test_whole_runs(explorer):
    check_joint_run(explorer)


def test_acceptance_is_near_what_is_wanted():
    target = sterna.models.normal(dim=30)
    for explorer, wanted in ((HMC(), 0.8), (MALA(), 0.57)):
        bound = explorer.bind(target)
        rows = np.tile(bound.start(draws_of(target)), (2, 1))
        states = np.random.default_rng(1).standard_normal((1, 30)) / math.sqrt(5)
        for number in range(1, 11):
            sums = np.zeros((2, bound.n_statistics))
            change = lambda row, tuned=rows[1]: row.__setitem__(slice(None), tuned)  # noqa: E731
            states, _, sums[1] = apply_bound(target, bound, states, 1.0, change=change, times=2**number, seed=number)
            rows = bound.tune(rows, sums)
        assert sums[1, 1] / sums[1, TRIED] == pytest.approx(wanted, abs=0.08)


def test_bad_use():
    with pytest.raises(OptionError, match="whole number"):
        HMC(steps=0)
    with pytest.raises(OptionError, match="from 0 to 1"):
        HMC(jitter=2.0)
    with pytest.raises(OptionError, match="dense"):
        MALA(metric="full")
    with pytest.raises(OptionError, match="gradient="):
        HMC().bind(sterna.models.ising(size=3))
    with pytest.raises(OptionError, match="z is not one"):
        HMC().bind(law("mixed").target)


def test_one_divergence_alone_does_not_count():
    rows = np.zeros((3, SUMS))
    rows[:, TRIED], rows[:, DIVERGED] = (100, 100, 0), (1, 2, 0)
    assert share_diverged(rows).tolist() == [0.0, 0.02, 0.0]
