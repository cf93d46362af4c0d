"""The posterior mean of anything, with an error that knows the journeys."""

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.tuning.estimate import Estimate
from sterna.tuning.mean_errors import mean_of, share_of
from sterna.types import IntArray


def expectation(values: ArrayLike, journeys: IntArray) -> Estimate:
    """Return the mean of numbers, or the share of events, given for every draw, (copies, draws)."""
    found = np.asarray(values)
    if found.shape != journeys.shape:
        raise OptionError(
            f"mean: the function returned an array of shape {found.shape}; it must return one number for each draw, "
            f'(copies, draws) = {journeys.shape}, as lambda posterior: posterior["x"] ** 2 does for a scalar x.'
        )
    return share_of(found, journeys) if found.dtype == np.bool_ else mean_of(found.astype(np.float64), journeys)
