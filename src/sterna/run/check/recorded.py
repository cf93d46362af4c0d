"""The scans of a run that its files hold: what the checks of its index process and log-likelihoods look at."""

from dataclasses import dataclass

from sterna.engine.index_process import Trips
from sterna.engine.record import Record, cut
from sterna.result.result import Result
from sterna.run.state import RunState
from sterna.types import FloatArray

# All checks of a folder together raise a false alarm with about this probability, each with its share.
FALSE_ALARM, N_CHECKS = 1e-4, 3
LEVEL = FALSE_ALARM / N_CHECKS


@dataclass(frozen=True)
class Recorded:
    """Scans with a fixed schedule, of all copies."""

    label: str
    """Which path they are of, for the names of rows."""
    schedule: FloatArray
    scheme: str
    records: tuple[Record, ...]
    """One for each copy, without scans that were not run yet."""

    @property
    def n_scans(self) -> int:
        """Scans of the copy that has fewest."""
        return min(len(record.positions) for record in self.records)

    @property
    def n_chains(self) -> int:
        """Number of chains, both ends included."""
        return len(self.schedule)

    @property
    def restarts(self) -> int:
        """Restarts in all copies."""
        return sum(int(record.trips[Trips.restarts]) for record in self.records)


def of_state(state: RunState) -> list[Recorded]:
    """Return the scans of the round under way along one or both paths."""
    found = [_of_path(state, "")]
    if state.beside is not None:
        found.append(_of_path(state.beside, " from the prior"))
    return found


def _of_path(state: RunState, label: str) -> Recorded:
    records = tuple(
        cut(record, int(done), state.layout, state.thin) if done else _empty(record)
        for record, done in zip(state.records, state.scans_done, strict=True)
    )
    return Recorded(label, state.tuned.schedule, state.settings.scheme, records)


def _empty(record: Record) -> Record:
    return record._replace(positions=record.positions[:0], energies=record.energies[:0])


def of_result(result: Result) -> Recorded:
    """Return the scans of the sampling phase."""
    return Recorded("", result.schedule, result.settings.scheme, tuple(result.records))
