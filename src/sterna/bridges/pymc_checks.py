"""What a PyMC model must not contain to be tempered, each with the reason and the way out."""

from typing import Any

import numpy as np

from sterna.errors import TargetError

IMPROPER = ("FlatRV", "HalfFlatRV")


def check_model(model: Any) -> None:
    """Refuse a model that has no proper prior to draw from, or whose density is not a function of its variables."""
    if not model.free_RVs:
        raise TargetError("The PyMC model has no free variable, so there is nothing to sample.")
    if not model.observed_RVs and not model.potentials:
        raise TargetError(
            "The PyMC model has neither an observed variable nor a potential, so its posterior is its prior: use "
            "pymc.sample_prior_predictive, or pass observed=... to a variable."
        )
    for rv in model.free_RVs:
        operation = type(rv.owner.op).__name__
        if operation in IMPROPER:
            raise TargetError(
                f"{rv.name!r} has the improper prior {operation.removesuffix('RV')}, from which nobody can draw, and "
                "without which there is no evidence: give it a proper one, such as pm.Normal(0, 100)."
            )
        if operation == "PartialObservedRV":
            raise TargetError(
                f"{rv.name!r} are missing values within vectors that are otherwise observed, whose prior cannot be "
                "drawn apart from what is observed: make the vector a free variable, and observe its known entries."
            )
        if rv.dtype.startswith(("int", "uint")) and getattr(rv.owner.op, "ndim_supp", 0) > 0:
            raise TargetError(
                f"{rv.name!r} is a vector of integers that depend on each other ({operation.removesuffix('RV')}), so "
                "that no one of them can change alone: observe it, or write its marginal law."
            )
    for rv in model.observed_RVs:
        if type(rv.owner.op).__name__ == "SimulatorRV" or _is_simulator(rv):
            raise TargetError(
                f"{rv.name!r} is a pm.Simulator, whose likelihood is random: no function of the variables to temper. "
                "Use pymc.sample_smc, or write its likelihood as pm.CustomDist or pm.Potential."
            )


def check_not_random(graphs: list[Any]) -> None:
    """Refuse log-densities that draw random numbers, as with minibatches."""
    from pytensor.graph.traversal import ancestors
    from pytensor.tensor.random.type import RandomType

    if any(isinstance(one.type, RandomType) for one in ancestors(graphs)):
        raise TargetError(
            "The model's log-density draws random numbers (a pm.Minibatch, or a variable that is not registered in the "
            "model), so that it is no function of the free variables: give all data, and name every variable."
        )


def check_transforms(model: Any) -> None:
    """Refuse a transform that does not keep what its prior draws, as a sum of 1 that a normal vector does not have."""
    from pymc.pytensorf import compile as compile_graph

    from sterna.bridges.pytensor_numba import array_mode

    chosen = {rv: model.rvs_to_transforms[rv] for rv in model.free_RVs if model.rvs_to_transforms[rv] is not None}
    if not chosen:
        return
    pairs = []
    for rv, transform in chosen.items():
        inputs = rv.owner.inputs
        pairs += [rv, transform.backward(transform.forward(rv, *inputs), *inputs)]
    with model:
        function = compile_graph([], pairs, mode=array_mode(), random_seed=0)
    for _ in range(3):
        values = function()
        for rv, drawn, kept in zip(chosen, values[::2], values[1::2], strict=True):
            # what is not finite lies outside of the transform, and is drawn again
            if np.isfinite(kept).all() and not np.allclose(drawn, kept, rtol=1e-6, atol=1e-9):
                raise TargetError(
                    f"The transform of {rv.name!r} turns the prior's draw {drawn} into {kept}, so that its prior "
                    "is not the law of its log-density: give the variable a distribution that has this support."
                )


def indexed_by_state(graphs: list[Any], state: Any) -> bool:
    """Whether an array is indexed in several dimensions by what depends on the state.

    PyTensor's Numba mode does not check such indices, and would read foreign memory for one out of bounds.
    """
    from pytensor.graph.traversal import ancestors

    nodes = {one.owner for one in ancestors(graphs) if one.owner is not None}
    indexed = [node for node in nodes if type(node.op).__name__ == "AdvancedSubtensor" and len(node.inputs) > 2]
    return any(state in ancestors(node.inputs[1:]) for node in indexed)


def _is_simulator(rv: Any) -> bool:
    return any("Simulator" in kind.__name__ for kind in type(rv.owner.op).__mro__)
