"""Slice sampling where slices are degenerate: narrow, flat, on a bound, of one value, or without bounds.

Each comparison is a Kolmogorov-Smirnov or chi-square test at 1e-6, below 1e-4 for the whole file. Kernels and their
tuning are loaded anew with what they would do without a fall-back, which the same check must catch.
"""

import math

import numpy as np
import pytest
from kernels import apply_bound, slice_row
from plain import load
from quick import first
from scipy import stats

import sterna
from sterna.engine.program import EVALUATIONS
from sterna.engine.round import draw_states
from sterna.explorers.shared import slice_widths
from sterna.explorers.shared.slice_widths import Parameters
from sterna.explorers.slice import MIN_LOG_REFERENCE, Slice
from sterna.ground.rows import columns
from sterna.ground.streams import new_stream

LEVEL = 1e-6
DRAWS = 10_000


def flat(x):
    return 0.0


def draw(target, n):
    """Draw from the reference."""
    states = np.zeros((n, target.dimension))
    draw_states(target.block, 3, states, np.zeros(1, dtype=np.int64), new_stream())
    return states


def settle(target, states, beta=1.0, rounds=8, times=10):
    """Explore in rounds, tuning between them as a run does; return states, log-densities and the last parameters."""
    bound = Slice().bind(target)
    row = bound.start(lambda n: draw(target, n))
    for number in range(rounds):
        sums = np.zeros(bound.n_row)
        states, log_densities, _ = apply_bound(
            target, bound, states, beta, times=times, seed=number, parameters=row, statistics=sums
        )
        row = bound.tune(row[None], sums[None])[0]
    return states, log_densities, row


def width_in(row):
    """Return the width of the only coordinate."""
    return columns(row, Parameters.widths, 1)[0]


# Zero likelihood at beta = 0.


def half_line(x):
    return 1.0 if x > 0.5 else -np.inf


def p_value_of_zero_likelihood(reference, law, kernel=None):
    target = sterna.Target(half_line, {"x": reference})
    after, _, _ = apply_bound(target, Slice().bind(target), draw(target, DRAWS), 0.0, kernel=kernel)
    return stats.kstest(after[:, 0], law.cdf).pvalue


@pytest.mark.parametrize(("reference", "law"), [(sterna.Normal(), stats.norm()), (sterna.Uniform(), stats.uniform())])
def test_zero_likelihood_counts_for_nothing_at_beta_zero(reference, law):
    assert p_value_of_zero_likelihood(reference, law) > LEVEL


def test_without_the_guard_the_law_at_beta_zero_is_wrong():
    faults = [("annealed(reference, beta, likelihood)", "reference + beta * likelihood")]
    faults += [("annealed(reference_here, beta, log_densities[LOG_LIKELIHOOD])", "reference_here")]
    kernel = load("explorers/slice.py", faults, compiled=True).explore
    assert p_value_of_zero_likelihood(sterna.Normal(), stats.norm(), kernel) < LEVEL


# Narrow densities.


@pytest.mark.parametrize("spread", [1e-3, 1e-12, 1e-100, 1e-280])
def test_narrow_densities(spread):
    """From exact draws; the width is that of the reference, up to 10^286 times too long."""
    target = sterna.Target(
        lambda x, spread: -0.5 * (x / spread) ** 2, {"x": sterna.Uniform(-1e6, 1e6)}, {"spread": spread}
    )
    states = spread * np.random.default_rng(1).standard_normal((1000, 1))
    after, log_densities, _ = apply_bound(target, Slice().bind(target), states, 1.0, parameters=slice_row([2e6]))
    assert stats.kstest(after[:, 0] / spread, "norm").pvalue > LEVEL
    assert not (after == states).any()
    assert log_densities[:, 1] == pytest.approx(-0.5 * (after[:, 0] / spread) ** 2, rel=1e-9)


@pytest.mark.laws
def test_with_fewer_shrinkages_narrow_densities_are_never_left():
    target = sterna.Target(lambda x: -0.5 * (x / 1e-280) ** 2, {"x": sterna.Uniform(-1e6, 1e6)})
    kernel = load("explorers/slice.py", [("MAX_SHRINKS = 2000", "MAX_SHRINKS = 500")], compiled=True).explore
    states = 1e-280 * np.random.default_rng(1).standard_normal((1000, 1))
    after, _, _ = apply_bound(target, Slice().bind(target), states, 1.0, kernel=kernel, parameters=slice_row([2e6]))
    assert (after == states).all()


NANOSECONDS = 1.7e18
GRAIN = float(np.spacing(NANOSECONDS))


def few_numbers(x):
    return -0.5 * ((x - NANOSECONDS) / (0.4 * GRAIN)) ** 2


def test_densities_of_only_a_few_numbers():
    """As narrow as floating point is coarse: the law is one of few numbers, and widths stay above their grain."""
    target = sterna.Target(few_numbers, {"x": sterna.Uniform(1e18, 2e18)})
    states, _, row = settle(target, np.full((DRAWS, 1), NANOSECONDS))
    place = (states[:, 0] - NANOSECONDS) / GRAIN
    weights = np.exp(-0.5 * (np.arange(-2, 3) / 0.4) ** 2)
    counts = np.array([np.sum(place == k) for k in range(-2, 3)])
    assert counts.sum() == DRAWS
    exact = weights / weights.sum() * DRAWS
    assert stats.chisquare(counts[1:4], exact[1:4] * counts[1:4].sum() / exact[1:4].sum()).pvalue > LEVEL
    assert width_in(row) > GRAIN


def test_tuning_counts_moves_alone_and_begins_anew_without_any():
    bound = Slice().bind(sterna.Target(few_numbers, {"x": sterna.Uniform(1e18, 2e18)}))
    row = slice_row([1e-3], [5e17])[None]
    # two of a thousand updates moved, by one grain each
    assert width_in(bound.tune(row, np.array([[2 * GRAIN, 2.0]]))[0]) == 3 * GRAIN
    assert width_in(bound.tune(row, np.zeros((1, 2)))[0]) == 5e17


@pytest.mark.parametrize("value", [1e20, -3e-250])
def test_a_density_of_one_number_stays(value):
    target = sterna.Target(flat, {"x": sterna.Normal(value, 1e-5 * abs(value) * 2.0**-52)})
    states, _, _ = settle(target, np.full((10, 1), value), rounds=3)
    assert (states == value).all()


# Starts on a bound.

BOUNDS = {
    "uniform below": (sterna.Uniform(2.0, 5.0), 2.0, stats.uniform(2, 3)),
    "uniform above": (sterna.Uniform(2.0, 5.0), 5.0, stats.uniform(2, 3)),
    "exponential": (sterna.Exponential(2.0), 0.0, stats.expon(scale=0.5)),
    "half-normal": (sterna.HalfNormal(3.0), 0.0, stats.halfnorm(scale=3.0)),
    "beta below": (sterna.Beta(1.5, 2.0), float(np.finfo(float).tiny), stats.beta(1.5, 2.0)),
    "beta above": (sterna.Beta(1.5, 0.8), 1.0 - 2.0**-53, stats.beta(1.5, 0.8)),
}


@pytest.mark.parametrize("case", BOUNDS)
def test_starts_on_a_bound(case):
    """A flat likelihood: eighty updates lead from the bound to the reference itself."""
    reference, start, law = BOUNDS[case]
    target = sterna.Target(flat, {"x": reference})
    states, _, _ = settle(target, np.full((DRAWS, 1), start))
    assert (target.program.lower[0] <= states).all()
    assert (states <= target.program.upper[0]).all()
    assert stats.kstest(states[:, 0], law.cdf).pvalue > LEVEL


# Flat likelihoods on wide supports, and references of many scales.

WIDE = {
    "all of floating point": (sterna.Uniform(-8e307, 8e307), 8e307),
    "huge": (sterna.Normal(0.0, 1e250), 0.0),
    "tiny": (sterna.Normal(0.0, 1e-250), 0.0),
    "Cauchy": (sterna.Cauchy(0.0, 1.0), -1e5),
    "half a degree of freedom": (sterna.StudentT(0.5), 1e4),
}


@pytest.mark.parametrize("case", WIDE)
def test_flat_likelihoods_on_wide_supports(case):
    """From one far state to the reference, compared with its own draws."""
    reference, start = WIDE[case]
    target = sterna.Target(flat, {"x": reference})
    states, _, _ = settle(target, np.full((2000, 1), start), rounds=12, times=30)
    assert np.isfinite(states).all()
    assert stats.ks_2samp(states[:, 0], draw(target, DRAWS)[:, 0]).pvalue > LEVEL


SCALES = {
    "log-uniform": (sterna.LogUniform(1e-300, 1e300), 1e299),
    "log-uniform from below": (sterna.LogUniform(1e-300, 1e300), 1e-299),
    "gamma": (sterna.Gamma(0.01, 1.0), 0.5),
    "inverse gamma": (sterna.InverseGamma(0.02, 1.0), 1e60),
    "beta": (sterna.Beta(0.03, 2.0), 0.5),
}


def share_that_moves(reference, start, module=slice_widths):
    target = sterna.Target(flat, {"x": reference})
    draws = draw(target, slice_widths.DRAWS_FOR_SPREAD)
    widths = module.first_widths(target.program, np.array([0]), draws)
    bound, row = Slice().bind(target), slice_row(widths)
    after, _, _ = apply_bound(target, bound, np.full((200, 1), start), 1.0, times=5, parameters=row)
    return np.mean(after != start)


@pytest.mark.parametrize("case", SCALES)
def test_references_of_many_scales(case):
    """From exact draws to exact draws, and no state is ever stuck where the width would round to nothing."""
    reference, start = SCALES[case]
    target = sterna.Target(flat, {"x": reference})
    states = draw(target, 3000)
    after, _, _ = apply_bound(target, Slice().bind(target), states, 1.0)
    assert stats.ks_2samp(after[:, 0], draw(target, DRAWS)[:, 0]).pvalue > LEVEL
    assert share_that_moves(reference, start) > 0.9


def test_widths_by_the_spread_alone_leave_large_states_stuck():
    by_spread = load("explorers/shared/slice_widths.py", [("np.maximum(spread, 2.0**-20 * span_of(draws))", "spread")])
    assert share_that_moves(*SCALES["gamma"], by_spread) == 0
    assert share_that_moves(*SCALES["log-uniform"], by_spread) == 0


# One value only.


def draw_three(rng):
    return 3, rng.standard_normal()


def log_three(n, x):
    return -0.5 * x * x - 0.5 * math.log(2 * math.pi)


POINTS = {
    "discrete uniform": {"n": sterna.DiscreteUniform(2, 2), "x": sterna.Normal()},
    "binomial": {"n": sterna.Binomial(0, 0.5), "x": sterna.Normal()},
    "category": {"n": sterna.Categorical([0.0, 1.0, 0.0]), "x": sterna.Normal()},
    "Integer": sterna.Reference(draw_three, log_three, {"n": sterna.Integer(3, 3), "x": sterna.Real()}),
}


@pytest.mark.parametrize("case", POINTS)
def test_point_masses_stay_and_cost_nothing(case):
    target = sterna.Target(lambda n, x: 0.1 * n - 0.5 * x * x, POINTS[case])
    states = draw(target, 100)
    after, log_densities, _ = apply_bound(target, Slice().bind(target, np.array([0])), states, 0.7)
    assert np.array_equal(after, states)
    assert (log_densities[:, EVALUATIONS] == 0).all()


@pytest.mark.parametrize("case", POINTS)
def test_runs_with_point_masses(case):
    """Within 4 standard errors: a false alarm of 6e-5."""
    target = sterna.Target(lambda n, x: 0.1 * n - 0.5 * x * x, POINTS[case])
    result = sterna.sample(target, n_rounds=9, n_copies=1, progress=False)
    values = np.unique(result.posterior["n"].values)
    assert len(values) == 1
    estimate = result.log_evidence
    assert abs(estimate.value - 0.1 * values[0] + 0.5 * math.log(2)) < 4 * estimate.error


def test_an_interval_of_one_real_number_stays():
    grain = 2.0**-52
    space = {"x": sterna.Real(1.0, 1.0 + 2 * grain)}
    target = sterna.Target(flat, sterna.Reference(lambda rng: 1.0 + 2.0**-52, lambda x: 0.0, space))
    states, _, _ = settle(target, np.full((10, 1), 1.0 + grain), rounds=2)
    assert (states == 1.0 + grain).all()


# Integers without bounds.


def far(k, centre, spread):
    return -0.5 * ((k - centre) / spread) ** 2


def draw_two_sided(rng):
    return rng.geometric(0.2) - rng.geometric(0.2)


def log_two_sided(k):
    return math.log(0.04 / (1.0 - 0.64)) + abs(k) * math.log(0.8)


INTEGERS = {
    "Poisson": (sterna.Poisson(3.0), 1e6, 10.0, 3.0),
    "geometric": (sterna.Geometric(0.5), 5000.0, 3.0, 1.0),
    "both sides": (sterna.Reference(draw_two_sided, log_two_sided, {"k": sterna.Integer()}), -1e5, 8.0, 4.0),
}


@pytest.mark.parametrize("case", first(1, INTEGERS))
def test_far_data_under_unbounded_integers(case):
    """All start at one draw of the reference, a thousand spreads and more from where the target is."""
    reference, centre, spread, start = INTEGERS[case]
    given = reference if isinstance(reference, sterna.Reference) else {"k": reference}
    target = sterna.Target(far, given, {"centre": centre, "spread": spread})
    states, log_densities, _ = settle(target, np.full((DRAWS, 1), start), rounds=slice_widths.FIRST_ROUNDS + 4)
    assert log_densities[0, :2] == pytest.approx(target.log_densities(states[0]), rel=1e-9)
    values = np.arange(max(centre - 300 * spread, target.program.lower[0]), centre + 300 * spread)
    log_weights = np.array([sum(target.log_densities(np.array([k]))) for k in values])
    law = np.exp(log_weights - log_weights.max())
    law /= law.sum()
    counts = np.array([np.sum(states[:, 0] == k) for k in values[law * DRAWS > 10]])
    wanted = law[law * DRAWS > 10] * DRAWS
    assert counts.sum() > 0.99 * DRAWS
    assert stats.chisquare(counts, wanted * counts.sum() / wanted.sum()).pvalue > LEVEL


LARGE = {
    "geometric": (sterna.Geometric(1e-13), 1.0, stats.expon(scale=1e13)),
    "Poisson": (sterna.Poisson(8e14), 8e14, stats.norm(8e14, math.sqrt(8e14))),
    "uniform": (sterna.DiscreteUniform(-(2**52), 2**52 - 1), 2.0**52, stats.uniform(-(2.0**52), 2.0**53)),
}


@pytest.mark.parametrize("case", LARGE)
def test_integers_near_the_end_of_what_is_exact(case):
    reference, start, law = LARGE[case]
    target = sterna.Target(flat, {"x": reference})
    states, _, _ = settle(target, np.full((2000, 1), start), times=20)
    assert (states == np.floor(states)).all()
    assert stats.kstest(states[:, 0], law.cdf).pvalue > LEVEL


# Starts of tiny density, and states at which reference and likelihood cancel.


def funnel(x):
    """The density of a funnel over that of its reference, which is normal with standard deviation 10."""
    rest = 0.0
    for i in range(1, x.size):
        rest += x[i] ** 2
    density = -(x[0] ** 2) / 18 - 0.5 * rest * math.exp(-x[0]) - 0.5 * (x.size - 1) * x[0]
    return density + 0.005 * (x[0] ** 2 + rest)


@pytest.fixture(scope="module")
def funnel_target():
    return sterna.Target(funnel, {"x": sterna.Normal(0.0, 10.0, shape=10)})


# a log-density of -2e10, from which the funnel's width may be drawn up to 6e5
STEEP = np.array([[-20.0, *np.full(9, 10.0)]])


def farthest(target, explorer_module=slice_widths):
    """Return how far the first scans and rounds lead from a start of tiny density."""
    tune = explorer_module.tune_widths
    bound = Slice().bind(target)
    row, states, block = bound.start(lambda n: draw(target, n)), np.tile(STEEP, (50, 1)), np.arange(10)
    far = 0.0
    for number in range(6):
        sums = np.zeros(bound.n_row)
        states, _, _ = apply_bound(
            target, bound, states, 1.0, times=2**number, seed=number, parameters=row, statistics=sums
        )
        far = max(far, float(np.abs(states).max()))
        row = tune(target.program, block, row[None], sums[None])[0]
    return far


def test_a_start_of_tiny_density_stays_near_the_reference(funnel_target):
    """Doubling may reach 8 spans of draws, some 500 at most, in each scan; without a limit it goes beyond 1e5."""
    assert farthest(funnel_target) < 2e4


def test_without_a_limit_to_doublings_starts_run_away(funnel_target):
    free = load("explorers/shared/slice_widths.py", [("DOUBLINGS = 8.0, 7, 5.0", "DOUBLINGS = 8.0, 0, 30.0")])
    assert farthest(funnel_target, free) > 1e5


def test_limits_keep_the_longest_interval_while_widths_change():
    target = sterna.Target(flat, {"x": sterna.Normal()})
    bound = Slice().bind(target)
    row = bound.start(lambda n: draw(target, n))[None]
    longest = width_in(row[0]) * 2 ** columns(row, Parameters.doublings, 1)[0, 0]
    assert 8 * 3 < longest < 8 * 20
    for _ in range(slice_widths.FIRST_ROUNDS - 1):
        row = bound.tune(row, np.array([[0.05, 10.0]]))
        assert longest <= width_in(row[0]) * 2 ** columns(row, Parameters.doublings, 1)[0, 0] < 8 * longest
    # a chain that is far away makes long moves, and may go farther from then on
    row = bound.tune(row, np.array([[1e6, 10.0]]))
    assert columns(row, Parameters.doublings, 1) == 5
    assert width_in(row[0]) == pytest.approx(3e5)


# where the log-density of a standard normal reference falls below the least that counts
EDGE = math.sqrt(-2 * MIN_LOG_REFERENCE)


def far_under_a_flat_target(kernel=None):
    """Explore from exact draws a target that is flat as far as the reference allows: their logarithms cancel."""
    target = sterna.Target(lambda x: 0.5 * x * x, {"x": sterna.Normal()})
    states = np.random.default_rng(2).uniform(-EDGE, EDGE, (DRAWS, 1))
    row = slice_row([0.3 * EDGE])
    after, _, _ = apply_bound(target, Slice().bind(target), states, 1.0, kernel=kernel, parameters=row)
    return after[:, 0]


def test_states_at_which_reference_and_likelihood_cancel_have_density_zero():
    """What is left of a density without a finite integral is a distribution, and it is left unchanged."""
    assert stats.kstest(far_under_a_flat_target(), stats.uniform(-EDGE, 2 * EDGE).cdf).pvalue > LEVEL


@pytest.mark.laws
def test_without_the_edge_rounding_errors_are_explored():
    kernel = load("explorers/slice.py", [("= -1e13", "= -math.inf")], compiled=True).explore
    assert np.abs(far_under_a_flat_target(kernel)).max() > 100 * EDGE
