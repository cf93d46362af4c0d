"""A run as data: all that the next block of scans needs, and all that the result will need.

Between two blocks of scans a run is nothing but a `RunState`. It can be written, read in another process, and continued
there with the same bits (see `sterna.run.serialization`). Compiled code writes into the arrays of copies, statistics
and records; everything else is replaced, never changed.
"""

from dataclasses import dataclass, field, replace
from functools import partial

from sterna.engine.record import Layout, Record
from sterna.engine.round import Copy
from sterna.explorers.cost import Cost
from sterna.result.failed_evaluations import FailedEvaluations
from sterna.result.settings import Settings
from sterna.search.mixture import Mixture
from sterna.search.search import Search
from sterna.tuning.rounds import Round
from sterna.types import FloatArray, IntArray


@dataclass(frozen=True)
class Tuned:
    """What the rounds so far have tuned; fixed during a round."""

    schedule: FloatArray
    parameters: FloatArray
    """The explorer's parameters, one row per chain."""
    pivot: FloatArray
    """Guess of log Z(beta')/Z(beta) for each pair of neighbours, at which Bennett's sums are evaluated."""
    centre: FloatArray
    """Guess of each chain's mean log-likelihood, around which its moments are summed."""
    explorations: int
    """How often a scan applies the explorer to each chain."""
    chain_boost: int = 1
    """Multiple of the optimal number of chains that slow exploration has earned."""
    first_round_of_explorer: int = 0
    """Index of the first round with the present choice of explorer: earlier ones say nothing about its exploration."""

    @property
    def n_chains(self) -> int:
        """Number of chains, both ends included."""
        return len(self.schedule)


@dataclass(frozen=True)
class FittedDistribution:
    """The normal distribution of a fitted reference, on the real line."""

    mean: FloatArray
    factor: FloatArray
    """Cholesky factor of the covariance."""


@dataclass(frozen=True)
class Seconds:
    """Time spent so far."""

    compile: float
    tuning: float = 0.0
    sampling: float = 0.0
    this_round: float = 0.0
    """Of the scans of the round under way."""

    def with_compilation(self, seconds: float) -> "Seconds":
        """Return the same with more time to compile."""
        return replace(self, compile=self.compile + seconds)


@dataclass(frozen=True)
class RunState:
    """A run between two blocks of scans."""

    settings: Settings
    cost: Cost | None
    """What an evaluation costs, if a choice depended on it; measured once and never again."""
    round_number: int
    """The round under way, from 1; the one after the last tuning round is the sampling phase."""
    tuned: Tuned
    fitted: FittedDistribution | None
    """The reference's distribution, if the run fits it."""
    copies: tuple[Copy, ...]
    """States and index process of each copy."""
    statistics: tuple[FloatArray, ...]
    """What the explorer has summed in this round, for each copy: one row per chain."""
    records: tuple[Record, ...]
    """What this round has recorded so far, for each copy."""
    scans_done: IntArray
    """Scans of this round that each copy has run."""
    rounds: tuple[Round, ...]
    """Summaries of the rounds before."""
    evaluations: tuple[int, int]
    """Evaluations and gradients of replicas that no longer exist, as the number of chains has changed."""
    notes: tuple[str, ...]
    seconds: Seconds
    search: Search = field(default_factory=Search)
    """The optima that climbs have found so far."""
    mixture: Mixture | None = None
    """The mixture at which the path begins; None if it begins at the prior."""
    why_path: str = ""
    """Why the path begins where it does, for the report."""
    price: float = 1.0
    """What an evaluation costs along the path from a mixture, relative to the path from the prior."""
    pace: float = 1.0
    """The share of the scans of every round that are run; less than 1 for the path that only checks the other."""
    beside: "RunState | None" = None
    """The same run along the other path, in the same round."""
    n_scans: int = 0
    """Number of scans for which the records of the round under way have room; while sampling they are extended."""
    layout: Layout = field(default_factory=partial(Layout, 1, 1))
    """Where the batches of the round's records end."""
    before_sampling: tuple[Copy, ...] = ()
    """While sampling, the copies as they were when it began, from which further tuning rounds would go on."""
    ended_by: str = ""
    """What has ended the run, one of `sterna.result.ending.ENDINGS`; empty while it has not ended."""
    failed: FailedEvaluations = field(default_factory=FailedEvaluations)
    """Failed evaluations of replicas that no longer exist; the others count their own."""

    @property
    def is_sampling(self) -> bool:
        """Whether tuning is over."""
        return self.round_number > self.settings.n_rounds

    @property
    def planned_scans(self) -> int:
        """Number of scans that the round will have, unless goals need more."""
        return max(self.n_scans, int(self.pace * self.settings.n_scans)) if self.is_sampling else self.n_scans

    @property
    def round_is_done(self) -> bool:
        """Whether all copies have run all scans of the round, along both paths if there are two."""
        done = bool((self.scans_done == self.n_scans).all())
        return done and (self.beside is None or self.beside.round_is_done)

    @property
    def thin(self) -> int:
        """Every how many scans the round keeps a draw; tuning may need all of them."""
        return self.settings.thin if self.is_sampling else 1
