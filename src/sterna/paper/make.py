"""Making a figure: compute its tables, write them, draw it, and compare it with the paper's claims."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sterna.errors import OptionError
from sterna.paper.figure import Claim, PaperFigure, Table, Tables, table
from sterna.paper.files import read_tables, write_claims, write_tables
from sterna.paper.study import Study, span
from sterna.plots.library import check_matplotlib, plain_style, save_figure

Compute = Callable[[Study], Tables]
RUNS = ("label", "model", "method", "n_chains", "n_copies", "tuning_scans", "n_scans", "seconds", "seed", "data")


@dataclass(frozen=True)
class Made:
    """A figure that was made."""

    claims: list[Claim]
    files: list[Path]
    seconds: float


def make_figure(
    figure: PaperFigure, folder: Path, study: Study, known: dict[Compute, Tables], redraw: bool = False
) -> Made:
    """Make a figure from new runs, or draw it again from the tables in the folder.

    `known` holds the tables of other figures, some of which show the same runs, and takes up those of this one.
    """
    check_matplotlib()
    began = time.perf_counter()
    _make_folder(folder)
    paths = []
    if not redraw:
        if figure.compute not in known:
            known[figure.compute] = compute(figure, study)
        paths = write_tables(folder, figure.name, known[figure.compute])
    # a figure shows what its files say
    tables = read_tables(folder, figure.name)
    claims = figure.claims(tables)
    paths.append(write_claims(folder, figure.name, claims))
    with plain_style():
        paths += save_figure(figure.draw(tables), folder / figure.name)
    return Made(claims, paths, time.perf_counter() - began)


def compute(figure: PaperFigure, study: Study) -> Tables:
    """Compute the tables of a figure, with one of its runs."""
    about = span(figure.quick_seconds if study.quick else figure.full_seconds)
    study.say(f"{'quick, ' if study.quick else ''}about {about}")
    return {**figure.compute(study), "runs": runs_table(study)}


def runs_table(study: Study) -> Table:
    """Return the runs of a study as a table."""
    budget = "quick" if study.quick else "full"
    return table((*RUNS, "budget"), [(*(row[name] for name in RUNS), budget) for row in study.rows])


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"--out {folder}: the folder cannot be made ({error.strerror}); give another one.") from error
