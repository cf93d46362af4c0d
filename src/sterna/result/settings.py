"""What the user chose for a run, checked: every result carries it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the user chose, checked."""

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
    """How often a scan explores every chain, in the first round and, unless it is tuned, in all."""
    auto_explorations: bool = False
    auto_chains: bool = False
    """Whether the number of chains is found by the run; `n_chains` is then what it ended with."""
    keep_energies: bool = False
    """Whether the log-likelihoods of all chains at all scans are kept."""
