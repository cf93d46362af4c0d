"""The table of all families: an exact counterpart of each, and the distributions of other libraries that belong to it.

Tests walk over it; a new family needs a row in CONTINUOUS or DISCRETE, and one for each of its adapters.
"""

import math

import numpy as np
from scipy import stats
from scipy.special import i0e

import sterna


def two_values(low, high, chance_of_high):
    return stats.rv_discrete(values=([low, high], [1 - chance_of_high, chance_of_high]))


def cut_normal(mu, sigma, lower, upper):
    return stats.truncnorm((lower - mu) / sigma, (upper - mu) / sigma, mu, sigma)


class Folded:
    """The distribution of the absolute value of a symmetric variable."""

    def __init__(self, frozen):
        self.frozen = frozen

    def cdf(self, x):
        return 2 * self.frozen.cdf(x) - 1

    def ppf(self, u):
        return self.frozen.ppf((1 + np.asarray(u)) / 2)

    def logpdf(self, x):
        return math.log(2) + self.frozen.logpdf(x)

    def support(self):
        return 0.0, np.inf

    def median(self):
        return self.ppf(0.5)


class Turned:
    """The von Mises distribution from -pi to pi, wherever its mean is; SciPy's distribution function goes on beyond."""

    def __init__(self, mu, kappa):
        self.mu, self.kappa = mu, kappa
        self.below = stats.vonmises.cdf(-math.pi - mu, kappa)

    def cdf(self, x):
        return stats.vonmises.cdf(np.clip(x, -math.pi, math.pi) - self.mu, self.kappa) - self.below

    def ppf(self, u):
        grid = np.linspace(-math.pi, math.pi, 100_001)
        return np.interp(u, self.cdf(grid), grid)

    def logpdf(self, x):
        return self.kappa * (np.cos(x - self.mu) - 1) - np.log(2 * math.pi * i0e(self.kappa))

    def support(self):
        return -math.pi, math.pi

    def median(self):
        return self.ppf(0.5)


# Sterna's distributions and exact counterparts.
CONTINUOUS = {
    "Normal": (sterna.Normal(1.5, 0.7), stats.norm(1.5, 0.7)),
    "HalfNormal": (sterna.HalfNormal(2.0), stats.halfnorm(scale=2.0)),
    "Uniform": (sterna.Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    "LogUniform": (sterna.LogUniform(0.1, 50.0), stats.loguniform(0.1, 50.0)),
    "Exponential": (sterna.Exponential(2.5), stats.expon(scale=1 / 2.5)),
    "Gamma": (sterna.Gamma(3.5, 2.0), stats.gamma(3.5, scale=0.5)),
    "Gamma of small alpha": (sterna.Gamma(0.4, 3.0), stats.gamma(0.4, scale=1 / 3)),
    "InverseGamma": (sterna.InverseGamma(3.0, 2.0), stats.invgamma(3.0, scale=2.0)),
    "Beta": (sterna.Beta(2.5, 1.7), stats.beta(2.5, 1.7)),
    "Beta of small arguments": (sterna.Beta(0.5, 0.6), stats.beta(0.5, 0.6)),
    "Beta of small alpha": (sterna.Beta(0.3, 2.0), stats.beta(0.3, 2)),
    "Cauchy": (sterna.Cauchy(-1.0, 2.0), stats.cauchy(-1.0, 2.0)),
    "HalfCauchy": (sterna.HalfCauchy(1.5), stats.halfcauchy(scale=1.5)),
    "StudentT": (sterna.StudentT(3.5, -1.0, 2.0), stats.t(3.5, -1.0, 2.0)),
    "HalfStudentT": (sterna.HalfStudentT(3.5, 2.0), Folded(stats.t(3.5, 0.0, 2.0))),
    "HalfStudentT of nu 1": (sterna.HalfStudentT(1.0, 2.0), stats.halfcauchy(scale=2)),
    "Laplace": (sterna.Laplace(-1.0, 2.0), stats.laplace(-1.0, 2.0)),
    "Logistic": (sterna.Logistic(-1.0, 2.0), stats.logistic(-1.0, 2.0)),
    "Gumbel": (sterna.Gumbel(-1.0, 2.0), stats.gumbel_r(-1.0, 2.0)),
    "Weibull": (sterna.Weibull(1.7, 2.0), stats.weibull_min(1.7, scale=2.0)),
    "Weibull of small alpha": (sterna.Weibull(0.6, 2.0), stats.weibull_min(0.6, scale=2.0)),
    "Pareto": (sterna.Pareto(3.0, 2.0), stats.pareto(3.0, scale=2.0)),
    "TruncatedNormal": (sterna.TruncatedNormal(1.0, 2.0, -2.5, 6.0), cut_normal(1.0, 2.0, -2.5, 6.0)),
    "TruncatedNormal above": (sterna.TruncatedNormal(1.0, 2.0, lower=0.0), cut_normal(1.0, 2.0, 0.0, np.inf)),
    "TruncatedNormal below": (sterna.TruncatedNormal(1.0, 2.0, upper=0.5), cut_normal(1.0, 2.0, -np.inf, 0.5)),
    "TruncatedNormal in a tail": (sterna.TruncatedNormal(0.0, 1.0, 6.0, 9.0), cut_normal(0.0, 1.0, 6.0, 9.0)),
    "TruncatedNormal narrow": (sterna.TruncatedNormal(0.0, 1.0, -0.5, 0.7), cut_normal(0.0, 1.0, -0.5, 0.7)),
    "TruncatedNormal narrow tail": (sterna.TruncatedNormal(0, 1, -3.2, -3.0), cut_normal(0.0, 1.0, -3.2, -3.0)),
    "CircularUniform": (sterna.CircularUniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    "VonMises": (sterna.VonMises(3.0, 2.0), Turned(3.0, 2.0)),
    "VonMises of small kappa": (sterna.VonMises(10.0, 0.01), Turned(10.0, 0.01)),
    "VonMises of large kappa": (sterna.VonMises(-3.1, 150.0), Turned(-3.1, 150.0)),
    "LogNormal": (sterna.LogNormal(0.3, 0.8), stats.lognorm(0.8, scale=math.exp(0.3))),
}

DISCRETE = {
    "Bernoulli": (sterna.Bernoulli(0.3), stats.bernoulli(0.3)),
    "Spin": (sterna.Spin(0.4), two_values(-1, 1, 1 / (1 + math.exp(0.8)))),
    "Categorical": (
        sterna.Categorical([0.1, 0.0, 0.6, 0.3]),
        stats.rv_discrete(values=([0, 2, 3], [0.1, 0.6, 0.3])),
    ),
    "DiscreteUniform": (sterna.DiscreteUniform(-3, 4), stats.randint(-3, 5)),
    "Poisson": (sterna.Poisson(4.2), stats.poisson(4.2)),
    "Poisson of large mean": (sterna.Poisson(60.0), stats.poisson(60.0)),
    "Poisson of very large mean": (sterna.Poisson(900.5), stats.poisson(900.5)),
    "Geometric": (sterna.Geometric(0.2), stats.geom(0.2)),
    "Geometric of large chance": (sterna.Geometric(0.7), stats.geom(0.7)),
    "Geometric from 0": (sterna.Geometric(0.2, 0), stats.geom(0.2, loc=-1)),
    "NegativeBinomial": (sterna.NegativeBinomial(n=3.5, p=0.3), stats.nbinom(3.5, 0.3)),
    "NegativeBinomial by its mean": (sterna.NegativeBinomial(5.0, 2.5), stats.nbinom(2.5, 2.5 / 7.5)),
    "NegativeBinomial of small n": (sterna.NegativeBinomial(n=0.4, p=0.1), stats.nbinom(0.4, 0.1)),
    "Binomial": (sterna.Binomial(12, 0.3), stats.binom(12, 0.3)),
    "Binomial at its end": (sterna.Binomial(3, 0.97), stats.binom(3, 0.97)),
    "Binomial of many trials": (sterna.Binomial(200, 0.6), stats.binom(200, 0.6)),
}

ALL = {**CONTINUOUS, **DISCRETE}


# Distributions of other libraries that sterna has as well, by the name that the library gives them.
SCIPY_CONTINUOUS = {
    "norm": stats.norm(1.5, 0.7),
    "halfnorm": stats.halfnorm(scale=2.0),
    "halfnorm moved": stats.halfnorm(-1.0, 2.0),
    "uniform": stats.uniform(-1.0, 4.0),
    "loguniform": stats.loguniform(0.1, 50.0),
    "reciprocal": stats.reciprocal(0.1, 50.0, scale=2.0),
    "expon": stats.expon(scale=3.0),
    "expon moved": stats.expon(2.0, 3.0),
    "gamma": stats.gamma(2.5, scale=3.0),
    "gamma moved": stats.gamma(2.5, 1.0, 3.0),
    "erlang": stats.erlang(3, scale=0.5),
    "chi2": stats.chi2(5, scale=2.0),
    "invgamma": stats.invgamma(3.0, scale=2.0),
    "beta": stats.beta(2.5, 1.7),
    "beta moved": stats.beta(2.5, 1.7, -1.0, 2.0),
    "arcsine": stats.arcsine(1.0, 2.0),
    "powerlaw": stats.powerlaw(1.6),
    "cauchy": stats.cauchy(-1.0, 2.0),
    "halfcauchy": stats.halfcauchy(scale=1.5),
    "t": stats.t(3.5, -1.0, 2.0),
    "lognorm": stats.lognorm(0.8, scale=2.0),
    "lognorm moved": stats.lognorm(0.8, loc=1.0, scale=2.0),
    "laplace": stats.laplace(-1.0, 2.0),
    "logistic": stats.logistic(-1.0, 2.0),
    "gumbel_r": stats.gumbel_r(-1.0, 2.0),
    "gumbel_l": stats.gumbel_l(-1.0, 2.0),
    "weibull_min": stats.weibull_min(1.7, scale=2.0),
    "rayleigh": stats.rayleigh(scale=2.0),
    "pareto": stats.pareto(3.0, scale=2.0),
    "vonmises": stats.vonmises(2.0, 1.0),
    "truncnorm": stats.truncnorm(-1.0, 2.5, 0.5, 2.0),
    "truncnorm above": stats.truncnorm(0.3, np.inf),
}

SCIPY_DISCRETE = {
    "bernoulli": stats.bernoulli(0.3),
    "binom": stats.binom(12, 0.3),
    "poisson": stats.poisson(4.2),
    "geom": stats.geom(0.2),
    "geom from 0": stats.geom(0.2, loc=-1),
    "nbinom": stats.nbinom(3.5, 0.3),
    "randint": stats.randint(-3, 5),
}

NUMPYRO = {
    "Normal": lambda dist: dist.Normal(1.5, 0.7),
    "HalfNormal": lambda dist: dist.HalfNormal(2.0),
    "Uniform": lambda dist: dist.Uniform(-1.0, 3.0),
    "LogUniform": lambda dist: dist.LogUniform(0.1, 50.0),
    "Exponential": lambda dist: dist.Exponential(2.5),
    "Gamma": lambda dist: dist.Gamma(3.5, 2.0),
    "Chi2": lambda dist: dist.Chi2(5.0),
    "InverseGamma": lambda dist: dist.InverseGamma(3.0, 2.0),
    "Beta": lambda dist: dist.Beta(2.5, 1.7),
    "Cauchy": lambda dist: dist.Cauchy(-1.0, 2.0),
    "HalfCauchy": lambda dist: dist.HalfCauchy(1.5),
    "StudentT": lambda dist: dist.StudentT(3.5, -1.0, 2.0),
    "LogNormal": lambda dist: dist.LogNormal(0.3, 0.8),
    "Laplace": lambda dist: dist.Laplace(-1.0, 2.0),
    "Logistic": lambda dist: dist.Logistic(-1.0, 2.0),
    "Gumbel": lambda dist: dist.Gumbel(-1.0, 2.0),
    "Weibull": lambda dist: dist.Weibull(2.0, 1.7),
    "Pareto": lambda dist: dist.Pareto(2.0, 3.0),
    "LeftTruncatedDistribution": lambda dist: dist.TruncatedNormal(1.0, 2.0, low=0.5),
    "RightTruncatedDistribution": lambda dist: dist.TruncatedNormal(1.0, 2.0, high=0.5),
    "TwoSidedTruncatedDistribution": lambda dist: dist.TruncatedNormal(1.0, 2.0, low=-1.0, high=2.5),
    "VonMises": lambda dist: dist.VonMises(3.0, 2.0),
    "BernoulliProbs": lambda dist: dist.Bernoulli(0.3),
    "BernoulliLogits": lambda dist: dist.Bernoulli(logits=0.3),
    "BinomialProbs": lambda dist: dist.Binomial(12, 0.3),
    "BinomialLogits": lambda dist: dist.Binomial(12, logits=0.3),
    "CategoricalProbs": lambda dist: dist.Categorical(np.array([0.2, 0.5, 0.3])),
    "CategoricalLogits": lambda dist: dist.Categorical(logits=np.array([0.2, 1.5, 0.3])),
    "DiscreteUniform": lambda dist: dist.DiscreteUniform(-3, 4),
    "Poisson": lambda dist: dist.Poisson(4.2),
    "GeometricProbs": lambda dist: dist.Geometric(0.2),
    "GeometricLogits": lambda dist: dist.Geometric(logits=-1.2),
    "GammaPoisson": lambda dist: dist.GammaPoisson(2.5, 0.4),
    "NegativeBinomialProbs": lambda dist: dist.NegativeBinomial(3, 0.6),
    "NegativeBinomialLogits": lambda dist: dist.NegativeBinomial(3, logits=0.6),
    "NegativeBinomial2": lambda dist: dist.NegativeBinomial2(4.0, 2.5),
    "Dirichlet": lambda dist: dist.Dirichlet(np.array([0.8, 2.0, 3.5])),
    "MultivariateNormal": lambda dist: dist.MultivariateNormal(
        np.array([1.0, -2.0]), covariance_matrix=np.array([[2.0, 0.5], [0.5, 1.0]])
    ),
}

COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])

PYMC = {
    "NormalRV": lambda pm: pm.Normal.dist(1.5, 0.7),
    "HalfNormalRV": lambda pm: pm.HalfNormal.dist(2.0),
    "UniformRV": lambda pm: pm.Uniform.dist(-1.0, 3.0),
    "ExponentialRV": lambda pm: pm.Exponential.dist(2.7),
    "GammaRV": lambda pm: pm.Gamma.dist(3.5, 2.7),
    "InvGammaRV": lambda pm: pm.InverseGamma.dist(3.0, 2.0),
    "BetaRV": lambda pm: pm.Beta.dist(2.5, 1.5),
    "CauchyRV": lambda pm: pm.Cauchy.dist(-1.0, 2.0),
    "HalfCauchyRV": lambda pm: pm.HalfCauchy.dist(1.5),
    "StudentTRV": lambda pm: pm.StudentT.dist(3.5, mu=-1.0, sigma=2.0),
    "HalfStudentTRV": lambda pm: pm.HalfStudentT.dist(3.5, 2.0),
    "LogNormalRV": lambda pm: pm.LogNormal.dist(0.3, 0.8),
    "LaplaceRV": lambda pm: pm.Laplace.dist(-1.0, 2.0),
    "LogisticRV": lambda pm: pm.Logistic.dist(-1.0, 2.0),
    "GumbelRV": lambda pm: pm.Gumbel.dist(-1.0, 2.0),
    "WeibullBetaRV": lambda pm: pm.Weibull.dist(1.7, 2.0),
    "ParetoRV": lambda pm: pm.Pareto.dist(3.0, 2.0),
    "TruncatedNormalRV": lambda pm: pm.TruncatedNormal.dist(1.0, 2.0, lower=0.5),
    "TruncatedNormalRV by Truncated": lambda pm: pm.Truncated.dist(pm.Normal.dist(1.0, 2.0), lower=-0.5, upper=3.0),
    "VonMisesRV": lambda pm: pm.VonMises.dist(3.0, 2.0),
    "BernoulliRV": lambda pm: pm.Bernoulli.dist(0.3),
    "BinomialRV": lambda pm: pm.Binomial.dist(12, 0.3),
    "PoissonRV": lambda pm: pm.Poisson.dist(4.2),
    "GeometricRV": lambda pm: pm.Geometric.dist(0.2),
    "DiscreteUniformRV": lambda pm: pm.DiscreteUniform.dist(-3, 4),
    "NegBinomialRV": lambda pm: pm.NegativeBinomial.dist(n=3.5, p=0.3),
    "NegBinomialRV by mean": lambda pm: pm.NegativeBinomial.dist(mu=3.5, alpha=2.0),
    "CategoricalRV": lambda pm: pm.Categorical.dist(np.array([0.2, 0.5, 0.3])),
    "DirichletRV": lambda pm: pm.Dirichlet.dist(np.array([0.8, 2.0, 3.5])),
    "MvNormalRV": lambda pm: pm.MvNormal.dist(np.array([1.0, -2.0]), cov=COVARIANCE),
    "MvNormalRV by factor": lambda pm: pm.MvNormal.dist(np.array([1.0, -2.0]), chol=np.linalg.cholesky(COVARIANCE)),
}
