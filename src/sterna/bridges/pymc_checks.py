"""What a PyMC model must not contain, each with the reason and a way out."""

from typing import TYPE_CHECKING

import numpy as np

from sterna.errors import TargetError

if TYPE_CHECKING:
    from pymc import Model
    from pytensor.graph.basic import Variable

IMPROPER = ("FlatRV", "HalfFlatRV")


def check_model(model: "Model") -> None:
    """Refuse a model that has no proper prior to draw from, or whose density is not a function of its variables."""
    if not model.free_RVs:
        raise TargetError(
            "The PyMC model has no free variable, so there is nothing to sample: add a variable without observed=."
        )
    if not model.observed_RVs and not model.potentials:
        raise TargetError(
            "The PyMC model has neither an observed variable nor a potential, so its posterior is its prior: use "
            "pymc.sample_prior_predictive, or pass observed=... to a variable."
        )
    for rv in model.free_RVs:
        operation = type(rv.owner.op).__name__
        if operation in IMPROPER:
            raise TargetError(
                f"{rv.name!r} has the improper prior {operation.removesuffix('RV')}, which has no draws and no "
                "evidence: give it a proper prior, such as pm.Normal(0, 100)."
            )
        if operation == "PartialObservedRV":
            raise TargetError(
                f"{rv.name!r} are missing values within vectors that are otherwise observed, and PyMC cannot draw "
                "them given the observed entries: make the vector a free variable, and observe its known entries."
            )
        if rv.dtype.startswith(("int", "uint")) and getattr(rv.owner.op, "ndim_supp", 0) > 0:
            raise TargetError(
                f"{rv.name!r} is a vector of integers that depend on each other ({operation.removesuffix('RV')}), so "
                "that none of them can change alone: observe it, or write its marginal distribution."
            )
    for rv in model.observed_RVs:
        if type(rv.owner.op).__name__ == "SimulatorRV" or _is_simulator(rv):
            raise TargetError(
                f"{rv.name!r} is a pm.Simulator, whose likelihood is random and not a function of the variables: use "
                "pymc.sample_smc, or write its likelihood as pm.CustomDist or pm.Potential."
            )


def check_not_random(graphs: "list[Variable]") -> None:
    """Refuse log-densities that draw random numbers, as with minibatches."""
    from pytensor.graph.traversal import ancestors
    from pytensor.tensor.random.type import RandomType

    if any(isinstance(one.type, RandomType) for one in ancestors(graphs)):
        raise TargetError(
            "The model's log-density draws random numbers (a pm.Minibatch, or a variable that is not registered in the "
            "model), so it is not a function of the free variables: give all data, and register every variable."
        )


def check_transforms(model: "Model") -> None:
    """Refuse a transform that changes what its prior draws, such as sum_to_1 of a normal vector."""
    from pymc.distributions.transforms import CircularTransform
    from pymc.pytensorf import compile as compile_graph

    from sterna.bridges.pytensor_numba import array_mode

    chosen = {rv: model.rvs_to_transforms[rv] for rv in model.free_RVs if model.rvs_to_transforms[rv] is not None}
    if not chosen:
        return
    pairs = []
    for rv, transform in chosen.items():
        if any(isinstance(part, CircularTransform) for part in getattr(transform, "transform_list", ())):
            raise TargetError(
                f"The circular transform of {rv.name!r} comes after PyMC's default transform, whose values are no "
                "angles: give default_transform=pm.distributions.transforms.circular instead of transform=."
            )
        inputs = rv.owner.inputs
        pairs += [rv, transform.backward(transform.forward(rv, *inputs), *inputs)]
    with model:
        function = compile_graph([], pairs, mode=array_mode(), random_seed=0)
    for _ in range(3):
        values = function()
        for rv, drawn, kept in zip(chosen, values[::2], values[1::2], strict=True):
            # a draw that is not finite lies outside the transform's domain, and is drawn again
            if np.isfinite(kept).all() and not np.allclose(drawn, kept, rtol=1e-6, atol=1e-9):
                raise TargetError(
                    f"The transform of {rv.name!r} turns the prior's draw {drawn} into {kept}, so that draws "
                    "and log-density differ: give the variable a distribution that has this support."
                )


def indexed_by_state(graphs: "list[Variable]", state: "Variable") -> bool:
    """Whether an array is indexed in several dimensions by values that depend on the state.

    PyTensor's Numba mode does not check such indices, and would read foreign memory if one is out of bounds.
    """
    from pytensor.graph.traversal import ancestors

    nodes = {one.owner for one in ancestors(graphs) if one.owner is not None}
    indexed = [node for node in nodes if type(node.op).__name__ == "AdvancedSubtensor" and len(node.inputs) > 2]
    return any(state in ancestors(node.inputs[1:]) for node in indexed)


def _is_simulator(rv: "Variable") -> bool:
    return any("Simulator" in kind.__name__ for kind in type(rv.owner.op).__mro__)
