"""How many evaluations failed that count as densities of zero, with `on_error="reject"`."""

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

import numpy as np

from sterna.engine.failures import N_KINDS
from sterna.engine.program import FAILED_LIKELIHOODS, FAILED_REFERENCES
from sterna.result.text import count
from sterna.types import FloatArray

if TYPE_CHECKING:
    from sterna.result.result import Result


# What users know these functions as.
NAMES = {"likelihood": "log_likelihood", "reference": "the reference's log_density"}


@dataclass(frozen=True)
class FailedEvaluations:
    """Numbers of evaluations that were NaN, +inf, or raised an exception, by function.

    Examples
    --------
    >>> FailedEvaluations(likelihood_nan=3) + FailedEvaluations(likelihood_nan=1, likelihood_raised=2)
    FailedEvaluations(likelihood_nan=4, likelihood_raised=2)
    """

    likelihood_nan: int = 0
    likelihood_infinite: int = 0
    likelihood_raised: int = 0
    reference_nan: int = 0
    reference_infinite: int = 0
    reference_raised: int = 0

    def __add__(self, other: "FailedEvaluations") -> "FailedEvaluations":
        return FailedEvaluations(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __repr__(self) -> str:
        return f"FailedEvaluations({', '.join(f'{name}={n}' for name, n in vars(self).items() if n > 0)})"

    @property
    def of_likelihood(self) -> int:
        """Number of failed evaluations of the log-likelihood."""
        return self.likelihood_nan + self.likelihood_infinite + self.likelihood_raised

    @property
    def of_reference(self) -> int:
        """Number of failed evaluations of the log-density of the user's own reference."""
        return self.reference_nan + self.reference_infinite + self.reference_raised

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return the numbers by function."""
        return {
            function: {kind: getattr(self, f"{function}_{kind}") for kind in ("nan", "infinite", "raised")}
            for function in ("likelihood", "reference")
        }


def failed_in(log_densities: FloatArray) -> FailedEvaluations:
    """Return what replicas have counted, in rows of `sterna.engine.program.LogDensities`."""
    likelihoods, references = (
        log_densities[:, first : first + N_KINDS].sum(axis=0) for first in (FAILED_LIKELIHOODS, FAILED_REFERENCES)
    )
    return FailedEvaluations(*(int(number) for number in np.concatenate([likelihoods, references])))


def failures_line(result: "Result") -> str:
    """Describe for the report how many evaluations failed."""
    found = result.failed_evaluations
    parts = [described(function, found) for function, numbers in found.to_dict().items() if any(numbers.values())]
    return f"{'; '.join(parts)} (counted as density zero)" if parts else "none"


def failing_evaluations(result: "Result") -> str | None:
    """Warn if evaluations failed, because the run then samples another distribution."""
    found = result.failed_evaluations
    if found.of_likelihood + found.of_reference == 0:
        return None
    evaluations = max(result.evaluations - result.search.evaluations, 1)
    parts = []
    if found.of_likelihood:
        share = found.of_likelihood / evaluations
        parts.append(f"{described('likelihood', found)}, {share:.2g} of its evaluations")
    if found.of_reference:
        parts.append(described("reference", found))
    return (
        f'Evaluations failed (normal: none): {"; ".join(parts)}. With on_error="reject" the density counts as zero at '
        "these points, so that the run samples the part of the target without them, and the evidence is that of this "
        'part. If it is zero there, return -inf; if not, correct the function: on_error="raise" stops at the first '
        "such point and names it."
    )


def described(function: str, failed: FailedEvaluations) -> str:
    """Say how often the "likelihood" or the "reference" failed, and how."""
    numbers = failed.to_dict()[function]
    texts = {
        "nan": f"NaN {count(numbers['nan'], 'time')}",
        "infinite": f"+inf {count(numbers['infinite'], 'time')}",
        "raised": count(numbers["raised"], "exception"),
    }
    return f"{NAMES[function]}: {', '.join(text for kind, text in texts.items() if numbers[kind] > 0)}"
