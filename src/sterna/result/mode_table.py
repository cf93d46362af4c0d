"""The modes of the target: a table of where they are, what they weigh, and how well a search finds them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.result.text import count
from sterna.search.modes import Unseen
from sterna.search.planted import RATIOS, Planted
from sterna.tuning.estimate import Estimate
from sterna.types import FloatArray

HEADS = ("mode", "weight", "log evidence", "basin share", "journeys", "width", "centre")

# A mode of at least this weight is lost if it holds a smaller share of the mass where it parts from others.
LEAST_WEIGHT, LOST = 0.01, 1e-3

# So many scalars of a mode's position are printed.
MAX_SCALARS = 4


@dataclass(frozen=True)
class Mode:
    """One mode of the target."""

    values: Mapping[str, NDArray[Any]]
    """The variables at its centre."""
    width: FloatArray
    """Standard deviation of every stored coordinate, by the covariance of the mode's largest component."""
    weight: Estimate
    """Share of the target's draws that belong to it."""
    journeys: int
    """How many journeys brought draws to it: replicas that came from the reference, and stayed until they went back."""
    of_all: Estimate
    """Log evidence of all modes together."""
    basin_share: float = math.nan
    """Share of the climbs from independent draws of the reference that led to it."""
    share_when_parting: float = math.nan
    """Predicted share of the mass where it parts from other modes on the path from the reference."""

    @property
    def log_evidence(self) -> Estimate:
        """Log evidence of the mode alone: that of all modes, times its weight."""
        value, error = self.weight.value, self.weight.error
        if value == 0.0:
            return Estimate(-math.inf, math.nan)
        return Estimate(
            self.of_all.value + math.log(value), math.hypot(self.of_all.error, error / value), self.of_all.freedom
        )

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and lists that JSON can hold."""
        return {
            "values": {name: np.asarray(value).tolist() for name, value in self.values.items()},
            "width": self.width.tolist(),
            "weight": self.weight.to_dict(),
            "basin_share": self.basin_share,
            "share_when_parting": self.share_when_parting,
            "journeys": self.journeys,
            "log_evidence": self.log_evidence.to_dict(),
        }


@dataclass(frozen=True, repr=False)
class Modes:
    """The modes that were found, the one of largest weight first, as a sequence that prints as a table.

    Examples
    --------
    >>> import sterna
    >>> def log_likelihood(x):
    ...     return -0.5 * (abs(x) - 4) ** 2
    >>> modes = sterna.sample(log_likelihood, {"x": sterna.Normal(0, 5)}, progress=False).modes
    >>> len(modes), round(abs(float(modes[0].values["x"])))
    (2, 4)
    """

    table: tuple[Mode, ...] = ()
    unseen: Unseen = field(default_factory=Unseen)
    """The share of the reference from which climbs lead to modes that were not found."""
    outside: Estimate = field(default_factory=lambda: Estimate(0.0, math.nan))
    """Share of the target's draws that belong to none."""
    truncated: bool = False
    """Whether there were more optima than a search keeps."""
    planted: Planted = field(default_factory=Planted)
    """At which share of places narrower modes would have been noticed."""

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> Mode:
        return self.table[index]

    def __iter__(self) -> Iterator[Mode]:
        return iter(self.table)

    @property
    def with_mass(self) -> int:
        """How many modes hold at least 1 % of the draws."""
        return sum(mode.weight.value >= LEAST_WEIGHT for mode in self.table)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if not self.table:
            return "No modes were looked for."
        rows = [HEADS, *self.rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self.notes(), self.detection_limit])

    def notes(self) -> list[str]:
        """Return a line for each mode that the path from the reference would lose."""
        return [
            f"Mode {number} would be lost on the path from the reference: where the modes part, it holds about "
            f"{mode.share_when_parting:.1g} of the mass."
            for number, mode in enumerate(self.table)
            if mode.share_when_parting < LOST and mode.weight.value > LEAST_WEIGHT
        ]

    def rows(self) -> list[Sequence[str]]:
        """Return the lines of the table, under HEADS."""
        return [self._row(number, mode) for number, mode in enumerate(self.table)]

    @staticmethod
    def _row(number: int, mode: Mode) -> Sequence[str]:
        scalars = [
            f"{name}={entry:.4g}" if np.ndim(value) == 0 else f"{name}[{index}]={entry:.4g}"
            for name, value in mode.values.items()
            for index, entry in enumerate(np.ravel(value))
        ]
        more = ", ..." if len(scalars) > MAX_SCALARS else ""
        width = math.exp(float(np.log(np.maximum(mode.width, 1e-300)).mean()))
        return [
            str(number),
            f"{mode.weight:.3f}",
            f"{mode.log_evidence:.2f}" if mode.weight.value > 0 else "-",
            f"{mode.basin_share:.2%}",
            str(mode.journeys),
            f"{width:.3g}",
            ", ".join(scalars[:MAX_SCALARS]) + more,
        ]

    @property
    def detection_limit(self) -> str:
        """Which modes may not have been found, in words."""
        found = self.unseen
        if found.climbs == 0:
            return "No climb from an independent draw of the reference has ended, so modes may be missing."
        if self.truncated:
            return "There are more optima than a search keeps, so most modes may be missing from this table."
        text = (
            f"Basin share: of {found.climbs} climbs from independent draws of the reference. About {found.share:.2%} "
            f"of such climbs, at most {found.upper:.2%} (95 %), would end at modes that were not found."
        )
        if found.checked:
            text += (
                f" Of {count(found.checked, 'climb')} that one evaluation had ended, then made to the end, "
                f"{found.elsewhere} led to another mode than it said."
            )
        return f"{text} {self.planted}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and lists that JSON can hold."""
        return {
            "modes": [mode.to_dict() for mode in self.table],
            "unseen_share": self.unseen.share,
            "unseen_upper": self.unseen.upper,
            "climbs": self.unseen.climbs,
            "noticed_if_narrower": dict(zip(map(str, RATIOS), self.planted.shares, strict=False)),
            "outside": self.outside.to_dict(),
        }
