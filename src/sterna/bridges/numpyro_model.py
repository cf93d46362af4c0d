"""A NumPyro model as a target: its unobserved sites are the reference, its observed sites and factors the likelihood.

Continuous sites are stored unconstrained, through NumPyro's own bijections, whose Jacobians are part of the
reference's density. Discrete sites are stored as they are, and sampled.
"""

import inspect
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.bridges.jax_batches import JAX_NOTE, batch_function_of, import_jax, in_64_bits, is_array
from sterna.bridges.numpyro_sites import Layout, Message, is_possible, log_prob_of, read_layout, scale_of, unconstrain
from sterna.bridges.numpyro_view import NumpyroView
from sterna.engine import callback
from sterna.engine.interrupts import keeps_interrupts
from sterna.errors import TargetError
from sterna.reference.reference import Reference
from sterna.reference.space import VariableType
from sterna.target.target import Target
from sterna.types import FloatArray

if TYPE_CHECKING:
    from jax import Array

    from sterna.result.result import Result


# An unconstrained draw that overflows is moved to this distance from 0.
MAX_UNCONSTRAINED = 700.0

# Parameters that can be given by name.
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@keeps_interrupts
def from_numpyro(model: Callable[..., Any], *args: object, **kwargs: object) -> Target:
    """Make a target from a NumPyro model and its arguments.

    The reference is the distribution of the unobserved sites; the likelihood is that of the observed sites, times all
    factors. An unobserved site under `handlers.scale` has its unscaled distribution as the reference, and the remaining
    power counts as likelihood. The posterior has the model's names and shapes, with plates as dimensions, and its
    deterministic sites.

    Examples
    --------
    >>> import numpy as np, numpyro, numpyro.distributions as dist, sterna
    >>> def model(y):
    ...     mu = numpyro.sample("mu", dist.Normal(0.0, 10.0))
    ...     sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    ...     with numpyro.plate("observation", len(y)):
    ...         numpyro.sample("y", dist.Normal(mu, sigma), obs=y)
    >>> target = sterna.from_numpyro(model, np.array([1.0, 2.0, 3.0]))
    >>> result = sterna.sample(target, n_rounds=5, progress=False)
    >>> list(result.posterior)
    ['mu', 'sigma']
    """
    jax = import_jax()
    read = Model(model, args, kwargs)
    kinds: dict[str, VariableType] = {}
    for name, site in read.sites.items():
        kinds[_identifier(name, {*read.sites, *kinds})] = site.kind
    values = batch_function_of(read.log_densities, read.arrays, (callback.REFERENCE, callback.LIKELIHOOD))
    slopes = None
    if any(not site.discrete for site in read.sites.values()):
        slopes = batch_function_of(
            read.log_densities_and_gradients,
            read.arrays,
            (callback.REFERENCE, callback.LIKELIHOOD, callback.REFERENCE_GRADIENT, callback.GRADIENT),
        )
    draw = _Draw(in_64_bits(jax.jit(read.draw)), read.arrays)
    reason = next(iter(read.layout.unnormalized), "")
    reference = Reference(draw, values, kinds, gradient=slopes, normalized=not reason, unnormalized=reason)
    target = Target(values, reference, gradient=slopes, view=NumpyroView(read), name=read.name)
    return target.with_notes(JAX_NOTE)


def numpyro_samples(result: "Result") -> dict[str, NDArray[Any]]:
    """Return the draws of all copies, one after the other, as `numpyro.infer.Predictive` takes them.

    Examples
    --------
    >>> import jax, numpyro, numpyro.distributions as dist, sterna
    >>> def model(y=None):
    ...     mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    ...     numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)
    >>> result = sterna.sample(sterna.from_numpyro(model, y=1.0), n_rounds=5, progress=False)
    >>> samples = sterna.numpyro_samples(result)
    >>> predicted = numpyro.infer.Predictive(model, samples)(jax.random.key(0))
    >>> predicted["y"].shape == samples["mu"].shape
    True
    """
    posterior = result.posterior
    return {str(name): part.values.reshape(-1, *part.shape[2:]) for name, part in posterior.items()}


def _check_arguments(model: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse arguments with which the model cannot be called, most often because they were forgotten."""
    try:
        signature = inspect.signature(model)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        needed = [p.name for p in signature.parameters.values() if p.default is p.empty and p.kind in _NAMED]
        example = ", ".join(["model", *(f"{one}={one}" for one in needed)])
        raise TargetError(
            f"The NumPyro model {name}{signature} cannot be called with the arguments that were given to from_numpyro: "
            f"{error}. Give the model's arguments, such as its data, after the model: sterna.from_numpyro({example})."
        ) from None


class Model:
    """A model with its arguments: arrays are passed to compiled functions, all other arguments are compiled in."""

    def __init__(self, model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            import numpyro  # noqa: F401
        except ImportError as error:
            raise TargetError(f"NumPyro is needed and cannot be imported ({error}): pip install numpyro.") from None
        if not callable(model):
            raise TargetError(f"from_numpyro({model!r}): give a function with numpyro.sample statements.")
        jax = import_jax()
        self.model, self.name = model, getattr(model, "__name__", type(model).__name__)
        _check_arguments(model, self.name, args, kwargs)
        leaves, self.tree = jax.tree_util.tree_flatten((args, kwargs))
        self.leaves = leaves
        self.array_indices = [k for k, leaf in enumerate(leaves) if is_array(leaf)]
        self.arrays = self._copied_arrays()
        self.layout = self._read()
        self.sites = self.layout.sites

    def _copied_arrays(self) -> list[Any]:
        """Copy the arrays, so that the target does not change with the user's."""
        numpy = import_jax().numpy
        return in_64_bits(lambda: [numpy.array(self.leaves[k]) for k in self.array_indices])()

    def _read(self) -> Layout:
        """Find the sites by tracing; if the model needs the values of its arrays for that, they are compiled in."""
        jax = import_jax()
        try:
            return read_layout(self)
        except (TypeError, jax.errors.JAXIndexError):  # JAX raises a plain TypeError for shapes
            self.array_indices, self.arrays = [], []
        try:
            return read_layout(self)
        except (TypeError, jax.errors.JAXIndexError) as error:
            if "of concrete values" not in str(error) and not isinstance(
                error, (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
            ):
                raise
            raise TargetError(
                f"The NumPyro model {self.name} branches on the value of a variable, or has a shape that depends on "
                f"one, which JAX cannot compile: use jnp.where or jax.lax.cond. ({str(error).splitlines()[0]})"
            ) from None

    def trace(
        self, arrays: list[Any], key: "Array", choose: Callable[[Message], Any] | None = None
    ) -> Mapping[str, Message]:
        """Run the model with the values of some sites chosen and the others drawn; return the messages of all sites."""
        from numpyro import handlers

        leaves = list(self.leaves)
        for index, array in zip(self.array_indices, arrays, strict=True):
            leaves[index] = array
        args, kwargs = import_jax().tree_util.tree_unflatten(self.tree, leaves)
        run = handlers.seed(self.model, key)
        if choose is not None:
            run = handlers.substitute(run, substitute_fn=choose)
        messages: Mapping[str, Message] = handlers.trace(run).get_trace(*args, **kwargs)
        return messages

    def at(self, state: "Array | FloatArray", arrays: list[Any]) -> tuple[dict[str, Any], Mapping[str, Message]]:
        """Run the model at a state; return the stored values of its sites, and the trace."""
        jax = import_jax()
        stored: dict[str, Any] = {
            name: state[site.start : site.stop].reshape(site.stored) for name, site in self.sites.items()
        }

        def choose(message: Message) -> Any:
            if message["type"] != "sample" or message["name"] not in stored:
                return None
            return self.sites[message["name"]].value(stored[message["name"]], message)

        # all sites are chosen; the model may still ask for a key
        return stored, self.trace(arrays, jax.random.key(0), choose)

    def log_densities(self, state: "Array", arrays: list[Any]) -> tuple["Array", "Array"]:
        """Return log-reference and log-likelihood at a state.

        If one of them is NaN or +inf, the density is taken to be zero: unconstrained values whose exponential overflows
        are common and no mistake of the model, and NumPyro's own samplers reject them too.
        """
        numpy = import_jax().numpy
        stored, trace = self.at(state, arrays)
        reference, likelihood, possible = numpy.zeros(()), numpy.zeros(()), numpy.array(True)
        for name, message in trace.items():
            if message["type"] != "sample":
                continue
            log_prob = log_prob_of(message)
            scale = scale_of(message)
            if name in stored:
                possible &= is_possible(message)
                reference += numpy.sum(log_prob) + self.sites[name].log_jacobian(stored[name], message)
                # the unscaled density is the reference; the remaining power is likelihood
                likelihood += numpy.sum((scale - 1.0) * log_prob)
            else:
                likelihood += numpy.sum(scale * log_prob)
        zero = -numpy.inf
        possible &= (reference > zero) & (reference < numpy.inf)
        likelihood = numpy.where(likelihood < numpy.inf, likelihood, zero)
        return numpy.where(possible, reference, zero), numpy.where(possible, likelihood, zero)

    def log_densities_and_gradients(self, state: "Array", arrays: list[Any]) -> tuple["Array", ...]:
        """Return both log-densities and their gradients."""
        jax = import_jax()
        values, pull = jax.vjp(lambda x: jax.numpy.stack(self.log_densities(x, arrays)), state)
        slopes = jax.vmap(lambda one: pull(one)[0])(jax.numpy.eye(2))
        return values[0], values[1], slopes[0], slopes[1]

    def draw(self, words: "Array", arrays: list[Any]) -> "Array":
        """Draw a state from the reference."""
        jax = import_jax()
        key = jax.random.wrap_key_data(words, impl="threefry2x32")
        trace = self.trace(arrays, key)
        parts = [unconstrain(site, trace[name]).ravel() for name, site in self.sites.items()]
        return jax.numpy.nan_to_num(
            jax.numpy.concatenate(parts), nan=np.nan, posinf=MAX_UNCONSTRAINED, neginf=-MAX_UNCONSTRAINED
        )


@dataclass(frozen=True)
class _Draw:
    """A draw from the reference by NumPyro, with a key of two words from the replica's stream."""

    compiled: Callable[..., Any]
    arrays: list[Any]
    reason: str = ""
    """Why it is not compiled by Numba; empty, because the target's note says it."""

    def __call__(self, rng: np.random.Generator) -> FloatArray:
        words = rng.integers(0, 1 << 32, 2, np.uint32)
        return np.asarray(self.compiled(words, self.arrays))


def _identifier(name: str, taken: Container[str]) -> str:
    """Return an identifier for a site, whose name may be any text."""
    if name.isidentifier():
        return name
    plain = re.sub(r"\W", "_", f"site_{name}")
    while plain in taken:
        plain += "_"
    return plain
