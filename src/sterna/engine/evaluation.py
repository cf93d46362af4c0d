"""Evaluations of a program at a state that Python holds."""

from sterna.engine.program import (
    annealed_gradient,
    call_change,
    log_likelihood,
    log_reference,
    refresh,
    view,
)
from sterna.ground.compilation import compiled, float_pointer, row
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
    return log_reference(view(block), float_pointer(x.ctypes.data))


@compiled
def evaluate_references(block: IntArray, states: FloatArray, log_references: FloatArray) -> None:
    """Write the reference's log-density of each row of states, called from Python."""
    program = view(block)
    for k in range(states.shape[0]):
        log_references[k] = log_reference(program, row(states, k))


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
        log_likelihood(program, state, counts)


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
