"""Interleaved timing and plain tables."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

REPEATS = 7


def race(contestants: Sequence[Callable[[], float]], repeats: int = REPEATS) -> list[float]:
    """Return the minimum seconds of each program; they alternate, so that a slow period affects all of them."""
    seconds = [[contestant() for contestant in contestants] for _ in range(repeats)]
    return np.min(seconds, axis=0).tolist()


def clock(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@dataclass(frozen=True)
class Row:
    """One line: a figure, the figure it is compared with, and the limit of their ratio."""

    case: str
    base: float
    figure: float
    ratio: float
    limit: float | None
    note: str = ""
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """Return whether the ratio is within its limit."""
        if self.limit is None:
            return "-"
        good = self.ratio >= self.limit if self.at_least else self.ratio <= self.limit
        return "ok" if good else "MISS"


def show(title: str, base: str, figure: str, rows: Sequence[Row]) -> None:
    """Print a table of rows."""
    print(f"\n{title}\n{'case':<46}{base:>12}{figure:>12}{'ratio':>8}{'limit':>9}  {'':<5} note")
    for row in rows:
        sign = ">=" if row.at_least else "<="
        limit = "" if row.limit is None else f"{sign} {row.limit:g}"
        figures = f"{row.base:>12.4g}{row.figure:>12.4g}{row.ratio:>8.2f}"
        print(f"{row.case:<46}{figures}{limit:>9}  {row.verdict:<5} {row.note}", flush=True)


def agreement(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> str:
    """Return how well the results of two programs agree: to the bit, within 1e-9, or not."""
    if all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True)):
        return "same bits"
    if all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(ours, theirs, strict=True)):
        return "same within 1e-9"
    return "DIFFERENT RESULTS"
