"""The text report of a run with particles."""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from sterna.result import notebook
from sterna.result.summary import COLUMNS, cells, table_of
from sterna.result.text import count

if TYPE_CHECKING:
    from sterna.particles.result import ParticleResult

NAMES = {"smc": "sequential Monte Carlo", "ais": "annealed importance sampling"}
MAX_ROWS = 20

UNSEEN_MODES = "Modes that no particle reached are not seen; sterna.sample looks for them."


def report(result: "ParticleResult") -> str:
    """Return the report as plain text."""
    warnings = [f"\nWarning: {warning}" for warning in result.warnings]
    notes = [f"\nNote: {note}" for note in dict.fromkeys([*result.notes, UNSEEN_MODES])]
    width = max(len(name) for name, _ in facts(result))
    lines = [f"{name:{width}} {text}" for name, text in facts(result)]
    return "\n".join([verdict(result), "", *_table(result), "", *lines, *warnings, *notes])


def html_of(result: "ParticleResult") -> str:
    """Return the report as HTML for a notebook."""
    shown = itertools.islice(result.summary.items(), MAX_ROWS)
    rows = [line for row in shown for line in cells(*row)]
    others = len(result.summary) - MAX_ROWS
    return notebook.page(
        [
            notebook.heading(verdict(result), result.warnings),
            notebook.table(COLUMNS, rows, names=1),
            f"<div>... and {others} more</div>" if others > 0 else "",
            notebook.facts_table(facts(result)),
            notebook.notes_of([*result.notes, UNSEEN_MODES]),
        ]
    )


def verdict(result: "ParticleResult") -> str:
    """Return in one line what was run and whether there are warnings."""
    found = f"{count(len(result.warnings), 'warning')}, see below" if result.warnings else "no warnings"
    particles, steps = count(result.settings.n_particles, "particle"), count(result.n_steps, "step")
    return f"{result.target.name}, {NAMES[result.settings.method]} with {particles} in {steps}: {found}."


def _table(result: "ParticleResult") -> list[str]:
    others = len(result.summary) - MAX_ROWS
    more = [f"... and {others} more"] if others > 0 else []
    return [table_of(itertools.islice(result.summary.items(), MAX_ROWS)), *more]


def facts(result: "ParticleResult") -> list[tuple[str, str]]:
    """Return what was measured, as pairs of a name and a text."""
    estimate, seconds = result.log_evidence, result.timing
    low, high = estimate.interval()
    interval = f" (95 %: {low:.3f} to {high:.3f})" if np.isfinite(estimate.error) else ""
    unbiased = "Z is unbiased" if result.frozen else _why_biased(result)
    return [
        ("log evidence", f"{estimate}{interval}; {unbiased}"),
        ("weights", f"worth {1 / np.square(result.weights).sum():.0f} particles of equal weight at the target"),
        ("first draws", f"{result.n_families:.1f} have descendants, counted by weight{_zeros(result)}"),
        ("resampled", count(int(result.resampled.sum()), "time")),
        ("path length", f"{result.path_length:.2f}, in {count(result.n_steps, 'step')}"),
        ("explorer", f"{result.explorer}, {count(result.settings.explorations, 'time')} per step"),
        ("memory", _memory(result)),
        ("evaluations", f"{result.evaluations}"),
        (
            "seconds",
            f"{seconds['compile']:.1f} compiling, {seconds['tuning']:.1f} tuning, {seconds['sampling']:.1f} sampling",
        ),
    ]


def _why_biased(result: "ParticleResult") -> str:
    if result.settings.threshold is None:
        return "the explorer was tuned on the way, so Z may have a small bias"
    return "the population chose its own betas (n_pilot=0), so log Z has a bias, which may be as large as its error"


def _zeros(result: "ParticleResult") -> str:
    return f"; {result.zero_share:.1%} have likelihood zero" if result.zero_share > 0 else ""


def _memory(result: "ParticleResult") -> str:
    """Describe the step that explores worst."""
    memory = result.energy_autocorrelation
    if not np.isfinite(memory).any():
        return "unknown, because log-likelihoods do not vary"
    worst = int(np.nanargmax(memory))
    return (
        f"log-likelihoods before and after a step's exploration correlate by {memory[worst]:.2f} at beta "
        f"{result.schedule[worst + 1]:.3g}, the worst, and by {np.nanmean(memory):.2f} on average (0: independent)"
    )
