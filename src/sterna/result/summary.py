"""The posterior in numbers: a row per scalar, as a dictionary that prints as a table, with the modes of each.

- `mean`, `sd`, `q5`, `median`, `q95`: of the draws of all copies.
- `mcse`, `ess`: standard error of the mean, and the number of independent draws that would have it. They account for
  the autocorrelation of the draws and for the journeys that brought them, and are NaN for a scalar that never varied.
- `mcse_series`, `ess_series`: those of the series alone. `ess_bulk` is another name of `ess`.
- `r_hat` over all copies, and `r_hat_within` the largest of one copy; `ess_within`: sum of the series' sample sizes of
  each copy alone.
- `modes`, if there are several: the share of the draws in each, with its error and interval, and the same numbers of
  the draws in it.

Of periodic variables the mean, its error and the standard deviation are circular; see `sterna.result.circular`.
"""

import itertools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sterna.result.circular import circular_row, cut_open
from sterna.result.diagnostics import summaries_of
from sterna.result.modes import find_modes
from sterna.tuning.mean_errors import share_of
from sterna.types import FloatArray, IntArray

if TYPE_CHECKING:
    from sterna.result.result import Result

# Numbers by name; `modes`, if there are several, is a list of such rows.
Row: TypeAlias = dict[str, Any]

COLUMNS = ("variable", "mean", "± error", "sd", "5 %", "median", "95 %", "ess", "r-hat")
# What the heads of columns mean, for readers of a report.
EXPLANATION = (
    "± error: standard error of the mean; 5 %, 95 %: quantiles; ess: effective number of draws, given that those of "
    "one journey from the reference are correlated; r-hat: near 1 if all copies, and both halves of each, have the "
    "same distribution. Above 1.05 there is a warning, unless the number of journeys explains it: then the errors "
    "account for it."
)
# The same of periodic variables.
EXPLANATION_OF_CIRCLES = (
    "Of periodic variables, mean and sd are circular, quantiles are in order and may lie beyond the ends of the "
    "interval, and r-hat is that of cosine and sine."
)
MAX_ROWS = 60


class Summary(dict[str, Row]):
    """Rows by the name of a scalar; prints as a table of its first rows."""

    def __repr__(self) -> str:
        others = len(self) - MAX_ROWS
        more = f"\n... and {others} more" if others > 0 else ""
        return table_of(itertools.islice(self.items(), MAX_ROWS)) + more


def rows_of(draws: FloatArray, journeys: IntArray, circles: FloatArray, ordered: bool = True) -> list[Row]:
    """Summarise quantities, (quantities, copies, draws): numbers, and their modes if there are several.

    Of each, `circles` holds first value and period, which is 0 if it does not repeat. Values that are not `ordered`,
    because they are names of categories, have no modes.
    """
    rows: list[Row] = [dict(row) for row in summaries_of(draws, journeys)]
    for k, (one, (first, period)) in enumerate(zip(draws, circles.tolist(), strict=True)):
        if period:
            rows[k] = dict(circular_row(one, journeys, first, period))
            one = cut_open(one, period)
        modes = find_modes(one, rows[k]["ess"]) if ordered else []
        if len(modes) > 1:
            found = [_row_of_mode(one, (one > mode.low) & (one <= mode.high), journeys) for mode in modes]
            rows[k]["modes"] = [_in_first_turn(row, first, period) for row in found] if period else found
    return rows


def _in_first_turn(row: Row, first: float, period: float) -> Row:
    """Return the row of a mode of a periodic variable whose mean lies between first and last value."""
    turns = period * math.floor((row["mean"] - first) / period)
    return row | {name: row[name] - turns for name in ("mean", "q5", "median", "q95")}


def _row_of_mode(draws: FloatArray, inside: Any, journeys: IntArray) -> Row:
    share = share_of(inside, journeys)
    values = draws[inside]
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
    return {
        "share": share.value,
        "share_error": share.error,
        "share_interval": list(share.interval()),
        "mean": float(values.mean()),
        "sd": float(values.std()),
        "q5": float(low),
        "median": float(median),
        "q95": float(high),
    }


def explanation_of(result: "Result") -> str:
    """Return what the heads of columns mean, also for periodic variables if there are any."""
    return f"{EXPLANATION} {EXPLANATION_OF_CIRCLES}" if result.target.circles else EXPLANATION


def table_of(rows: Iterable[tuple[str, Row]]) -> str:
    """Return rows as aligned lines of text: names to the left, numbers to the right."""
    lines = [COLUMNS, *itertools.chain.from_iterable(cells(name, row) for name, row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
    )


def cells(name: str, row: Row) -> list[tuple[str, ...]]:
    """Return the lines of a variable under COLUMNS: one, and one for each of its modes if there are several."""
    error, ess = row["mcse"], row["ess"]
    first = (
        name,
        f"{row['mean']:.4g}",
        "unknown" if math.isnan(error) else f"{error:.2g}",
        *(f"{row[key]:.4g}" for key in ("sd", "q5", "median", "q95")),
        "unknown" if math.isnan(ess) else f"{ess:.0f}",
        f"{row['r_hat']:.3f}",
    )
    modes = (
        (
            f"  {mode['share']:.0%} ± {100 * mode['share_error']:.0f} %",
            f"{mode['mean']:.4g}",
            "",
            *(f"{mode[key]:.4g}" for key in ("sd", "q5", "median", "q95")),
            "",
            "",
        )
        for mode in row.get("modes", [])
    )
    return [first, *modes]
