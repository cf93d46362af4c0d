"""All estimates of the evidence, as a dictionary that prints those that can be used."""

from sterna.tuning.estimate import Estimate

# An estimate of the log evidence with a larger error or bias is of no use.
MAX_ERROR = 10.0

# The report compares the best estimate with others whose errors are at most so many times as large.
COMPARABLE = 3.0


class EvidenceTable(dict[str, Estimate]):
    """Estimates of the log evidence by the names of their estimators; prints as a table.

    Some estimators fail on healthy runs, because their weights overflow or their integrand is infinite at beta = 0.
    They are entries like the others, and the table only names them.
    """

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        lines = [f"{name:<{width}}  {estimate}" for name, estimate in self.items() if is_usable(estimate)]
        others = [name for name, estimate in self.items() if not is_usable(estimate)]
        if others:
            lines.append(f"not usable for this run: {', '.join(others)}")
        return "\n".join(lines)


def is_comparable(estimate: Estimate, best: Estimate) -> bool:
    """Whether an estimate is precise enough to be shown beside the best."""
    return is_usable(estimate) and estimate.error <= COMPARABLE * best.error


def is_usable(estimate: Estimate) -> bool:
    """Whether an estimate of the log evidence is worth showing."""
    return estimate.valid and not estimate.error >= MAX_ERROR and abs(estimate.bias) < MAX_ERROR
