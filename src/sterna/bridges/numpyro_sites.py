"""The unobserved sites of a NumPyro model: how each is stored in the flat state."""

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from sterna.bridges.jax_batches import import_jax, in_64_bits
from sterna.bridges.numpyro_constraints import is_angle, plain_constraint
from sterna.bridges.numpyro_normalized import reason_unnormalized
from sterna.errors import TargetError
from sterna.reference.space import Angle, Binary, Integer, Real, VariableType

if TYPE_CHECKING:
    from jax import Array
    from numpyro.distributions import Distribution
    from numpyro.distributions.constraints import Constraint
    from numpyro.distributions.transforms import Transform

    from sterna.bridges.numpyro_model import Model

# What NumPyro's handlers pass on for every statement of a model: its type, name, distribution, value, scale, ...
Message = dict[str, Any]


@dataclass(frozen=True)
class Site:
    """An unobserved site."""

    name: str
    start: int
    stored: tuple[int, ...]
    """Shape of the stored coordinates."""
    kind: VariableType
    discrete: bool
    dtype: Any

    @property
    def stop(self) -> int:
        """The coordinate after the last."""
        return self.start + math.prod(self.stored)

    def value(self, stored: "Array", message: Message) -> "Array":
        """The site's value from its stored coordinates; in a scan, that of the current step."""
        index = message["infer"].get("_scan_current_index")
        if self.discrete:
            value = import_jax().numpy.round(stored).astype(self.dtype)
            return value if index is None else value[index]
        return bijection(message)(stored if index is None else stored[index])

    def log_jacobian(self, stored: "Array", message: Message) -> "Array | float":
        """Log-determinant of the Jacobian of the map from stored coordinates to the value."""
        numpy = import_jax().numpy
        if self.discrete:
            return 0.0
        return numpy.sum(bijection(message).log_abs_det_jacobian(stored, message["value"]))


def bijection(message: Message) -> "Transform":
    """Return NumPyro's map from the whole space to the support of a site; an angle is stored as it is.

    NumPyro maps angles by a logistic function, which has no way around.
    """
    from numpyro.distributions.transforms import IdentityTransform, biject_to

    support = message["fn"].support
    return IdentityTransform() if is_angle(support) else biject_to(support)


def unconstrain(site: Site, message: Message) -> "Array":
    """Return the stored coordinates of a site's value."""
    if site.discrete:
        return message["value"].astype("float64")
    return bijection(message).inv(message["value"])


def log_prob_of(message: Message) -> "Array":
    """Return a site's log-density, without its scale."""
    distribution, intermediates = message["fn"], message["intermediates"]
    given = (message["value"], intermediates) if intermediates else (message["value"],)
    return distribution.log_prob(*given)


def is_possible(message: Message) -> "Array":
    """Whether an unobserved site's value is in its support: integers may leave it, and reals may round to its edge.

    NumPyro does not check this in compiled code. Simplices, matrices and the like cannot leave their support.
    """
    numpy = import_jax().numpy
    finite = numpy.all(numpy.isfinite(message["value"]))
    support = message["fn"].support
    return finite if plain_constraint(support).event_dim > 0 else finite & numpy.all(support(message["value"]))


@dataclass(frozen=True)
class Layout:
    """What tracing shows of a model."""

    sites: dict[str, Site]
    """The unobserved sites, in the order of the flat state."""
    plates: dict[str, dict[int, str]]
    """For all sites with values, the names of the plates by axis."""
    unnormalized: list[str]
    """Why densities of unobserved sites may not integrate to one, by site that gives a reason."""


def read_layout(model: "Model") -> Layout:
    """Find the unobserved sites of a model by tracing it."""
    jax = import_jax()
    layout = Layout({}, {}, [])
    sizes: dict[str, set[int]] = {}
    has_likelihood = False

    def read(key: "Array", arrays: list[Any]) -> None:
        with refusing(model.name):
            trace = model.trace(arrays, key)
        nonlocal has_likelihood
        start = 0
        for name, message in trace.items():
            if message["type"] in ("deterministic", "sample"):
                layout.plates[name] = plates_of(message, taken=trace)
                for axis, plate in layout.plates[name].items():
                    sizes.setdefault(plate, set()).add(np.shape(message["value"])[axis])
            if message["type"] == "sample" and (message["is_observed"] or message["scale"] is not None):
                has_likelihood = True
            if message["type"] == "sample" and not message["is_observed"]:
                check_drawn(model.name, name, message)
                if reason := reason_unnormalized(name, message["fn"]):
                    layout.unnormalized.append(reason)
                layout.sites[name] = site_of(name, message, start)
                start = layout.sites[name].stop

    in_64_bits(lambda: jax.eval_shape(read, jax.random.key(0), model.arrays))()
    _drop_uneven(layout.plates, sizes)
    if not layout.sites:
        raise TargetError(f"The NumPyro model {model.name} has no unobserved sample site: there is nothing to sample.")
    if not has_likelihood:
        raise TargetError(
            f"The NumPyro model {model.name} has no observed site and no factor, so its posterior is its prior. Give "
            "the data as arguments of the model, such as from_numpyro(model, x, y=y)."
        )
    return layout


def plates_of(message: Message, taken: Mapping[str, Message]) -> dict[int, str]:
    """Return the names of the plates that are axes of a site's value, without those that also name a site."""
    shape = np.shape(message["value"])
    batch = len(shape) - (message["fn"].event_dim if message["type"] == "sample" else 0)
    by_axis = {batch + plate.dim: plate for plate in message["cond_indep_stack"]}
    return {
        axis: plate.name
        for axis, plate in by_axis.items()
        if 0 <= axis < len(shape) and shape[axis] == plate.size and taken.get(plate.name, {}).get("type") == "plate"
    }


def _drop_uneven(plates: dict[str, dict[int, str]], sizes: dict[str, set[int]]) -> None:
    """Leave out plates of several sizes, because a dimension has one size."""
    for name, axes in plates.items():
        plates[name] = {axis: plate for axis, plate in axes.items() if len(sizes[plate]) == 1}


def scale_of(message: Message) -> "Array | float":
    """Return the power to which a site's density is raised."""
    return 1.0 if message["scale"] is None else message["scale"]


def refusing(model: str) -> AbstractContextManager[object]:
    """Return a handler that checks every statement of a model before it is executed."""
    from numpyro.primitives import Messenger

    class Refusing(Messenger):  # type: ignore[misc]
        def process_message(self, message: Message) -> None:
            check(model, message.get("name", ""), message)

    return cast(AbstractContextManager[object], Refusing())


def check(model: str, name: str, message: Message) -> None:
    """Refuse statements that parallel tempering cannot use."""
    kind = message["type"]
    if kind == "plate" and message["args"][1] not in (None, message["args"][0]):
        raise TargetError(
            f"The plate {name!r} of the NumPyro model {model} takes a subsample of {message['args'][1]} of "
            f"{message['args'][0]}, so the likelihood would be random: leave out subsample_size."
        )
    if kind == "param":
        raise TargetError(
            f"The NumPyro model {model} has the parameter {name!r}, which has no prior: make it a numpyro.sample."
        )
    if kind == "prng_key":
        raise TargetError(
            f"The NumPyro model {model} asks for a random key (numpyro.prng_key): use numpyro.sample for all "
            "random values."
        )
    if kind == "sample" and not message["is_observed"]:
        check_distribution(model, name, message["fn"])


def check_distribution(model: str, name: str, given: "Distribution") -> None:
    """Refuse an unobserved site whose distribution is improper or has no density."""
    from numpyro import distributions

    part: Distribution | None = given
    while part is not None:
        if isinstance(part, distributions.MaskedDistribution) and part._mask is not True:
            raise TargetError(
                f"The unobserved site {name!r} of the NumPyro model {model} is masked, so it has no proper "
                "distribution where the mask is False: sample without a mask, or leave such entries out."
            )
        if isinstance(part, (distributions.ImproperUniform, distributions.Delta)):
            raise TargetError(
                f"The unobserved site {name!r} of the NumPyro model {model} is a {type(part).__name__}, which has no "
                "density to draw from: give it a proper prior, or use numpyro.deterministic if its value is known."
            )
        part = getattr(part, "base_dist", None)


def check_drawn(model: str, name: str, message: Message) -> None:
    """Refuse an unobserved site with a value that is not drawn, for which the reference could not be either."""
    if not isinstance(message["value"], import_jax().core.Tracer):
        raise TargetError(
            f"The unobserved site {name!r} of the NumPyro model {model} has a given value (handlers.substitute), so it "
            "cannot be drawn: observe it with handlers.condition."
        )


def site_of(name: str, message: Message, start: int) -> Site:
    """Return how a site is stored."""
    shape, support = tuple(message["value"].shape), message["fn"].support
    if math.prod(shape) == 0:
        raise TargetError(f"The site {name!r} has shape {shape}, so there is nothing to sample: leave it out.")
    if support.is_discrete:
        return Site(name, start, shape, _kind_of(name, support, shape), True, message["value"].dtype)
    try:
        stored = tuple(bijection(message).inverse_shape(shape))
    except NotImplementedError:
        raise TargetError(
            f"The site {name!r} has the support {support}, which NumPyro cannot map to an unconstrained space: use "
            "another parametrisation."
        ) from None
    kind = (Angle if is_angle(support) else Real)(shape=stored)
    return Site(name, start, stored, kind, False, message["value"].dtype)


def _kind_of(name: str, support: "Constraint", shape: tuple[int, ...]) -> VariableType:
    """Return the kind of a discrete site; bounds that depend on other sites are left to its density."""
    from numpyro.distributions import constraints

    plain = plain_constraint(support)
    if plain is constraints.boolean:
        return Binary(shape=shape)
    if plain.event_dim > 0:
        raise TargetError(
            f"The site {name!r} is a discrete vector whose entries depend on each other (its support is {support}), of "
            "which no explorer can change one alone: use counts or categories that can change independently."
        )
    lower, upper = getattr(plain, "lower_bound", -math.inf), getattr(plain, "upper_bound", math.inf)
    return Integer(_concrete(lower, min, -math.inf), _concrete(upper, max, math.inf), shape=shape)


def _concrete(bound: ArrayLike, widest: Callable[[Iterable[float]], float], otherwise: float) -> float:
    """Return one bound for all entries of a site, if its value does not depend on other sites."""

    if isinstance(bound, import_jax().core.Tracer):
        return otherwise
    return float(widest(np.asarray(bound).ravel()))
