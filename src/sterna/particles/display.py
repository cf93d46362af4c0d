"""Progress of a run with particles, shown by the display of other runs."""

import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from sterna.particles.anneal import Step
from sterna.particles.settings import ParticleSettings
from sterna.result.text import count
from sterna.run.display import Display, LineDisplay
from sterna.run.time_left import clock

if TYPE_CHECKING:
    from sterna.explorers.base import Explorer
    from sterna.particles.result import ParticleResult
    from sterna.result.settings import Settings
    from sterna.target.prepared import PreparedTarget

# The bar of a live display has so many parts.
PARTS = 1000


class ParticleDisplay(Display):
    """What is done, and a line of progress now and then, on another display if that shows anything."""

    def __init__(self, outer: Display, settings: ParticleSettings) -> None:
        self.outer, self.settings = outer, settings
        self.lines = outer if isinstance(outer, LineDisplay) else None
        self.began = self.said = time.perf_counter()
        self.n_resampled = 0
        self.phase = ""
        self.n_steps: int | None = None

    def working(self, what: str, about_seconds: float | None = None) -> AbstractContextManager[None]:
        """Announce what is done."""
        return self.outer.working(what, about_seconds)

    def start(self, target: "PreparedTarget", explorer: "Explorer", settings: "Settings") -> None:
        """Say what is run."""
        if self.lines is None:
            return
        self.lines.say(
            f"sterna: {target.name}, {count(target.dimension, 'coordinate')}, "
            f"{count(self.settings.n_particles, 'particle')}, {explorer.name} explorer, seed {self.settings.seed}"
        )
        for note in target.notes:
            self.lines.say(f"sterna: note: {note}")

    def begin(self, phase: str, n_steps: int | None) -> None:
        """Begin a population; the number of its steps may be unknown."""
        self.phase, self.n_steps, self.n_resampled = phase, n_steps, 0

    def step(self, number: int, step: Step, log_evidence: float) -> None:
        """Show a line every few seconds."""
        self.n_resampled += step.resampled
        if self.lines is None or time.perf_counter() - self.said < self.lines.seconds_between:
            return
        self.said = time.perf_counter()
        share = step.beta if self.n_steps is None else number / self.n_steps
        self.lines.all_scans, self.lines.done = PARTS, int(PARTS * share)
        of_all = "" if self.n_steps is None else f"/{self.n_steps}"
        self.lines.say_progress(
            f"{self.phase:>9} step {number}{of_all}  beta {step.beta:.3g}  ess {step.weights.ess:.2f}  "
            f"resampled {self.n_resampled}  log evidence {log_evidence:.2f}  {clock(self.said - self.began)}"
        )

    def end(self, result: "ParticleResult") -> None:
        """Say how the run ended."""
        if self.lines is None:
            return
        self.lines.say(
            f"sterna: {count(result.n_steps, 'step')}, log evidence {result.log_evidence}, done in "
            f"{clock(time.perf_counter() - self.began)}"
        )
        for warning in result.warnings if self.lines.warnings else []:
            self.lines.say(f"sterna: warning: {warning}")
