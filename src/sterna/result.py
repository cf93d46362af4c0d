"""What a run gives back: samples, evidence, barrier, schedule, round trips, and whether to believe it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.diagnostics import ess_bulk, mcse_mean, r_hat
from sterna.engine.record import Record
from sterna.target import Target
from sterna.theory.rates import optimal_round_trip_rate, predicted_round_trip_rate
from sterna.tuning.barrier import Barrier, communication_barrier
from sterna.tuning.evidence import Estimate, batch_means, stepping_stone

if TYPE_CHECKING:
    import xarray

    from sterna.options import Settings

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Round:
    """What one round showed, over all copies."""

    number: int
    n_scans: int
    schedule: Numbers
    rejection: Numbers
    rejection_error: Numbers
    """Standard errors of the rejections, by batch means."""
    total_rejection_error: float
    """Standard error of their sum."""
    zero_share: float
    """Share of the reference's draws with likelihood zero."""
    log_evidence: Estimate
    restarts: int
    round_trips: int
    predicted_round_trip_rate: float

    @cached_property
    def barrier(self) -> Barrier:
        """The communication barrier from this round's rejections."""
        return communication_barrier(self.schedule, self.rejection, self.zero_share)


def summarise_round(number: int, schedule: Numbers, records: Sequence[Record], scheme: str) -> Round:
    """Merge the copies' records, in their order."""
    scans = np.concatenate([record.scans for record in records]).astype(np.float64)
    sums = np.concatenate([record.rejection for record in records])
    rejection, error = batch_means(sums, scans)
    _, total_error = batch_means(sums.sum(axis=1), scans)
    zeros = sum(int(record.zeros.sum()) for record in records)
    return Round(
        number=number,
        n_scans=int(records[0].scans.sum()),
        schedule=schedule.copy(),
        rejection=rejection,
        rejection_error=error,
        total_rejection_error=float(total_error),
        zero_share=zeros / float(scans.sum()),
        log_evidence=stepping_stone(records),
        restarts=sum(int(record.trips[0]) for record in records),
        round_trips=sum(int(record.trips[1]) for record in records),
        predicted_round_trip_rate=predicted_round_trip_rate(rejection, scheme),
    )


@dataclass(frozen=True)
class Result:
    """The outcome of `sterna.sample`.

    Everything but `rounds` speaks of the sampling phase, in which schedule and explorer were frozen.
    """

    target: Target
    explorer: str
    settings: "Settings"
    rounds: list[Round]
    """One entry for each tuning round, and one for sampling."""
    records: list[Record] = field(repr=False)
    evaluations: int
    """Likelihood evaluations of the whole run; a heat bath's updates are not among them."""
    timing: dict[str, float]
    """Seconds for compilation, tuning and sampling."""

    @property
    def last(self) -> Round:
        """The sampling phase as a round."""
        return self.rounds[-1]

    @cached_property
    def posterior(self) -> "xarray.Dataset":
        """Draws of the target chain, with dimensions (copy, draw, ...)."""
        return self._dataset(self._states, ("copy", "draw"))

    @cached_property
    def _states(self) -> Numbers:
        """States of the target chain: (copies, draws, dimension), without a copy where there is one copy."""
        draws = [record.draws[:, -1] for record in self.records]
        return draws[0][None] if len(draws) == 1 else np.stack(draws)

    @cached_property
    def chains(self) -> "xarray.Dataset":
        """Draws of all chains, with dimensions (copy, draw, chain, ...); needs `keep="all"`."""
        from sterna.errors import OptionError

        if self.settings.keep != "all":
            raise OptionError('Only the target chain was kept: sample with keep="all" to have the draws of all chains.')
        dataset = self._dataset(np.stack([record.draws for record in self.records]), ("copy", "draw", "chain"))
        return dataset.assign_coords(beta=("chain", self.schedule))

    def _dataset(self, states: Numbers, lead: tuple[str, ...]) -> "xarray.Dataset":
        import xarray

        variables = {}
        for variable in self.target.space.variables:
            dims = [f"{variable.name}_dim_{axis}" for axis in range(len(variable.shape))]
            variables[variable.name] = ((*lead, *dims), variable.value(states))
        coordinates: dict[str, Any] = {name: np.arange(size) for name, size in zip(lead, states.shape, strict=False)}
        attributes = {"target": self.target.name, "sampler": "sterna", "seed": self.settings.seed}
        return xarray.Dataset(variables, coords=coordinates, attrs=attributes)

    @property
    def log_likelihood(self) -> Numbers:
        """Log-likelihood of the target chain's draws: (copies, draws)."""
        return np.stack([record.log_likelihood[:, -1] for record in self.records])

    @property
    def log_evidence(self) -> Estimate:
        """log Z(1)/Z(0) with its standard error."""
        return self.last.log_evidence

    @property
    def evidence(self) -> dict[str, Estimate]:
        """Every estimator of the evidence by name."""
        return {"stepping_stone": self.last.log_evidence}

    @property
    def schedule(self) -> Numbers:
        """Betas of the chains."""
        return self.last.schedule

    @property
    def rejection(self) -> Numbers:
        """Mean rejection probability of each neighbouring pair."""
        return self.last.rejection

    @property
    def global_barrier(self) -> float:
        """Lambda: the sum of rejections, in the limit of many chains."""
        return self.last.barrier.total

    def cumulative_barrier(self, beta: ArrayLike) -> Numbers:
        """Lambda(beta)."""
        return self.last.barrier.cumulative(beta)

    def local_barrier(self, beta: ArrayLike) -> Numbers:
        """lambda(beta), the rate of rejection at beta."""
        return self.last.barrier.local(beta)

    @property
    def restarts(self) -> int:
        """Journeys of a replica from the reference to the target that ended in the sampling phase."""
        return self.last.restarts

    @property
    def round_trips(self) -> int:
        """Journeys from the reference to the target and back that ended in the sampling phase."""
        return self.last.round_trips

    @property
    def round_trip_rate(self) -> float:
        """Restarts per scan and copy."""
        return self.restarts / (self.settings.n_scans * self.settings.n_copies)

    @property
    def predicted_round_trip_rate(self) -> float:
        """The rate that the measured rejections allow if exploration were perfect."""
        return self.last.predicted_round_trip_rate

    @property
    def optimal_round_trip_rate(self) -> float:
        """The best rate of non-reversible tempering with any number of chains."""
        return optimal_round_trip_rate(self.global_barrier, self.last.zero_share)

    @property
    def index_process(self) -> NDArray[np.int16]:
        """Chain of each replica after each scan: (copies, scans, replicas)."""
        return np.stack([record.positions for record in self.records])

    @property
    def notes(self) -> list[str]:
        """What the run has to say that is no warning, such as why a function was not compiled."""
        return list(self.target.notes)

    @cached_property
    def warnings(self) -> list[str]:
        """Why this run should not be trusted, if it should not: what, the number, what to do."""
        from sterna.warnings import warnings_of

        return warnings_of(self)

    @cached_property
    def summary(self) -> dict[str, dict[str, float]]:
        """Mean, its standard error, standard deviation, bulk sample size and R-hat of every scalar of the posterior."""
        return dict(self.summary_rows())

    def summary_rows(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Rows of the summary one by one, for a posterior of which only a few are wanted."""
        for variable in self.target.space.variables:
            values = variable.value(self._states)
            for index in np.ndindex(*variable.shape):
                label = variable.name + (f"[{','.join(map(str, index))}]" if variable.shape else "")
                yield label, _summary_of(values[(slice(None), slice(None), *index)].astype(np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Return the result without its draws as plain numbers and lists, for JSON."""
        settings = self.settings
        return {
            "target": self.target.name,
            "seed": settings.seed,
            "scheme": settings.scheme,
            "explorer": self.explorer,
            "n_chains": settings.n_chains,
            "n_copies": settings.n_copies,
            "n_rounds": settings.n_rounds,
            "n_scans": settings.n_scans,
            "schedule": self.schedule.tolist(),
            "rejection": self.rejection.tolist(),
            "global_barrier": self.global_barrier,
            "zero_share": self.last.zero_share,
            "log_evidence": vars(self.log_evidence),
            "evidence": {name: vars(estimate) for name, estimate in self.evidence.items()},
            "restarts": self.restarts,
            "round_trips": self.round_trips,
            "round_trip_rate": self.round_trip_rate,
            "predicted_round_trip_rate": self.predicted_round_trip_rate,
            "optimal_round_trip_rate": self.optimal_round_trip_rate,
            "evaluations": self.evaluations,
            "timing": self.timing,
            "summary": self.summary,
            "warnings": self.warnings,
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        return (
            f"<sterna.Result of {self.target.name}: {self.settings.n_scans} scans of {self.settings.n_chains} chains, "
            f"barrier {self.global_barrier:.2f}, log evidence {self.log_evidence}, restarts {self.restarts}, "
            f"{'no warnings' if not self.warnings else 'see warnings'}>"
        )


def _summary_of(draws: Numbers) -> dict[str, float]:
    """Summary of one scalar's draws: (copies, draws)."""
    return {
        "mean": float(draws.mean()),
        "mcse": mcse_mean(draws),
        "sd": float(draws.std(ddof=1)) if draws.size > 1 else math.nan,
        "ess_bulk": ess_bulk(draws),
        "r_hat": r_hat(draws),
    }
