"""The path from a fitted mixture to the target: functions by which a program begins at q instead of the prior.

q = prior_share * prior + (1 - prior_share) * mixture is normalised, so that log Z of the path from q to
prior * likelihood is the evidence. In the engine's terms q is the reference, and the likelihood is the ratio
prior * likelihood / q (`Program.is_ratio`), so explorers and rounds need not know about it.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from sterna.engine.mixture import Header, add_log, add_mixture_slope, draw_mixture, log_mixture
from sterna.engine.program import (
    DRAW,
    LOG_DENSITY,
    LOG_PRIOR,
    LOG_REFERENCE_AND_PRIOR,
    N_LOG_DENSITIES,
    WHOLE_GRADIENT,
    Program,
    add_reference_slope,
    annealed_gradient,
    draw_reference,
    likelihood_value,
    log_reference,
    view,
    write_gradient,
)
from sterna.engine.unconstrained import bounded_slope, from_line, log_jacobian, to_line
from sterna.ground.compilation import (
    address_of,
    as_pointer,
    compiled,
    float_pointer,
    floats_on_stack,
    inlined,
    int_pointer,
    offset_pointer,
)
from sterna.ground.streams import Stream, state_address, uniform
from sterna.types import FloatArray, FloatPointer, IntArray

# What the functions find at the address of the program's data.
PRIOR, MIXTURE = 0, 1

# Parts of q with a smaller share of its density add nothing to its gradient.
NEGLIGIBLE = 1e-12


class Path(NamedTuple):
    """A path in compiled code: the program whose reference is the prior, the mixture, and working memory."""

    program: Program
    mixture: FloatPointer
    line: FloatPointer
    white: FloatPointer


@inlined
def path_of(data: int, memory: FloatPointer) -> Path:
    """Return the path at an address; the memory has two entries per coordinate."""
    words = int_pointer(data)
    program = view(int_pointer(words[PRIOR]))
    return Path(program, float_pointer(words[MIXTURE]), memory, offset_pointer(memory, program.dimension))


@compiled
def log_q(path: Path, x: FloatPointer, log_prior: float) -> float:
    """Return the log-density of q at a state where that of the prior is known."""
    program, line, total = path.program, path.line, 0.0
    for i in range(program.dimension):
        line[i] = to_line(x[i], program.lower[i], program.upper[i])
        total -= log_jacobian(line[i], program.lower[i], program.upper[i])
    total += path.mixture[Header.log_mixture_share] + log_mixture(path.mixture, line, path.white)
    return add_log(total, path.mixture[Header.log_prior_share] + log_prior)


@compiled
def log_reference_of_path(x: int, log_prior: int, data: int) -> float:
    """Return the log-density of q, and write that of the prior."""
    dimension = view(int_pointer(int_pointer(data)[PRIOR])).dimension
    path, state = path_of(data, floats_on_stack(2 * dimension)), float_pointer(x)
    written = float_pointer(log_prior)
    # the prior's failures are counted in the row in which its log-density is written
    written[0] = log_reference(path.program, state, offset_pointer(written, -LOG_PRIOR))
    return log_q(path, state, written[0])


@compiled
def log_likelihood_of_path(x: int, data: int) -> float:
    """Return the log-likelihood, which the engine turns into that of the ratio to q."""
    program = view(int_pointer(int_pointer(data)[PRIOR]))
    return likelihood_value(program.log_likelihood, float_pointer(x), program.dimension, program.data)


@compiled
def draw_of_path(x: int, data: int, generator: object) -> int:
    """Draw a state from q, by the prior or by the mixture."""
    path = path_of(data, floats_on_stack(2 * view(int_pointer(int_pointer(data)[PRIOR])).dimension))
    state, program = float_pointer(x), path.program
    stream: Stream = as_pointer(state_address(generator), types.uint64)
    if math.log(1.0 - uniform(stream)) > path.mixture[Header.log_mixture_share]:
        draw_reference(program, state, stream)
        return 0
    draw_mixture(path.mixture, path.line, path.white, stream)
    for i in range(program.dimension):
        state[i] = from_line(path.line[i], program.lower[i], program.upper[i])
    return 0


@compiled
def write_slope(path: Path, x: FloatPointer, log_densities: FloatPointer, slope: FloatPointer) -> float:
    """Write the mixture's part of the gradient of log q, and return the prior's share of the density of q."""
    program, line = path.program, path.line
    log_prior = log_reference(program, x, log_densities)
    log_total = log_q(path, x, log_prior)
    prior = math.exp(path.mixture[Header.log_prior_share] + log_prior - log_total)
    log_on_line, rest = log_total - path.mixture[Header.log_mixture_share], 1.0 - prior
    for i in range(program.dimension):
        slope[i] = 0.0
        log_on_line += log_jacobian(line[i], program.lower[i], program.upper[i])
    if rest > NEGLIGIBLE:
        add_mixture_slope(path.mixture, line, path.white, log_on_line, slope)
        for i in range(program.dimension):
            slope[i] = rest * bounded_slope(slope[i] / rest, line[i], program.lower[i], program.upper[i])
    return prior


@compiled
def gradient_of_path(x: int, beta: float, gradient: int, data: int) -> int:
    """Write the gradient of (1 - beta) log q + beta log(prior * likelihood)."""
    dimension = view(int_pointer(int_pointer(data)[PRIOR])).dimension
    memory = floats_on_stack(3 * dimension + N_LOG_DENSITIES)
    path, slope = path_of(data, memory), offset_pointer(memory, 2 * dimension)
    program, log_densities = path.program, offset_pointer(slope, dimension)
    state, out, prior = float_pointer(x), float_pointer(gradient), 0.0
    if program.whole_gradient == 0:
        # first, because a batch that answers this question also has the answers to those that follow
        write_gradient(program.likelihood_gradient, state, out, dimension, program.data)
    if beta < 1.0:
        prior = write_slope(path, state, log_densities, slope)
    # the gradient of the prior counts in q and in the target, and that of the likelihood in the latter alone
    share = beta + (1.0 - beta) * prior
    if program.whole_gradient == 0:
        add_reference_slope(program, state, share, beta, out, path.white)
    elif share > NEGLIGIBLE:
        annealed_gradient(program, state, beta / share, log_densities, out, path.white)
    for i in range(dimension):
        if program.whole_gradient != 0:
            out[i] = share * out[i] if share > NEGLIGIBLE else 0.0
        if beta < 1.0:
            out[i] += (1.0 - beta) * slope[i]
    return 0


def path_data(block: IntArray, mixture: FloatArray) -> IntArray:
    """Return the data of the functions of a path; both arrays must live as long as it is in use."""
    return np.array([block.ctypes.data, mixture.ctypes.data], dtype=np.int64)


def path_addresses() -> dict[str, int]:
    """Return the fields of a program that make its path begin at q, without a gradient."""
    return {
        "is_ratio": 1,
        "log_likelihood": address_of(log_likelihood_of_path, LOG_DENSITY),
        "log_reference": address_of(log_reference_of_path, LOG_REFERENCE_AND_PRIOR),
        "draw_reference": address_of(draw_of_path, DRAW),
        "likelihood_change": 0,
        "reference_change": 0,
        "likelihood_gradient": 0,
        "reference_gradient": 0,
        "whole_gradient": 0,
    }


def gradient_address() -> int:
    """Return the address of the gradient along a path."""
    return address_of(gradient_of_path, WHOLE_GRADIENT)
