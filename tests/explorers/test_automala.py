"""autoMALA leaves annealed laws unchanged: from exact draws, ten scans, to exact draws.

Each comparison is a Kolmogorov-Smirnov test at 5e-7; with fewer than 180 of them the file raises a false alarm with a
probability below 1e-4. Whole runs have a rate of their own, which `check_run` states.
"""

import numpy as np
import pytest
from gradient_laws import LAWS, bounded, check_run, gaussian, p_values
from kernels import apply_bound
from plain import load

import sterna
from sterna.engine.program import GRADIENTS
from sterna.errors import OptionError
from sterna.explorers.automala import HEAD_START, AutoMALA, explore, explore_plain, tuned_start
from sterna.explorers.leapfrog import DOUBLINGS, HEAD, STEP_SIZE, TRIED

LEVEL = 5e-7
BETAS = [0.0, 0.1, 0.5, 1.0]
FEW = AutoMALA(trajectories=2)


def resize(factor):
    """Begin with another step size."""

    def change(parameters):
        parameters[STEP_SIZE] *= factor

    return change


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("law", LAWS)
def test_law_is_left_unchanged(law, beta):
    assert min(p_values(LAWS[law](), FEW, beta)) > LEVEL


@pytest.mark.parametrize("factor", [0.1, 1000.0])
@pytest.mark.parametrize("law", ["gaussian", "bimodal", "heavy"])
def test_any_first_size_leaves_it_unchanged(law, factor):
    assert min(p_values(LAWS[law](), FEW, 0.5, change=resize(factor))) > LEVEL


@pytest.mark.parametrize("law", ["gaussian", "bounded", "banana", "joint"])
def test_dense_metric(law):
    def correlate(parameters):
        parameters[HEAD + 2 * LAWS[law]().target.dimension + 1] = 0.4

    assert min(p_values(LAWS[law](), AutoMALA(metric="dense", trajectories=2), 0.5, change=correlate)) > LEVEL


FAULTS = {
    "no way back asked for": ("            if same_way_back(", "            if True or same_way_back("),
    "velocity not reversed": ("chosen.velocity[k] = -chosen", "chosen.velocity[k] = chosen"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    kernel = load("explorers/automala.py", [FAULTS[fault]], compiled=True).explore
    found = [p_values(LAWS[law](), FEW, 0.5, kernel, resize(0.5)) for law in ("bounded", "bimodal")]
    assert min(min(found)) < LEVEL


def test_plain_and_general_steps_are_the_same():
    """The plain line is a faster way to the same numbers, but for rounding."""
    law = gaussian()
    states = law.draw(0.5, 500, np.random.default_rng(1))
    bound = FEW.bind(law.target)
    assert bound.kernel is explore_plain
    plain, plain_logs, _ = apply_bound(law.target, bound, states, 0.5, times=3)
    general, general_logs, _ = apply_bound(law.target, bound, states, 0.5, kernel=explore, times=3)
    assert np.allclose(plain, general, rtol=1e-9, atol=1e-9)
    assert np.allclose(plain_logs, general_logs, rtol=1e-9)


def test_same_bits_on_repeat():
    law = bounded()
    states = law.draw(0.5, 100, np.random.default_rng(1))
    first, second = (apply_bound(law.target, FEW.bind(law.target), states, 0.5)[0] for _ in range(2))
    assert np.array_equal(first, second)


def steep(x):
    return -(x**4) * 1e80


def steep_gradient(x):
    return -4e80 * x**3


def test_no_size_that_serves_is_a_rejection():
    """Every step of up to 30 halvings leaves the numbers, or is far too long."""
    target = sterna.Target(steep, {"x": sterna.Normal(0, 1)}, gradient=steep_gradient)
    states = np.random.default_rng(1).standard_normal((50, 1))
    after, logs, sums = apply_bound(target, FEW.bind(target), states, 1.0)
    assert np.array_equal(after, states)
    assert np.isfinite(logs).all()
    assert sums[DOUBLINGS] == -30 * sums[TRIED]


def flat(x):
    return 0.0 * x


def test_a_flat_density_ends_the_doubling():
    """Nothing ever changes the density of a uniform law far inside of a huge interval."""
    target = sterna.Target(flat, {"x": sterna.Uniform(-1e300, 1e300)}, gradient=flat)
    after, logs, _ = apply_bound(target, FEW.bind(target), np.zeros((20, 1)), 1.0, change=resize(1e-9))
    assert np.isfinite(after).all()
    assert np.isfinite(logs).all()


def test_first_size_follows_the_sizes_chosen():
    parameters = np.ones((3, 8))
    statistics = np.zeros((3, 4))
    statistics[1:, TRIED] = 10
    statistics[1:, DOUBLINGS] = [20, -300]
    sizes = tuned_start(parameters, statistics)[:, STEP_SIZE]
    assert sizes == pytest.approx([1.0, 2.0 ** (2 + HEAD_START), 2.0 ** (HEAD_START - 30)])


def test_few_gradients_once_tuned():
    """From the size that the steps choose on the mean, a step costs fewer than five gradients."""
    law = gaussian()
    states = law.draw(0.5, 2000, np.random.default_rng(1))
    bound = FEW.bind(law.target)
    factor = 1.0
    for _ in range(4):
        _, logs, sums = apply_bound(law.target, bound, states, 0.5, times=1, change=resize(factor))
        factor *= 2.0 ** (sums[DOUBLINGS] / sums[TRIED])
    assert logs[:, GRADIENTS].sum() < 5 * sums[TRIED]


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
    check_run(explorer)


def test_bad_use():
    with pytest.raises(OptionError, match="whole number"):
        AutoMALA(trajectories=0)
    with pytest.raises(OptionError, match="dense"):
        AutoMALA(metric="full")
    with pytest.raises(OptionError, match="gradient="):
        AutoMALA().bind(sterna.models.ising(size=3))
