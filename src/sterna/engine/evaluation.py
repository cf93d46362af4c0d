"""Evaluations of a program at a state that Python holds."""

import math

from sterna.engine.circles import wrapped
from sterna.engine.program import (
    N_LOG_DENSITIES,
    annealed_gradient,
    call_change,
    log_likelihood,
    log_reference,
    refresh,
    view,
)
from sterna.ground.compilation import compiled, float_pointer, floats_on_stack, row
from sterna.ground.values import BINARY, REAL
from sterna.types import FloatArray, IntArray


@compiled
def evaluate(block: IntArray, x: FloatArray, log_densities: FloatArray) -> None:
    """Evaluate both log-densities of a state; called from Python."""
    refresh(
        view(block),
        float_pointer(x.ctypes.data),
        float_pointer(log_densities.ctypes.data),
    )


@compiled
def evaluate_reference(block: IntArray, x: FloatArray) -> float:
    """Return the reference's log-density at a state, called from Python."""
    return log_reference(view(block), float_pointer(x.ctypes.data), floats_on_stack(N_LOG_DENSITIES))


@compiled
def move_by_reference(
    block: IntArray,
    states: FloatArray,
    log_references: FloatArray,
    coordinates: IntArray,
    steps: FloatArray,
    log_uniforms: FloatArray,
) -> None:
    """Apply Metropolis moves that leave the reference unchanged to each row of states, called from Python.

    Every row has its moves: a coordinate, a step and the logarithm of a uniform number for each. An integer makes a
    step of at least one, and a binary coordinate takes its other value. The log-densities before and after are written.
    """
    program, log_densities = view(block), floats_on_stack(N_LOG_DENSITIES)
    for k in range(states.shape[0]):
        x = row(states, k)
        density = log_reference(program, x, log_densities)
        log_references[k, 0] = density
        for move in range(coordinates.shape[1]):
            i, step = coordinates[k, move], steps[k, move]
            here = x[i]
            if program.value_type[i] == BINARY:
                new = program.lower[i] + program.upper[i] - here
            elif program.value_type[i] == REAL:
                new = wrapped(program.circles, i, here + step)
            else:
                new = here + math.copysign(math.ceil(abs(step)), step)
            if program.lower[i] <= new <= program.upper[i]:
                x[i] = new
                proposed = log_reference(program, x, log_densities)
                if log_uniforms[k, move] < proposed - density:
                    density = proposed
                else:
                    x[i] = here
        log_references[k, 1] = density


@compiled
def evaluate_change(address: int, x: FloatArray, coordinate: int, new: float, data: int) -> float:
    """Return what a local change at an address returns when a coordinate of a state becomes `new`."""
    return call_change(address, (x.ctypes.data, coordinate, new, data))


@compiled
def evaluate_gradient(
    block: IntArray, x: FloatArray, beta: float, log_densities: FloatArray, gradient: FloatArray, scratch: FloatArray
) -> None:
    """Evaluate the annealed gradient at a state; called from Python."""
    annealed_gradient(
        view(block),
        float_pointer(x.ctypes.data),
        beta,
        float_pointer(log_densities.ctypes.data),
        float_pointer(gradient.ctypes.data),
        float_pointer(scratch.ctypes.data),
    )


@compiled
def evaluate_often(block: IntArray, x: FloatArray, log_densities: FloatArray, times: int) -> None:
    """Evaluate the log-likelihood of a state repeatedly, in order to time it."""
    program = view(block)
    state, counts = float_pointer(x.ctypes.data), float_pointer(log_densities.ctypes.data)
    for _ in range(times):
        log_likelihood(program, state, 0.0, counts)


@compiled
def refresh_often(block: IntArray, x: FloatArray, log_densities: FloatArray, times: int) -> None:
    """Evaluate both log-densities of a state repeatedly, in order to time them."""
    program = view(block)
    state, counts = float_pointer(x.ctypes.data), float_pointer(log_densities.ctypes.data)
    for _ in range(times):
        refresh(program, state, counts)


@compiled
def gradient_often(
    block: IntArray, x: FloatArray, log_densities: FloatArray, gradient: FloatArray, scratch: FloatArray, times: int
) -> None:
    """Evaluate the target's gradient, including that of its reference, repeatedly, in order to time it."""
    program = view(block)
    for _ in range(times):
        annealed_gradient(
            program,
            float_pointer(x.ctypes.data),
            1.0,
            float_pointer(log_densities.ctypes.data),
            float_pointer(gradient.ctypes.data),
            float_pointer(scratch.ctypes.data),
        )
