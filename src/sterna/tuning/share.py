"""The probability of an event, with an interval that stays between 0 and 1 and is not empty where nothing was seen."""

import math
from dataclasses import dataclass

from sterna.tuning.estimate import Estimate, check_level, student_quantile


@dataclass(frozen=True, repr=False)
class Share(Estimate):
    """A share of the draws, such as the weight of a mode, as worth `size` independent draws.

    The interval is Jeffreys' (the posterior of a probability under its Beta(1/2, 1/2) prior), with the effective number
    of draws reduced by what Student's t is wider than the normal distribution, as Korn and Graubard do for surveys. If
    none or all of the draws are in it, the error is the standard deviation of that posterior, and not zero.

    >>> never = Share.of(0.0, size=50)
    >>> low, high = never.interval()
    >>> print(f"{never.error:.3f}, from {low:.0f} to {high:.3f}")
    0.014, from 0 to 0.049
    """

    size: float = math.nan
    """Effective number of independent draws."""

    @classmethod
    def of(cls, value: float, size: float, freedom: float = math.inf) -> "Share":
        """Return a share that is worth `size` independent draws."""
        if 0.0 < value < 1.0:
            error = math.sqrt(value * (1.0 - value) / size)
        else:
            a, b = value * size + 0.5, (1.0 - value) * size + 0.5
            error = math.sqrt(a * b / (a + b + 1.0)) / (a + b)
        return cls(value, error, freedom, size=size)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval that covers the true probability with probability `level`."""
        from scipy.special import betaincinv

        tail = 0.5 - 0.5 * check_level(level)
        normal, student = (student_quantile(1.0 - tail, freedom) for freedom in (math.inf, self.freedom))
        size = self.size * (normal / student) ** 2
        a, b = self.value * size + 0.5, (1.0 - self.value) * size + 0.5
        low = float(betaincinv(a, b, tail)) if self.value > 0.0 else 0.0
        high = float(betaincinv(a, b, 1.0 - tail)) if self.value < 1.0 else 1.0
        # a share of much less than one effective draw would lie below its interval
        return min(low, self.value), max(high, self.value)
