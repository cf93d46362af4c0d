"""The warning of a likelihood that is rounded too coarsely."""

from typing import TYPE_CHECKING

import numpy as np

from sterna.ground.values import REAL
from sterna.result.text import count

if TYPE_CHECKING:
    from sterna.result.result import Result

# A likelihood that is rounded to steps of more nats than this is not the one that the user wrote.
MAX_STEP = 0.02

# Fewer draws may be numbers of single precision by chance.
MIN_DRAWS = 10


def single_precision(result: "Result") -> str | None:
    """Warn if log-likelihoods have single precision, and are so large that their rounding errors matter.

    Numbers of real variables that all have 24 binary digits were computed so: by JAX, PyTorch or arrays of float32.
    """
    all_values, space = result.log_likelihood, result.target.space
    values = np.unique(all_values[np.isfinite(all_values)])
    if all_values.size < MIN_DRAWS or len(values) < 2 or not any(v.value_type == REAL for v in space.variables):
        return None
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    step = float(np.spacing(np.abs(rounded).max()))
    if not step > MAX_STEP or not np.array_equal(rounded.astype(np.float64), values):
        return None
    return (
        f"The log-likelihood has single precision: near {values[-1]:.6g} it is rounded to steps of {step:.2g} nats "
        f"(normal: below {MAX_STEP}), and all {count(all_values.size, 'draw')} have {len(values)} values. "
        "So the posterior and the evidence are those of another likelihood. Let the function compute and return "
        "float64 numbers: use sterna.JaxTarget for a JAX function, or "
        'jax.config.update("jax_enable_x64", True) before the first use of JAX; float64 arrays for NumPy and PyTorch.'
    )
