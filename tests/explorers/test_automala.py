"""What is special to autoMALA: any first step size, and its tuning.

Comparisons of laws are at the level of the table in `invariance`; these few add less than 1e-5 to its false alarms.
"""

import numpy as np
import pytest
from annealed import law
from invariance import LEVEL, p_values
from kernels import apply_bound
from quick import first
from runs import check_joint_run

import sterna
from sterna.engine.program import GRADIENTS
from sterna.errors import OptionError
from sterna.explorers.automala import HEAD_START, AutoMALA, tuned_start
from sterna.explorers.shared.leapfrog import Parameters, Statistics

FEW = AutoMALA(trajectories=2)


def resize(factor):
    """Begin with another step size."""

    def change(parameters):
        parameters[Parameters.step_size] *= factor

    return change


@pytest.mark.parametrize("factor", [0.1, 1000.0])
@pytest.mark.parametrize("name", first(1, ["bimodal", "gaussian", "heavy"]))
def test_any_first_size_leaves_it_unchanged(name, factor):
    assert min(p_values(FEW, name, 0.5, 10_000, change=resize(factor))) > LEVEL


def flat(x):
    return 0.0 * x


def test_a_flat_density_ends_the_doubling():
    """Nothing ever changes the density of a uniform law far inside of a huge interval."""
    target = sterna.Target(flat, {"x": sterna.Uniform(-1e300, 1e300)}, gradient=flat)
    after, log_densities, _ = apply_bound(target, FEW.bind(target), np.zeros((20, 1)), 1.0, change=resize(1e-9))
    assert np.isfinite(after).all()
    assert np.isfinite(log_densities).all()


def test_first_size_follows_the_sizes_chosen():
    parameters = np.ones((3, 8))
    statistics = np.zeros((3, 4))
    statistics[1:, Statistics.tried] = 10
    statistics[1:, Statistics.doublings] = [20, -300]
    sizes = tuned_start(parameters, statistics)[:, Parameters.step_size]
    assert sizes == pytest.approx([1.0, 2.0 ** (2 + HEAD_START), 2.0 ** (HEAD_START - 30)])


def test_few_gradients_once_tuned():
    """From the size that the steps choose on the mean, a step costs fewer than five gradients."""
    chosen = law("gaussian")
    states = chosen.draw(0.5, 2000, np.random.default_rng(1))
    bound = FEW.bind(chosen.target)
    factor = 1.0
    for _ in range(4):
        _, log_densities, sums = apply_bound(chosen.target, bound, states, 0.5, times=1, change=resize(factor))
        factor *= 2.0 ** (sums[Statistics.doublings] / sums[Statistics.tried])
    assert log_densities[:, GRADIENTS].sum() < 5 * sums[Statistics.tried]


@pytest.mark.parametrize(
    "explorer",
    [
        AutoMALA(),
        AutoMALA(metric="dense"),
        sterna.Cycle(AutoMALA(trajectories=2), sterna.Slice(passes=0.5)),
        {"x": AutoMALA(), "y": sterna.Slice()},
    ],
    ids=["automala", "dense", "cycle", "block"],
)
def test_whole_runs(explorer):
    check_joint_run(explorer)


def test_bad_use():
    with pytest.raises(OptionError, match="whole number"):
        AutoMALA(trajectories=0)
    with pytest.raises(OptionError, match="dense"):
        AutoMALA(metric="full")
    with pytest.raises(OptionError, match="gradient="):
        AutoMALA().bind(sterna.models.ising(size=3))
