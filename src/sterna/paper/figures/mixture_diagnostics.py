"""Diagnostics of the run on the mixture model."""

from __future__ import annotations

from sterna.paper.figure import Claim, PaperFigure, Tables, select
from sterna.paper.figures.shared.peaks import peaks
from sterna.paper.figures.shared.round_tables import round_tables
from sterna.paper.figures.shared.tuning_panels import draw_diagnostics
from sterna.paper.study import Run, Study

AWAY = 0.02


def compute(study: Study) -> Tables:
    """Run the mixture with 300 observations and 30 chains."""
    rounds, scans = study.choose((11, 5000), (9, 1022))
    run = Run("mixture", "mixture", 30, rounds, scans)
    return round_tables([(one.label, result) for one, result in study.results([run])], curves="last")


def claims(tables: Tables) -> list[Claim]:
    """Compare acceptance and barrier with the paper's, and count the peaks."""
    rounds, pairs = tables["rounds"], tables["pairs"]
    total = float(rounds["rejections"][-1])
    acceptance = 1.0 - total / (rounds["chains"][-1] - 1)
    at = [beta for beta in peaks(select(pairs, round=pairs["round"].max())) if beta > AWAY]
    return [
        Claim("Λ is about 8", f"sum of rejections {total:.2f}", abs(total - 8.0) < 0.5),
        Claim("The final mean acceptance is 72 %", f"{acceptance:.1%}", abs(acceptance - 0.72) < 0.02),
        Claim("λ has two peaks away from β = 0", f"at β = {', '.join(f'{beta:.3f}' for beta in at)}", len(at) == 2),
    ]


FIGURE = PaperFigure(
    name="mixture-diagnostics",
    label="fig:nrpt-diag",
    caption="Diagnostics of the mixture model: barrier and acceptance by round, local barrier, schedules by round.",
    quick_seconds=15,
    full_seconds=50,
    compute=compute,
    draw=draw_diagnostics,
    claims=claims,
)
