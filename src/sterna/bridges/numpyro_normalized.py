"""Whether the density of an unobserved NumPyro site integrates to one on the unconstrained scale.

The bijection is NumPyro's own for the support of the site, so the distribution decides. It must be one of a list, the
integrals of which are tested (tests/bridges/test_numpyro_normalized.py), or be made of such distributions.
"""

from functools import cache
from typing import TYPE_CHECKING

from sterna.bridges.numpyro_constraints import plain_constraint

if TYPE_CHECKING:
    from numpyro.distributions import Distribution

NORMALIZED = (
    "AsymmetricLaplace", "AsymmetricLaplaceQuantile", "Beta", "BetaProportion", "CAR", "Cauchy", "Chi2", "Dirichlet",
    "Exponential", "Gamma", "GaussianRandomWalk", "GaussianStateSpace", "Gompertz", "Gumbel", "HalfCauchy",
    "HalfNormal", "InverseGamma", "InverseWishart", "Kumaraswamy", "LKJ", "LKJCholesky", "Laplace", "Levy",
    "LogNormal", "LogUniform", "Logistic", "LowRankMultivariateNormal", "MatrixNormal", "MultivariateNormal",
    "MultivariateStudentT", "Normal", "Pareto", "RelaxedBernoulliLogits", "SoftLaplace", "StudentT", "Uniform",
    "VonMises", "Weibull", "Wishart", "WishartCholesky", "ZeroSumNormal",
)  # fmt: skip

# Those of independent entries, and those restricted to an interval of known probability, have one distribution inside.
AROUND_ANOTHER = (
    "ExpandedDistribution", "Independent", "LeftTruncatedDistribution", "MaskedDistribution",
    "RightTruncatedDistribution", "TwoSidedTruncatedDistribution",
)  # fmt: skip

# Bijections from the whole space, whose inverse is NaN outside of their range.
BIJECTIONS = (
    "AffineTransform", "ExpTransform", "LowerCholeskyAffine", "OrderedTransform", "SigmoidTransform",
    "SoftplusTransform", "StickBreakingTransform",
)  # fmt: skip


def reason_unnormalized(name: str, given: "Distribution") -> str:
    """Say why the density of an unobserved site may not integrate to one; empty if it does."""
    unknown = _unknown_part(given)
    return f"the prior of {name!r} contains {unknown}, whose density may not be normalised" if unknown else ""


def _unknown_part(given: "Distribution") -> str:
    """Return the name of a class that is not in the lists, of the distribution or of what it is made of."""
    if type(given) in _classes(NORMALIZED):
        return ""
    if type(given) in _classes(AROUND_ANOTHER):
        return _unknown_part(given.base_dist)
    if type(given) in _classes(("MixtureSameFamily",)):
        return _unknown_part(given.component_distribution)
    if type(given) in _classes(("MixtureGeneral",)):
        return _unknown_component(given)
    if type(given) in _classes(("TransformedDistribution",)):
        return _unknown_transform(given)
    return type(given).__name__


def _unknown_component(mixture: "Distribution") -> str:
    """Return what is not known of a mixture, whose components must have its support."""
    parts = mixture.component_distributions
    unknown = next(filter(None, map(_unknown_part, parts)), "")
    same = all(one.support == mixture.support for one in parts)
    return unknown or ("" if same else "a mixture of components with other supports")


def _unknown_transform(given: "Distribution") -> str:
    """Return what is not known of a transformed distribution, which must be one of the whole space."""
    from numpyro.distributions import constraints, transforms

    known = {getattr(transforms, name) for name in BIJECTIONS}
    unknown = [type(one).__name__ for one in given.transforms if type(one) not in known]
    if plain_constraint(given.base_dist.support) not in (constraints.real, constraints.real_vector):
        unknown.append("a transform of a part of the line")
    return _unknown_part(given.base_dist) or next(iter(unknown), "")


@cache
def _classes(names: tuple[str, ...]) -> frozenset[type]:
    """Return NumPyro's own classes; versions differ in what they have."""
    from numpyro import distributions

    every = {**vars(distributions), **vars(distributions.distribution), **vars(distributions.truncated)}
    return frozenset(every[name] for name in names if name in every)
