"""Path integrals and divergences against closed forms of the normal model, on exact draws and on a run.

With a = precision - 1 and p = 1 + beta a, its V = a |x|^2 / 2 is gamma distributed, of shape d / 2 and scale a / p.
"""

import functools
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import sterna
from sterna.engine.communication import measure
from sterna.engine.index_process import Trips
from sterna.engine.record import add_chains, add_pairs, batch_of, layout_of, new_record
from sterna.tuning.batches import standard_error
from sterna.tuning.estimate import Estimate
from sterna.tuning.path_integrals import (
    integrate,
    kl_reference_to_target,
    kl_target_to_reference,
    path_integral,
    symmetric_kl,
)
from sterna.tuning.rounds import summarise_round

DIMENSION, PRECISION = 4, 20.0
EXCESS = PRECISION - 1.0
LOG_EVIDENCE = -0.5 * DIMENSION * math.log(PRECISION)


def geometric(n_chains):
    return np.expm1(np.linspace(0.0, 1.0, n_chains) * math.log(PRECISION)) / EXCESS


def draws(copies=2, scans=1500, n_chains=16, seed=1):
    """Exact independent log-likelihoods of all chains."""
    p = 1.0 + geometric(n_chains) * EXCESS
    return -0.5 * EXCESS * np.random.default_rng(seed).chisquare(DIMENSION, (copies, scans, n_chains)) / p


def round_of(found):
    """Return the round in which these log-likelihoods were seen, recorded scan by scan."""
    copies, scans, n_chains = found.shape
    schedule = geometric(n_chains)
    pivot, centre = np.diff(-0.5 * DIMENSION * np.log1p(schedule * EXCESS)), np.full(n_chains, -1.0)
    records, order = [], np.arange(n_chains)
    accepted, log_densities = np.zeros(n_chains - 1), np.zeros((n_chains, 3))
    for copy in range(copies):
        record = new_record(scans, layout_of(scans), n_chains, 1, 0, 1)
        # every replica goes up one chain per scan, and begins again
        record.positions[:] = (order + np.arange(scans)[:, None]) % n_chains
        record.trips[Trips.restarts] = scans // n_chains
        for scan in range(1, scans + 1):
            log_densities[:, 1] = found[copy, scan - 1]
            batch = batch_of(scan, scans, len(record.scans))
            measure(schedule, log_densities, order, accepted)
            add_pairs(record, batch, schedule, pivot, log_densities, order, accepted)
            add_chains(record, scan, batch, centre, log_densities[:, 1].copy(), log_densities, order)
        records.append(record)
    return summarise_round(1, schedule, pivot, centre, records, "deo", 1)


@functools.cache
def exact_round():
    return round_of(draws())


def normal_kl(precision, other):
    """KL(N(0, I/precision), N(0, I/other)) by the formula for Gaussians."""
    ratio = other / precision
    return 0.5 * DIMENSION * (ratio - 1.0 - math.log(ratio))


CLOSED_FORMS = {
    "kl_reference_to_target": normal_kl(1.0, PRECISION),
    "kl_target_to_reference": normal_kl(PRECISION, 1.0),
    "symmetric_kl": normal_kl(1.0, PRECISION) + normal_kl(PRECISION, 1.0),
    "fisher_rao_length": math.sqrt(0.5 * DIMENSION) * math.log(PRECISION),
}


def agrees(found, exact):
    """Within 4 standard errors and twice the stated bias, and rounding."""
    allowed = found.error * stats.t.isf(stats.norm.sf(4.0), found.freedom)
    return abs(found.value - exact) <= allowed + 2 * abs(found.bias) + 1e-12 * abs(exact)


# ----------------------------------------------------------------------------------------------------- integrate


def test_integral_of_a_line_is_exact():
    schedule = np.array([0.0, 0.1, 0.15, 0.6, 1.0])
    found = integrate(schedule, 2.0 + 3.0 * schedule, np.zeros((1, 10, 5)))
    assert found.value == pytest.approx(3.5, rel=1e-14)
    assert found.bias == pytest.approx(0.0, abs=1e-14)
    assert found.error == 0.0


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (np.exp, math.e - 1),
        (lambda x: 1 / (1 + 9 * x), math.log(10) / 9),
        (lambda x: np.sqrt(1 + x), (2**1.5 - 1) / 1.5),
    ],
)
def test_integrals_of_smooth_functions_are_within_their_bias(function, exact):
    for n in (9, 17, 33):
        grid = np.linspace(0.0, 1.0, n)
        found = integrate(grid, function(grid), np.zeros((1, 10, n)))
        assert abs(found.value - exact) <= abs(found.bias) + 1e-14
        # and that is no more than the trapezoid's own error, which is the planted fault
        assert abs(found.bias) < abs(np.trapezoid(function(grid), grid) - exact)


def test_error_is_that_of_the_trapezoid():
    """The error of a sum of independent numbers with the trapezoid's weights."""
    rng, schedule = np.random.default_rng(5), np.array([0.0, 0.2, 0.7, 1.0])
    influence = rng.standard_normal((2, 3, 4))
    found = integrate(schedule, np.zeros(4), influence)
    combined = influence @ np.array([0.1, 0.35, 0.4, 0.15])
    assert found.error == pytest.approx(combined.std(ddof=1) / math.sqrt(6), rel=1e-12)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_infinite_values_have_no_integral(bad):
    found = integrate(np.array([0.0, 0.5, 1.0]), np.array([bad, 1.0, 1.0]), np.zeros((1, 10, 3)))
    assert math.isnan(found.value)
    assert not found.valid


def test_two_chains_have_a_value_and_a_bias_that_nobody_knows():
    found = integrate(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.zeros((1, 10, 2)))
    assert found.value == pytest.approx(2.0)
    assert math.isnan(found.bias)


# -------------------------------------------------------------------------------------------------- path integrals


def mean_of_square_integral():
    """Integral of E[V^2] = (d/2)(d/2 + 1) a^2 / p^2 over beta: a factor (1 - 1/precision) / a."""
    half = 0.5 * DIMENSION
    return half * (half + 1.0) * EXCESS * (1.0 - 1.0 / PRECISION)


def tilted_integral():
    """Integral of beta E[V] = (d/2) a beta / p."""
    return 0.5 * DIMENSION * (1.0 - math.log(PRECISION) / EXCESS)


def weight_integral():
    """Integral of E[exp(-(1 - beta) V)] = Z(1) / Z(beta) = (p / precision)^(d / 2)."""
    power = 0.5 * DIMENSION
    return (PRECISION ** (power + 1.0) - 1.0) / ((power + 1.0) * EXCESS * PRECISION**power)


FUNCTIONS = [
    (lambda v, beta: v, -LOG_EVIDENCE),
    (lambda v, beta: v**2, mean_of_square_integral()),
    (lambda v, beta: beta * v, tilted_integral()),
    (lambda v, beta: np.exp(-(1.0 - beta) * v), weight_integral()),
    (lambda v, beta: 3.0, 3.0),
]


@pytest.mark.parametrize(("function", "exact"), FUNCTIONS)
def test_path_integrals_of_exact_draws(function, exact):
    """Within 4 standard errors and twice the bias: a false alarm of 6e-5 each."""
    found = path_integral(function, geometric(16), draws(), 100)
    assert agrees(found, exact)


def test_checks_of_path_integrals_catch_a_wrong_sign_and_betas_in_the_wrong_order():
    schedule, found = geometric(16), draws()
    assert not agrees(path_integral(lambda v, beta: -v, schedule, found, 100), -LOG_EVIDENCE)
    assert not agrees(path_integral(lambda v, beta: (1 - beta) * v, schedule, found, 100), tilted_integral())
    backwards = path_integral(lambda v, beta: v**2, schedule, found[:, :, ::-1], 100)
    assert not agrees(backwards, mean_of_square_integral())


def test_path_integral_uses_the_beta_of_every_chain():
    """Exactly: of a function of beta alone, the integral of the same values."""
    schedule = geometric(16)
    found = path_integral(lambda v, beta: beta**2, schedule, draws(), 100)
    assert found.value == pytest.approx(integrate(schedule, schedule**2, np.zeros((1, 4, 16))).value, rel=1e-13)
    assert found.error == pytest.approx(0.0, abs=1e-12)


def test_batches_of_a_path_integral_are_those_of_a_record():
    """Scans that no number of batches divides: the error is of sums with a record's borders."""
    found = draws(copies=2, scans=334, n_chains=3)
    edges = [b * 334 // 3 for b in range(4)]
    parts = np.array([-found[:, low:high].sum(axis=1) for low, high in itertools.pairwise(edges)])
    lengths = np.diff(edges)[:, None, None]
    step = np.diff(geometric(3))
    weights = 0.5 * np.array([step[0], step[0] + step[1], step[1]])
    influence = (parts + lengths * found.mean(axis=(0, 1))) / lengths.mean() @ weights
    error = path_integral(lambda v, beta: v, geometric(3), found, 3).error
    assert error == pytest.approx(influence.std(ddof=1) / math.sqrt(6), rel=1e-12)


def scatter_of_errors(scale=1.0, runs=100):
    """Stated error of the integral of V over its scatter."""
    found = [path_integral(lambda v, beta: v, geometric(8), draws(2, 300, 8, seed), 100) for seed in range(runs)]
    stated = scale * math.sqrt(np.mean([one.error**2 for one in found]))
    return stated / np.std([one.value for one in found], ddof=1)


def test_errors_of_path_integrals():
    """False-alarm rate: 1e-6. The scatter of 100 values has a relative error of 1/sqrt(198), 4.9 of which are 0.35.

    The value is by cubics and its error by the trapezoid: that may add 10 %.
    """
    assert 1 / 1.35 - 0.1 <= scatter_of_errors() <= 1 / 0.65 + 0.1
    # planted fault: errors of half the size
    assert not 1 / 1.35 - 0.1 <= scatter_of_errors(0.5) <= 1 / 0.65 + 0.1


def test_infinite_energies_have_no_integral_of_v_but_of_what_is_finite():
    found = draws()
    found[:, ::4, 0] = -np.inf
    assert not path_integral(lambda v, beta: v, geometric(16), found, 100).valid
    finite = path_integral(lambda v, beta: np.exp(-v), geometric(16), found, 100)
    assert finite.valid
    assert math.isfinite(finite.error)


@pytest.mark.parametrize(
    "function", [lambda v, beta: v.mean(axis=0), lambda v, beta: v[:, :-1], lambda v, beta: np.array([1.0, 2.0])]
)
def test_functions_of_a_wrong_shape_are_an_error(function):
    with pytest.raises(sterna.OptionError, match="one number for each value"):
        path_integral(function, geometric(16), draws(), 100)


# ----------------------------------------------------------------------------------------------------- divergences


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_divergences_of_exact_draws(name):
    """Within 4 standard errors and twice the bias: a false alarm of 6e-5 each."""
    assert agrees(exact_round().divergences[name], CLOSED_FORMS[name])


def test_divergences_add_up():
    found = exact_round().divergences
    both = found["kl_reference_to_target"].value + found["kl_target_to_reference"].value
    assert both == pytest.approx(found["symmetric_kl"].value, rel=1e-12)


def test_symmetric_divergence_is_the_path_integral_of_the_variance():
    """The identity that defines it, within the bias of the integral."""
    one = exact_round()
    found = integrate(one.schedule, one.log_likelihoods.variance, one.log_likelihoods.variance_influence)
    assert agrees(found, CLOSED_FORMS["symmetric_kl"])


def test_checks_of_divergences_catch_wrong_formulas():
    """Log evidence of the wrong sign, ends that are exchanged, and the variance for the standard deviation."""
    one = exact_round()
    mean, best = one.log_likelihoods.mean, one.log_evidence
    forward, backward = (one.divergences[f"kl_{way}"] for way in ("reference_to_target", "target_to_reference"))
    wrong_sign = Estimate(-best.value - mean[0], forward.error, forward.freedom)
    assert not agrees(wrong_sign, CLOSED_FORMS["kl_reference_to_target"])
    assert not agrees(Estimate(mean[-1] + best.value, backward.error), CLOSED_FORMS["kl_target_to_reference"])
    assert not agrees(forward, CLOSED_FORMS["kl_target_to_reference"])
    assert not agrees(backward, CLOSED_FORMS["kl_reference_to_target"])
    variance = integrate(one.schedule, one.log_likelihoods.variance, one.log_likelihoods.variance_influence)
    assert not agrees(variance, CLOSED_FORMS["fisher_rao_length"])


def test_errors_of_divergences():
    """False-alarm rate: 1e-6 each. The scatter of 40 values has a relative error of 1/sqrt(78); 4.9 of it is 0.56."""
    rounds = [round_of(draws(1, 200, 6, seed)).divergences for seed in range(40)]
    for name in CLOSED_FORMS:
        stated = math.sqrt(np.mean([one[name].error ** 2 for one in rounds]))
        ratio = stated / np.std([one[name].value for one in rounds], ddof=1)
        assert 1 / 1.56 - 0.1 <= ratio <= 1 / 0.44 + 0.1, name


def test_error_of_a_divergence_is_that_of_the_evidence_and_of_its_own_end_of_the_path():
    rng = np.random.default_rng(6)
    known = SimpleNamespace(best=Estimate(2.0, 0.1), influence=rng.standard_normal((2, 40)), least_variance=0.0)
    found = SimpleNamespace(zero_share=0.0, mean=np.arange(4.0), influence=rng.standard_normal((2, 40, 4)))
    for divergence, chain in ((kl_reference_to_target, 0), (kl_target_to_reference, -1)):
        expected = standard_error(known.influence - found.influence[:, :, chain])[0]
        assert divergence(known, found).error == pytest.approx(expected)
    assert symmetric_kl(found).error == pytest.approx(
        standard_error(found.influence[:, :, 0] - found.influence[:, :, -1])[0]
    )


def test_divergences_where_the_reference_has_likelihood_zero():
    """A false alarm of 6e-5 each. The path's length is finite: it leaves the zeros behind by a jump."""
    found = draws(1, 300, 16)
    found[:, ::5, 0] = -np.inf
    one = round_of(found)
    for name in ("kl_reference_to_target", "symmetric_kl"):
        assert one.divergences[name].value == math.inf
        assert math.isnan(one.divergences[name].error)
    taught, length = one.divergences["kl_target_to_reference"], one.divergences["fisher_rao_length"]
    # the target knows of the zeros: the evidence is smaller by the share of the rest
    assert agrees(taught, CLOSED_FORMS["kl_target_to_reference"] - math.log(0.8))
    # the distance on the sphere of square roots, between a distribution and its part of mass 0.8
    jump = 2 * math.acos(math.sqrt(0.8))
    assert agrees(length, jump + CLOSED_FORMS["fisher_rao_length"])
    assert not agrees(length, CLOSED_FORMS["fisher_rao_length"])


def test_constant_energy_has_no_divergence():
    found = round_of(np.full((1, 50, 4), -1.0))
    for name, one in found.divergences.items():
        assert one.value == pytest.approx(0.0, abs=1e-12), name
        assert one.error == pytest.approx(0.0, abs=1e-12), name


# ------------------------------------------------------------------------------------------------------------ a run


@functools.cache
def run():
    model = sterna.models.normal(DIMENSION, PRECISION)
    return sterna.sample(model, n_chains=14, n_rounds=11, n_copies=2, keep_log_likelihoods=True, progress=False)


def test_divergences_and_path_integrals_of_a_run():
    """Each within 4 standard errors and twice the bias: a false alarm of 6e-5 for each of seven."""
    result = run()
    for name, exact in CLOSED_FORMS.items():
        assert agrees(result.divergences[name], exact), name
    for function, exact in FUNCTIONS[:3]:
        assert agrees(result.path_integral(function), exact)
    assert agrees(result.log_evidence, LOG_EVIDENCE)


def test_log_likelihoods_of_a_run_are_those_that_its_moments_are_of():
    result = run()
    found = result.log_likelihoods
    assert found.shape == (2, result.settings.n_scans, 14)
    assert np.allclose(found.mean(axis=(0, 1)), result.last.log_likelihoods.mean, rtol=1e-10)
    assert np.allclose(found.var(axis=(0, 1)), result.last.log_likelihoods.variance, rtol=1e-8)


def test_log_likelihoods_that_were_not_kept_are_an_error():
    result = sterna.sample(sterna.models.discrete(), n_chains=3, n_rounds=2, progress=False)
    with pytest.raises(sterna.OptionError, match="keep_log_likelihoods=True"):
        _ = result.log_likelihoods
    with pytest.raises(sterna.OptionError, match="keep_log_likelihoods=True"):
        result.path_integral(lambda v, beta: v)


def test_old_names_of_log_likelihoods_still_work():
    with pytest.warns(DeprecationWarning, match="keep_log_likelihoods"):
        result = sterna.sample(sterna.models.discrete(), n_chains=3, n_rounds=2, keep_energies=True, progress=False)
    with pytest.warns(DeprecationWarning, match="result.log_likelihoods"):
        assert np.array_equal(result.energies, result.log_likelihoods)
    with pytest.warns(DeprecationWarning, match="Round.log_likelihoods"):
        assert result.last.energies is result.last.log_likelihoods


def test_zeros_of_a_run_make_divergences_infinite():
    def half(x):
        return 0.0 if x < 0.5 else -np.inf

    result = sterna.sample(half, {"x": sterna.Uniform(0, 1)}, n_chains=3, n_rounds=6, progress=False)
    assert result.divergences["kl_reference_to_target"].value == math.inf
    taught = result.divergences["kl_target_to_reference"]
    assert agrees(taught, math.log(2.0))
