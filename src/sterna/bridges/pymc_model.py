"""A PyMC model as a target: its prior is the reference, and its observed variables are the likelihood."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sterna.bridges.pymc_checks import check_model, check_not_random, check_transforms, indexed_by_state
from sterna.bridges.pymc_normalized import reason_unnormalized
from sterna.bridges.pymc_prior import PriorDraw
from sterna.bridges.pymc_space import has_unbounded, kinds_of
from sterna.bridges.pymc_view import PymcView
from sterna.bridges.pytensor_numba import bridged_density, bridged_gradient, with_whole_gradient
from sterna.engine.interrupts import keeps_interrupts
from sterna.ground.user_function import Bridged, CannotCompile
from sterna.reference.reference import Reference
from sterna.target.target import Target

if TYPE_CHECKING:
    from pymc import Model
    from pytensor.compile.function.types import Function
    from pytensor.compile.mode import Mode
    from pytensor.graph.basic import Variable


@keeps_interrupts
def from_pymc(model: "Model", *, name: str | None = None) -> Target:
    """Make a target from a PyMC model, which is not changed; `sterna.sample(model)` calls this.

    The reference is the prior of the free variables, and the likelihood is that of the observed variables and all
    potentials, also of those that depend on free variables only. A state holds the values of the free variables as
    PyMC's own samplers do: unconstrained, after PyMC's transforms. Densities contain their Jacobians, so that ordered
    vectors, simplices and Cholesky factors need no special treatment. Integers have the bounds of their distributions.
    The posterior has the model's own variables, deterministics included.

    Both log-densities and their gradients are compiled by PyTensor's Numba mode. If PyTensor has no compiled form of an
    operation, PyMC's own function is called instead, and `notes` names the operation. Data (`pm.Data`) are copied: make
    a new target after `pm.set_data`.

    Examples
    --------
    >>> import pymc as pm, sterna
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 10)
    ...     sigma = pm.HalfNormal("sigma", 2)
    ...     y = pm.Normal("y", abs(mu), sigma, observed=[4.0, 5.0, 6.0])
    >>> target = sterna.from_pymc(model)
    >>> target.space.names
    ['mu', 'sigma']
    """
    check_model(model)
    model = _frozen(model)
    draw = PriorDraw(model)
    example = draw.checked_example()
    check_transforms(model)
    kinds = kinds_of(model, example)
    graphs = Graphs(model, [value.shape for value in example])
    prior, likelihood = graphs.log_densities()
    check_not_random([prior, likelihood])
    if has_unbounded(model, example) and indexed_by_state([prior, likelihood], graphs.state):
        graphs.reason = (
            "several indices depend on an integer without an upper bound, and compiled code does not check them"
        )
    slopes = graphs.gradients(prior, likelihood, prior + graphs.beta * likelihood)
    densities = [bridged_density(partial(graphs.compile, [one])) for one in (prior, likelihood)]
    gradients: list[Bridged | None] = [None, None]
    if slopes is not None:
        of_prior, of_likelihood = (bridged_gradient(partial(graphs.compile, [one])) for one in slopes[:2])
        gradients = [of_prior, with_whole_gradient(of_likelihood, partial(graphs.compile, slopes[2:], annealed=True))]
    reason = reason_unnormalized(model)
    reference = Reference(
        Bridged(draw, draw.compiled),
        densities[0],
        kinds,
        gradient=gradients[0],
        normalized=not reason,
        unnormalized=reason,
    )
    return Target(
        densities[1],
        reference,
        gradient=gradients[1],
        view=PymcView(model, graphs),
        name=name or model.name or "PyMC model",
    )


def _frozen(model: "Model") -> "Model":
    """Return the model with its data as they are now, because draws, densities and results must use the same."""
    from pymc.model.transform.optimization import freeze_dims_and_data

    if not model.data_vars and not model.coords:
        return model
    # PyMC does not freeze a model with initial values, which a run does not need
    initial = dict(model.rvs_to_initial_values)
    try:
        model.rvs_to_initial_values.update(dict.fromkeys(initial))
        frozen = freeze_dims_and_data(model)
    finally:
        model.rvs_to_initial_values.update(initial)
    frozen.check_bounds = model.check_bounds
    # in the user's order, which freezing does not keep
    for variables, ordered in ((frozen.free_RVs, model.free_RVs), (frozen.deterministics, model.deterministics)):
        names = [rv.name for rv in ordered]
        variables.sort(key=lambda rv, names=names: names.index(rv.name))
    return frozen


class Graphs:
    """A model's graphs as functions of one flat vector, `state`."""

    def __init__(self, model: "Model", shapes: list[tuple[int, ...]]) -> None:
        import pytensor.tensor as pt

        self.model = model
        # why Numba must not compile these graphs; empty if it may
        self.reason = ""
        sizes = [int(np.prod(shape)) for shape in shapes]
        self.state = pt.vector("state", shape=(sum(sizes),), dtype="float64")
        self.beta = pt.scalar("beta", dtype="float64")
        self.values: dict[Variable, Variable] = {}
        begin = 0
        for rv, shape, size in zip(model.free_RVs, shapes, sizes, strict=True):
            value = model.rvs_to_values[rv]
            # a scalar and not a vector of length 1, along which every operation would broadcast
            part = self.state[begin : begin + size].reshape(shape) if shape else self.state[begin]
            self.values[value] = part.astype(value.dtype)
            begin += size

    def of_state(self, graphs: "list[Variable]") -> "list[Variable]":
        """Return graphs of the model's values as graphs of the state."""
        from pytensor.graph.replace import clone_replace

        replaced: list[Variable] = clone_replace(graphs, self.values)
        return replaced

    def log_densities(self) -> "list[Variable]":
        """Return the log-density of the prior, transforms included, and the log-likelihood."""
        model = self.model
        prior = model.logp(vars=model.free_RVs)
        likelihood = model.logp(vars=[*model.observed_RVs, *model.potentials])
        return [graph.astype("float64") for graph in self.of_state([prior, likelihood])]

    def gradients(self, *densities: "Variable") -> "list[Variable] | None":
        """Return gradients with respect to the state, or None if an operation has none or no variable is real."""
        import pytensor.tensor as pt
        from pymc.pytensorf import rewrite_pregrad

        if not self.model.continuous_value_vars:
            return None
        try:
            return [pt.grad(rewrite_pregrad(one), self.state, disconnected_inputs="ignore") for one in densities]
        except (NotImplementedError, AttributeError, TypeError, ValueError):
            return None

    def compile(self, graphs: "Sequence[Variable]", mode: "Mode | str", annealed: bool = False) -> "Function":
        """Compile graphs of the state, or of state and beta; as in PyMC, invalid parameters mean density zero."""
        from pymc.pytensorf import compile as compile_graph

        if mode == "NUMBA" and self.reason:
            raise CannotCompile(self.reason)
        with self.model:
            function = compile_graph(
                [self.state, self.beta] if annealed else [self.state], graphs, mode=mode, on_unused_input="ignore"
            )
        function.trust_input = True
        return function
