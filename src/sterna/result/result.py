"""What a run gives back: samples, evidence, barrier, schedule, round trips, and whether to believe it."""

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.engine.record import Record
from sterna.errors import OptionError
from sterna.reference.space import axis_labels, coordinates_of, dims_of
from sterna.result.diagnostics import summary_of
from sterna.result.rounds import Rounds
from sterna.result.summary import Summary
from sterna.target.prepared import PreparedTarget
from sterna.theory.rates import optimal_n_chains, optimal_round_trip_rate
from sterna.tuning.batches import Estimate
from sterna.tuning.chains import saturated
from sterna.tuning.evidence_curve import EvidenceCurve
from sterna.tuning.path_integrals import path_integral
from sterna.tuning.rounds import Round
from sterna.types import BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    import xarray

    from sterna.result.settings import Settings


@dataclass(frozen=True)
class Result:
    """The outcome of `sterna.sample`.

    Everything but `rounds` speaks of the sampling phase, in which schedule and explorer were frozen.
    """

    target: PreparedTarget
    explorer: str
    settings: "Settings"
    rounds: Rounds
    """A table: one entry for each tuning round, and one for sampling."""
    records: list[Record] = field(repr=False)
    evaluations: int
    """Likelihood evaluations of the whole run; a heat bath's updates are not among them, nor those few by which the
    default explorer is chosen."""
    gradient_evaluations: int
    """Evaluations of the likelihood's gradient, of explorers that follow it."""
    diverged: FloatArray
    """Share of each chain's trajectories that diverged while sampling, if it is more than one; 0 for explorers without
    trajectories, and while others without divergences are on trial beside them."""
    timing: dict[str, float]
    """Seconds for compilation, tuning and sampling."""
    notes: list[str]
    """What the run has to say that is no warning, such as why a function was not compiled."""

    @property
    def last(self) -> Round:
        """The sampling phase as a round."""
        return self.rounds[-1]

    @cached_property
    def posterior(self) -> "xarray.Dataset":
        """Draws of the target chain, with dimensions (copy, draw, ...)."""
        return self._dataset(self.states, ("copy", "draw"))

    @cached_property
    def states(self) -> FloatArray:
        """States of the target chain: (copies, draws, dimension), without a copy where there is one copy."""
        draws = [record.draws[:, -1] for record in self.records]
        return draws[0][None] if len(draws) == 1 else np.stack(draws)

    @cached_property
    def chains(self) -> "xarray.Dataset":
        """Draws of all chains, with dimensions (copy, draw, chain, ...); needs `keep="all"`.

        The chains' betas are a coordinate, `beta`, or `annealing_beta` where a variable has that name.
        """
        if self.settings.keep != "all":
            raise OptionError('Only the target chain was kept: sample with keep="all" to have the draws of all chains.')
        dataset = self._dataset(np.stack([record.draws for record in self.records]), ("copy", "draw", "chain"))
        name = "annealing_beta" if "beta" in dataset.variables else "beta"
        return dataset.assign_coords({name: ("chain", self.schedule)})

    def _dataset(self, states: FloatArray, lead: tuple[str, ...]) -> "xarray.Dataset":
        import xarray

        variables = {
            name: ((*lead, *dims_of(name, value.ndim - len(lead), self.target.view)), value)
            for name, value in self.target.values(states).items()
        }
        coordinates: dict[str, Any] = {name: np.arange(size) for name, size in zip(lead, states.shape, strict=False)}
        coordinates |= coordinates_of(variables, self.target.view)
        attributes = {"target": self.target.name, "sampler": "sterna", "seed": self.settings.seed}
        return xarray.Dataset(variables, coords=coordinates, attrs=attributes)

    def to_arviz(self, *, log_likelihood: bool = True) -> Any:
        """Return the result as ArviZ holds it; copies are its chains. See `sterna.result.arviz`."""
        from sterna.result.arviz import to_arviz

        return to_arviz(self, log_likelihood)

    @property
    def log_likelihood(self) -> FloatArray:
        """Log-likelihood of the target chain's draws: (copies, draws)."""
        return np.stack([record.log_likelihood[:, -1] for record in self.records])

    @property
    def log_evidence(self) -> Estimate:
        """log Z(1)/Z(0) with its standard error: Bennett's acceptance ratio or stepping stones, by their errors."""
        return self.last.log_evidence

    @property
    def evidence(self) -> dict[str, Estimate]:
        """Every estimator of the evidence by name.

        Thermodynamic integration depends on the spacing of the schedule: its `bias` says by how much.
        """
        return self.last.evidence.estimates

    @property
    def evidence_curve(self) -> EvidenceCurve:
        """log Z(beta)/Z(0) at every beta: call it, or read `value` and `error` at the schedule's betas."""
        return self.last.evidence.curve

    @property
    def divergences(self) -> dict[str, Estimate]:
        """KL(reference, target), KL(target, reference), their sum, and the Fisher-Rao length of the annealing path."""
        return self.last.divergences

    def path_integral(self, function: Callable[..., Any]) -> Estimate:
        """Integrate E[function(V, beta)] over beta from 0 to 1, with V = -log_likelihood; needs `keep_energies=True`.

        The function is given an array of V and one beta, and returns an array.

        >>> import sterna
        >>> result = sterna.sample(
        ...     sterna.models.normal(2), n_chains=8, n_rounds=8, keep_energies=True, progress=False
        ... )
        >>> minus_log_evidence = result.path_integral(lambda v, beta: v)
        >>> abs(minus_log_evidence.value + result.log_evidence.value) < 0.1
        True
        """
        batches = len(self.records[0].scans)
        return path_integral(function, self.schedule, self.energies, batches)

    @property
    def energies(self) -> FloatArray:
        """Log-likelihood of every chain at every scan, before its swaps: (copies, scans, chains)."""
        if not self.settings.keep_energies:
            raise OptionError("Energies were not kept: sample with keep_energies=True to have those of all chains.")
        return np.stack([record.energies for record in self.records])

    @property
    def explorations(self) -> int:
        """How often a scan applied the explorer to every chain."""
        return self.last.explorations

    @property
    def schedule(self) -> FloatArray:
        """Betas of the chains."""
        return self.last.schedule

    @property
    def rejection(self) -> FloatArray:
        """Mean rejection probability of each neighbouring pair."""
        return self.last.rejection

    @property
    def global_barrier(self) -> float:
        """Lambda: the sum of rejections in the limit of many chains, to which the measured one is extrapolated."""
        return self.last.barrier.total

    @property
    def recommended_n_chains(self) -> int:
        """Number of chains that is best for this barrier if exploration is efficient: N = ceil(2 Lambda), plus one.

        Where too few chains saturate the barrier, it is a guess: at least twice as many as there were.
        """
        if saturated(self.last):
            guess = self.last.placement_barrier
            return max(2 * self.last.n_chains, optimal_n_chains(guess.total - guess.jump))
        return optimal_n_chains(self.global_barrier - self.last.barrier.jump)

    @property
    def evidence_name(self) -> str:
        """Which entry of `evidence` is `log_evidence`."""
        return self.last.evidence.best_name

    def cumulative_barrier(self, beta: ArrayLike) -> FloatArray:
        """Lambda(beta)."""
        return self.last.barrier.cumulative(beta)

    def local_barrier(self, beta: ArrayLike) -> FloatArray:
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
        return self.last.round_trip_rate

    @property
    def predicted_round_trip_rate(self) -> float:
        """The rate that the measured rejections allow if exploration were perfect."""
        return self.last.predicted_round_trip_rate

    @property
    def optimal_round_trip_rate(self) -> float:
        """The best rate of non-reversible tempering with any number of chains."""
        return optimal_round_trip_rate(self.global_barrier, self.last.zero_share)

    @property
    def predicted_restarts(self) -> float:
        """Restarts that the measured rejections allow if exploration were perfect."""
        return self.last.predicted_restarts

    @property
    def first_restart(self) -> list[int | None]:
        """Scans of the whole run, tuning included, until each copy's first restart; None where there was none."""
        found: list[int | None] = [None] * self.settings.n_copies
        done = 0
        for one in self.rounds:
            for copy, scan in enumerate(one.first_restarts):
                if found[copy] is None and scan is not None:
                    found[copy] = done + scan
            done += one.n_scans
        return found

    @property
    def energy_autocorrelation(self) -> FloatArray:
        """Correlation of each chain's log-likelihood before and after one scan's exploration.

        The theory of round trips takes it to be 0 (efficient local exploration); the reference's is.
        """
        return self.last.energies.autocorrelation

    @property
    def index_process(self) -> IndexArray:
        """Chain of each replica after each scan: (copies, scans, replicas); every round has its own."""
        return self.last.index_process

    @property
    def swaps(self) -> BoolArray:
        """Which neighbouring pairs swapped: (copies, scans, pairs); `rounds.swaps(k)` has those of other rounds."""
        return self.rounds.swaps()

    @cached_property
    def warnings(self) -> list[str]:
        """Why this run should not be trusted, if it should not: what, the number, what to do."""
        from sterna.result.warnings import warnings_of

        return warnings_of(self)

    @cached_property
    def summary(self) -> Summary:
        """Mean, its standard error, standard deviation, bulk sample size and R-hat of every scalar of the posterior.

        A dictionary of dictionaries, which prints as a table. Sample size and R-hat are over all copies; `ess_within`
        adds up the copies' own sample sizes, `r_hat_within` is the worst of their R-hats.
        """
        return Summary(self.summary_rows())

    def summary_rows(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Rows of the summary one by one, for a posterior of which only a few are wanted."""
        for name, values in self.target.values(self.states).items():
            axes = axis_labels(name, values.shape[2:], self.target.view)
            for index in np.ndindex(*values.shape[2:]):
                entry = ",".join(str(axis[k]) for axis, k in zip(axes, index, strict=True))
                label = f"{name}[{entry}]" if index else name
                yield label, summary_of(values[(slice(None), slice(None), *index)].astype(np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Return the result without its draws as plain numbers and lists, for JSON."""
        settings = self.settings
        return {
            "target": self.target.name,
            "seed": settings.seed,
            "scheme": settings.scheme,
            "explorer": self.explorer,
            "explorations": self.explorations,
            "n_chains": settings.n_chains,
            "n_copies": settings.n_copies,
            "n_rounds": settings.n_rounds,
            "n_scans": settings.n_scans,
            "schedule": self.schedule.tolist(),
            "rejection": self.rejection.tolist(),
            "global_barrier": self.global_barrier,
            "zero_share": self.last.zero_share,
            "log_evidence": self.log_evidence.to_dict(),
            "evidence_name": self.evidence_name,
            "evidence": {name: estimate.to_dict() for name, estimate in self.evidence.items()},
            "evidence_curve": self.evidence_curve.value.tolist(),
            "divergences": {name: estimate.to_dict() for name, estimate in self.divergences.items()},
            "restarts": self.restarts,
            "predicted_restarts": self.predicted_restarts,
            "first_restart": self.first_restart,
            "round_trips": self.round_trips,
            "round_trip_rate": self.round_trip_rate,
            "predicted_round_trip_rate": self.predicted_round_trip_rate,
            "optimal_round_trip_rate": self.optimal_round_trip_rate,
            "energy_autocorrelation": self.energy_autocorrelation.tolist(),
            "rounds": self.rounds.rows(),
            "evaluations": self.evaluations,
            "gradient_evaluations": self.gradient_evaluations,
            "diverged": self.diverged.tolist(),
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

    def __str__(self) -> str:
        from sterna.result.report import report

        return report(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<pre>{html.escape(str(self))}</pre>"
