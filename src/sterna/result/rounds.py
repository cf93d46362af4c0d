"""The table of rounds."""

import math
from typing import Any

import numpy as np

from sterna.tuning.rounds import Round
from sterna.types import BoolArray

HEADS = ("round", "scans", "chains", "barrier", "rejection", "restarts", "log evidence", "memory", "seconds")
# What the heads of columns mean, for readers of the table.
EXPLANATION = (
    "The last round is the sampling phase. rejection: of swaps, mean and worst pair; restarts: counted/possible with "
    "these rejections; memory: correlation of log-likelihoods before and after a scan's exploration, worst chain; "
    "seconds: of its scans."
)


class Rounds(list[Round]):
    """All rounds of a run, of which the last is the sampling phase; prints as a table.

    Rejections are the mean and the largest of all pairs; restarts are followed by the number that the rejections allow;
    memory is the largest correlation of a chain's log-likelihoods before and after the exploration of one scan.
    """

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table as dictionaries, with the schedules and the rejections of all pairs."""
        return [one.row() for one in self]

    def swaps(self, index: int = -1) -> BoolArray:
        """Which neighbouring pairs swapped in the round `self[index]`: (copies, scans, pairs).

        Replicas begin a round at the chains where the last round left them; if the number of chains has changed, in
        order.

        >>> import sterna
        >>> result = sterna.sample(sterna.models.discrete(), n_chains=4, n_rounds=6, progress=False)
        >>> result.rounds.swaps().shape
        (1, 126, 3)
        """
        index = range(len(self))[index]
        after = self[index].index_process.astype(np.int64)
        copies, scans, chains = after.shape
        before = np.broadcast_to(np.arange(chains), (copies, chains))
        if index > 0 and self[index - 1].n_chains == chains:
            before = self[index - 1].index_process[:, -1].astype(np.int64)
        rows = np.concatenate([before[:, None], after], axis=1)
        swapped = np.zeros((copies, scans, chains - 1), dtype=np.bool_)
        # of two replicas that swapped, one moved up
        copy, scan, replica = np.nonzero(np.diff(rows, axis=1) == 1)
        swapped[copy, scan, rows[copy, scan, replica]] = True
        return swapped

    def first_restarts(self, n_copies: int) -> list[int | None]:
        """Return the scans until each copy's first restart, over all rounds; None if it had none."""
        found: list[int | None] = [None] * n_copies
        done = 0
        for one in self:
            for copy, scan in enumerate(one.first_restarts):
                if found[copy] is None and scan is not None:
                    found[copy] = done + scan
            done += one.n_scans
        return found

    def __repr__(self) -> str:
        return f"{self.table()}\n{EXPLANATION}"

    def table(self) -> str:
        """Return the table alone."""
        lines = [HEADS, *map(cells, self.rows())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.rjust, line, widths)) for line in lines)


def _short(number: float) -> str:
    if math.isnan(number):
        return "unknown"
    return f"{number:.3f}" if abs(number) < 1e5 else f"{number:.3g}"


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return one line of the table, under HEADS."""
    return (
        f"{row['round']}",
        f"{row['scans']}",
        f"{row['chains']}",
        f"{row['barrier']:.2f}",
        f"{row['mean_rejection']:.2f} {row['max_rejection']:.2f}",
        f"{row['restarts']}/{row['predicted_restarts']:.0f}",
        f"{_short(row['log_evidence'])} ± {_short(row['error'])}",
        f"{row['autocorrelation']:.2f}",
        f"{row['seconds']:.1f}" if row["seconds"] < 100 else f"{row['seconds']:.0f}",
    )
