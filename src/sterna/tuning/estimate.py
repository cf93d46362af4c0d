"""A number with its standard error, arithmetic with such numbers, and the exponential of one."""

from __future__ import annotations

import math
import numbers
import re
from dataclasses import dataclass
from typing import NoReturn

from sterna.errors import OptionError
from sterna.ground.attributes import by_name, explains_attributes
from sterna.theory.checks import check_number

# What `format` accepts for numbers: fill, alignment, sign, width, thousands, precision, type.
_NUMBER_FORMAT = re.compile(r"(?:(.)?([<>^]))?([-+ ])?(\d+)?([,_])?(\.\d+)?([eEfFgGn%])?")

# Why there is no arithmetic but sums, differences, multiples and the exponential.
NOT_LINEAR = (
    "The error of such an expression does not follow from the estimates' errors alone: use .value and .error, or "
    "np.exp(estimate), which has an interval."
)
NOT_A_FACTOR = (
    "The exponential of an estimate has an interval, and can be multiplied by positive numbers: use .value for other "
    "arithmetic, and .interval() for the uncertainty."
)
OTHER_NAMES = by_name(
    ("mean median val nominal_value n", "it is called value"),
    ("std sd se stderr std_err err sigma uncertainty std_dev s mcse", "the standard error is called error"),
    ("ci conf_int low high lower upper hdi", "interval(0.95) returns both ends"),
)


@explains_attributes("sterna.Estimate", OTHER_NAMES)
@dataclass(frozen=True)
class Estimate:
    """A value and its standard error.

    Sums and differences of two estimates are those of independent ones, such as the log evidence of two runs: their
    difference is a log Bayes factor. Two estimates of the same run share their draws, so their difference has another
    error than the one stated here. Plain numbers count as exact. `<` and `>` compare values, and `==` asks whether two
    estimates are the same in all respects. `float(estimate)` is the value alone.

    >>> first, second = Estimate(-3.2, 0.3), Estimate(-5.2, 0.4)
    >>> first - second
    Estimate(2.0000 ± 0.5000)
    >>> f"{first - 1.0:.2f}", first > -4
    ('-4.20 ± 0.30', True)
    >>> first.interval(0.95)
    (-3.787..., -2.612...)
    """

    value: float
    error: float
    """NaN if it is unknown, because too little was seen to estimate it; shown as "unknown"."""
    freedom: float = math.inf
    """Degrees of freedom of the error, for intervals."""
    bias: float = 0.0
    """Bias of the value due to the spacing of the schedule; 0 if the estimator is exact for every schedule."""

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        text = f"{_readable(self.value)} ± {'unknown' if math.isnan(self.error) else _readable(self.error)}"
        return text if self.bias == 0 else f"{text} (bias about {_readable(self.bias)})"

    def __repr__(self) -> str:
        return f"Estimate({self})"

    def __format__(self, form: str) -> str:
        """Format value and error with the same number of digits; a width is that of the whole text."""
        found = _NUMBER_FORMAT.fullmatch(form)
        if found is None or not (found[5] or found[6] or found[7]):
            return format(str(self), form)
        fill, align, sign, width, *digits = (part or "" for part in found.groups())
        number = "".join(digits)
        error = "unknown" if math.isnan(self.error) else f"{self.error:{number}}"
        text = f"{self.value:{sign}{number}} ± {error}"
        if self.bias != 0:
            text += f" (bias about {self.bias:{number}})"
        return format(text, f"{fill}{align or '>'}{width}")

    def __add__(self, other: Estimate | float) -> Estimate:
        """Sum with an independent estimate or an exact number."""
        return self - (-other) if _is_number(other) else NotImplemented

    def __radd__(self, other: float) -> Estimate:
        return self + other

    def __sub__(self, other: Estimate | float) -> Estimate:
        """Difference to an independent estimate or an exact number."""
        if not _is_number(other):
            return NotImplemented
        if not isinstance(other, Estimate):
            return Estimate(self.value - float(other), self.error, self.freedom, self.bias)
        error = math.hypot(self.error, other.error)
        return Estimate(self.value - other.value, error, min(self.freedom, other.freedom), self.bias - other.bias)

    def __rsub__(self, other: float) -> Estimate:
        return -(self - other) if _is_number(other) else NotImplemented

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.error, self.freedom, -self.bias)

    def __pos__(self) -> Estimate:
        return self

    def __abs__(self) -> Estimate:
        """Return the estimate or its negative, whichever has a positive value."""
        return -self if self.value < 0 else self

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise TypeError(
            'An estimate is not rounded, because its error would be, too: write f"{estimate:.2f}" for a text, or '
            "round(estimate.value, 2) for its value."
        )

    def __mul__(self, factor: float) -> Estimate:
        """Multiply by an exact number; products of estimates have no such simple error."""
        _check_exact(factor)
        if not _is_exact(factor):
            return NotImplemented
        factor = float(factor)
        return Estimate(self.value * factor, self.error * abs(factor), self.freedom, self.bias * factor)

    def __rmul__(self, factor: float) -> Estimate:
        return self * factor

    def __truediv__(self, divisor: float) -> Estimate:
        """Divide by an exact number."""
        _check_exact(divisor)
        if not _is_exact(divisor):
            return NotImplemented
        return self * (1.0 / float(divisor))

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(NOT_LINEAR)

    __pow__ = __rpow__ = __rtruediv__ = __floordiv__ = __mod__ = _refuse

    def __lt__(self, other: Estimate | float) -> bool:
        return self.value < float(other) if _is_number(other) else NotImplemented

    def __le__(self, other: Estimate | float) -> bool:
        return self.value <= float(other) if _is_number(other) else NotImplemented

    def __gt__(self, other: Estimate | float) -> bool:
        return self.value > float(other) if _is_number(other) else NotImplemented

    def __ge__(self, other: Estimate | float) -> bool:
        return self.value >= float(other) if _is_number(other) else NotImplemented

    def exp(self) -> ExponentialOfEstimate:
        """Return the exponential, such as a Bayes factor, with its interval; `np.exp(estimate)` calls this too."""
        return ExponentialOfEstimate(self)

    @property
    def valid(self) -> bool:
        """Whether the value is finite."""
        return math.isfinite(self.value)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval that covers the true value with probability `level`; a bias widens it on both sides.

        If the error is unknown, it is the whole line.
        """
        probability = check_level(level)
        if math.isnan(self.error):
            return -math.inf, math.inf
        half = self.error * student_quantile(0.5 + 0.5 * probability, self.freedom) + abs(self.bias)
        return self.value - half, self.value + half

    def to_dict(self) -> dict[str, float | list[float]]:
        """Return plain numbers, for JSON."""
        return {"value": self.value, "error": self.error, "interval": list(self.interval()), "bias": self.bias}


@dataclass(frozen=True)
class ExponentialOfEstimate:
    """The exponential of an estimate: a value and an interval around it, which is not symmetric.

    There is no standard error, because "20 ± 30" would say nothing of a number that cannot be negative. Products,
    quotients and powers are again such numbers, those of two of them as if they were independent; `np.log` returns the
    estimate. `<` and `>` compare values.

    >>> import numpy as np
    >>> factor = np.exp(Estimate(-3.0, 0.5) - Estimate(-6.0, 0.5))
    >>> factor
    <20.09 (95 %: 5.023 to 80.31)>
    >>> factor * 2, factor > 10
    (<40.17 (95 %: 10.05 to 160.6)>, True)
    >>> np.log(1 / factor)
    Estimate(-3.0000 ± 0.7071)
    """

    exponent: Estimate

    @property
    def value(self) -> float:
        """The exponential of the value; infinite if it is too large for a number."""
        return _exp(self.exponent.value)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval that covers the true value with probability `level`."""
        low, high = self.exponent.interval(level)
        return _exp(low), _exp(high)

    def log(self) -> Estimate:
        """Return the logarithm, which is an estimate; `np.log(factor)` calls this too."""
        return self.exponent

    def log10(self) -> Estimate:
        """Return the logarithm to base 10, which is an estimate; `np.log10(factor)` calls this too."""
        return self.exponent / math.log(10.0)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return format(self, ".4g")

    def __format__(self, form: str) -> str:
        """Format the value and the ends of the interval alike."""
        if self.exponent.valid and not 0.0 < self.value < math.inf:
            return f"exp({self.exponent})"
        low, high = self.interval()
        form = form or ".4g"
        return f"{self.value:{form}} (95 %: {low:{form}} to {high:{form}})"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __mul__(self, factor: ExponentialOfEstimate | float) -> ExponentialOfEstimate:
        """Multiply by an independent factor or an exact positive number."""
        return ExponentialOfEstimate(self.exponent + _logarithm(factor))

    def __rmul__(self, factor: float) -> ExponentialOfEstimate:
        return self * factor

    def __truediv__(self, divisor: ExponentialOfEstimate | float) -> ExponentialOfEstimate:
        """Divide by an independent factor or an exact positive number."""
        return ExponentialOfEstimate(self.exponent - _logarithm(divisor))

    def __rtruediv__(self, number: float) -> ExponentialOfEstimate:
        return ExponentialOfEstimate(_logarithm(number) - self.exponent)

    def __pow__(self, power: float) -> ExponentialOfEstimate:
        return ExponentialOfEstimate(self.exponent * power)

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(NOT_A_FACTOR)

    __add__ = __radd__ = __sub__ = __rsub__ = __neg__ = __abs__ = __round__ = _refuse

    def __lt__(self, other: ExponentialOfEstimate | float) -> bool:
        return self.value < float(other)

    def __le__(self, other: ExponentialOfEstimate | float) -> bool:
        return self.value <= float(other)

    def __gt__(self, other: ExponentialOfEstimate | float) -> bool:
        return self.value > float(other)

    def __ge__(self, other: ExponentialOfEstimate | float) -> bool:
        return self.value >= float(other)


def _logarithm(factor: object) -> Estimate | float:
    """Return the logarithm of what a factor is multiplied with."""
    if isinstance(factor, ExponentialOfEstimate):
        return factor.exponent
    if isinstance(factor, numbers.Real) and float(factor) > 0:
        return math.log(float(factor))
    raise TypeError(f"{factor!r} is not a positive number. {NOT_A_FACTOR}")


def _is_number(value: object) -> bool:
    """Whether arithmetic with an estimate has a meaning; arrays do it element by element themselves."""
    return isinstance(value, Estimate) or _is_exact(value)


def _is_exact(value: object) -> bool:
    return isinstance(value, numbers.Real)


def _check_exact(value: object) -> None:
    """Refuse products and quotients of two estimates."""
    if isinstance(value, Estimate):
        raise TypeError(NOT_LINEAR)


def _exp(number: float) -> float:
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def _readable(number: float) -> str:
    return f"{number:.4f}" if abs(number) < 1e6 else f"{number:.6g}"


def check_level(level: float) -> float:
    """Check the level of an interval."""
    advice = "give the probability that the interval covers the true value, between 0 and 1, such as 0.95"
    probability = check_number("level", level, 0.0, advice, 1.0)
    if probability in (0.0, 1.0):
        raise OptionError(f"level={level!r} is not valid: {advice}.")
    return probability


def student_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t distribution; of the normal distribution for infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(freedom) else stdtrit(freedom, probability))
