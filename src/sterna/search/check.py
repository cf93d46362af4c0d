"""What a run's search for missed mass has found, as its result keeps it."""

import math
from dataclasses import dataclass, field
from typing import Any

from sterna.search.light_reference import UpperTail
from sterna.search.missed_mass import Discrepancy
from sterna.search.search import Search
from sterna.search.tails import Tail


@dataclass(frozen=True)
class Check:
    """The search for missed mass of one run."""

    climbs: int = 0
    optima: int = 0
    """Distinct local optima at which climbs have ended; at most those with the largest mass are kept."""
    masses: int = 0
    """How many of them had their mass estimated, because it could be more than the draws account for."""
    discrepancies: tuple[Discrepancy, ...] = ()
    """Where these contradict draws and evidence."""
    tails: tuple[Tail, ...] = ()
    """Tails of which the draws have found too little, because the reference is lighter than the target."""
    upper_tail: UpperTail = field(default_factory=UpperTail)
    """The highest log-likelihoods of the draws, which tell whether the reference has lighter tails than the target."""
    found: Search = field(default_factory=Search)
    """The optima."""
    evaluations: int = 0
    gradients: int = 0
    skipped: str = ""
    """Why there was no search, or none to the end; empty if there was one."""

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and lists that JSON can hold."""
        return {
            "climbs": self.climbs,
            "optima": self.optima,
            "masses": self.masses,
            "discrepancies": [one.to_dict() for one in self.discrepancies],
            "tails": [one.to_dict() for one in self.tails],
            "pareto_shape": self.upper_tail.shape if math.isfinite(self.upper_tail.shape) else None,
            "evaluations": self.evaluations,
            "gradients": self.gradients,
            "skipped": self.skipped,
        }
