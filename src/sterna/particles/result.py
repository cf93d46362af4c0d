"""The result of a run with particles: weighted and resampled draws, evidence, schedule, and whether to believe them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.particles.optimised_schedule import step_lengths
from sterna.particles.settings import ParticleSettings
from sterna.result.dataset import dataset_of
from sterna.result.expectation import expectation
from sterna.result.sampled_target import SampledTarget, Values
from sterna.result.scalars import scalars_of
from sterna.result.summary import Row, Summary, rows_of
from sterna.result.text import count
from sterna.tuning.estimate import Estimate
from sterna.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class ParticleRound:
    """A population that was annealed to place the steps of the next one."""

    schedule: FloatArray = field(repr=False)
    conditional_ess: FloatArray = field(repr=False)
    log_evidence: Estimate
    n_resampled: int

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.conditional_ess)

    @property
    def path_length(self) -> float:
        """Sum of the lengths of the steps."""
        return float(step_lengths(self.conditional_ess).sum())


@dataclass(frozen=True)
class ParticleResult:
    """The outcome of `sterna.smc` and `sterna.ais`.

    Fields that `sterna.Result` has, too, mean the same. There is one copy.

    Examples
    --------
    >>> import sterna
    >>> result = sterna.smc(sterna.models.normal(2), n_particles=200, threshold=0.9, progress=False)
    >>> result.posterior["x"].dims, result.settings.n_particles
    (('copy', 'draw', 'x_dim_0'), 200)
    >>> len(result.schedule) == len(result.ess) + 1
    True
    """

    target: SampledTarget
    """Name and space of what was sampled, and `values(states)`, which turns states into variables."""
    explorer: str
    """Name of the explorer, or of the part that `sterna.Best` has chosen."""
    settings: ParticleSettings
    frozen: bool
    """Whether schedule and explorer's parameters were fixed before the population was drawn: then Z is unbiased."""
    log_evidence: Estimate
    """log Z(1)/Z(0) with its standard error, which is unknown if few first draws have descendants of weight."""
    schedule: FloatArray
    """Betas from 0 to 1."""
    ess: FloatArray
    """Effective sample size of each step, relative to the number of particles, before it resampled."""
    conditional_ess: FloatArray
    """Conditional effective sample size of each step: 1 if all weights change alike."""
    resampled: BoolArray
    """Which steps have resampled."""
    log_ratios: FloatArray = field(repr=False)
    """log Z(beta')/Z(beta) of each step, without the draws of zero likelihood."""
    energy_autocorrelation: FloatArray = field(repr=False)
    """Correlation of log-likelihoods before and after the exploration of each step."""
    diverged: FloatArray = field(repr=False)
    """Share of the explorer's trajectories that diverged in each step; 0 for explorers without trajectories."""
    zero_share: float
    """Share of the first draws whose likelihood is zero."""
    weighted_states: FloatArray = field(repr=False)
    """States of the particles at the target: (particles of positive weight, dimension)."""
    log_weights: FloatArray = field(repr=False)
    """Their log-weights; the weights sum to one."""
    weighted_log_likelihood: FloatArray = field(repr=False)
    n_families: float
    """How many of the first draws, counted by the weights of their descendants, the weighted particles rest on."""
    tail_shape: float
    """Shape of the tail of the families' weights; above 0.5 they have no variance, and the error means little."""
    states: FloatArray = field(repr=False)
    """Resampled and rejuvenated draws, all of the same weight: (1, draws, dimension)."""
    log_likelihood: FloatArray = field(repr=False)
    """Log-likelihood of the resampled draws: (1, draws)."""
    families: IntArray = field(repr=False)
    """Which family each resampled draw belongs to: (1, draws). A family descends from one of the first draws."""
    parameters: FloatArray = field(repr=False)
    """The explorer's parameters, a row for each beta."""
    given_explorer: str = field(repr=False)
    """Name of the explorer with all its parts, whose parameters these are."""
    population: int = field(repr=False)
    """Number of the population, which distinguishes its random numbers from those of others with the same seed."""
    rounds: tuple[ParticleRound, ...] = field(repr=False)
    """The populations before: the pilot, or those of `n_rounds`."""
    evaluations: int
    gradient_evaluations: int
    timing: dict[str, float]
    """Seconds for compilation, tuning (the rounds) and sampling (the last population)."""
    notes: list[str]

    @cached_property
    def posterior(self) -> xarray.Dataset:
        """Resampled draws, with dimensions (copy, draw, ...); neighbours may descend from the same first draw."""
        return dataset_of(self.target, self.values, self.states.shape[:2], ("copy", "draw"), self.settings.seed)

    @cached_property
    def values(self) -> Values:
        """The variables of the resampled draws by name, as arrays of shape (1, draws, ...)."""
        return self.target.values(self.states)

    @cached_property
    def weighted_values(self) -> Values:
        """The variables of the weighted particles by name, as arrays of shape (particles, ...)."""
        return self.target.values(self.weighted_states)

    @property
    def weights(self) -> FloatArray:
        """Weights of `weighted_states`, which sum to one."""
        return np.exp(self.log_weights)

    @property
    def n_steps(self) -> int:
        """Number of steps from the reference to the target."""
        return len(self.ess)

    @property
    def path_length(self) -> float:
        """Length of the path, of which the steps that choose betas measure equal parts.

        With many steps it is the integral over beta of the standard deviation of the log-likelihood, and the steps'
        number should not be below its square.
        """
        return float(step_lengths(self.conditional_ess).sum())

    @property
    def evidence_curve(self) -> FloatArray:
        """log Z(beta)/Z(0) at the betas of the schedule."""
        alive = np.log1p(-self.zero_share)
        return np.concatenate([[0.0], alive + np.cumsum(self.log_ratios)])

    @cached_property
    def summary(self) -> Summary:
        """Mean, its standard error, quantiles and modes of every scalar; errors know the families of draws."""
        rows: dict[str, Row] = {}
        for names, draws, circles in scalars_of(self.values, self.target):
            ordered = names[0].partition("[")[0] not in self.target.unordered
            rows.update(zip(names, rows_of(draws, self.families, circles, ordered), strict=True))
        return Summary(rows)

    def mean(self, function: Callable[..., ArrayLike]) -> Estimate:
        """Return the posterior mean of a function of the variables, with an error that knows the families of draws.

        The function takes the `posterior`, and returns a number, or True or False, for every draw.
        """
        return expectation(function(self.posterior), self.families)

    @cached_property
    def warnings(self) -> list[str]:
        """Reasons not to trust this run, if there are any: what is wrong, the number, what is normal, what to do."""
        from sterna.particles.warnings import warnings_of

        return warnings_of(self)

    def to_arviz(self, *, log_likelihood: bool = True) -> Any:
        """Return the resampled draws as `sterna.Result.to_arviz` does, as one chain."""
        from sterna.particles.attributes import attributes_of
        from sterna.result.arviz import with_attributes

        return with_attributes(self, attributes_of(self), log_likelihood)

    def to_dict(self) -> dict[str, Any]:
        """Return the result without its draws, as numbers and lists that JSON can hold; what is unknown is None."""
        from sterna.result.plain_numbers import finite

        arrays = ("schedule", "ess", "conditional_ess", "resampled", "evidence_curve", "energy_autocorrelation")
        names = (
            "explorer",
            "frozen",
            "zero_share",
            "n_families",
            "tail_shape",
            "path_length",
            "evaluations",
            "gradient_evaluations",
        )
        found: dict[str, object] = {"target": self.target.name, **asdict(self.settings)}
        found |= {name: getattr(self, name) for name in (*names, "timing", "summary", "warnings", "notes")}
        found |= {name: getattr(self, name).tolist() for name in arrays}
        found["log_evidence"] = self.log_evidence.to_dict()
        return {name: finite(value) for name, value in found.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Give pickle and deepcopy the fields without the target's functions; properties are computed again."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"target": self.target.stored([self.states, self.weighted_states])}

    def __repr__(self) -> str:
        found = count(len(self.warnings), "warning") if self.warnings else "no warnings"
        return (
            f"<sterna.ParticleResult of {self.target.name}: {count(self.settings.n_particles, 'particle')} in "
            f"{count(self.n_steps, 'step')}, log evidence {self.log_evidence}, {found}>"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from sterna.particles.report import html_of

        return html_of(self)

    def __str__(self) -> str:
        from sterna.particles.report import report

        return report(self)
