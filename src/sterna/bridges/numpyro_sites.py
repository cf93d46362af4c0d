"""The unobserved sites of a NumPyro model: how each is stored in the flat state."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sterna.bridges.device import import_jax, in_64_bits
from sterna.errors import TargetError
from sterna.reference.space import Binary, Integer, Real, VariableType


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

    def value(self, stored: Any, found: Any) -> Any:
        """The site's value from its stored coordinates, where a run of the model has come to it."""
        index = found["infer"].get("_scan_current_index")
        if self.discrete:
            value = import_jax().numpy.round(stored).astype(self.dtype)
            return value if index is None else value[index]
        return bijection(found)(stored if index is None else stored[index])

    def log_jacobian(self, stored: Any, found: Any) -> Any:
        """Log-determinant of the map from stored coordinates to the value."""
        numpy = import_jax().numpy
        if self.discrete:
            return 0.0
        return numpy.sum(bijection(found).log_abs_det_jacobian(stored, found["value"]))


def bijection(found: Any) -> Any:
    """Return NumPyro's map from the whole space to the support of a site."""
    from numpyro.distributions.transforms import biject_to

    return biject_to(found["fn"].support)


def unconstrain(site: Site, found: Any) -> Any:
    """Return the stored coordinates of a site's value."""
    if site.discrete:
        return found["value"].astype("float64")
    return bijection(found).inv(found["value"])


def log_prob_of(found: Any) -> Any:
    """Return a site's log-density, without its scale."""
    between = found["intermediates"]
    return found["fn"].log_prob(found["value"], between) if between else found["fn"].log_prob(found["value"])


def is_possible(found: Any) -> Any:
    """Return whether an unobserved site's value is one: an integer may leave its bounds, a real round to its edge.

    NumPyro does not look in compiled code. Simplices, matrices and the like cannot leave their support.
    """
    numpy = import_jax().numpy
    finite = numpy.all(numpy.isfinite(found["value"]))
    support = found["fn"].support
    return finite if plain_constraint(support).event_dim > 0 else finite & numpy.all(support(found["value"]))


def plain_constraint(support: Any) -> Any:
    """Return the constraint of one entry of a vector of independent ones."""
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return support


@dataclass(frozen=True)
class Layout:
    """What is known of a model before it is run."""

    sites: dict[str, Site]
    """The unobserved sites, in the order of the flat state."""
    plates: dict[str, dict[int, str]]
    """For all sites that hold values, which axis is which plate."""


def read_layout(model: Any) -> Layout:
    """Find the unobserved sites of a model, by a run in which values are symbols."""
    jax = import_jax()
    layout = Layout({}, {})
    sizes: dict[str, set[int]] = {}
    informed = False

    def read(key: Any, arrays: Any) -> None:
        with refusing(model.name):
            trace = model.trace(arrays, key)
        nonlocal informed
        start = 0
        for name, found in trace.items():
            if found["type"] in ("deterministic", "sample"):
                layout.plates[name] = plates_of(found, taken=trace)
                for axis, plate in layout.plates[name].items():
                    sizes.setdefault(plate, set()).add(np.shape(found["value"])[axis])
            if found["type"] == "sample" and (found["is_observed"] or found["scale"] is not None):
                informed = True
            if found["type"] == "sample" and not found["is_observed"]:
                layout.sites[name] = site_of(name, found, start)
                start = layout.sites[name].stop

    in_64_bits(lambda: jax.eval_shape(read, jax.random.key(0), model.arrays))()
    _drop_uneven(layout.plates, sizes)
    if not layout.sites:
        raise TargetError(f"The NumPyro model {model.name} has no unobserved sample site: there is nothing to sample.")
    if not informed:
        raise TargetError(
            f"The NumPyro model {model.name} has no observed site and no factor, so its posterior is its prior. Give "
            "the data where the model takes them, such as from_numpyro(model, x, y=y)."
        )
    return layout


def plates_of(found: Any, taken: Any) -> dict[int, str]:
    """Return the names of the plates that are axes of a site's value, but for those that are names of variables."""
    shape = np.shape(found["value"])
    batch = len(shape) - (found["fn"].event_dim if found["type"] == "sample" else 0)
    places = {batch + plate.dim: plate for plate in found["cond_indep_stack"]}
    return {
        axis: plate.name
        for axis, plate in places.items()
        if 0 <= axis < len(shape) and shape[axis] == plate.size and taken.get(plate.name, {}).get("type") == "plate"
    }


def _drop_uneven(plates: dict[str, dict[int, str]], sizes: dict[str, set[int]]) -> None:
    """Leave out the names of plates that have several sizes, as a dimension has one."""
    for name, axes in plates.items():
        plates[name] = {axis: plate for axis, plate in axes.items() if len(sizes[plate]) == 1}


def scale_of(found: Any) -> Any:
    """Return the power of a site's density."""
    return 1.0 if found["scale"] is None else found["scale"]


def refusing(model: str) -> Any:
    """Return a handler that looks at every statement before it is carried out."""
    from numpyro.primitives import Messenger

    class Refusing(Messenger):  # type: ignore[misc]
        def process_message(self, found: Any) -> None:
            check(model, found.get("name", ""), found)

    return Refusing()


def check(model: str, name: str, found: Any) -> None:
    """Refuse what parallel tempering cannot be given."""
    kind = found["type"]
    if kind == "plate" and found["args"][1] not in (None, found["args"][0]):
        raise TargetError(
            f"The plate {name!r} of the NumPyro model {model} takes a subsample of {found['args'][1]} of "
            f"{found['args'][0]}: a likelihood of random data is not one function. Leave subsample_size out."
        )
    if kind == "param":
        raise TargetError(
            f"The NumPyro model {model} has the parameter {name!r}, which has no prior: make it a numpyro.sample."
        )
    if kind == "prng_key":
        raise TargetError(
            f"The NumPyro model {model} asks for a random key (numpyro.prng_key): all that is random must be a "
            "numpyro.sample."
        )
    if kind == "sample" and not found["is_observed"]:
        check_law(model, name, found["fn"])


def check_law(model: str, name: str, law: Any) -> None:
    """Refuse an unobserved site whose law is not proper or has no density."""
    from numpyro import distributions

    while law is not None:
        if isinstance(law, distributions.MaskedDistribution) and law._mask is not True:
            raise TargetError(
                f"The unobserved site {name!r} of the NumPyro model {model} is masked, so it has no proper law where "
                "the mask is False: sample without a mask, or leave such entries out."
            )
        if isinstance(law, (distributions.ImproperUniform, distributions.Delta)):
            raise TargetError(
                f"The unobserved site {name!r} of the NumPyro model {model} is a {type(law).__name__}, which is no law "
                "with a density to draw from: give it a proper prior, or numpyro.deterministic if it is known."
            )
        law = getattr(law, "base_dist", None)


def site_of(name: str, found: Any, start: int) -> Site:
    """Return how a site is stored."""
    shape, support = tuple(found["value"].shape), found["fn"].support
    if math.prod(shape) == 0:
        raise TargetError(f"The site {name!r} has shape {shape}, and so no entry to sample.")
    if support.is_discrete:
        return Site(name, start, shape, _kind_of(name, support, shape), True, found["value"].dtype)
    try:
        stored = tuple(bijection(found).inverse_shape(shape))
    except NotImplementedError:
        raise TargetError(
            f"The site {name!r} has the support {support}, which NumPyro cannot map to the whole space: use another "
            "parametrisation."
        ) from None
    return Site(name, start, stored, Real(shape=stored), False, found["value"].dtype)


def _kind_of(name: str, support: Any, shape: tuple[int, ...]) -> VariableType:
    """Return the kind of a discrete site; bounds that depend on other sites are left to the density."""
    from numpyro.distributions import constraints

    plain = plain_constraint(support)
    if plain is constraints.boolean:
        return Binary(shape=shape)
    if plain.event_dim > 0:
        raise TargetError(
            f"The site {name!r} is a discrete vector whose entries depend on each other (its support is {support}), of "
            "which no explorer can change one alone: use counts or categories that are free."
        )
    lower, upper = getattr(plain, "lower_bound", -math.inf), getattr(plain, "upper_bound", math.inf)
    return Integer(_known(lower, min, -math.inf), _known(upper, max, math.inf), shape=shape)


def _known(bound: Any, widest: Any, unknown: float) -> float:
    """Return a bound for all entries of a site, if it is a number and no symbol."""
    import numpy as np

    if isinstance(bound, import_jax().core.Tracer):
        return unknown
    return float(widest(np.asarray(bound).ravel()))
