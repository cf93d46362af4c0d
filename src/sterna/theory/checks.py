"""What the functions of theory accept, and what they say otherwise."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.types import FloatArray


def check_rejection(rejection: ArrayLike) -> FloatArray:
    """One probability for each pair of neighbouring chains."""
    probabilities = np.asarray(rejection, dtype=np.float64)
    if probabilities.ndim != 1 or probabilities.size == 0:
        raise OptionError(
            f"rejection has shape {probabilities.shape}; give one probability for each pair of neighbouring chains."
        )
    wrong = np.flatnonzero(~((probabilities >= 0) & (probabilities <= 1)))
    if wrong.size:
        raise OptionError(
            f"rejection[{wrong[0]}]={probabilities[wrong[0]]} is no probability; give numbers from 0 to 1."
        )
    return probabilities


def check_number(name: str, value: Any, least: float, why: str, most: float = math.inf, above: bool = False) -> float:
    """Return a finite number from `least` (or strictly above it) to `most`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"{name}={value!r} is no number: {why}.") from None
    if not (math.isfinite(number) and least <= number <= most) or (above and number == least):
        raise OptionError(f"{name}={value!r} cannot be used: {why}.")
    return number


def check_whole(name: str, value: Any, least: int, why: str) -> int:
    """Return a whole number of at least `least`."""
    number = check_number(name, value, least, why)
    if number != int(number):
        raise OptionError(f"{name}={value!r} is not a whole number: {why}.")
    return int(number)


def check_time(time: float) -> float:
    """Return a time of a scaled process."""
    return check_number("time", time, 0.0, "give a finite time of at least 0")


def check_start(start: float) -> float:
    """Return a place of a scaled process."""
    return check_number("start", start, 0.0, "give a place from 0 (the reference) to 1 (the target)", 1.0)


def check_direction(direction: int) -> int:
    """Return 1 where the direction is upwards and 0 where it is downwards, as compiled code has it."""
    if direction not in (-1, 1):
        raise OptionError(f"direction={direction!r} is unknown; give 1 (to the target) or -1 (to the reference).")
    return 1 if direction == 1 else 0


def check_schedule(schedule: Any, n_chains: int) -> FloatArray:
    """Check a user's schedule: increasing from exactly 0 to exactly 1, one beta a chain."""
    try:
        betas = np.array(schedule, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"schedule={schedule!r}: give a list of numbers from 0 to 1.") from None
    if betas.shape != (n_chains,):
        raise OptionError(f"schedule has shape {betas.shape}; with n_chains={n_chains} give {n_chains} numbers.")
    if betas[0] != 0 or betas[-1] != 1 or not (np.diff(betas) > 0).all():
        raise OptionError(
            f"schedule={np.array2string(betas, threshold=10)} must increase strictly from exactly 0 to exactly 1."
        )
    return betas
