"""References of the user's own: exact draws, normalised densities, and what is said when they do not fit."""

import functools
import itertools
import math

import numpy as np
import pytest
from annealed import funnel_density, funnel_draw, funnel_terms, law
from kernels import apply_bound, logs_of
from scipy import stats
from ways import WAYS, AsPython, compiled

import sterna
from sterna.engine.round import draw_states
from sterna.ground.streams import new_stream
from sterna.reference.reference import Reference, coordinate_tables, space_and_distributions

DRAWS = 20_000
FALSE_ALARM = 1e-6


def zero():
    return 0.0


# A scale and an effect that depends on it: two scalars.
def draw_effect(rng):
    scale = rng.exponential()
    return scale, rng.normal(0.0, scale)


def log_density_effect(scale, effect):
    return -scale - math.log(scale) - 0.5 * (effect / scale) ** 2 - 0.5 * math.log(2 * math.pi)


EFFECT = {"scale": sterna.Real(lower=0), "effect": sterna.Real()}


# The same two in one flat vector.
def draw_effect_flat(rng):
    scale = rng.exponential()
    return np.array([scale, rng.normal(0.0, scale)])


def log_density_effect_flat(x):
    return -x[0] - math.log(x[0]) - 0.5 * (x[1] / x[0]) ** 2 - 0.5 * math.log(2 * math.pi)


# A number, a share of three parts, a count and a flag; the flag's chance depends on the count.
def draw_mixed(rng, concentrations):
    count = rng.poisson(2.0)
    flag = 1 if rng.random() < 1.0 / (1.0 + count) else 0
    parts = np.empty(3)
    for k in range(3):
        parts[k] = rng.standard_gamma(concentrations[k])
    return rng.normal(), parts / parts.sum(), count, flag


def log_density_mixed(mu, share, count, flag, concentrations):
    total = -0.5 * mu * mu - 0.5 * math.log(2 * math.pi)
    total += math.lgamma(concentrations.sum())
    for k in range(3):
        total += (concentrations[k] - 1.0) * math.log(share[k]) - math.lgamma(concentrations[k])
    total += count * math.log(2.0) - 2.0 - math.lgamma(count + 1.0)
    chance = 1.0 / (1.0 + count)
    if flag == 1:
        return total + math.log(chance)
    return total + (math.log1p(-chance) if count > 0 else -math.inf)


MIXED = {
    "mu": sterna.Real(),
    "share": sterna.Simplex(3),
    "count": sterna.Integer(lower=0),
    "flag": sterna.Binary(),
}
CONCENTRATIONS = np.array([2.0, 3.0, 4.0])


def effect_target(way, flat=False):
    if flat:
        return sterna.Target(zero, Reference(way(draw_effect_flat), way(log_density_effect_flat)))
    return sterna.Target(zero, Reference(way(draw_effect), way(log_density_effect), EFFECT))


def mixed_target(way=compiled):
    reference = Reference(way(draw_mixed), way(log_density_mixed), MIXED)
    return sterna.Target(zero, reference, {"concentrations": CONCENTRATIONS})


def draw(target, number=DRAWS):
    states = np.zeros((number, target.dimension))
    draw_states(target.block, 3, states, np.zeros(1, dtype=np.int64), new_stream())
    return states


# -------------------------------------------------------------------------------------------- draws and distributions


def p_of_effect(scale, effect):
    """Smallest p of the scale's distribution, of the standardised effect's, and of their independence, times three."""
    standard = effect / scale
    values = [
        stats.kstest(scale, "expon").pvalue,
        stats.kstest(standard, "norm").pvalue,
        stats.spearmanr(scale, np.abs(standard)).pvalue,
    ]
    return 3 * min(values)


@WAYS
@pytest.mark.parametrize("flat", [False, True], ids=["tuple", "flat"])
def test_draws_of_dependent_variables_have_their_distribution(way, flat):
    """False-alarm rate: 1e-6 in each case."""
    target = effect_target(way, flat)
    assert target.compiled == (way is compiled)
    states = draw(target)
    assert p_of_effect(states[:, 0], states[:, 1]) > FALSE_ALARM


@pytest.mark.parametrize("fault", ["order", "scale", "dependence"])
def test_check_catches_other_distributions(fault):
    scale, effect = draw(effect_target(compiled)).T
    if fault == "order":
        scale, effect = np.abs(effect), scale
    elif fault == "scale":
        effect = 1.1 * effect
    else:
        effect = np.roll(effect, 1)
    assert p_of_effect(scale, effect) < FALSE_ALARM


@WAYS
@pytest.mark.parametrize("flat", [False, True], ids=["tuple", "flat"])
def test_density_is_the_users(way, flat):
    target = effect_target(way, flat)
    for scale, effect in [(0.3, -1.0), (2.0, 0.5)]:
        exact = stats.expon.logpdf(scale) + stats.norm(0, scale).logpdf(effect)
        assert target.log_densities(np.array([scale, effect]))[0] == pytest.approx(exact, rel=1e-12)


def test_compiled_and_python_references_draw_the_same_bits():
    for make in (effect_target, functools.partial(effect_target, flat=True), mixed_target):
        assert np.array_equal(draw(make(compiled), 500), draw(make(AsPython), 500))


def test_compiled_and_python_references_have_the_same_density():
    states = draw(mixed_target(), 200)
    fast, slow = mixed_target(compiled), mixed_target(AsPython)
    assert fast.compiled
    assert not slow.compiled
    # Python's lgamma and Numba's differ in the last bit
    for state in states:
        assert fast.log_densities(state)[0] == pytest.approx(slow.log_densities(state)[0], rel=1e-13)


def test_mixed_draws_have_their_distributions():
    """False-alarm rate: 5e-6."""
    target = mixed_target()
    values = target.space.values(draw(target))
    assert np.abs(values["share"].sum(axis=1) - 1).max() < 1e-12
    assert stats.kstest(values["mu"], "norm").pvalue > FALSE_ALARM
    for k in range(3):
        frozen = stats.beta(CONCENTRATIONS[k], CONCENTRATIONS.sum() - CONCENTRATIONS[k])
        assert stats.kstest(values["share"][:, k], frozen.cdf).pvalue > FALSE_ALARM
    assert p_of_count_and_flag(values["count"], values["flag"]) > FALSE_ALARM


def p_of_count_and_flag(count, flag, largest=6):
    """Chi-square test of the joint distribution; all counts from `largest` up share a cell for each flag."""
    cells = 2 * np.minimum(count, largest) + flag
    weights = stats.poisson(2.0).pmf(np.arange(100))
    chance = 1 / (1 + np.arange(100))
    expected = np.zeros(2 * largest + 2)
    for k in range(100):
        expected[2 * min(k, largest)] += weights[k] * (1 - chance[k])
        expected[2 * min(k, largest) + 1] += weights[k] * chance[k]
    # a count of 0 always raises the flag
    assert not (cells == 0).any()
    observed = np.bincount(cells, minlength=len(expected))[1:]
    return stats.chisquare(observed, expected[1:] / expected[1:].sum() * len(count)).pvalue


def test_check_of_count_and_flag_catches_independence():
    values = mixed_target().space.values(draw(mixed_target()))
    shuffled = np.where(values["count"] > 0, np.roll(values["flag"], 1), 1)
    assert p_of_count_and_flag(values["count"], shuffled) < FALSE_ALARM


# ------------------------------------------------------------------------------------------------ the simplex


def draw_share(rng):
    first, second = rng.standard_gamma(2.0), rng.standard_gamma(3.0)
    parts = np.array([first, second, rng.standard_gamma(1.0), rng.standard_gamma(2.0)])
    return (parts / parts.sum(),)


def log_density_share(share):
    # Dirichlet(2, 3, 1, 2) with respect to the first three parts
    return math.log(5040.0 / 2.0) + math.log(share[0]) + 2.0 * math.log(share[1]) + math.log(share[3])


def cube_rule(dimension, points=8):
    """Gauss and Legendre's rule on the unit cube, exact for polynomials of degree 15 in each coordinate."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    nodes, weights = 0.5 * (nodes + 1), 0.5 * weights
    for places in itertools.product(range(points), repeat=dimension):
        yield nodes[list(places)], math.prod(weights[k] for k in places)


@WAYS
def test_density_over_the_simplex_integrates_to_one(way):
    reference = Reference(way(draw_share), way(log_density_share), {"share": sterna.Simplex(4)})
    target = sterna.Target(zero, reference)
    rule = list(cube_rule(3))
    total = sum(weight * math.exp(target.log_densities(fractions)[0]) for fractions, weight in rule)
    assert total == pytest.approx(1.0, rel=1e-12)
    # planted fault: the same density without the Jacobian of the fractions
    wrong = sum(w * math.exp(log_density_share(target.space.values(x)["share"])) for x, w in rule)
    assert wrong != pytest.approx(1.0, rel=1e-2)


def test_joint_density_of_all_kinds_integrates_to_one():
    """Over the share by quadrature, over count and flag by summing, at a fixed mu whose density is known."""
    target = mixed_target()
    total = 0.0
    for fractions, weight in cube_rule(2):
        for count, flag in itertools.product(range(40), range(2)):
            state = np.array([0.4, *fractions, count, flag], dtype=float)
            total += weight * math.exp(target.log_densities(state)[0])
    assert total == pytest.approx(stats.norm.pdf(0.4), rel=1e-10)


def test_parts_drawn_are_the_parts_stored():
    seen = []

    def spy(rng, concentrations):
        values = draw_mixed(rng, concentrations)
        seen.append(values[1])
        return values

    reference = Reference(AsPython(spy), log_density_mixed, MIXED)
    target = sterna.Target(zero, reference, {"concentrations": CONCENTRATIONS})
    seen.clear()
    states = draw(target, 50)
    assert np.allclose(target.space.values(states)["share"], seen, rtol=0, atol=1e-15)


# ----------------------------------------------------------------------------------- shapes of what is drawn


@WAYS
def test_scalars_vectors_and_matrices_may_be_drawn_together(way):
    def draw_all(rng):
        return rng.normal(), rng.normal(0.0, 1.0, 2), rng.normal(0.0, 1.0, (2, 2)), rng.poisson(3.0)

    def log_density_all(a, b, c, k):
        total = -0.5 * (a * a + (b * b).sum() + (c * c).sum()) - 3.5 * math.log(2 * math.pi)
        return total + k * math.log(3.0) - 3.0 - math.lgamma(k + 1.0)

    space = {"a": sterna.Real(), "b": sterna.Real(shape=2), "c": sterna.Real(shape=(2, 2)), "k": sterna.Integer(0)}
    target = sterna.Target(zero, Reference(way(draw_all), way(log_density_all), space))
    assert target.compiled == (way is compiled)
    state = draw(target, 1)[0]
    values = target.space.values(state)
    exact = stats.norm.logpdf(state[:7]).sum() + stats.poisson(3).logpmf(values["k"])
    assert target.log_densities(state)[0] == pytest.approx(exact, rel=1e-12)


def test_vector_without_a_space_is_named_x():
    target = effect_target(compiled, flat=True)
    assert target.space.names == ["x"]
    assert target.space.variables[0].shape == (2,)


@WAYS
def test_single_number_may_be_drawn(way):
    """False-alarm rate: 1e-6 in each case."""

    def draw_one(rng):
        return rng.normal()

    def log_density_one(x):
        return -0.5 * x[0] * x[0]

    target = sterna.Target(zero, Reference(way(draw_one), way(log_density_one)))
    assert target.space.variables[0].shape == (1,)
    assert stats.kstest(draw(target, 1000)[:, 0], "norm").pvalue > FALSE_ALARM


@WAYS
def test_draw_takes_data_by_name(way):
    """False-alarm rate: below 1e-40, as the ratio of two deviations of 500 draws varies by 5 %."""

    def draw_scaled(rng, sizes):
        return rng.normal(0.0, 1.0, sizes.size) * sizes

    def log_density_scaled(x, sizes):
        return -0.5 * ((x / sizes) ** 2).sum() - np.log(sizes).sum()

    data = {"sizes": np.array([1.0, 100.0])}
    for space in (None, {"x": sterna.Real(shape=2)}):
        target = sterna.Target(zero, Reference(way(draw_scaled), way(log_density_scaled), space), data)
        spread = draw(target, 500).std(axis=0)
        assert 50 < spread[1] / spread[0] < 200


def test_distribution_alone_is_a_variable_named_x():
    space, distributions = space_and_distributions(sterna.Normal(shape=3))
    assert space.names == ["x"]
    assert len(distributions) == 1


def test_bounds_of_real_variables_are_just_inside():
    """A user's density may be infinite on a bound, so states never touch it; integers reach theirs."""
    space = {"a": sterna.Real(0, 1), "b": sterna.Real(-2, 0), "c": sterna.Integer(0, 5), "d": sterna.Real()}
    layout, _ = space_and_distributions(Reference(draw_effect, log_density_effect, space))
    tables = coordinate_tables(layout, None)
    lower, upper = tables["lower"], tables["upper"]
    assert 0 < lower[0] < 1e-300
    assert upper[0] == np.nextafter(1.0, 0.0)
    assert lower[1] == np.nextafter(-2.0, 0.0)
    assert -1e-300 < upper[1] < 0
    assert (lower[2], upper[2]) == (0.0, 5.0)
    assert np.isfinite([lower[3], upper[3]]).all()


# --------------------------------------------------------------------------------------------- local changes

COUPLINGS = np.array([[0, 2, -1], [2, 0, 3], [-1, 3, 0]])


def draw_three(rng, couplings):
    # by rejection; the largest density is exp(16)
    while True:
        k = rng.integers(-2, 3, 3)
        if rng.random() < math.exp(pairs(k, couplings) - 16.0):
            return k


def pairs(k, couplings):
    total = 0.0
    for i in range(3):
        for j in range(i):
            total += couplings[i, j] * k[i] * k[j]
    return total


def change_of_pairs(x, i, new, couplings):
    field = 0.0
    for j in range(3):
        field += couplings[i, j] * x[j]
    return (new - x[i]) * field


def sum_of_three(k):
    return k.sum()


def conditional_of_one(i, beta, k, couplings):
    field = 0.0
    for j in range(3):
        field += couplings[i, j] * k[j]
    return np.arange(-2, 3) * (field + beta)


def three_integers(way=compiled, change=change_of_pairs):
    change = None if change is None else way(change)
    reference = Reference(way(draw_three), way(pairs), {"k": sterna.Integer(-2, 2, shape=3)}, local_change=change)
    return sterna.Target(way(sum_of_three), reference, {"couplings": COUPLINGS})


EXPLORERS = {
    "slice": sterna.Slice(),
    "gibbs": sterna.Gibbs(),
    "gibbs, conditional": sterna.Gibbs(conditional=conditional_of_one),
    "metropolis": sterna.Metropolis(moves=2),
}


def explored(target, explorer):
    states = np.random.default_rng(4).integers(-2, 3, size=(50, 3)).astype(float)
    return apply_bound(target, explorer.bind(target), states, 0.5, times=20)[:2]


@WAYS
@pytest.mark.parametrize("explorer", EXPLORERS.values(), ids=EXPLORERS)
def test_local_change_gives_the_same_bits_as_the_whole_density(way, explorer):
    """Log-densities are integers here, so that running sums are exact."""
    local, whole = three_integers(way), three_integers(way, None)
    assert local.compiled == (way is compiled)
    assert (local.program.reference_change != 0, whole.program.reference_change) == (True, 0)
    (after, log_densities), (other, other_logs) = explored(local, explorer), explored(whole, explorer)
    assert np.array_equal(after, other)
    assert np.array_equal(log_densities, other_logs)


@pytest.mark.parametrize("explorer", EXPLORERS.values(), ids=EXPLORERS)
def test_comparison_catches_a_local_change_of_half_the_size(explorer):
    def half(x, i, new, couplings):
        return 0.5 * change_of_pairs(x, i, new, couplings)

    log_densities, right = (explored(three_integers(change=change), explorer)[1] for change in (half, None))
    assert not np.array_equal(log_densities, right)


def change_of_funnel(x, i, new):
    scale, effect = (new, x[1]) if i == 0 else (x[0], new)
    return funnel_density(scale, effect) - funnel_density(x[0], x[1])


def without_scale(x, i, new):
    return change_of_funnel(x, i, new) + (math.log(new / x[0]) if i == 0 else 0.0)


def p_of_funnel(change, beta):
    """Smallest p of the two exact distributions after ten scans from exact draws, times two."""
    reference = Reference(funnel_draw, funnel_density, EFFECT, local_change=change)
    target, exact = sterna.Target(funnel_terms, reference), law("funnel")
    states = exact.draw(beta, DRAWS, np.random.default_rng(1))
    after, log_densities, _ = apply_bound(target, sterna.Slice().bind(target), states, beta)
    found = [stats.kstest(column, "uniform").pvalue for column in exact.uniforms(beta, after)]
    return 2 * min(found), np.abs(log_densities[:, :2] - logs_of(target, after)[:, :2]).max()


@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_slices_by_a_local_change_leave_the_distribution_unchanged(beta):
    """False-alarm rate: 1e-6 in each case."""
    p, error = p_of_funnel(change_of_funnel, beta)
    assert p > FALSE_ALARM
    assert error < 1e-9
    # planted fault: the change leaves out a term
    p, error = p_of_funnel(without_scale, beta)
    assert p < FALSE_ALARM
    assert error > 1e-3


def test_local_change_that_is_no_number_is_named_with_its_point():
    target = three_integers(change=lambda x, i, new: math.nan)
    with pytest.raises(sterna.EvaluationError, match=r"change of the reference's log-density is NaN or \+inf at k=\["):
        sterna.sample(target, n_chains=4, n_rounds=4, progress=False)


@WAYS
def test_error_of_a_local_change_is_named(way):
    def change(x, i, new):
        raise ValueError("no change here")

    with pytest.raises(sterna.EvaluationError, match="ValueError: no change here"):
        sterna.sample(three_integers(way, change), n_chains=4, n_rounds=4, progress=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (3, "the reference's local_change=3 is not a function"),
        (lambda x, i: 0.0, "the reference's local_change has 2 parameters; it must begin with .x, i, new."),
        (lambda x, i, new, sigma: 0.0, "the reference's local_change has a parameter 'sigma'"),
    ],
)
def test_local_change_that_cannot_be_called_so_is_refused(change, message):
    with pytest.raises(sterna.TargetError, match=message):
        three_integers(change=change)


# ---------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("name", ["draw", "log_density"])
def test_reference_needs_both_functions(name):
    functions = {"draw": draw_effect, "log_density": log_density_effect, name: None}
    with pytest.raises(sterna.TargetError, match=rf"{name} is None.*give draw\(rng\) and log_density"):
        Reference(**functions)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (None, "There is no reference.*usually it is the prior"),
        (3.0, "reference=3.0 is neither a dict of distributions nor a sterna.Reference"),
        (draw_effect, "is neither a dict of distributions nor a sterna.Reference"),
        ([sterna.Normal()], "is neither a dict of distributions"),
        ({}, "The reference is empty"),
        ({"mu": stats.wishart(3)}, r"reference\['mu'\] is of SciPy's type wishart_frozen"),
        ({"mu": stats.gamma}, r"reference\['mu'\] is scipy.stats.gamma without its parameters"),
        ({"mu": object()}, r"reference\['mu'\] is .*no distribution of sterna"),
        ({"mu": sterna.Real()}, r"reference\['mu'\] says which values are allowed, but not how they are distributed"),
        ({"mu": sterna.Normal}, r"reference\['mu'\] is the class Normal: .*sterna.Normal\(mu, sigma\)"),
        ({"mu": 3.0}, r"reference\['mu'\] is 3.0"),
        ({"not a name": sterna.Normal()}, "'not a name' cannot name a variable"),
        ({"draw": sterna.Normal()}, "'draw' cannot name a variable: results have a dimension"),
        (Reference(draw_effect, log_density_effect, {}), "The reference is empty"),
        (Reference(draw_effect, log_density_effect, {"mu": sterna.Normal()}), "'mu' is Normal.*give sterna.Real"),
        (Reference(draw_effect, log_density_effect, sterna.Real()), "space"),
        (Reference(draw_effect, log_density_effect, ["scale"]), "space"),
    ],
)
def test_references_that_cannot_be_are_named(reference, message):
    with pytest.raises(sterna.TargetError, match=message):
        sterna.Target(zero, reference)


def reference_returning(value, space):
    return Reference(lambda rng: value, lambda x: 0.0, space)


TWO = {"a": sterna.Real(), "b": sterna.Real(shape=2)}


@pytest.mark.parametrize(
    ("value", "space", "message"),
    [
        ((1.0, 2.0), TWO, r"shapes \[\(\), \(\)\]; the variables a, b have shapes \[\(\), \(2,\)\]"),
        ((1.0,), TWO, r"shapes \[\(\)\]; the variables a, b have shapes"),
        ((1.0, [1.0, 2.0, 3.0]), TWO, r"shapes \[\(\), \(3,\)\]"),
        (np.zeros(2), TWO, r"array of shape \(2,\); return a tuple with one entry for each of a, b, or one flat"),
        (np.zeros((3, 1)), TWO, r"array of shape \(3, 1\)"),
        (None, TWO, "draw.*(None|array)"),
        (None, None, "draw.*None"),
        (None, {"a": sterna.Real()}, "draw.*None"),
        (np.array([0.3, 0.7]), {"p": sterna.Simplex(3)}, r"array of shape \(2,\).*3 numbers"),
        ((-1.0,), {"a": sterna.Real(lower=0)}, r"draw.*\ba\b"),
        ((2.0,), {"a": sterna.Real(0, 1)}, r"draw.*\ba\b"),
        ((np.nan,), {"a": sterna.Real()}, r"draw.*\ba\b"),
        ((0.5,), {"a": sterna.Integer()}, r"draw.*\ba\b"),
        ((2,), {"a": sterna.Binary()}, r"draw.*\ba\b"),
        (([0.5, 0.6],), {"a": sterna.Simplex(2)}, r"draw.*\ba\b"),
    ],
)
def test_draws_that_do_not_fit_the_space_are_named(value, space, message):
    with pytest.raises(sterna.TargetError, match=message):
        sterna.Target(zero, reference_returning(value, space))


def test_draw_whose_shape_changes_is_caught_while_sampling():
    sizes = iter([2] * 5 + [3] * 1000)
    reference = Reference(AsPython(lambda rng: np.zeros(next(sizes))), lambda x: 0.0)
    target = sterna.Target(zero, reference)
    with pytest.raises(sterna.TargetError, match=r"array of shape \(3,\)"):
        draw(target, 50)


def test_draw_must_not_depend_on_the_state():
    def draw_from(rng, a):
        return (a + rng.normal(),)

    with pytest.raises(sterna.TargetError, match="draw has a parameter 'a'"):
        sterna.Target(zero, Reference(draw_from, lambda a: 0.0, {"a": sterna.Real()}))


def test_draw_without_a_generator_is_refused():
    with pytest.raises(sterna.TargetError, match="draw"):
        sterna.Target(zero, Reference(lambda: (0.0,), lambda a: 0.0, {"a": sterna.Real()}))


def test_unknown_parameters_of_both_functions_are_named():
    with pytest.raises(sterna.TargetError, match=r"the reference's draw has a parameter 'size'"):
        sterna.Target(zero, Reference(lambda rng, size: (0.0,), lambda a: 0.0, {"a": sterna.Real()}))
    with pytest.raises(sterna.TargetError, match=r"the reference's log_density has a parameter 'c'"):
        sterna.Target(zero, Reference(lambda rng: (0.0,), lambda a, c: 0.0, {"a": sterna.Real()}))
