"""Fitted references: evidence and moments against closed forms, the fit itself, gradients, bits, and what is refused.

Checks of runs are within 4 standard errors, 6e-5 each.
"""

import math

import numpy as np
import pytest
from quick import first
from runs import check_mean
from ways import WAYS, AsPython, compiled

import sterna
from sterna.reference.fitted_reference import FittedMap, FittedReference, independent_draws

PRECISION = np.linalg.inv(np.array([[4.0, 1.9], [1.9, 1.0]]))


def correlated(x):
    """Normal, of covariance [[4, 1.9], [1.9, 1]] and mean (30, -5)."""
    d = x - np.array([30.0, -5.0])
    return -0.5 * (PRECISION[0, 0] * d[0] ** 2 + 2 * PRECISION[0, 1] * d[0] * d[1] + PRECISION[1, 1] * d[1] ** 2)


def banana(x, y):
    """X is normal, and y given x is normal around x^2 - 1."""
    return -0.5 * x * x - 0.5 * (y - (x * x - 1)) ** 2 / 0.25


def two_modes(x):
    """Normal modes at 3 and -3 in both coordinates, of weights 0.3 and 0.7."""
    first, second = -0.5 * np.sum((x - 3.0) ** 2), -0.5 * np.sum((x + 3.0) ** 2)
    return np.logaddexp(math.log(0.3) + first, math.log(0.7) + second)


def bounded(s, p, w):
    """Gamma(3, 2), Beta(2, 3) on (1, 5), and Dirichlet(2, 3, 4), the last alone normalised."""
    q = (p - 1.0) / 4.0
    of_w = math.log(w[0]) + 2 * math.log(w[1]) + 3 * math.log(w[2]) + math.lgamma(9) - math.log(1 * 2 * 6)
    return 2 * math.log(s) - 2 * s + math.log(q) + 2 * math.log1p(-q) + of_w


BOUNDED = {"s": sterna.Real(lower=0), "p": sterna.Real(1, 5), "w": sterna.Simplex(3)}

# log-density, space, log of its integral, and functions of the posterior with their exact means
CASES = {
    "correlated": (
        correlated,
        2,
        math.log(2 * math.pi) + 0.5 * math.log(0.39),
        [(lambda p: p["x"][..., 0], 30.0), (lambda p: (p["x"][..., 0] - 30) * (p["x"][..., 1] + 5), 1.9)],
    ),
    "banana": (
        banana,
        {"x": sterna.Real(), "y": sterna.Real()},
        math.log(2 * math.pi * 0.5),
        [(lambda p: p["x"], 0.0), (lambda p: p["y"], 0.0), (lambda p: np.tanh(p["y"] - p["x"] ** 2 + 1), 0.0)],
    ),
    "two modes": (
        two_modes,
        2,
        math.log(2 * math.pi),
        [(lambda p: p["x"][..., 0] > 0, 0.3 * 0.9986501 + 0.7 * 0.0013499), (lambda p: p["x"][..., 1], -1.2)],
    ),
    "bounded": (
        bounded,
        BOUNDED,
        math.lgamma(3) - 3 * math.log(2) + math.log(4 / 12),
        [
            (lambda p: p["s"], 1.5),
            (lambda p: p["p"], 1 + 4 * 0.4),
            (lambda p: p["w"][..., 1], 3 / 9),
            (lambda p: p["w"][..., 2], 4 / 9),
        ],
    ),
}


def check(name, n_rounds=11, **options):
    function, space, exact, means = CASES[name]
    result = sterna.sample(
        function, FittedReference(space), explorer="slice", n_rounds=n_rounds, progress=False, **options
    )
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error
    for quantity, mean in means:
        check_mean(np.asarray(quantity(result.posterior), dtype=float).ravel(), mean)
    return result


@pytest.mark.parametrize("name", first(3, CASES))
def test_evidence_and_moments(name):
    result = check(name)
    assert result.target.compiled
    assert result.warnings == []
    assert "a mode that no replica visited" in result.notes[0]


def test_a_normal_distribution_is_met_by_its_own_fit():
    result = check("correlated")
    assert result.global_barrier < 0.1
    assert result.rounds[1].barrier.total > 1.0


@pytest.mark.parametrize("name", ["correlated", "two modes"])
def test_a_likelihood_that_keeps_the_old_distribution_is_caught(name, monkeypatch):
    """The constant of the first distribution stays in the ratio, while states are drawn from the last."""
    set_parameters = FittedMap.set_parameters

    def forgets(self, mean, factor):
        constant = self.constant.copy()
        set_parameters(self, mean, factor)
        self.constant[:] = constant if constant[0] != 0 else self.constant

    monkeypatch.setattr(FittedMap, "set_parameters", forgets)
    with pytest.raises(AssertionError):
        check(name)


def test_states_that_are_not_carried_over_are_caught():
    """Carried states are the same points, and their running log-densities are those of the new distribution."""
    target = sterna.Target(bounded, FittedReference(BOUNDED)).prepare()
    states = np.random.default_rng(1).standard_normal((5, 4))
    before = [target.space.values(state) for state in states]
    densities = [sum(target.log_densities(state)) - jacobian(target, state) for state in states]
    carried = target.fitted.refit(np.random.default_rng(2).normal(1.0, 0.5, (1, 100, 4)))(states)
    for old, state, density in zip(before, carried, densities, strict=True):
        new = target.space.values(state)
        for name in BOUNDED:
            assert new[name] == pytest.approx(old[name], rel=1e-12)
        assert sum(target.log_densities(state)) - jacobian(target, state) == pytest.approx(density, rel=1e-11)
    assert not np.allclose(carried, states)


def jacobian(target, state):
    """Log of |dx/du| by the distribution's factor alone; the rest depends on the point only."""
    return np.log(np.diag(target.fitted.factor)).sum()


def test_the_ratio_is_density_over_distribution():
    """By the change of variables, written out: u to the line by the factor, and on by exp and logistic."""
    target = sterna.Target(bounded, FittedReference(BOUNDED, start={"s": 2.0, "p": 3.0}, scale=[1.0, 0.5, 0.7, 0.8]))
    u = np.array([0.3, -1.1, 0.4, 0.2])
    line = np.array([math.log(2.0), 0.0, math.log(0.5), 0.0]) + np.array([1.0, 0.5, 0.7, 0.8]) * u
    shares = 1 / (1 + np.exp(-line))
    s, p = math.exp(line[0]), 1 + 4 * shares[1]
    first, second = shares[2], shares[3]
    w = np.array([first, (1 - first) * second, (1 - first) * (1 - second)])
    values = target.space.values(u)
    assert (values["s"], values["p"]) == (pytest.approx(s, rel=1e-14), pytest.approx(p, rel=1e-14))
    assert values["w"] == pytest.approx(w, rel=1e-14)
    slopes = [s, 4 * shares[1] * (1 - shares[1]), first * (1 - first), second * (1 - second)]
    # the simplex is measured by its first two parts, whose derivative in the fractions is 1 - first
    exact = bounded(s, p, w) + np.log(slopes).sum() + math.log(1 - first) + math.log(1.0 * 0.5 * 0.7 * 0.8)
    assert sum(target.log_densities(u)) == pytest.approx(exact, rel=1e-13)


def gradient(s, p, w):
    q = (p - 1.0) / 4.0
    return 2 / s - 2, (1 / q - 2 / (1 - q)) / 4, np.array([1 / w[0], 2 / w[1], 3 / w[2]])


@WAYS
@pytest.mark.parametrize("beta", [0.0, 0.6, 1.0])
def test_gradient(way, beta):
    target = sterna.Target(way(bounded), FittedReference(BOUNDED), gradient=way(gradient)).prepare()
    target.fitted.refit(np.random.default_rng(3).normal(0.3, 0.5, (1, 200, 4)))
    u = np.array([0.3, -0.2, 0.4, 0.5])
    for i in range(4):
        up, down = u.copy(), u.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        ends = [np.dot([1.0, beta], target.log_densities(state)) for state in (up, down)]
        assert target.gradient(u, beta)[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-7)


def test_compiled_and_plain_give_the_same_bits():
    def plain_sum(s, p, w):
        return s + p + w[0]

    targets = [sterna.Target(way(plain_sum), FittedReference(BOUNDED)) for way in (compiled, AsPython)]
    u = np.array([0.3, -0.2, 0.4, 0.5])
    assert len({target.log_densities(u) for target in targets}) == 1


def test_the_fit_is_a_mean_over_the_last_distribution_and_the_later_draws():
    target = sterna.Target(correlated, FittedReference(2, start=[1.0, 2.0], scale=3.0)).prepare()
    draws = np.random.default_rng(4).standard_normal((1, 100, 2))
    points = np.array([1.0, 2.0]) + 3.0 * draws[0, 50:]
    target.fitted.refit(draws)
    # the previous distribution counts as 10 + 2 * 2 draws
    weights = np.array([14 / 64, 50 / 64])
    mean = weights[0] * np.array([1.0, 2.0]) + weights[1] * points.mean(axis=0)
    second = weights[0] * (9.0 * np.eye(2) + np.outer([1.0, 2.0], [1.0, 2.0])) + weights[1] * points.T @ points / 50
    assert target.fitted.mean == pytest.approx(mean, rel=1e-13)
    assert target.fitted.factor @ target.fitted.factor.T == pytest.approx(second - np.outer(mean, mean), rel=1e-12)


def refitted(draws, rounds=1):
    """Return the standard deviations and means of a standard normal distribution that is fitted repeatedly."""
    fitted = sterna.Target(correlated, FittedReference(2, scale=1.0)).prepare().fitted
    for _ in range(rounds):
        fitted.refit(draws)
    return np.sqrt(np.diag(fitted.factor @ fitted.factor.T)), fitted.mean


@pytest.mark.parametrize("far", [1e3, 1e10, 1e200])
def test_draws_that_ran_away_leave_a_fit_that_has_a_factor(far):
    """By the covariance of draws at 1e10, all other digits are lost; these count as three deviations away."""
    draws = np.random.default_rng(6).standard_normal((1, 200, 2))
    draws[0, 150:, 0] = far * np.arange(1.0, 51.0)
    scale, mean = refitted(draws)
    assert np.isfinite(mean).all()
    assert (scale > 0.5).all()
    assert (scale < 3 * math.sqrt(2)).all()


def test_a_chain_that_hardly_moves_does_not_make_its_reference_narrow():
    """A random walk of steps 0.001 over 2000 draws, repeatedly; independent draws of this spread are followed."""
    rng = np.random.default_rng(7)
    stuck = np.cumsum(rng.normal(0.0, 1e-3, (1, 2000, 2)), axis=1)
    assert (refitted(stuck)[0] > 0.3).all()
    quick = rng.normal(0.0, stuck.std(), (1, 2000, 2))
    assert (refitted(quick)[0] < 0.2).all()


def test_the_effective_number_of_draws():
    """Of an autoregressive series with coefficient 0.9, n (1 - 0.9)/(1 + 0.9); it scatters by some 20 %."""
    rng = np.random.default_rng(8)
    series = np.zeros((2, 4000, 2))
    series[:, :, 0] = rng.standard_normal((2, 4000))
    for k in range(1, 4000):
        series[:, k, 1] = 0.9 * series[:, k - 1, 1] + rng.standard_normal(2)
    assert independent_draws(series) == pytest.approx(8000 * 0.1 / 1.9, rel=0.5)
    assert independent_draws(series[:, :6]) == 1.0


def test_saved_parameters_give_the_same_bits():
    first, second = (sterna.Target(two_modes, FittedReference(2)).prepare() for _ in range(2))
    first.fitted.refit(np.random.default_rng(4).normal(1.0, 3.0, (1, 50, 2)))
    mean, factor = first.fitted.parameters()
    second.fitted.set_parameters(mean, factor)
    state = np.array([0.3, -1.2])
    assert first.log_densities(state) == second.log_densities(state)
    assert np.array_equal(first.space.values(state)["x"], second.space.values(state)["x"])
    # they are copies: a later fit changes neither
    first.fitted.refit(np.random.default_rng(5).normal(9.0, 3.0, (1, 50, 2)))
    assert first.log_densities(state) != second.log_densities(state)
    assert not np.array_equal(mean, first.fitted.mean)


def test_walkers_give_the_first_distribution():
    walkers = np.random.default_rng(5).multivariate_normal([30.0, -5.0], [[4.0, 1.9], [1.9, 1.0]], 200)
    fitted = sterna.Target(correlated, FittedReference(2, start=walkers)).prepare().fitted
    assert fitted.mean == pytest.approx(walkers.mean(axis=0))
    covariance = np.cov(walkers.T)
    assert fitted.factor @ fitted.factor.T == pytest.approx(covariance + 1e-3 * np.diag(np.diag(covariance)))


def test_same_bits_for_one_worker_and_two():
    options = {"explorer": "slice", "n_chains": 4, "n_rounds": 6, "n_copies": 3, "progress": False}
    runs = [sterna.sample(two_modes, FittedReference(2), workers=w, **options) for w in (1, 2)]
    assert np.array_equal(runs[0].posterior["x"], runs[1].posterior["x"])
    assert runs[0].log_evidence == runs[1].log_evidence


def test_two_runs_of_one_target_do_not_disturb_each_other():
    target = sterna.Target(two_modes, FittedReference(2))
    options = {"explorer": "slice", "n_chains": 3, "n_rounds": 5, "progress": False}
    first = sterna.sample(target, **options)
    second = sterna.sample(target, **options)
    # read after the second run: the distribution that turned states into values is the first run's own
    assert np.array_equal(first.posterior["x"], second.posterior["x"])
    assert np.array_equal(target.space.map.mean, [0.0, 0.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FittedReference({"k": sterna.Integer(0, 5)}), "'k' is not real"),
        (lambda: FittedReference({"k": sterna.Binary()}), "'k' is not real"),
        (lambda: FittedReference({"mu": sterna.Normal()}), "'mu' is Normal"),
        (lambda: FittedReference("mu"), "give a dict of variables"),
        (lambda: FittedReference(2, start=[1.0]), "points of 2 numbers"),
        (lambda: FittedReference(2, start={"y": 1.0}), "names y; the variables are x"),
        (lambda: FittedReference(2, start={"x": [1.0, 2.0, 3.0]}), r"has x of shape \(3,\); its shape is \(2,\)"),
        (lambda: FittedReference({"s": sterna.Real(lower=0)}, start={"s": -1.0}), "outside the bounds"),
        (lambda: FittedReference(2, scale=-1.0), "one positive number"),
        (lambda: FittedReference(2, scale=[1.0, 2.0, 3.0]), "each of the 2 coordinates"),
        (lambda: FittedReference(2, start=np.ones((5, 2)), scale=1.0), "leave out scale"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(sterna.TargetError, match=message):
        sterna.Target(lambda x: 0.0, make())


def test_thinning_does_not_thin_what_is_fitted():
    def log_density(a, b):
        return -0.5 * (a - 3.0) ** 2 - b

    reference = FittedReference({"a": sterna.Real(), "b": sterna.Real(lower=0)})
    options = {"n_chains": 5, "n_rounds": 5, "explorer": "slice", "progress": False}
    runs = [sterna.sample(log_density, reference, thin=thin, **options) for thin in (1, 20)]
    assert np.array_equal(runs[0].schedule, runs[1].schedule)
    assert np.array_equal(runs[0].posterior["a"][:, 19::20], runs[1].posterior["a"])


def test_a_target_keeps_its_data():
    y = np.array([1.0, 2.0])

    def posterior(a, y):
        return -0.5 * np.sum((y - a) ** 2)

    target = sterna.Target(posterior, FittedReference({"a": sterna.Real()}), {"y": y})
    y[:] = 50.0
    result = sterna.sample(target, n_chains=5, n_rounds=5, explorer="slice", progress=False)
    assert abs(float(result.posterior["a"].mean()) - 1.5) < 2.0
