"""The communication barrier as a function of beta, measured or in closed form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sterna.theory.checks import check_betas
from sterna.theory.monotone import MonotoneCubic
from sterna.types import FloatArray


@dataclass(frozen=True)
class Barrier:
    """Cumulative, local and global communication barrier (Lambda(beta), lambda(beta) and Lambda).

    If the likelihood is zero on a share `jump` of the reference, the cumulative barrier jumps by that much at beta = 0,
    and `smooth` is the remainder.
    """

    smooth: MonotoneCubic
    jump: float

    @property
    def total(self) -> float:
        """The global barrier."""
        return self.jump + float(self.smooth.y[-1])

    def cumulative(self, beta: ArrayLike) -> FloatArray:
        """Lambda(beta), from 0 at beta = 0, for any beta from 0 to 1."""
        at = check_betas(beta)
        return np.where(at > 0, self.jump + self.smooth(at), 0.0)

    def local(self, beta: ArrayLike) -> FloatArray:
        """lambda(beta), the slope of the cumulative barrier beyond the jump."""
        return self.smooth.derivative(check_betas(beta))
