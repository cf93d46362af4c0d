"""A target from two functions: a log-likelihood and a log-prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from sterna.errors import TargetError
from sterna.ground.numbers import whole_number
from sterna.reference.fitted_reference import FittedReference
from sterna.reference.space import VariableType, by_python_names
from sterna.target.arguments import signature_of
from sterna.target.target import Target


def from_log_prior(
    log_likelihood: Callable[..., Any],
    log_prior: Callable[..., Any],
    space: Mapping[str, VariableType] | int,
    data: Mapping[str, Any] | None = None,
    *,
    start: Mapping[str, Any] | ArrayLike | None = None,
    scale: ArrayLike | None = None,
) -> Target:
    """Return the target of a log-likelihood and a log-prior, for a prior that cannot be drawn from.

    A log-prior alone cannot be a reference, because parallel tempering draws its first chain from it at every scan. So
    the sum of both is tempered from a `sterna.FittedReference`, whose warnings apply. If you can name the prior's
    distributions, name them: `sterna.sample(log_likelihood, {"mu": scipy.stats.norm(0, 10)})` finds modes better.

    Parameters
    ----------
    log_likelihood, log_prior
        Functions of variables and data by name, or of one flat vector first and then data by name. The likelihood is
        not evaluated where the log-prior is -inf.
    space, start, scale
        As in `sterna.FittedReference`: variables, or the length of one vector; a point, or walkers; a scale.
    data
        Observed arrays and numbers, passed to both functions by name.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> def log_prior(x):
    ...     return 0.0 if abs(x[0]) < 50 and abs(x[1]) < 50 else -np.inf
    >>> def log_likelihood(x, y):
    ...     return -0.5 * np.sum((y - x[0] - x[1]) ** 2) - 0.5 * x[1] ** 2
    >>> walkers = np.random.default_rng(0).normal(0.0, 5.0, (20, 2))
    >>> target = sterna.from_log_prior(log_likelihood, log_prior, 2, {"y": np.array([1.0, 2.0])}, start=walkers)
    >>> target.compiled
    True
    """
    for name, function in (("log_likelihood", log_likelihood), ("log_prior", log_prior)):
        if not callable(function):
            raise TargetError(f"from_log_prior({name}={function!r}): give a function.")
    size = whole_number(space)
    if size is None and not isinstance(space, Mapping):
        raise TargetError(
            f"from_log_prior(space={space!r}): give a dict of variables, such as "
            '{"mu": sterna.Real(), "sigma": sterna.Real(lower=0)}, or the number of entries of one vector.'
        )
    if data is not None and not isinstance(data, Mapping):
        raise TargetError(f"data= is of type {type(data).__name__}: give a dict of arrays and numbers by name.")
    variables = list(by_python_names(space, "space")) if isinstance(space, Mapping) else ["x"]
    available = [*variables, *by_python_names(data or {}, "data")]
    vector = "x" if size is not None or "x" not in available else "all_variables"
    prior, prior_call = _call_of(log_prior, "log_prior", available, vector)
    likelihood, likelihood_call = _call_of(log_likelihood, "log_likelihood", available, vector)
    parameters = list(dict.fromkeys([*prior, *likelihood]))
    if vector in parameters and set(parameters) & set(variables) - {vector}:
        raise TargetError(
            f"from_log_prior: log_prior takes {', '.join(prior)} and log_likelihood {', '.join(likelihood)}. Write "
            "both as functions of one vector, or both as functions of variables by name."
        )
    source = (
        f"def log_posterior({', '.join(parameters)}):\n"
        f"    sterna__value = sterna__prior({prior_call})\n"
        "    if sterna__value == -sterna__infinity:\n"
        "        return sterna__value\n"
        f"    return sterna__value + sterna__likelihood({likelihood_call})\n"
    )
    # names that differ from those of variables and data
    scope: dict[str, Any] = {"sterna__prior": log_prior, "sterna__likelihood": log_likelihood}
    scope["sterna__infinity"] = math.inf
    exec(source, scope)
    return Target(scope["log_posterior"], FittedReference(space, start, scale), data)


def _call_of(function: Callable[..., Any], label: str, available: list[str], vector: str) -> tuple[list[str], str]:
    """Return a function's arguments, and the code that passes them; a default that matches nothing is kept."""
    parameters = list(signature_of(function).parameters.values())
    names: list[str] = []
    call: list[str] = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TargetError(
                f"from_log_prior: {label} takes {parameter}; sterna passes arguments by name, so list the variables "
                "and data by name."
            )
        if parameter.default is not parameter.empty and parameter.name not in available:
            continue
        # each function may call its vector by another name
        name = parameter.name if names or parameter.name in available else vector
        by_keyword = parameter.kind == parameter.KEYWORD_ONLY or parameter is not parameters[len(names)]
        names.append(name)
        call.append(f"{parameter.name}={name}" if by_keyword else name)
    return names, ", ".join(call)
