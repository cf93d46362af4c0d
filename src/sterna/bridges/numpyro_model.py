"""A NumPyro model as a target: its unobserved sites are the reference, its observed sites and factors the likelihood.

Continuous sites are stored without constraints, through NumPyro's own bijections, whose Jacobians belong to the
reference's density. Discrete sites are stored as they are, and sampled.
"""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.bridges.device import NOTE, import_jax, in_64_bits, is_array, together
from sterna.bridges.numpyro_sites import Layout, is_possible, log_prob_of, read_layout, scale_of, unconstrain
from sterna.bridges.numpyro_view import NumpyroView
from sterna.engine import callback
from sterna.errors import TargetError
from sterna.reference.reference import Reference
from sterna.reference.space import VariableType
from sterna.target.target import Target

if TYPE_CHECKING:
    from sterna.result.result import Result


# What a draw outside of floating point is moved to on the unconstrained line.
FARTHEST = 700.0


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> Target:
    """Make a target from a NumPyro model and its arguments.

    The reference is the law of the unobserved sites, the likelihood that of the observed ones, times all factors. A
    site under `handlers.scale` keeps its own law as the reference, and the rest of its power counts as likelihood.
    The result's posterior has the model's own names and shapes, with plates as dimensions, and its deterministic sites.

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
    values = together(read.log_densities, read.arrays, (callback.REFERENCE, callback.LIKELIHOOD))
    slopes = None
    if any(not site.discrete for site in read.sites.values()):
        slopes = together(
            read.log_densities_and_gradients,
            read.arrays,
            (callback.REFERENCE, callback.LIKELIHOOD, callback.REFERENCE_GRADIENT, callback.GRADIENT),
        )
    draw = _Draw(in_64_bits(jax.jit(read.draw)), read.arrays)
    reference = Reference(draw, values, kinds, gradient=slopes)
    target = Target(values, reference, gradient=slopes, view=NumpyroView(read), name=read.name)
    return target.with_notes(NOTE)


def numpyro_samples(result: "Result") -> dict[str, NDArray[Any]]:
    """Return the posterior's draws, those of all copies in one row, as `numpyro.infer.Predictive` takes them.

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


class Model:
    """A model with its arguments: the arrays among them are given to compiled functions, all else is part of them."""

    def __init__(self, model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            import numpyro  # noqa: F401
        except ImportError as error:
            raise TargetError(f"NumPyro cannot be imported ({error}): pip install numpyro.") from None
        if not callable(model):
            raise TargetError(f"from_numpyro({model!r}): give a function with numpyro.sample statements.")
        jax = import_jax()
        self.model, self.name = model, getattr(model, "__name__", type(model).__name__)
        leaves, self.tree = jax.tree_util.tree_flatten((args, kwargs))
        self.leaves = leaves
        self.places = [k for k, leaf in enumerate(leaves) if is_array(leaf)]
        self.arrays = self._given()
        self.layout = self._read()
        self.sites = self.layout.sites

    def _given(self) -> list[Any]:
        """Copy the arrays, so that the target does not change when the user's do."""
        numpy = import_jax().numpy
        found: list[Any] = in_64_bits(lambda: [numpy.array(self.leaves[k]) for k in self.places])()
        return found

    def _read(self) -> Layout:
        """Find the sites by a run of symbols; a model that must know the numbers in its arrays has them built in."""
        jax = import_jax()
        try:
            return read_layout(self)
        except (TypeError, jax.errors.JAXIndexError):  # JAX's own, among which that of a shape is no JAXTypeError
            self.places, self.arrays = [], []
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

    def trace(self, arrays: list[Any], key: Any, choose: Callable[[Any], Any] | None = None) -> Mapping[str, Any]:
        """Run the model with some sites' values chosen and others drawn, and return all of its sites."""
        from numpyro import handlers

        leaves = list(self.leaves)
        for place, array in zip(self.places, arrays, strict=True):
            leaves[place] = array
        args, kwargs = import_jax().tree_util.tree_unflatten(self.tree, leaves)
        run = handlers.seed(self.model, key)
        if choose is not None:
            run = handlers.substitute(run, substitute_fn=choose)
        found: Mapping[str, Any] = handlers.trace(run).get_trace(*args, **kwargs)
        return found

    def at(self, state: Any, arrays: list[Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Run the model at a state; return the stored values of its sites, and the trace."""
        jax = import_jax()
        stored = {name: state[site.start : site.stop].reshape(site.stored) for name, site in self.sites.items()}

        def choose(found: Any) -> Any:
            if found["type"] != "sample" or found["name"] not in stored:
                return None
            return self.sites[found["name"]].value(stored[found["name"]], found)

        # no draw is left to be made; the key is for what the model makes of it besides
        return stored, self.trace(arrays, jax.random.key(0), choose)

    def log_densities(self, state: Any, arrays: list[Any]) -> tuple[Any, Any]:
        """Return log-reference and log-likelihood at a state.

        Where one is no number below infinity the density is zero: an unconstrained value so large that its exponential
        overflows is common, and no mistake of the model's; NumPyro's own samplers step back from it too.
        """
        numpy = import_jax().numpy
        stored, trace = self.at(state, arrays)
        reference, likelihood, possible = numpy.zeros(()), numpy.zeros(()), numpy.array(True)
        for name, found in trace.items():
            if found["type"] != "sample":
                continue
            log_prob = log_prob_of(found)
            scale = scale_of(found)
            if name in stored:
                possible &= is_possible(found)
                reference += numpy.sum(log_prob) + self.sites[name].log_jacobian(stored[name], found)
                # a site keeps its own law as the reference; the rest of its power is likelihood
                likelihood += numpy.sum((scale - 1.0) * log_prob)
            else:
                likelihood += numpy.sum(scale * log_prob)
        nowhere = -numpy.inf
        possible &= (reference > nowhere) & (reference < numpy.inf)
        likelihood = numpy.where(likelihood < numpy.inf, likelihood, nowhere)
        return numpy.where(possible, reference, nowhere), numpy.where(possible, likelihood, nowhere)

    def log_densities_and_gradients(self, state: Any, arrays: list[Any]) -> tuple[Any, Any, Any, Any]:
        """Return both log-densities and their gradients."""
        jax = import_jax()
        values, pull = jax.vjp(lambda x: jax.numpy.stack(self.log_densities(x, arrays)), state)
        slopes = jax.vmap(lambda one: pull(one)[0])(jax.numpy.eye(2))
        return values[0], values[1], slopes[0], slopes[1]

    def draw(self, words: Any, arrays: list[Any]) -> Any:
        """Draw a state from the reference."""
        jax = import_jax()
        key = jax.random.wrap_key_data(words, impl="threefry2x32")
        trace = self.trace(arrays, key)
        parts = [unconstrain(site, trace[name]).ravel() for name, site in self.sites.items()]
        return jax.numpy.nan_to_num(jax.numpy.concatenate(parts), nan=np.nan, posinf=FARTHEST, neginf=-FARTHEST)


@dataclass(frozen=True)
class _Draw:
    """A draw from the reference by NumPyro's own sampling: its key is two words of the replica's stream."""

    compiled: Callable[..., Any]
    arrays: list[Any]
    reason: str = ""
    """Why it is not compiled by Numba: said by the target."""

    def __call__(self, rng: Any) -> Any:
        words = rng.integers(0, 1 << 32, 2, np.uint32)
        return np.asarray(self.compiled(words, self.arrays))


def _identifier(name: str, taken: Container[str]) -> str:
    """Return a name under which the space knows a site, whose own may be any text."""
    if name.isidentifier():
        return name
    plain = re.sub(r"\W", "_", f"site_{name}")
    while plain in taken:
        plain += "_"
    return plain
