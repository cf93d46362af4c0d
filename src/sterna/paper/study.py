"""The runs behind a figure: how long they may be, what they were, and how much time is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sterna import models
from sterna.explorers.slice import Slice
from sterna.result.result import Result
from sterna.run.display import Display, make_display
from sterna.run.sample import sample
from sterna.target.target import Target

Value = TypeVar("Value")

# Seconds of one thread per exploration of one chain, measured on one machine. They only weight runs against each other
# when the time that is left is estimated.
COSTS = {
    "change_point": 3e-6,
    "copy_number": 1.5e-3,
    "hierarchical": 2e-4,
    "mixture": 1.5e-4,
    "ode": 3e-5,
    "phylo_cancer": 5e-4,
    "phylo_species": 4e-4,
    "spike_slab": 2e-4,
}
USUAL_COST = 2e-6
# Runs that take about so many seconds or more show their own progress.
LONG = 60.0
# What a run takes besides its scans: compilation, or loading of what was compiled.
SECONDS_PER_RUN = 0.3


@dataclass(frozen=True)
class Run:
    """One run of a figure: a model, and how it is sampled."""

    label: str
    model: str
    n_chains: int
    n_rounds: int
    n_scans: int
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the model."""
    scheme: str = "deo"
    explorations: int | str = 1
    passes: float | None = None
    """Passes of the model's explorer over the coordinates in each scan, if they are not the model's own."""
    n_copies: int = 1
    others: Mapping[str, Any] = field(default_factory=dict)
    """Further options of `sterna.sample`."""

    @property
    def all_scans(self) -> int:
        """Scans of each copy, tuning included."""
        return int(2 ** (self.n_rounds + 1)) - 2 + self.n_scans

    @property
    def weight(self) -> float:
        """Roughly the seconds that the run takes."""
        often = self.explorations if isinstance(self.explorations, int) else 3
        sweeps = often * (1.0 if self.passes is None else self.passes)
        scans = self.all_scans * self.n_chains * self.n_copies
        return SECONDS_PER_RUN + scans * sweeps * COSTS.get(self.model, USUAL_COST)

    def target(self) -> Target:
        """Build the model."""
        return getattr(models, self.model)(**self.options)  # type: ignore[no-any-return]


def with_passes(target: Target, passes: float | None) -> Any:
    """Return the target's own explorer with another number of passes, which may be a fraction or 0; None as it is."""
    if passes is None:
        return None
    own: Any = target.explorer
    return Slice(passes=passes) if own is None else replace(own, passes=passes)


@dataclass
class Study:
    """Runs the runs of one figure, and keeps a list of them."""

    quick: bool = True
    seed: int = 1
    say: Callable[[str], None] = lambda _: None
    """Where lines about progress go."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """What was run, with its seconds and whether data were simulated."""

    def choose(self, full: Value, quick: Value) -> Value:
        """Return what belongs to the budget."""
        return quick if self.quick else full

    def results(self, runs: Sequence[Run]) -> Iterator[tuple[Run, Result]]:
        """Run all, one after the other, and say how much time is left."""
        whole, done, began = sum(run.weight for run in runs), 0.0, time.perf_counter()
        for number, run in enumerate(runs, 1):
            passed = time.perf_counter() - began
            left = f", {span(passed)} so far, about {span(passed * (whole - done) / done)} left" if done else ""
            self.say(f"run {number} of {len(runs)}: {run.label}{left}")
            yield run, self.sample(run)
            done += run.weight

    def sample(self, run: Run) -> Result:
        """Run one, along the path from the reference, and add it to the list."""
        target = run.target()
        explorer = with_passes(target, run.passes)
        given = {"explorer": explorer, **run.others}
        result = sample(
            target,
            n_chains=run.n_chains,
            n_rounds=run.n_rounds,
            n_scans=run.n_scans,
            n_copies=run.n_copies,
            explorations=run.explorations,
            scheme=run.scheme,
            path="prior",
            seed=self.seed,
            progress=display_of(run.weight > LONG),
            **given,
        )
        self.note(
            label=run.label,
            model=run.model,
            method="NRPT" if run.scheme == "deo" else "SEO",
            n_chains=run.n_chains,
            n_copies=run.n_copies,
            tuning_scans=run.all_scans - run.n_scans,
            n_scans=run.n_scans,
            seconds=result.timing["tuning"] + result.timing["sampling"],
            notes=result.notes,
        )
        return result

    def note(
        self,
        *,
        label: str,
        model: str,
        method: str,
        n_chains: int,
        n_copies: int,
        tuning_scans: int,
        n_scans: int,
        seconds: float,
        notes: Sequence[str],
    ) -> None:
        """Add a run to the list."""
        row = locals()
        simulated = any("simulated" in note for note in row.pop("notes"))
        row.pop("self")
        self.rows.append(row | {"seed": self.seed, "data": "simulated" if simulated else "the paper's or none"})


def display_of(is_long: bool) -> Display:
    """Return the display of a run: that of `sterna run` if it is long."""
    return make_display(is_long, warnings=False)


def span(seconds: float) -> str:
    """Return a time as one says it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
