"""The communication barrier from rejections (paper, algorithm CommunicationBarrier)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.tuning.monotone import MonotoneCubic, monotone_cubic

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Barrier:
    """Cumulative, local and global communication barrier (Lambda(beta), lambda(beta) and Lambda).

    Where the likelihood is zero on a share `jump` of the reference, the cumulative barrier jumps by that much at
    beta = 0, and `smooth` is the rest of it.
    """

    smooth: MonotoneCubic
    jump: float

    @property
    def total(self) -> float:
        """The global barrier."""
        return self.jump + float(self.smooth.y[-1])

    def cumulative(self, beta: ArrayLike) -> Numbers:
        """Lambda(beta), from 0 at beta = 0."""
        at = np.asarray(beta, dtype=np.float64)
        return np.where(at > 0, self.jump + self.smooth(at), 0.0)

    def local(self, beta: ArrayLike) -> Numbers:
        """lambda(beta), the slope of the cumulative barrier beyond the jump."""
        return self.smooth.derivative(beta)


def communication_barrier(schedule: Numbers, rejection: Numbers, zero_share: float = 0.0) -> Barrier:
    """Interpolate the running sum of rejections.

    A draw of the reference with likelihood zero is never swapped, however close the next beta is to 0. Only what is
    rejected of the others shapes the schedule.
    """
    steps = without_zeros(rejection, zero_share)
    jump = zero_share if zero_share < 1 else 0.0
    cumulative = np.concatenate([[0.0], np.cumsum(steps)])
    return Barrier(monotone_cubic(np.asarray(schedule), cumulative), jump)


def without_zeros(rejection: Numbers, zero_share: float) -> Numbers:
    """Return rejections in which the first is that of the reference's draws of positive likelihood alone.

    Where a short round saw none of those, nothing is known of the first interval but that every swap was rejected, and
    there is no telling the jump at 0 from what follows.
    """
    steps = np.array(rejection, dtype=np.float64)
    if zero_share >= 1:
        steps[0] = 1.0
    elif zero_share > 0:
        steps[0] = max(steps[0] - zero_share, 0.0) / (1.0 - zero_share)
    return steps
