"""How long the rest of a run takes: a time, a range while the run may still change what a scan costs, or unknown."""

import math
from dataclasses import dataclass

import numpy as np

from sterna.explorers.best import Head, PartRecord, Trial
from sterna.ground.rows import columns
from sterna.result.settings import Settings
from sterna.run.state import RunState

# Rounds of fewer scans do not tell how many chains and explorations later ones will have.
MIN_SCANS_TO_SETTLE = 64

# While their numbers are not settled, chains and explorations together may grow, and chains shrink, about so much.
GROWTH, SHRINKAGE = 4.0, 2.0

# Shorter rounds mostly measure how long threads take to start.
MIN_SECONDS = 0.3

# Explorers on trial are compared once each has been called so often.
MIN_CALLS_TO_COMPARE = 20

# A range that is narrower, or ends before so many seconds, is shown as one time; a wider one tells nothing.
NARROW, WIDE, SOON = 1.5, 10.0, 10.0


@dataclass
class TimeLeft:
    """Time per scan, chain and exploration, measured in the last round and in the one under way.

    A round's time counts from its first scan to its last, without what happens between rounds.
    """

    settings: Settings
    on_trial: bool
    """Whether several explorers are on trial, of which the run will choose one."""
    just_chosen: bool = False
    cost_range: tuple[float, float] = (1.0, 1.0)
    """Cost of the cheapest and of the dearest explorer on trial, relative to an average call."""
    load: float = 1.0
    """Explorations of chains per scan."""
    load_before: float = 0.0
    began: float = 0.0
    work: float = 0.0
    """Explorations of chains in this round so far, of all copies."""
    measured: tuple[float, float] = (0.0, 0.0)
    """Work and seconds of the round before."""
    scans_left: int = 0
    n_scans: int = 0
    sampling: bool = False
    """Whether this is the sampling phase, in which nothing changes."""

    def begin_round(self, state: RunState, now: float) -> None:
        """Start to measure a round, or what is left of it."""
        tuned, copies = state.tuned, self.settings.n_copies
        # explorers that are still on trial when sampling begins stay all together; those of a path from a mixture are
        # parts of a composition
        if tuned.first_round_of_explorer > 0 or state.is_sampling or state.mixture is not None:
            self.on_trial = False
        self.load_before, self.load = self.load, tuned.n_chains * tuned.explorations
        self.began, self.work, self.n_scans, self.sampling = now, 0.0, state.n_scans, state.is_sampling
        later = self.settings.n_scans if not state.is_sampling else 0
        later += sum(2**r for r in range(state.round_number + 1, self.settings.n_rounds + 1))
        self.scans_left = (later + state.planned_scans) * copies - int(state.scans_done.sum())

    def advance(self, scans: int) -> None:
        """Count scans."""
        self.work += scans * self.load
        self.scans_left -= scans

    def end_round(self, now: float) -> None:
        """Keep what the round measured, unless its explorer was on trial and is not any more."""
        self.measured = (0.0, 0.0) if self.just_chosen else (self.work, now - self.began)
        self.just_chosen = False

    def compare_explorers(self, state: RunState) -> None:
        """Find what the explorers on trial cost, if each of them has been called in this round."""
        if self.on_trial:
            self.cost_range = cost_range(state) or self.cost_range

    def choose(self) -> None:
        """Note that the run has chosen an explorer: what was measured of all of them says little about it."""
        self.on_trial, self.just_chosen = False, True

    @property
    def settled(self) -> bool:
        """Whether later rounds can be expected to have as many chains and explorations as this one."""
        automatic = (self.settings.auto_chains or self.settings.auto_explorations) and not self.sampling
        change = self.load / self.load_before if self.load_before > 0 else math.inf
        return not automatic or (self.n_scans > MIN_SCANS_TO_SETTLE and 1 / NARROW < change < NARROW)

    def seconds(self, now: float) -> tuple[float, float]:
        """Return the least and the most time that is probably left."""
        work, seconds = self.work + self.measured[0], now - self.began + self.measured[1]
        left = self.scans_left * self.load * seconds / max(work, 1.0)
        cheapest, dearest = self.cost_range if self.on_trial else (1.0, 1.0)
        # chains that were added while the barrier was unknown may be too many
        shrinking = SHRINKAGE if self.settings.auto_chains and not self.settled else 1.0
        growing = 1.0 if self.settled else GROWTH
        return left * cheapest / shrinking, left * dearest * growing

    def known(self, now: float) -> bool:
        """Whether enough scans were run to tell."""
        return now - self.began + self.measured[1] >= MIN_SECONDS

    def text(self, now: float) -> str:
        """Return the time left in words, if enough scans were run to tell."""
        if not self.known(now):
            return ""
        low, high = self.seconds(now)
        if high <= NARROW * low:
            return f"{clock(high)} left"
        if high < SOON:
            return f"less than {clock(math.ceil(high))} left"
        if high > WIDE * low:
            return "time left unknown"
        return f"{clock(low)} to {clock(high)} left"


def cost_range(state: RunState) -> tuple[float, float] | None:
    """Return what a call of the cheapest and of the dearest explorer on trial costs, relative to an average call."""
    head = state.tuned.parameters[0]
    trial = Trial(("",) * int(head[Head.parts]), int(head[Head.watched]))
    # threads may be writing, which does not matter for an estimate
    records = sum(trial.split(rows)[0].sum(axis=0) for rows in state.statistics)
    calls = np.asarray(records)[:, PartRecord.calls]
    work = head[Head.evaluation_cost] * np.asarray(records)[:, PartRecord.evaluations]
    work = work + head[Head.gradient_cost] * np.asarray(records)[:, PartRecord.gradients]
    tried = columns(head, Head.weights, *trial.sizes) > 0
    calls, work = calls[tried], work[tried]
    if calls.min() < MIN_CALLS_TO_COMPARE or work.min() <= 0:
        return None
    costs, average = work / calls, work.sum() / calls.sum()
    return float(costs.min() / average), float(costs.max() / average)


def clock(seconds: float) -> str:
    """Return a time as 0:05, 12:34 or 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
