"""When sampling is good enough: the goals that a user names, or those of the default."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sterna.errors import OptionError
from sterna.ground.numbers import real_number
from sterna.result.text import count

# The default goals, and the limits up to which they are pursued: evaluations of the likelihood in the whole run, and
# scans relative to those of tuning. They are no times, so that the bits do not depend on the machine.
DEFAULT_ERROR, DEFAULT_ESS, DEFAULT_EVALUATIONS, DEFAULT_LENGTH = 0.1, 200.0, 1_000_000, 16

# Goals that a user names are pursued up to so many scans, or so many times the scans of tuning.
MAX_SCANS, MAX_LENGTH = 1_000_000, 1024

KEYS = "log_evidence (a standard error), ess, restarts and seconds"


@dataclass(frozen=True)
class Goal:
    """What sampling shall reach: it goes on in blocks, with everything frozen, until all hold."""

    log_evidence: float | None = None
    """Standard error of the log evidence."""
    ess: float | None = None
    """Effective sample size of the worst scalar."""
    ess_of: tuple[tuple[str, float], ...] = ()
    """Effective sample sizes of named variables or scalars."""
    restarts: int | None = None
    """Restarts in all copies."""
    seconds: float | None = None
    """Time of the sampling phase after which it ends, whether the other goals hold or not."""
    is_default: bool = False
    """Whether these are the goals of the default, which end at a number of evaluations."""

    @property
    def is_only_time(self) -> bool:
        """Whether sampling shall take a time, and nothing else."""
        return self == Goal(seconds=self.seconds)

    def without_time(self) -> Goal:
        """Return the goals that hold when sampling is good enough."""
        return replace(self, seconds=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the goals as a user gives them."""
        found: dict[str, Any] = {"log_evidence": self.log_evidence, "ess": dict(self.ess_of) or self.ess}
        found |= {"restarts": self.restarts, "seconds": self.seconds}
        return {name: value for name, value in found.items() if value is not None}

    def __str__(self) -> str:
        texts = []
        if self.log_evidence is not None:
            texts.append(f"log evidence to ± {self.log_evidence:g}")
        if self.ess is not None:
            texts.append(f"effective sample size {self.ess:g}")
        texts += [f"effective sample size {size:g} of {name}" for name, size in self.ess_of]
        if self.restarts is not None:
            texts.append(count(self.restarts, "restart"))
        if self.seconds is not None:
            texts.append(f"{self.seconds:g} seconds")
        return ", ".join(texts)


DEFAULT_GOAL = Goal(log_evidence=DEFAULT_ERROR, ess=DEFAULT_ESS, is_default=True)


def goal_of(until: object) -> Goal | None:
    """Read what a user gave as `until`."""
    if until is None or isinstance(until, Goal):
        return until
    if not isinstance(until, Mapping) or not until:
        raise OptionError(
            f"until={until!r}: give a dict of goals, such as {{'log_evidence': 0.05, 'ess': 400}}. Goals are {KEYS}."
        )
    known = {one.name for one in fields(Goal)} - {"ess_of", "is_default"}
    for key in until:
        if key not in known:
            raise OptionError(f"until={{{key!r}: ...}} is not known. Goals are {KEYS}.")
    ess = until.get("ess")
    by_name = ess if isinstance(ess, Mapping) else {}
    restarts = _positive("restarts", until.get("restarts"))
    return Goal(
        log_evidence=_positive("log_evidence", until.get("log_evidence")),
        ess=None if isinstance(ess, Mapping) else _positive("ess", ess),
        ess_of=tuple((str(name), _positive(f"ess of {name}", size) or 0.0) for name, size in by_name.items()),
        restarts=None if restarts is None else math.ceil(restarts),
        seconds=_positive("seconds", until.get("seconds")),
    )


def _positive(name: str, given: object) -> float | None:
    if given is None:
        return None
    number = real_number(given)
    if number is None or not 0.0 < number < math.inf:
        raise OptionError(f"until: {name} is {given!r}, which must be a number above 0.")
    return number
