"""Whether the joint prior of a PyMC model integrates to one on the unconstrained scale.

Every free variable must be one of a list of distributions, with PyMC's own transform or none: a transform that is not
the distribution's own may restrict it. The integral of every distribution in the list is tested
(tests/bridges/test_pymc_normalized.py); those of LKJCholeskyCov, LKJCorr and CAR are not one in PyMC 5.28.
"""

from typing import TYPE_CHECKING

from sterna.bridges.pymc_space import name_of

if TYPE_CHECKING:
    from pymc import Model
    from pytensor.graph.basic import Variable

NORMALIZED = {
    "AsymmetricLaplaceRV", "BetaRV", "CauchyRV", "DirichletRV", "ExGaussianRV", "ExponentialRV", "GammaRV", "GumbelRV",
    "HalfCauchyRV", "HalfNormalRV", "HalfStudentTRV", "InterpolatedRV", "InvGammaRV", "KroneckerNormalRV",
    "KumaraswamyRV", "LaplaceRV", "LogNormalRV", "LogisticRV", "LogitNormal", "MatrixNormalRV", "MoyalRV", "MvNormalRV",
    "MvStudentTRV", "NormalRV", "ParetoRV", "RiceRV", "SkewNormalRV", "SkewStudentTRV", "StickBreakingWeightsRV",
    "StudentTRV", "TriangularRV", "TruncatedNormalRV", "UniformRV", "VonMisesRV", "WaldRV", "WeibullBetaRV",
    "ZeroSumNormalRV",
}  # fmt: skip

# Made of other distributions, which must be in the list as well.
COMPOSED = {"AutoRegressiveRV", "MixtureRV", "RandomWalkRV", "TruncatedRV"}


def reason_unnormalized(model: "Model") -> str:
    """Say why the prior's density may not integrate to one; empty if it does, by each variable given the others."""
    if not model.check_bounds:
        return "the model does not check bounds, so that its prior may not be normalised"
    return next(filter(None, (_reason(model, rv) for rv in model.free_RVs)), "")


def _reason(model: "Model", rv: "Variable") -> str:
    """Say why one variable's density may not integrate to one."""
    if unknown := _unknown_part(rv, model):
        return f"the prior of {rv.name!r} contains {unknown}, whose density may not be normalised in PyMC"
    transform = model.rvs_to_transforms[rv]
    if transform is not None and not _is_default(transform, rv):
        name = getattr(transform, "name", type(transform).__name__)
        return f"the transform {name} of {rv.name!r} may restrict its prior, which is then not normalised"
    return ""


def _unknown_part(rv: "Variable", model: "Model") -> str:
    """Return the name of a distribution that is not in the list, of the variable or of what it is made of."""
    name = name_of(rv)
    if name not in COMPOSED or _is_users(rv.owner.op):
        return _unknown_operation(rv.owner.op)
    if name == "TruncatedRV":
        return _unknown_operation(rv.owner.op.base_rv_op)
    parts = [one for one in rv.owner.inputs if _is_random(one) and one not in model.basic_RVs]
    return next(filter(None, (_unknown_part(one, model) for one in parts)), "")


def _unknown_operation(operation: object) -> str:
    name = type(operation).__name__
    known = name in NORMALIZED and not _is_users(operation)
    return "" if known else name.removeprefix("_").removesuffix("RV")


def _is_users(operation: object) -> bool:
    """Whether an operation is not PyMC's, which makes some classes at run time, with the module abc."""
    return type(operation).__module__.partition(".")[0] not in ("pymc", "pytensor", "abc")


def _is_random(one: "Variable") -> bool:
    from pymc.logprob.abstract import MeasurableOp

    return one.owner is not None and isinstance(one.owner.op, MeasurableOp)


def _is_default(transform: object, rv: "Variable") -> bool:
    """Whether a transform is PyMC's own for the distribution, a bijection from the whole space to its support."""
    from pymc.distributions.transforms import _default_transform
    from pymc.logprob.transforms import IntervalTransform

    default = _default_transform(rv.owner.op, rv)
    if isinstance(transform, IntervalTransform) and isinstance(default, IntervalTransform):
        # an interval that the user chose has bounds from elsewhere
        return getattr(transform.args_fn, "__code__", None) is getattr(default.args_fn, "__code__", transform)
    return type(transform) is type(default)
