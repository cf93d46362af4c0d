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
from sterna.explorers.hamiltonian import HMC, share_diverged
from sterna.explorers.mala import MALA
from sterna.explorers.shared.leapfrog import DENSE, DIAGONAL, Parameters, Statistics, sizes_of_metric
from sterna.explorers.shared.metric import packed, tuned_metric, tuned_step_size, unpacked
from sterna.ground.rows import columns, new_row, size_of

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
        assert sums[Statistics.accepted] == 0
        assert sums[Statistics.doublings] == (-30 * sums[Statistics.tried] if explorer == AutoMALA() else 0)
        assert np.isfinite(log_densities).all()


def test_sums_are_moments_on_the_line():
    chosen = law("bounded")
    states = chosen.draw(1.0, 1, np.random.default_rng(1))
    bound = HMC().bind(chosen.target)
    row = bound.start(draws_of(chosen.target))
    after, _, sums = apply_bound(chosen.target, bound, states, 1.0, times=1)
    w, s, p = after[0]
    line = np.array([math.log((w + 2) / (3 - w)), math.log(s), math.log(p / (1 - p))])
    given = sizes_of_metric(3, dense=False)
    z = np.clip((line - columns(row, Parameters.centre, *given)) / columns(row, Parameters.scale, *given), -10, 10)
    assert sums[Statistics.draws] == 1
    assert np.allclose(columns(sums, Statistics.sums, *given), z, rtol=1e-9)
    assert np.allclose(columns(sums, Statistics.products, *given), z**2, rtol=1e-9)


def rows_of(z):
    """Statistics of standardised draws, for a diagonal and for a dense metric."""
    count, seen = z.shape[1], {"draws": len(z), "sums": z.sum(axis=0)}
    return (
        new_row(Statistics, sizes_of_metric(count, dense=False), **seen, products=(z**2).sum(axis=0)),
        new_row(Statistics, sizes_of_metric(count, dense=True), **seen, products=packed(z.T @ z)),
    )


def parameters_of(step_size, centre, scale, dense):
    """Parameters with a metric without correlations."""
    factor = {"factor": packed(np.diag(scale))} if dense else {}
    way, count = DENSE if dense else DIAGONAL, len(centre)
    head = {"trajectories": 1, "step_size": step_size, "min_steps": 1, "max_steps": 1, "count": count, "way": way}
    return new_row(Parameters, sizes_of_metric(count, dense), **head, centre=centre, scale=scale, **factor)


def test_metric_learns_covariance():
    """Scales within 3 %, four standard errors of 10 000 draws; correlations, which vary less, within 0.03."""
    exact = np.array([[4.0, 1.9], [1.9, 1.0]])
    z = np.random.default_rng(2).multivariate_normal([1.0, -2.0], exact, 10_000)
    for dense, sums in zip((False, True), rows_of(z), strict=True):
        row, given = parameters_of(0.3, [5.0, 7.0], [10.0, 1.0], dense), sizes_of_metric(2, dense)
        tuned = tuned_metric(np.stack([row, row]), np.stack([np.zeros_like(sums), sums]), 2)
        assert np.array_equal(tuned[0], row)
        assert columns(tuned[1], Parameters.centre, *given) == pytest.approx([15.0, 5.0], rel=0.03)
        assert columns(tuned[1], Parameters.scale, *given) == pytest.approx([20.0, 1.0], rel=0.03)
        # the step stays what it was in units of the state
        assert tuned[1, Parameters.step_size] == pytest.approx(0.3 / math.sqrt(2.0), rel=0.03)
        if dense:
            factor = np.tril(unpacked(columns(tuned[1], Parameters.factor, *given), 2))
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
    row = parameters_of(0.5, np.zeros(3), np.ones(3), dense)
    sums = np.stack([rows_of(z)[int(dense)] for z in sets])
    tuned = tuned_metric(np.tile(row, (len(sets), 1)), sums, 3)
    assert np.isfinite(tuned).all()
    scales = columns(tuned, Parameters.scale, *sizes_of_metric(3, dense))
    assert (scales > 0).all()
    assert (tuned[:, Parameters.step_size] > 0).all()
    assert np.array_equal(tuned[:2], np.tile(row, (2, 1)))
    # two draws move no scale by more than a factor of a few
    assert (np.abs(np.log(scales[5])) < 2).all()


def test_step_size_follows_acceptance():
    parameters = np.ones((5, 8))
    statistics = np.zeros((5, 4))
    statistics[1:, Statistics.tried] = 100
    statistics[1:, Statistics.accepted] = [0.0, 30.0, 80.0, 100.0]
    sizes = tuned_step_size(parameters, statistics, 0.8, 2.0)[:, Parameters.step_size]
    assert sizes[0] == 1
    assert sizes[1] == 0.125
    assert 0.125 < sizes[2] < 1
    assert sizes[3] == pytest.approx(1)
    assert sizes[4] == 4


def test_number_of_steps():
    target = law("gaussian").target
    row = HMC(steps=10, jitter=0.5).bind(target).start(draws_of(target))
    assert (row[Parameters.min_steps], row[Parameters.max_steps]) == (5, 15)
    row = HMC(steps=10, jitter=0.0).bind(target).start(draws_of(target))
    assert (row[Parameters.min_steps], row[Parameters.max_steps]) == (10, 10)
    row = HMC(jitter=0.0).bind(target).start(draws_of(target))
    assert row[Parameters.min_steps] == math.ceil(0.5 * math.pi / row[Parameters.step_size])


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
        assert sums[1, Statistics.accepted] / sums[1, Statistics.tried] == pytest.approx(wanted, abs=0.08)


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
    rows = np.zeros((3, size_of(Statistics, 1, 0, 1)))
    rows[:, Statistics.tried], rows[:, Statistics.diverged] = (100, 100, 0), (1, 2, 0)
    assert share_diverged(rows).tolist() == [0.0, 0.02, 0.0]
