"""The table of rounds."""

from typing import Any

import numpy as np

from sterna.tuning.rounds import Round
from sterna.types import BoolArray


class Rounds(list[Round]):
    """All rounds of a run, the last of which is the sampling phase; prints as a table.

    Its columns: mean and largest rejection, restarts beside those that the rejections allow, and memory, the
    largest autocorrelation of a chain's energy over a scan's exploration.
    """

    def rows(self) -> list[dict[str, Any]]:
        """Return the table's lines as dictionaries, with the schedules and the rejections of all pairs."""
        return [one.row() for one in self]

    def swaps(self, place: int = -1) -> BoolArray:
        """Which neighbouring pairs swapped, in the round at a place of this list: (copies, scans, pairs).

        Replicas begin a round where the last one left them; where the number of chains has changed, in order.

        >>> import sterna
        >>> result = sterna.sample(sterna.models.discrete(), n_chains=4, n_rounds=6, progress=False)
        >>> result.rounds.swaps().shape
        (1, 126, 3)
        """
        place = range(len(self))[place]
        now = self[place].index_process.astype(np.int64)
        copies, scans, chains = now.shape
        before = np.broadcast_to(np.arange(chains), (copies, chains))
        if place > 0 and self[place - 1].n_chains == chains:
            before = self[place - 1].index_process[:, -1].astype(np.int64)
        rows = np.concatenate([before[:, None], now], axis=1)
        found = np.zeros((copies, scans, chains - 1), dtype=np.bool_)
        # of two that swapped, one went up
        copy, scan, replica = np.nonzero(np.diff(rows, axis=1) == 1)
        found[copy, scan, rows[copy, scan, replica]] = True
        return found

    def __repr__(self) -> str:
        head = "round  scans chains barrier  rejection   restarts          log evidence  memory"
        return "\n".join([head, *(_line(row) for row in self.rows())])


def _short(number: float) -> str:
    return f"{number:.3f}" if abs(number) < 1e5 else f"{number:.3g}"


def _line(row: dict[str, Any]) -> str:
    """Return a line of the table, in 79 columns."""
    restarts = f"{row['restarts']}/{row['predicted_restarts']:.0f}"
    found = f"{_short(row['log_evidence'])} ± {_short(row['error'])}"
    return (
        f"{row['round']:>5}{row['scans']:>7}{row['chains']:>7}{row['barrier']:>8.2f}"
        f"{row['mean_rejection']:>6.2f}{row['max_rejection']:>5.2f}{restarts:>11}{found:>22}{row['autocorrelation']:>8.2f}"
    )
