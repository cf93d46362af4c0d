"""What a PyMC model must not contain to be tempered, each with the reason and the way out."""

from typing import Any

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


def _is_simulator(rv: Any) -> bool:
    return any("Simulator" in kind.__name__ for kind in type(rv.owner.op).__mro__)
