"""A target whose log-likelihood is written with JAX, evaluated for all chains at once."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sterna.bridges.jax_batches import JAX_NOTE, batch_function_of, import_jax, in_64_bits, is_array
from sterna.engine import callback
from sterna.engine.interrupts import keeps_interrupts
from sterna.errors import TargetError
from sterna.explorers.base import Explorer
from sterna.ground.keywords import explains_keywords
from sterna.ground.values import REAL
from sterna.reference.adapters import as_distribution
from sterna.reference.reference import given_reference, space_and_distributions
from sterna.reference.space import Space, by_python_names
from sterna.target.arguments import Argument, arguments_of
from sterna.target.data import read_data
from sterna.target.target import HINTS, Target
from sterna.types import FloatArray

if TYPE_CHECKING:
    from jax import Array
    from jax.tree_util import PyTreeDef

# Of a state, which JAX may trace, and of the arrays among the data.
LogLikelihood = Callable[[FloatArray, Mapping[str, Any]], "Array"]


@explains_keywords("sterna.JaxTarget", HINTS | {"vectorized": "give a function of one point, which JAX vectorises"})
@keeps_interrupts
def JaxTarget(  # noqa: N802
    log_likelihood: Callable[..., Any],
    reference: object = None,
    data: Mapping[str, Any] | None = None,
    *,
    prior: object = None,
    gradient: bool = True,
    explorer: Explorer | None = None,
    name: str | None = None,
) -> Target:
    """Make a target from a log-likelihood written with `jax.numpy`.

    One call evaluates a step of all chains, with 64 bits, whatever JAX's default.

    Parameters
    ----------
    log_likelihood
        A function of one point: of variables and data by name, or of one flat vector first and then data by name. It
        is batched by `jax.vmap`.
    reference
        A dict of named distributions, a `sterna.Reference`, or a pytree of distributions: nested dicts, lists and
        tuples. For a pytree, the function's first parameter is the same tree of values, and the names of variables
        in the result are the keys along the path, joined by "_". May also be given as `prior`.
    data
        Observed arrays and numbers, passed by name. All but arrays are compiled into the function.
    gradient
        Whether explorers may use the gradient, which JAX derives.
    explorer, name
        As in `sterna.Target`.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, sterna
    >>> def log_likelihood(parameters, y):
    ...     mu, scale = parameters["mean"], parameters["spread"]["scale"]
    ...     return jnp.sum(-0.5 * ((y - mu) / scale) ** 2 - jnp.log(scale))
    >>> target = sterna.JaxTarget(
    ...     log_likelihood,
    ...     {"mean": sterna.Normal(0, 10), "spread": {"scale": sterna.HalfNormal(2)}},
    ...     data={"y": np.array([1.0, 2.0, 3.0])},
    ... )
    >>> target.space.names
    ['mean', 'spread_scale']
    >>> target.log_densities(mean=2.0, spread_scale=1.0)[1]
    -1.0
    """
    jax = import_jax()
    if not callable(log_likelihood):
        raise TargetError(f"log_likelihood={log_likelihood!r} is not a function.")
    reference = given_reference(reference, prior)
    if data is not None and not isinstance(data, Mapping):
        raise TargetError(f"data= is of type {type(data).__name__}: give a dict of arrays and numbers by name.")
    data = by_python_names(data or {}, "data")
    named, tree = _named(reference)
    space, _ = space_and_distributions(named, data)
    if space.map is not None:
        raise TargetError(
            "JaxTarget takes no fitted reference, no prior transform and no prior without a counterpart in sterna, "
            "because JAX cannot differentiate them: give sterna.Target a function that calls yours, with "
            "vectorized=True for batches."
        )
    # arrays are copied; lists and tuples are compiled in, because shapes or indices may be taken from them
    copied = read_data(data, space).given
    given = {key: value if isinstance(value, (list, tuple)) else copied[key] for key, value in data.items()}
    function = _of_state(log_likelihood, space, given, tree)
    arrays = in_64_bits(lambda: {key: jax.numpy.asarray(value) for key, value in _arrays(given).items()})()
    _check_value(function, space, arrays)
    notes = [JAX_NOTE]
    slope = None
    if gradient and any(v.value_type == REAL for v in space.variables):
        both = jax.value_and_grad(function)
        try:
            in_64_bits(jax.eval_shape)(both, _shape_of(space), arrays)
            slope = batch_function_of(both, arrays, (callback.LIKELIHOOD, callback.GRADIENT))
        except Exception as error:
            notes.append(f"There is no gradient: JAX raised {_first_line(error)}")
    target = Target(
        batch_function_of(lambda x, data: (function(x, data),), arrays, (callback.LIKELIHOOD,)),
        named,
        data,
        gradient=slope,
        explorer=explorer,
        name=name or getattr(log_likelihood, "__name__", type(log_likelihood).__name__),
    )
    return target.with_notes(*notes)


def _arrays(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if is_array(value)}


def _named(reference: object) -> tuple[Any, Any]:
    """Return a reference by names, and the structure of the pytree it came from; None if it was none."""
    if not isinstance(reference, (Mapping, list, tuple)):
        return reference, None
    if isinstance(reference, Mapping) and all(map(_is_distribution, reference.values())):
        return reference, None
    tree_util = import_jax().tree_util
    leaves, tree = tree_util.tree_flatten_with_path(reference, is_leaf=_is_distribution)
    if not leaves:
        raise TargetError(f"reference={reference!r} contains no distribution: name at least one variable.")
    named: dict[str, Any] = {}
    for path, part in leaves:
        label = "_".join(tree_util.keystr((key,), simple=True) for key in path)
        label = label if label.isidentifier() else f"x_{label}"
        if label in named:
            raise TargetError(f"Two entries of the reference would both be named {label!r}: rename one of them.")
        named[label] = part
    return named, tree


def _is_distribution(part: object) -> bool:
    return as_distribution(part, "reference") is not None


def _of_state(
    log_likelihood: Callable[..., Any], space: Space, data: Mapping[str, Any], tree: "PyTreeDef | None"
) -> "LogLikelihood":
    """Return the log-likelihood as a function of a stored state and the data's arrays."""
    jax = import_jax()
    numpy = jax.numpy
    variables = {v.name: v for v in space.variables}
    leading = 0 if tree is None else 1
    if tree is None:
        arguments = arguments_of(log_likelihood, "log_likelihood", space, data)
    else:
        no_variables = Space(())
        arguments = arguments_of(log_likelihood, "log_likelihood", no_variables, data, leading=1)

    def get(argument: Argument, x: FloatArray, arrays: Mapping[str, Any]) -> Any:
        if argument.source == "data":
            return arrays.get(argument.name, data[argument.name])
        if argument.source == "flat":
            return space.flat(x, numpy)
        return variables[argument.name].value(x, numpy)

    def function(x: FloatArray, arrays: Mapping[str, Any]) -> "Array":
        placed = [get(a, x, arrays) for a in arguments if not a.keyword]
        named = {a.name: get(a, x, arrays) for a in arguments if a.keyword}
        if leading:
            leaves = [v.value(x, numpy) for v in space.variables]
            placed.insert(0, jax.tree_util.tree_unflatten(tree, leaves))
        return numpy.asarray(log_likelihood(*placed, **named))

    return function


def _shape_of(space: Space) -> Any:
    jax = import_jax()
    return jax.ShapeDtypeStruct((space.dimension,), "float64")


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


def _check_value(function: "LogLikelihood", space: Space, arrays: Mapping[str, Any]) -> None:
    """Let JAX trace the function once, and check what it returns."""
    jax = import_jax()
    try:
        value = in_64_bits(lambda: jax.eval_shape(function, _shape_of(space), arrays))()
    except TargetError:
        raise
    except Exception as error:
        raise TargetError(
            f"JAX cannot trace log_likelihood; it raised {_first_line(error)} Write it with jax.numpy, and with "
            "jnp.where or jax.lax.cond instead of branches on values, or give a plain function to sterna.Target."
        ) from error
    if value.shape != () or value.dtype.kind not in "fiu":
        raise TargetError(
            f"log_likelihood returned {value.dtype} of shape {value.shape} for one point; it must return one number "
            "(did you forget a sum?). The function is given one point; sterna makes the batches."
        )
