"""The settings of a run, checked; every result has them."""

from dataclasses import dataclass

from sterna.result.goal import Goal

# Evaluations of the search for modes, relative to those of a run along the path from the prior: by default, at most.
WHOLE_SEARCH, MAX_SEARCH = 0.1, 10.0

# Draws that a search for modes looks at, at most, and their coordinates in all.
MAX_SCREENED, MAX_COORDINATES = 200_000, 4_000_000


@dataclass(frozen=True)
class Settings:
    """What the user chose for a run, checked."""

    n_chains: int
    n_rounds: int
    n_scans: int
    n_copies: int
    scheme: str
    keep: str
    thin: int
    seed: int
    workers: int
    explorations: int = 1
    """How often a scan explores every chain: in all rounds, or in the first if the number is tuned."""
    auto_explorations: bool = False
    auto_chains: bool = False
    """Whether the run finds the number of chains; `n_chains` is then the number of the sampling phase."""
    path: str = "prior"
    """Where the path to the target begins: at the "prior", or at a mixture that tuning fits, "fitted"."""
    search: float | None = None
    """Evaluations of the search for modes, relative to those of a run along the path from the prior."""
    start: str = "reference"
    """Where replicas begin: at draws from the "reference", or at particles of sequential Monte Carlo, "smc"."""
    keep_log_likelihoods: bool = False
    """Whether the log-likelihoods of all chains at all scans are kept."""
    until: Goal | None = None
    """What sampling goes on for; None if the number of its scans is fixed."""
    on_error: str = "raise"
    """What becomes of a log-density that is NaN or +inf or raises: it ends the run, or "reject" counts it as -inf."""
