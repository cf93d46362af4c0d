"""Diagnostics of the run on copy numbers."""

from __future__ import annotations

from sterna.paper.figure import Claim, PaperFigure, Tables
from sterna.paper.figures.shared.round_tables import round_tables
from sterna.paper.figures.shared.tuning_panels import draw_diagnostics, settling
from sterna.paper.study import Run, Study


def compute(study: Study) -> Tables:
    """Run the model with 50 chains and 5000 scans in all."""
    rounds, scans = study.choose((10, 2954), (6, 20))
    run = Run("copy_number", "copy_number", 50, rounds, scans)
    return round_tables([(one.label, result) for one, result in study.results([run])], curves="last")


def claims(tables: Tables) -> list[Claim]:
    """Compare barrier and acceptance with the paper's, and check that schedules converge."""
    rounds = tables["rounds"]
    total = float(rounds["rejections"][-1])
    acceptance = 1.0 - total / (rounds["chains"][-1] - 1)
    change = settling(tables["pairs"])
    return [
        Claim("Λ is 13", f"sum of rejections {total:.2f}", abs(total - 13.0) < 0.7),
        Claim("The mean acceptance is 73.5 %", f"{acceptance:.1%}", abs(acceptance - 0.735) < 0.02),
        Claim("Schedules change little at the end", f"largest change of log β {change:.2f}", change < 1.0),
    ]


FIGURE = PaperFigure(
    name="copy-number-diagnostics",
    label="fig:chromo-diag",
    caption="Diagnostics of copy numbers: barrier and acceptance by round, local barrier, schedules by round.",
    quick_seconds=50,
    full_seconds=900,
    compute=compute,
    draw=draw_diagnostics,
    claims=claims,
)
