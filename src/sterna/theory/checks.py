"""Checks of the arguments of theory's functions."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.ground.numbers import float_array, in_bytes, machine_memory, real_number, whole_number
from sterna.types import FloatArray


def check_numbers(name: str, values: ArrayLike, advice: str) -> FloatArray:
    """Return an array of numbers."""
    numbers = float_array(values)
    if numbers is None:
        raise OptionError(f"{name}={values!r} is not numeric: {advice}.")
    return numbers


def check_betas(beta: ArrayLike, name: str = "beta", what: str = "numbers from 0 to 1") -> FloatArray:
    """Return numbers from 0 to 1: inverse temperatures, or positions on the way from the reference to the target."""
    betas = check_numbers(name, beta, f"give {what}")
    if not ((betas >= 0) & (betas <= 1)).all():
        raise OptionError(f"{name}={np.array2string(betas, threshold=10)} is not valid: give {what}.")
    return betas


def check_rejection(rejection: ArrayLike) -> FloatArray:
    """Return rejection probabilities, one for each pair of neighbouring chains."""
    probabilities = check_numbers("rejection", rejection, "give a list of probabilities, one for each pair of chains")
    if probabilities.ndim != 1 or probabilities.size == 0:
        raise OptionError(
            f"rejection has shape {probabilities.shape}; give one probability for each pair of neighbouring chains."
        )
    wrong = np.flatnonzero(~((probabilities >= 0) & (probabilities <= 1)))
    if wrong.size:
        raise OptionError(
            f"rejection[{wrong[0]}]={probabilities[wrong[0]]} is not a probability; give numbers from 0 to 1."
        )
    return probabilities


def check_number(
    name: str, value: object, lower: float, advice: str, upper: float = math.inf, above: bool = False
) -> float:
    """Return a finite number from `lower` (or strictly above it) to `upper`."""
    number = real_number(value)
    if number is None:
        raise OptionError(f"{name}={value!r} is not a number: {advice}.")
    if not (math.isfinite(number) and lower <= number <= upper) or (above and number == lower):
        raise OptionError(f"{name}={value!r} is not valid: {advice}.")
    return number


def check_whole(name: str, value: object, lower: int, advice: str, bytes_each: int = 0) -> int:
    """Return a whole number of at least `lower`; so many things, of `bytes_each` bytes, must fit in memory."""
    number = check_number(name, value, lower, advice)
    if number != int(number):
        raise OptionError(f"{name}={value!r} is not an integer: {advice}.")
    if number * bytes_each > machine_memory():
        raise OptionError(
            f"{name}={value!r} would need {in_bytes(number * bytes_each)} of memory, and there are "
            f"{in_bytes(machine_memory())}: give a smaller number."
        )
    return int(number)


def check_function(name: str, function: object, advice: str) -> None:
    """Refuse what is not a function."""
    if not callable(function):
        raise OptionError(f"{name}={function!r} is not a function: {advice}.")


def check_time(time: float) -> float:
    """Return a time of a scaled process."""
    return check_number("time", time, 0.0, "give a finite time of at least 0")


def check_start(start: float) -> float:
    """Return a position of a scaled process."""
    return check_number("start", start, 0.0, "give a position from 0 (the reference) to 1 (the target)", 1.0)


def check_direction(direction: int) -> int:
    """Return 1 for upwards and 0 for downwards, as compiled code represents directions."""
    if whole_number(direction) not in (-1, 1):
        raise OptionError(f"direction={direction!r} is unknown; give 1 (to the target) or -1 (to the reference).")
    return 1 if direction == 1 else 0


def check_schedule(schedule: object, n_chains: int | None = None) -> FloatArray:
    """Check a user's schedule: one beta per chain, if their number is known, increasing from exactly 0 to exactly 1."""
    betas = float_array(schedule)
    if betas is None:
        raise OptionError(f"schedule={schedule!r} is not numeric; give a list of numbers from 0 to 1.")
    if betas.ndim != 1 or betas.size < 2:
        raise OptionError(
            f"schedule={schedule!r} is not a list of betas; give one for each chain, increasing from 0 (the reference) "
            "to 1 (the target), such as [0, 0.1, 0.4, 1]."
        )
    if n_chains is not None and betas.size != n_chains:
        raise OptionError(f"schedule has shape {betas.shape}; with n_chains={n_chains} give {n_chains} numbers.")
    if betas[0] != 0 or betas[-1] != 1 or not (np.diff(betas) > 0).all():
        raise OptionError(
            f"schedule={np.array2string(betas, threshold=10)} must increase strictly from exactly 0 to exactly 1."
        )
    return betas.copy()
