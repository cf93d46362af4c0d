"""Means, errors, effective sample sizes and R-hat of a posterior, as a dictionary that prints as a table."""

import itertools
from collections.abc import Iterable

COLUMNS = ("variable", "mean", "± error", "sd", "ess", "r-hat")
# What the heads of columns mean, for readers of a report.
EXPLANATION = (
    "± error: standard error of the mean; ess: effective number of draws; r-hat: below 1.05 if all copies, and both "
    "halves of each, have the same distribution."
)
MAX_ROWS = 60


class Summary(dict[str, dict[str, float]]):
    """Rows by the name of a scalar; prints as a table of its first rows."""

    def __repr__(self) -> str:
        others = len(self) - MAX_ROWS
        more = f"\n... and {others} more" if others > 0 else ""
        return table_of(itertools.islice(self.items(), MAX_ROWS)) + more


def table_of(rows: Iterable[tuple[str, dict[str, float]]]) -> str:
    """Return rows as aligned lines of text: names to the left, numbers to the right."""
    lines = [COLUMNS, *(cells(name, row) for name, row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
    )


def cells(name: str, row: dict[str, float]) -> tuple[str, ...]:
    """Return one line of the table, under COLUMNS."""
    return (
        name,
        f"{row['mean']:.4g}",
        f"{row['mcse']:.2g}",
        f"{row['sd']:.4g}",
        f"{row['ess_bulk']:.0f}",
        f"{row['r_hat']:.3f}",
    )
