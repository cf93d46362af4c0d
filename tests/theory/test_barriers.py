"""Closed forms of barriers against their definition, half the mean distance of two energies, by quadrature and sums."""

import math

import exact
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from sterna import theory
from sterna.errors import OptionError
from sterna.theory.cumulative_barrier import Barrier
from sterna.theory.monotone import monotone_cubic
from sterna.tuning.barrier import communication_barrier
from sterna.tuning.evidence_curve import EvidenceCurve


def normal_local(beta, dim, precision):
    """Half the mean distance of two energies, the integral of F (1 - F); energies are gamma variables."""
    distribution = stats.gamma(dim / 2, scale=abs(precision - 1) / (1 + beta * (precision - 1)))
    value, _ = quad(
        lambda v: distribution.cdf(v) * distribution.sf(v),
        0,
        distribution.isf(1e-16),
        points=[distribution.mean()],
        limit=200,
    )
    return value


@pytest.mark.parametrize("dim", [1, 2, 5, 40])
@pytest.mark.parametrize("precision", [0.2, 3.0, 100.0])
def test_normal_model(dim, precision):
    for beta in (0.0, 0.3, 1.0):
        assert theory.normal_local_barrier(beta, dim, precision) == pytest.approx(
            normal_local(beta, dim, precision), rel=1e-7
        )
    integral, _ = quad(lambda beta: float(theory.normal_local_barrier(beta, dim, precision)), 0, 0.7)
    assert theory.normal_barrier(0.7, dim, precision) == pytest.approx(integral, rel=1e-10)
    assert theory.normal_barrier(0.7, dim, precision) != pytest.approx(2 * integral, rel=1e-3)


@pytest.mark.parametrize("dim", [100, 3000, 10**5, 10**9, 10**15])
def test_normal_model_keeps_its_digits_in_many_dimensions(dim):
    """Against Stirling's series of Gamma(d/2 + 1/2) / Gamma(d/2), whose next term is below d^-4."""
    series = math.sqrt(dim / (2 * math.pi)) * (1 - 1 / (4 * dim) + 1 / (32 * dim**2) + 5 / (128 * dim**3))
    value = theory.normal_barrier(1.0, dim, math.e)
    assert value == pytest.approx(series, rel=max(2e-10, 2 / dim**4))


@pytest.mark.parametrize(("k", "a"), [(1, 3.0), (2, 100.0), (50, 0.01)])
def test_discrete_model(k, a):
    energies, log_weights = exact.discrete_levels(k, a)
    betas = np.linspace(0, 1, 5)
    assert theory.discrete_barrier(betas, k, a) == pytest.approx(
        exact.level_barrier(betas, energies, log_weights), abs=1e-7
    )
    integral, _ = quad(lambda beta: float(theory.discrete_local_barrier(beta, k, a)), 0, 0.4)
    assert theory.discrete_barrier(0.4, k, a) == pytest.approx(integral, rel=1e-10)
    # the paper's own expression
    whole = k * (k + 1) * (a - 1) / ((2 * k + 1) * (k + (k + 1) * a))
    assert theory.discrete_barrier(k=k, a=a) == pytest.approx(abs(whole), rel=1e-12)


def test_discrete_model_with_modes_beyond_the_range_of_numbers():
    assert theory.discrete_barrier(k=1, a=1e308) == pytest.approx(1 / 3, rel=1e-12)
    assert theory.discrete_local_barrier(1.0, k=1, a=1e308) == pytest.approx(0.0, abs=1e-290)


def test_models_that_are_their_reference_have_no_barrier():
    assert theory.normal_barrier(dim=3, precision=1.0) == 0
    assert theory.discrete_barrier(a=1.0) == 0


def test_many_dimensions_approach_their_limit():
    """The normal model's ratio to its limit is 1 - 1/(4 d); the planted fault, sqrt(d / 2), is far from it."""
    precision = 30.0

    def deviation(beta):
        return (precision - 1) / (1 + beta * (precision - 1)) / math.sqrt(2)

    for dim in (10, 100, 1000):
        limit = theory.high_dimensional_barrier(dim, deviation)
        ratio = theory.normal_barrier(dim=dim, precision=precision) / limit
        assert ratio == pytest.approx(1 - 1 / (4 * dim), abs=1 / dim**2)
        assert ratio * math.sqrt(2 / math.pi) != pytest.approx(1 - 1 / (4 * dim), abs=1 / dim**2)
        local = theory.high_dimensional_local_barrier([0.1, 0.6], dim, deviation)
        assert theory.normal_local_barrier([0.1, 0.6], dim, precision) / local == pytest.approx(ratio, abs=1 / dim**2)


def test_modes_against_enumeration():
    """Three modes of four points each, with the same weights under reference and target."""
    rng = np.random.default_rng(3)
    weights = np.array([0.2, 0.5, 0.3])
    reference, target = (rng.dirichlet(np.ones(4), size=3) for _ in range(2))
    energies = np.log(target / reference)
    whole = exact.level_barrier(np.array([1.0]), energies.ravel(), np.log((weights[:, None] * reference).ravel()))[0]
    grid = np.linspace(0, 1, 4001)
    distribution = reference ** (1 - grid[:, None, None]) * target ** grid[:, None, None]
    # modes keep their weights only where each has the same normalising constant: the proposition's assumption
    constants = distribution.sum(axis=2)
    within = distribution / constants[:, :, None]
    distance = np.abs(energies.ravel()[:, None] - energies.ravel()[None, :]).reshape(3, 4, 3, 4)
    local = 0.5 * np.einsum("gka,kalb,glb->gkl", within, distance, within)
    shares = weights * constants
    shares /= shares.sum(axis=1, keepdims=True)
    at_each_beta = np.array(
        [theory.multimodal_barrier(share, pairs) for share, pairs in zip(shares, local, strict=True)]
    )
    assert np.trapezoid(at_each_beta, grid) == pytest.approx(whole, rel=1e-6)
    assert theory.multimodal_barrier(weights, local).shape == grid.shape


def test_exchangeable_modes_leave_the_barrier_alone():
    for modes in (1, 2, 7):
        assert theory.multimodal_barrier(np.full(modes, 1 / modes), np.full((modes, modes), 3.5)) == pytest.approx(3.5)


def test_rejections_of_a_barrier_are_exact_to_third_order():
    errors = []
    for n_chains in (11, 21):
        schedule = np.linspace(0, 1, n_chains)
        increments = theory.barrier_rejection(lambda beta: theory.normal_barrier(beta, 5, 3.0), schedule)
        errors.append(np.abs(increments - exact.normal_rejections(schedule, 5, 3.0)).max())
    assert 6 < errors[0] / errors[1] < 10


def test_rejections_of_a_measured_barrier_are_those_measured():
    rejection = np.array([0.3, 0.1, 0.5])
    schedule = np.array([0.0, 0.1, 0.4, 1.0])
    barrier = communication_barrier(schedule, rejection)
    assert theory.barrier_rejection(barrier.cumulative, schedule) == pytest.approx(rejection, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.normal_barrier(1.5), "beta=1.5"),
        (lambda: theory.normal_barrier(dim=0), "dim=0"),
        (lambda: theory.normal_barrier(precision=0.0), "precision=0.0"),
        (lambda: theory.discrete_barrier(k=0), "k=0"),
        (lambda: theory.discrete_barrier(a=-1.0), "a=-1.0"),
        (lambda: theory.multimodal_barrier([0.5, 0.6], np.ones((2, 2))), "sum to 1"),
        (lambda: theory.multimodal_barrier([0.5, 0.5], np.ones((3, 3))), "2 modes"),
        (lambda: theory.multimodal_barrier([0.5, 0.5], [[1.0, 2.0], [3.0, 1.0]]), "symmetric"),
    ],
)
def test_what_cannot_work_is_named(call, message):
    with pytest.raises(OptionError, match=message):
        call()


@pytest.mark.parametrize("beta", [2.0, -0.1, math.nan, [0.5, 1.5], "a", None])
def test_curves_are_not_continued_beyond_their_ends(beta):
    """Beyond beta = 1 a fitted curve would be a guess."""
    knots = np.array([0.0, 0.5, 1.0])
    barrier = Barrier(monotone_cubic(knots, knots), 0.0)
    curve = EvidenceCurve(knots, knots, knots, knots, 0.0)
    for function in (barrier.cumulative, barrier.local, curve, theory.normal_barrier, theory.discrete_local_barrier):
        with pytest.raises(OptionError, match=r"beta=.*give numbers from 0 to 1"):
            function(beta)


@pytest.mark.parametrize("position", [1.5, -1.0, "a"])
def test_generators_take_positions_from_0_to_1(position):
    generators = (
        theory.uniform_generator(),
        theory.geometric_generator(0.1),
        theory.optimal_generator(lambda beta: beta),
    )
    for generator in generators:
        with pytest.raises(OptionError, match=r"position=.*give positions from 0 to 1"):
            generator(position)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.predicted_round_trip_rate("abc"), "rejection='abc' is not numeric"),
        (lambda: theory.optimal_round_trip_rate("a"), "barrier='a' is not a number"),
        (lambda: theory.optimal_round_trip_rate(1.0, 2.0), "zero_share=2.0 is not valid"),
        (lambda: theory.optimal_n_chains("5"), "barrier='5' is not a number"),
        (lambda: theory.budget_round_trip_rate(1.0, "a", 3), "n_chains='a' is not numeric"),
        (lambda: theory.brownian_motion_path("a"), "times='a' is not numeric"),
        (lambda: theory.brownian_motion_cdf("a", 1.0), "place='a' is not numeric"),
        (lambda: theory.piecewise_deterministic_cdf("a", 1.0, 1.0), "place='a' is not numeric"),
        (lambda: theory.brownian_motion_ends(1.0, 10**13), "n_paths=10000000000000 would need 80 TB of memory"),
        (lambda: theory.simulate_index_process([0.5], 2**45), "n_scans=35184372088832 would need 176 TB"),
        (lambda: theory.simulate_round_trips([0.5], 2**45), "n_trips=35184372088832 would need 563 TB"),
        (lambda: theory.scaled_index_path([0.5], 1e300), "about 1e.300 scans does not fit in memory"),
        (lambda: theory.simulate_index_process([0.5], 3, direction=np.ones(2)), "direction=.* is unknown"),
        (lambda: theory.high_dimensional_barrier(3, 1.0), "deviation=1.0 is not a function"),
        (lambda: theory.barrier_rejection(3, [0, 1]), "cumulative=3 is not a function"),
        (lambda: theory.optimal_generator("a"), "barrier='a' is not a function"),
        (lambda: theory.generated_schedule("a", 3), "generator='a' is not a function"),
        (lambda: theory.multimodal_barrier("a", [[1.0]]), "weights='a' is not numeric"),
    ],
)
def test_wrong_arguments_of_theory_are_named(call, words):
    with pytest.raises(OptionError, match=words):
        call()
