"""The summary of a round: rejections, barrier, evidence, energies and restarts, over all copies."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sterna.engine.index_process import Trips
from sterna.engine.record import Record
from sterna.theory.cumulative_barrier import Barrier
from sterna.theory.rates import predicted_round_trip_rate
from sterna.tuning.barrier import communication_barrier, placement_barrier, without_zeros
from sterna.tuning.batches import merge, standard_error, standard_errors
from sterna.tuning.energies import Energies, energies
from sterna.tuning.estimate import Estimate
from sterna.tuning.evidence import Evidence, evidence, without_errors
from sterna.tuning.journey_influence import JourneyInfluence, journey_influence
from sterna.tuning.path_integrals import (
    fisher_rao_length,
    kl_reference_to_target,
    kl_target_to_reference,
    symmetric_kl,
)
from sterna.types import FloatArray, IndexArray, IntArray

# With fewer restarts, what a run has seen may be any part of the target, and the error of the evidence is unknown.
MIN_RESTARTS_FOR_ERROR = 3


@dataclass(frozen=True)
class Round:
    """The summary of one round over all copies.

    Examples
    --------
    >>> import sterna
    >>> result = sterna.sample(sterna.models.normal(), explorer="slice", n_chains=5, n_rounds=3, progress=False)
    >>> [round.n_scans for round in result.rounds]  # three tuning rounds, then sampling
    [2, 4, 8, 14]
    >>> result.rounds[-1].rejection.shape  # of swaps between each two neighbours of five chains
    (4,)
    """

    number: int
    n_scans: int
    n_copies: int
    explorations: int
    """How often each scan explored every chain."""
    schedule: FloatArray
    rejection: FloatArray
    rejection_error: FloatArray
    """Standard errors of the rejections."""
    total_rejection_error: float
    """Standard error of their sum, and so approximately of the barrier."""
    second_rejection: FloatArray
    """Mean rejection probability of swaps between chains two apart, if they were proposed."""
    evidence: Evidence
    """All estimates of the evidence; their errors are unknown with fewer than MIN_RESTARTS_FOR_ERROR restarts."""
    journeys: JourneyInfluence = field(repr=False)
    """How far each journey moves the evidence and the mean energies."""
    log_likelihoods: Energies
    """Mean, variance and autocorrelation of every chain's log-likelihood."""
    restarts_of_copies: tuple[int, ...]
    round_trips: int
    first_restarts: tuple[int | None, ...]
    """Scan of each copy's first restart in this round."""
    predicted_round_trip_rate: float
    """The rate that the rejections allow if exploration were efficient."""
    positions: tuple[IndexArray, ...] = field(repr=False)
    """Each copy's index process."""
    seconds: float = field(default=0.0, compare=False)
    """Time of the scans."""

    @property
    def index_process(self) -> IndexArray:
        """Chain of each replica after each scan: (copies, scans, replicas)."""
        return np.stack(self.positions)

    @property
    def n_chains(self) -> int:
        """Number of chains, both ends included."""
        return len(self.schedule)

    @property
    def zero_share(self) -> float:
        """Share of the draws from the reference that have zero likelihood."""
        return self.log_likelihoods.zero_share

    @cached_property
    def barrier(self) -> Barrier:
        """The communication barrier from this round's rejections, corrected for saturation."""
        return communication_barrier(self.schedule, self.rejection, self.zero_share, self.second_rejection)

    @cached_property
    def placement_barrier(self) -> Barrier:
        """The barrier that places the next round's chains: energies fill in intervals that reject nearly all swaps."""
        return placement_barrier(self.schedule, self.rejection, self.zero_share, np.sqrt(self.log_likelihoods.variance))

    @property
    def sighted_barrier(self) -> Barrier:
        """Deprecated name of `placement_barrier`."""
        warnings.warn(
            "Round.sighted_barrier is now called Round.placement_barrier; the old name will be removed.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.placement_barrier

    @property
    def energies(self) -> Energies:
        """Deprecated name of `log_likelihoods`."""
        warnings.warn(
            "Round.energies, which are of log-likelihoods, is now called Round.log_likelihoods; the old name will be "
            "removed.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.log_likelihoods

    @property
    def rejection_of_possible(self) -> FloatArray:
        """Rejections excluding those of the reference's draws of zero likelihood, which no schedule can avoid."""
        return without_zeros(self.rejection, self.zero_share)

    @property
    def log_evidence(self) -> Estimate:
        """The best estimate of log Z(1)/Z(0)."""
        return self.evidence.best

    @property
    def restarts(self) -> int:
        """How often a replica arrived at the target from the reference in this round."""
        return sum(self.restarts_of_copies)

    @property
    def round_trip_rate(self) -> float:
        """Restarts per scan and copy."""
        return self.restarts / (self.n_scans * self.n_copies)

    @property
    def predicted_restarts(self) -> float:
        """Restarts that the rejections allow if exploration were efficient."""
        return self.predicted_round_trip_rate * self.n_scans * self.n_copies

    @property
    def divergences(self) -> dict[str, Estimate]:
        """Distances between reference and target: Kullback-Leibler divergences, their sum, and Fisher-Rao length."""
        return {
            "kl_reference_to_target": kl_reference_to_target(self.evidence, self.log_likelihoods, self.journeys),
            "kl_target_to_reference": kl_target_to_reference(self.evidence, self.log_likelihoods, self.journeys),
            "symmetric_kl": symmetric_kl(self.log_likelihoods, self.journeys),
            "fisher_rao_length": fisher_rao_length(self.schedule, self.log_likelihoods),
        }

    def row(self) -> dict[str, int | float | list[float]]:
        """One row of the table of rounds."""
        found = self.log_evidence
        return {
            "round": self.number,
            "scans": self.n_scans,
            "chains": self.n_chains,
            "explorations": self.explorations,
            "barrier": self.barrier.total,
            "mean_rejection": float(self.rejection.mean()),
            "max_rejection": float(self.rejection.max()),
            "restarts": self.restarts,
            "predicted_restarts": self.predicted_restarts,
            "log_evidence": found.value,
            "error": found.error,
            "autocorrelation": _largest(self.log_likelihoods.autocorrelation[1:]),
            "seconds": self.seconds,
            "schedule": self.schedule.tolist(),
            "rejection": self.rejection.tolist(),
        }


def _largest(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else float("nan")


def summarise_round(
    number: int,
    schedule: FloatArray,
    pivot: FloatArray,
    centre: FloatArray,
    records: Sequence[Record],
    scheme: str,
    explorations: int,
    ancestors: Sequence[IntArray] | None = None,
) -> Round:
    """Summarise a round from the records of its copies, merged in their order."""
    batches = merge(records)
    rejection = batches.mean(batches.rejection)
    influence = batches.influence(batches.rejection)
    moments = energies(batches, centre)
    journeys = journey_influence(schedule, pivot, records, batches, ancestors)
    restarts = tuple(int(record.trips[Trips.restarts]) for record in records)
    found = evidence(schedule, pivot, batches, moments, journeys)
    return Round(
        number=number,
        n_scans=int(records[0].scans.sum()),
        n_copies=len(records),
        explorations=explorations,
        schedule=schedule.copy(),
        rejection=rejection,
        rejection_error=standard_errors(influence),
        total_rejection_error=standard_error(influence.sum(axis=2))[0],
        second_rejection=batches.mean(batches.second_rejection),
        evidence=found if sum(restarts) >= MIN_RESTARTS_FOR_ERROR else without_errors(found),
        journeys=journeys,
        log_likelihoods=moments,
        restarts_of_copies=restarts,
        round_trips=sum(int(record.trips[Trips.round_trips]) for record in records),
        first_restarts=tuple(int(record.trips[Trips.first_restart]) or None for record in records),
        predicted_round_trip_rate=predicted_round_trip_rate(rejection, scheme),
        positions=tuple(record.positions for record in records),
    )
