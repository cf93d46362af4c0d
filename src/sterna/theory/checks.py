"""Checks of the arguments of theory's functions."""

import math
from typing import SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.types import FloatArray


def check_rejection(rejection: ArrayLike) -> FloatArray:
    """Return rejection probabilities, one for each pair of neighbouring chains."""
    probabilities = np.asarray(rejection, dtype=np.float64)
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
    name: str, value: SupportsFloat | str, lower: float, advice: str, upper: float = math.inf, above: bool = False
) -> float:
    """Return a finite number from `lower` (or strictly above it) to `upper`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"{name}={value!r} is not a number: {advice}.") from None
    if not (math.isfinite(number) and lower <= number <= upper) or (above and number == lower):
        raise OptionError(f"{name}={value!r} is not valid: {advice}.")
    return number


def check_whole(name: str, value: SupportsFloat | str, lower: int, advice: str) -> int:
    """Return a whole number of at least `lower`."""
    number = check_number(name, value, lower, advice)
    if number != int(number):
        raise OptionError(f"{name}={value!r} is not an integer: {advice}.")
    return int(number)


def check_time(time: float) -> float:
    """Return a time of a scaled process."""
    return check_number("time", time, 0.0, "give a finite time of at least 0")


def check_start(start: float) -> float:
    """Return a position of a scaled process."""
    return check_number("start", start, 0.0, "give a position from 0 (the reference) to 1 (the target)", 1.0)


def check_direction(direction: int) -> int:
    """Return 1 for upwards and 0 for downwards, as compiled code represents directions."""
    if direction not in (-1, 1):
        raise OptionError(f"direction={direction!r} is unknown; give 1 (to the target) or -1 (to the reference).")
    return 1 if direction == 1 else 0


def check_schedule(schedule: object, n_chains: int) -> FloatArray:
    """Check a user's schedule: one beta per chain, increasing from exactly 0 to exactly 1."""
    try:
        betas = np.array(schedule, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"schedule={schedule!r} is not numeric; give a list of numbers from 0 to 1.") from None
    if betas.shape != (n_chains,):
        raise OptionError(f"schedule has shape {betas.shape}; with n_chains={n_chains} give {n_chains} numbers.")
    if betas[0] != 0 or betas[-1] != 1 or not (np.diff(betas) > 0).all():
        raise OptionError(
            f"schedule={np.array2string(betas, threshold=10)} must increase strictly from exactly 0 to exactly 1."
        )
    return betas
