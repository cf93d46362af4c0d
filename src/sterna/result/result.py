"""The result of a run: samples, evidence, barrier, schedule, round trips, and whether to believe them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.engine.record import Record
from sterna.errors import OptionError
from sterna.ground.attributes import explains_attributes
from sterna.result.dataset import dataset_of
from sterna.result.evidence_table import EvidenceTable
from sterna.result.expectation import expectation
from sterna.result.failed_evaluations import FailedEvaluations
from sterna.result.mode_table import Modes
from sterna.result.other_names import ITEM, OTHER_NAMES
from sterna.result.other_path import OtherPath
from sterna.result.rounds import Rounds
from sterna.result.sampled_target import SampledTarget, Values
from sterna.result.scalars import scalars_of
from sterna.result.summary import Row, Summary, rows_of
from sterna.result.text import count
from sterna.search.check import Check
from sterna.theory.rates import optimal_n_chains, optimal_round_trip_rate
from sterna.tuning.chains import saturated
from sterna.tuning.estimate import Estimate
from sterna.tuning.evidence_curve import EvidenceCurve
from sterna.tuning.journeys import journeys_of_draws
from sterna.tuning.lineages import ancestors_of
from sterna.tuning.path_integrals import path_integral
from sterna.tuning.rounds import Round
from sterna.types import BoolArray, FloatArray, IndexArray, IntArray

if TYPE_CHECKING:
    import os

    import xarray

    from sterna.result.settings import Settings


@explains_attributes("sterna.Result", OTHER_NAMES, ITEM)
@dataclass(frozen=True)
class Result:
    """The outcome of `sterna.sample`.

    Everything but `rounds` is about the sampling phase, in which all was frozen. A result can be pickled and copied;
    `sterna.result.sampled_target` says what it then keeps of its target.

    Examples
    --------
    >>> import sterna
    >>> result = sterna.sample(sterna.models.normal(), explorer="slice", n_chains=5, n_rounds=3, progress=False)
    >>> result.posterior["x"].dims, result.explorer
    (('copy', 'draw', 'x_dim_0'), 'slice')
    """

    target: SampledTarget
    """Name and space of what was sampled, and `values(states)`, which turns states into variables."""
    explorer: str
    settings: Settings
    rounds: Rounds
    """A table: one entry for each tuning round, and one for sampling."""
    records: list[Record] = field(repr=False)
    evaluations: int
    """Likelihood evaluations of the whole run, without the updates of a heat bath and the few evaluations that are
    timed to choose the default explorer."""
    gradient_evaluations: int
    """Evaluations of the likelihood's gradient, for explorers that use it."""
    diverged: FloatArray
    """Share of each chain's trajectories that diverged while sampling, or 0 if only one did; 0 for explorers without
    trajectories, and if explorers without divergences are still on trial beside them."""
    timing: dict[str, float]
    """Seconds for compilation, tuning, sampling, and the search for missed mass at the end."""
    notes: list[str]
    """What is worth knowing but no reason to worry, such as why a function was not compiled."""
    search: Check = field(default_factory=Check, repr=False)
    """The search for mass that the run has missed: how many climbs, how many optima, and what was missed."""
    modes: Modes = field(default_factory=Modes, repr=False)
    """The modes of the target, if all variables are real: a table."""
    why_path: str = ""
    """Why the path began where it did, if the run chose that."""
    ended_by: str = "scans"
    """What ended the run: "goal" (all goals hold), "scans" (as many as asked for), "limit" (of evaluations or scans),
    "seconds" (the time was up), "interrupt" (Ctrl-C or another signal), or "memory" (more scans would not fit)."""
    unreached: tuple[str, ...] = ()
    """The goals that did not hold at the end, in words."""
    folder: str = field(default="", compare=False)
    """The folder to which the run was written."""
    not_saved: str = ""
    """Why the run or its result could not be written there."""
    other_path: OtherPath | None = field(default=None, repr=False)
    """With `path="fitted"`: the mixture at which the path began, and what the path from the prior found beside it."""
    failed_evaluations: FailedEvaluations = field(default_factory=FailedEvaluations)
    """With `on_error="reject"`: how many evaluations of the run were NaN, +inf or an exception, without those of the
    search for missed mass. They count as densities of zero."""

    @property
    def is_sampled(self) -> bool:
        """Whether the draws are those of the sampling phase, and not of a tuning round in which the run ended."""
        return self.last.number > self.settings.n_rounds

    @property
    def last(self) -> Round:
        """The sampling phase as a round, or the tuning round in which the run ended."""
        return self.rounds[-1]

    @cached_property
    def posterior(self) -> xarray.Dataset:
        """Draws of the target chain, with dimensions (copy, draw, ...)."""
        return self._dataset(self.values, self.states.shape[:2], ("copy", "draw"))

    @cached_property
    def states(self) -> FloatArray:
        """States of the target chain: (copies, draws, dimension)."""
        draws = [record.draws[:, -1] for record in self.records]
        # the draws of one copy are not duplicated
        return draws[0][None] if len(draws) == 1 else np.stack(draws)

    @cached_property
    def values(self) -> Values:
        """The target chain's variables by name, as arrays of shape (copies, draws, ...)."""
        return self.target.values(self.states)

    @cached_property
    def chains(self) -> xarray.Dataset:
        """Draws of all chains, with dimensions (copy, draw, chain, ...); needs `keep="all"`.

        The chains' betas are the coordinate `beta`, or `annealing_beta` if a variable is called `beta`.
        """
        if self.settings.keep != "all":
            raise OptionError('Only draws of the target chain were kept: use keep="all" to keep those of all chains.')
        states = self._states_of_chains()
        dataset = self._dataset(self.target.values(states), states.shape[:3], ("copy", "draw", "chain"))
        name = "annealing_beta" if "beta" in dataset.variables else "beta"
        return dataset.assign_coords({name: ("chain", self.schedule)})

    def _states_of_chains(self) -> FloatArray:
        """States of all chains that were kept: (copies, draws, chains, dimension)."""
        return np.stack([record.draws for record in self.records])

    def _dataset(self, values: Values, sizes: tuple[int, ...], lead: tuple[str, ...]) -> xarray.Dataset:
        return dataset_of(self.target, values, sizes, lead, self.settings.seed)

    def to_arviz(self, *, log_likelihood: bool = True) -> Any:
        """Return an ArviZ `InferenceData`, or a `DataTree` from ArviZ 1.0 on; copies are its chains.

        See `sterna.result.arviz`.
        """
        from sterna.result.arviz import to_arviz

        return to_arviz(self, log_likelihood)

    @property
    def log_likelihood(self) -> FloatArray:
        """Log-likelihood of the target chain's draws: (copies, draws)."""
        return np.stack([record.log_likelihood[:, -1] for record in self.records])

    @property
    def log_evidence(self) -> Estimate:
        """log Z(1)/Z(0) with its standard error: Bennett's acceptance ratio or stepping stones, the more precise."""
        return self.last.log_evidence

    @property
    def evidence(self) -> EvidenceTable:
        """Every estimator of the log evidence by name; prints as a table of those that can be used.

        Thermodynamic integration has a discretisation error, of which its `bias` is an estimate.
        """
        return EvidenceTable(self.last.evidence.estimates)

    @property
    def evidence_curve(self) -> EvidenceCurve:
        """log Z(beta)/Z(0) on the run's path: call it at any beta, or read `value` and `error` at those of the run."""
        return self.last.evidence.curve

    @property
    def divergences(self) -> dict[str, Estimate]:
        """KL(reference, target), KL(target, reference), their sum, and the Fisher-Rao length of the annealing path.

        On the path from a fitted mixture only `kl_target_to_reference` is known: the mean of log L, less log Z.
        """
        if self.other_path is None:
            return self.last.divergences
        return {"kl_target_to_reference": expectation(self.log_likelihood, self.journeys) - self.log_evidence}

    def path_integral(self, function: Callable[[FloatArray, float], ArrayLike]) -> Estimate:
        """Integrate E[function(V, beta)] over beta from 0 to 1, where V = -log_likelihood.

        The function takes an array of V, which is called the energy, and one beta, and returns an array. Needs
        `keep_log_likelihoods=True`. On the path from a fitted mixture, V is minus `log_likelihoods`.

        >>> import sterna
        >>> result = sterna.sample(
        ...     sterna.models.normal(2), n_chains=8, n_rounds=8, keep_log_likelihoods=True, progress=False
        ... )
        >>> minus_log_evidence = result.path_integral(lambda v, beta: v)
        >>> abs(minus_log_evidence.value + result.log_evidence.value) < 0.1
        True
        """
        return path_integral(function, self.schedule, self.log_likelihoods, len(self.records[0].scans))

    @property
    def log_likelihoods(self) -> FloatArray:
        """Log-likelihood of every chain at every scan, before its swaps: (copies, scans, chains).

        Needs `keep_log_likelihoods=True`; that of the target chain's draws alone is `log_likelihood`. On the path from
        a fitted mixture: log(prior * likelihood / mixture), which is tempered there.
        """
        if not self.settings.keep_log_likelihoods:
            raise OptionError("Log-likelihoods of all chains were not kept: keep_log_likelihoods=True keeps them.")
        return np.stack([record.energies for record in self.records])

    @property
    def energies(self) -> FloatArray:
        """Deprecated name of `log_likelihoods`."""
        warnings.warn(
            "result.energies is now called result.log_likelihoods, which it holds; the old name will be removed.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.log_likelihoods

    @property
    def explorations(self) -> int:
        """How often the explorer was applied to every chain per scan."""
        return self.last.explorations

    @property
    def schedule(self) -> FloatArray:
        """Betas of the chains."""
        return self.last.schedule

    @property
    def rejection(self) -> FloatArray:
        """Mean probability that a swap is rejected, for each neighbouring pair of chains."""
        return self.last.rejection

    @property
    def global_barrier(self) -> float:
        """Lambda: the sum of rejections, extrapolated to the limit of many chains."""
        return self.last.barrier.total

    @property
    def recommended_n_chains(self) -> int:
        """The best number of chains for this barrier if exploration is efficient: ceil(2 Lambda) + 1.

        If there were too few chains to measure the barrier, it is a guess: at least twice as many as there were.
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
        """lambda(beta), the slope of the barrier: the rate of rejection at beta."""
        return self.last.barrier.local(beta)

    @property
    def restarts(self) -> int:
        """How often a replica from the reference reached the target in the sampling phase."""
        return self.last.restarts

    @property
    def round_trips(self) -> int:
        """How often a replica went from the reference to the target and back in the sampling phase."""
        return self.last.round_trips

    @property
    def round_trip_rate(self) -> float:
        """Restarts per scan and copy."""
        return self.last.round_trip_rate

    @property
    def predicted_round_trip_rate(self) -> float:
        """The rate that the measured rejections would allow if exploration were perfect."""
        return self.last.predicted_round_trip_rate

    @property
    def optimal_round_trip_rate(self) -> float:
        """The best rate of non-reversible tempering with any number of chains."""
        return optimal_round_trip_rate(self.global_barrier, self.last.zero_share)

    @property
    def predicted_restarts(self) -> float:
        """Restarts that the measured rejections would allow if exploration were perfect."""
        return self.last.predicted_restarts

    @property
    def first_restart(self) -> list[int | None]:
        """Scans of the whole run, tuning included, until each copy's first restart; None if it had none."""
        return self.rounds.first_restarts(self.settings.n_copies)

    @property
    def energy_autocorrelation(self) -> FloatArray:
        """Correlation of each chain's log-likelihood before and after the exploration of one scan.

        The theory of round trips assumes 0 (efficient local exploration), which is true of the reference.
        """
        return self.last.log_likelihoods.autocorrelation

    @property
    def index_process(self) -> IndexArray:
        """Chain of each replica after each scan: (copies, scans, replicas); `rounds` have those of other rounds."""
        return self.last.index_process

    @property
    def swaps(self) -> BoolArray:
        """Which neighbouring pairs swapped: (copies, scans, pairs); see `rounds.swaps(k)` for other rounds."""
        return self.rounds.swaps()

    @cached_property
    def warnings(self) -> list[str]:
        """Reasons not to trust this run, if there are any: what is wrong, the number, what is normal, what to do."""
        from sterna.result.warnings import warnings_of

        return warnings_of(self)

    @cached_property
    def summary(self) -> Summary:
        """Mean, its standard error, quantiles, sample size, R-hat and modes of every scalar of the posterior.

        A dictionary of dictionaries, which prints as a table; scalars come before vectors. `sterna.result.summary` says
        what the entries are.
        """
        return Summary(self.summary_rows())

    def summary_rows(self) -> Iterator[tuple[str, Row]]:
        """Yield the rows of the summary some at a time, because a large posterior takes long."""
        for names, draws, circles in scalars_of(self.values, self.target):
            ordered = names[0].partition("[")[0] not in self.target.unordered
            yield from zip(names, rows_of(draws, self.journeys, circles, ordered), strict=True)

    @cached_property
    def journeys(self) -> IntArray:
        """The journey to which each draw of the target chain belongs: (copies, draws).

        A journey is one replica's stay between two visits to the reference; replicas that tuning copied from one state
        count as one until then. Where modes are far apart, draws of different journeys alone are independent.
        """
        ancestors = ancestors_of(self.rounds[:-1], self.last.schedule)
        return journeys_of_draws(self.last.positions, self.settings.thin, ancestors)

    def mean(self, function: Callable[..., ArrayLike]) -> Estimate:
        """Return the posterior mean of a function of the variables, with an error that knows the journeys.

        The function takes the `posterior`, and returns a number for every draw. If it returns True or False, the mean
        is a probability: its interval stays between 0 and 1, and it has an error even if the event was never seen.

        >>> import sterna
        >>> result = sterna.sample(sterna.models.normal(2), n_chains=4, n_rounds=8, progress=False)
        >>> abs(result.mean(lambda posterior: posterior["x"][..., 0] ** 2).value - 0.2) < 0.1
        True
        >>> low, high = result.mean(lambda posterior: posterior["x"][..., 0] > 0).interval()
        >>> 0 < low < high < 1
        True
        """
        return expectation(function(self.posterior), self.journeys)

    def to_dict(self) -> dict[str, Any]:
        """Return the result without its draws, as numbers and lists that JSON can hold; what is unknown is None."""
        from sterna.result.plain_numbers import plain_numbers

        return plain_numbers(self)

    def __getstate__(self) -> dict[str, Any]:
        """Give pickle and deepcopy the fields without the target's functions; properties are computed again."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"target": self.stored_target()}

    def stored_target(self) -> SampledTarget:
        """Return the target without its functions: their answers at the result's draws are kept instead."""
        draws = [self.states] if self.settings.keep != "all" else [self.states, self._states_of_chains()]
        return self.target.stored(draws)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a folder, from which `sterna.load` reads it, without the target.

        The draws are arrays in the Zarr format in its folder `samples`, which `xarray.open_zarr` reads too.

        Examples
        --------
        >>> import sterna, tempfile
        >>> result = sterna.sample(sterna.models.normal(), explorer="slice", n_chains=5, n_rounds=3, progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/run")
        ...     again = sterna.load(f"{folder}/run")
        >>> bool((again.posterior["x"] == result.posterior["x"]).all())
        True
        """
        from sterna.result.saved import save_result

        save_result(self, path)

    def __copy__(self) -> Result:
        """Share everything with the copy, the target's functions too."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def __repr__(self) -> str:
        scans = count(self.settings.n_scans, "scan")
        return (
            f"<sterna.Result of {self.target.name}: {scans} of {self.settings.n_chains} chains, "
            f"barrier {self.global_barrier:.2f}, log evidence {self.log_evidence}, restarts {self.restarts}, "
            f"{count(len(self.warnings), 'warning') if self.warnings else 'no warnings'}>"
        )

    def __str__(self) -> str:
        from sterna.result.report import report

        return report(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from sterna.result.notebook import html_of

        return html_of(self)
