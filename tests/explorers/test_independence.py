"""Independence proposals: exact transitions, and draws that are those of the reference.

Each comparison is at 1e-7, below 1e-5 for the whole file.
"""

import itertools
import math
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from annealed import law
from kernels import apply_bound
from numba import types
from plain import Forks, Symbol, load
from runs import check_bounded_run
from scipy import stats

import sterna
from sterna.engine.densities import DISCRETE_UNIFORM, TWO_POINT
from sterna.engine.program import view
from sterna.engine.stream_draws import draw_from_stream
from sterna.explorers.independence import Independence
from sterna.ground.compilation import as_pointer
from sterna.ground.streams import new_generator, scan_key, start_stream
from sterna.reference import distributions
from sterna.reference.quantile import Quantile

LEVEL = 1e-7
BETAS = [0.0, 0.1, 0.5, 1.0]


def transition_matrix(beta, faults=()):
    """Return law and transition matrix of the source itself, for an integer of four values and a binary one."""
    forks = Forks()
    numbers = np.array([1.0, 4.0, -math.log(4.0), 0.0, 0.0, 1.0, math.log(0.3), math.log(0.7)])

    def likelihood(x):
        return math.sin(3.0 * x[0]) + x[1] * math.cos(x[0]) if x[0] != 3 else -math.inf

    densities = load("engine/densities.py")
    draws = load("engine/stream_draws.py", uniform=lambda stream: Symbol(forks))
    module = load(
        "explorers/independence.py",
        faults,
        uniform=lambda stream: Symbol(forks),
        as_pointer=lambda array, kind: array,
        coordinate_log_density=densities.coordinate_log_density,
        draw_from_stream=draws.draw_from_stream,
        log_likelihood=lambda program, x, log_densities: likelihood(x),
    )
    program = SimpleNamespace(
        family=[DISCRETE_UNIFORM, TWO_POINT], constants=numbers, table=None, lower=[1.0, 0.0], upper=[4.0, 1.0]
    )
    points = [np.array(p) for p in itertools.product(np.arange(1.0, 5.0), (0.0, 1.0))]
    places = {tuple(p): k for k, p in enumerate(points)}
    matrix = np.zeros((len(points), len(points)))
    for start in points:

        def run(start=start):
            x, log_densities = start.copy(), np.array([0.0, likelihood(start), 0.0, 0.0])
            module.explore(
                program, x, log_densities, beta, np.array([1.0, 2.0, 2.0]), np.zeros(4), [np.array([0, 1])], None
            )
            return tuple(x)

        for probability, end in forks.outcomes(run):
            matrix[places[tuple(start)], places[end]] += probability
    weights = np.array([(0.3, 0.7)[int(p[1])] * (math.exp(beta * likelihood(p)) if beta > 0 else 1.0) for p in points])
    return weights / weights.sum(), matrix


@pytest.mark.parametrize("beta", BETAS)
def test_exact_transitions(beta):
    """pi K = pi, to rounding, for the source itself."""
    exact, matrix = transition_matrix(beta)
    assert matrix[exact > 0].sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert exact @ matrix == pytest.approx(exact, abs=1e-12)


def test_planted_fault_of_transitions_is_caught():
    exact, matrix = transition_matrix(0.5, [("acceptance(beta, 0.0", "acceptance(1.0, 0.0")])
    assert np.abs(exact @ matrix - exact).max() > 1e-3


LAWS = {
    "normal": (sterna.Normal(1.0, 2.0), stats.norm(1, 2)),
    "half normal": (sterna.HalfNormal(2.0), stats.halfnorm(scale=2)),
    "uniform": (sterna.Uniform(-1.0, 2.0), stats.uniform(-1, 3)),
    "log uniform": (sterna.LogUniform(0.1, 20.0), stats.loguniform(0.1, 20)),
    "exponential": (sterna.Exponential(0.5), stats.expon(scale=2)),
    "gamma": (sterna.Gamma(3.5, 2.0), stats.gamma(3.5, scale=0.5)),
    "gamma of small shape": (sterna.Gamma(0.2, 2.0), stats.gamma(0.2, scale=0.5)),
    "inverse gamma": (sterna.InverseGamma(2.5, 2.0), stats.invgamma(2.5, scale=2)),
    "beta": (sterna.Beta(0.3, 2.0), stats.beta(0.3, 2)),
    "Cauchy": (sterna.Cauchy(1.0, 2.0), stats.cauchy(1, 2)),
    "half Cauchy": (sterna.HalfCauchy(2.0), stats.halfcauchy(scale=2)),
    "Student": (sterna.StudentT(2.5, 1.0, 2.0), stats.t(2.5, 1, 2)),
    "log normal": (sterna.LogNormal(0.5, 0.7), stats.lognorm(0.7, scale=math.exp(0.5))),
    "half Student": (sterna.HalfStudentT(1.0, 2.0), stats.halfcauchy(scale=2)),
    "Laplace": (sterna.Laplace(1.0, 2.0), stats.laplace(1, 2)),
    "logistic": (sterna.Logistic(1.0, 2.0), stats.logistic(1, 2)),
    "Gumbel": (sterna.Gumbel(1.0, 2.0), stats.gumbel_r(1, 2)),
    "Weibull": (sterna.Weibull(1.5, 2.0), stats.weibull_min(1.5, scale=2)),
    "Pareto": (sterna.Pareto(1.5, 2.0), stats.pareto(1.5, scale=2)),
    "cut normal": (sterna.TruncatedNormal(1.0, 2.0, 0.5), stats.truncnorm(-0.25, np.inf, 1, 2)),
    "Bernoulli": (sterna.Bernoulli(0.3), stats.bernoulli(0.3)),
    "categorical": (sterna.Categorical([0.2, 0.5, 0.3]), stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3]))),
    "discrete uniform": (sterna.DiscreteUniform(2, 9), stats.randint(2, 10)),
    "Poisson": (sterna.Poisson(3.3), stats.poisson(3.3)),
    "large Poisson": (sterna.Poisson(900.5), stats.poisson(900.5)),
    "geometric": (sterna.Geometric(0.3), stats.geom(0.3)),
    "geometric from 0": (sterna.Geometric(0.3, 0), stats.geom(0.3, loc=-1)),
    "negative binomial": (sterna.NegativeBinomial(n=2.5, p=0.2), stats.nbinom(2.5, 0.2)),
    "small negative binomial": (sterna.NegativeBinomial(n=0.5, p=0.2), stats.nbinom(0.5, 0.2)),
    "binomial": (sterna.Binomial(12, 0.8), stats.binom(12, 0.8)),
    "binomial at its end": (sterna.Binomial(3, 0.97), stats.binom(3, 0.97)),
}


@numba.njit
def many_draws(block, out, stream):
    program = view(block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    start_stream(words, scan_key(5, 0, 0, 0), 0)
    for k in range(out.size):
        out[k] = draw_from_stream(program.family[0], program.constants, 0, program.table, words)


def law_p_value(draws, exact):
    """Compare by Kolmogorov and Smirnov; an integer is given a uniform place in its step."""
    if isinstance(exact.dist if hasattr(exact, "dist") else exact, stats.rv_continuous):
        return stats.kstest(draws, exact.cdf).pvalue
    place = np.random.default_rng(3).random(len(draws))
    return stats.kstest(exact.cdf(draws - 1) + place * exact.pmf(draws), "uniform").pvalue


@pytest.mark.parametrize("name", LAWS)
def test_draws_from_the_stream(name):
    distribution, exact = LAWS[name]
    target = sterna.Target(lambda x: 0.0 * x, {"x": distribution})
    out = np.zeros(40_000)
    many_draws(target.block, out, new_generator()[0])
    assert law_p_value(out, exact) > LEVEL
    # a tenth of the draws at one place is a fault that the test must see
    stuck = np.where(np.arange(out.size) % 10 == 0, np.quantile(out, 0.02, method="lower"), out)
    assert law_p_value(stuck, exact) < LEVEL


def test_all_kinds_of_reference_are_known():
    """Every named distribution of numbers is in the table above, or is made of those that are."""
    tested = {type(distribution) for distribution, _ in LAWS.values()}
    made_of_them = {distributions.Spin, distributions.Dirichlet, distributions.MultivariateNormal, distributions.Scaled}
    assert set(distributions.Distribution.__subclasses__()) - {Quantile} <= tested | made_of_them


def test_energies_and_evaluations():
    chosen = law("mixed")
    states = chosen.draw(1.0, 100, np.random.default_rng(1))
    bound = Independence(moves=3).bind(chosen.target)
    after, log_densities, _ = apply_bound(chosen.target, bound, states, 1.0, times=2)
    assert (log_densities[:, 2] == 6).all()
    for state, row in zip(after, log_densities, strict=True):
        assert row[:2] == pytest.approx(chosen.target.log_densities(state), rel=1e-9)


EXPLORERS = {
    "alone": Independence(moves=6),
    "cycle": sterna.Cycle(Independence(moves=2), sterna.Slice(passes=0.5)),
    "block": {"w": Independence(moves=2), ("s", "p"): sterna.Slice()},
}


@pytest.mark.parametrize("way", EXPLORERS)
def test_in_a_run(way):
    """Evidence and a mean at 6e-5 each."""
    check_bounded_run(EXPLORERS[way], names=("w",))


def test_a_reference_of_ones_own_is_refused():
    with pytest.raises(sterna.errors.OptionError, match="named distributions"):
        Independence().bind(law("funnel").target)


@pytest.mark.parametrize("arguments", [{"moves": 0}, {"at_once": 0}, {"at_once": 1.5}])
def test_bad_options(arguments):
    with pytest.raises(sterna.errors.OptionError, match="Independence"):
        Independence(**arguments)
