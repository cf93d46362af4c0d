"""`sterna paper` for figures: what there is, and making one or all of them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sterna.command_line.output import write_error, write_out

if TYPE_CHECKING:
    from sterna.paper.figure import PaperFigure, Tables
    from sterna.paper.make import Made

ALL, LIST = "figures", "list"


def is_figure(name: str) -> bool:
    """Whether a name is that of a figure, of all figures, or of the list."""
    from sterna.paper.catalogue import FIGURES

    return name in (ALL, LIST) or name in FIGURES


def check_name(name: str, tables: Sequence[str]) -> None:
    """Refuse a name that is neither a table nor a figure."""
    from difflib import get_close_matches

    from sterna.errors import OptionError
    from sterna.paper.catalogue import FIGURES

    if name not in tables and not is_figure(name):
        near = get_close_matches(name, [*tables, *FIGURES], 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise OptionError(
            f"sterna paper {name}: there is no such table or figure.{hint} sterna paper list shows all of them."
        )


def write_list() -> None:
    """Print the tables and figures, and how long each takes."""
    from rich.table import Table

    from sterna.paper.catalogue import FIGURES
    from sterna.paper.study import span
    from sterna.paper.tables import CAPTIONS, QUICK_SECONDS
    from sterna.result.report import console_like_output

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "quick", "full", "what it shows"):
        shown.add_column(heading, overflow="fold")
    for name, caption in CAPTIONS.items():
        shown.add_row(name, span(QUICK_SECONDS), "", caption)
    for figure in FIGURES.values():
        share = f" Full: {figure.share}" if figure.share else ""
        shown.add_row(figure.name, span(figure.quick_seconds), span(figure.full_seconds), figure.caption + share)
    console, written = console_like_output()
    console.print(shown)
    write_out(written.getvalue().rstrip("\n"))


def make_figures(name: str, out: str, quick: bool, seed: int, redraw: bool) -> None:
    """Make one figure, or all of them; claims go to standard output, progress to standard error."""
    from sterna.paper.catalogue import FIGURES
    from sterna.paper.make import Compute, make_figure
    from sterna.paper.study import Study

    known: dict[Compute, Tables] = {}
    for figure in FIGURES.values() if name == ALL else [FIGURES[name]]:
        study = Study(quick, seed, partial(_say, figure.name))
        _report(figure, make_figure(figure, Path(out), study, known, redraw))


def _say(name: str, text: str) -> None:
    write_error(f"sterna: {name}: {text}")


def _report(figure: "PaperFigure", made: "Made") -> None:
    """Print each claim of the paper with what was found, and where the files are."""
    lines = [f"{figure.name} ({figure.label}): {figure.caption}"]
    lines += [f"  {'holds ' if one.holds else 'FAILS '} {one.claim}: {one.found}" for one in made.claims]
    lines.append(f"  {made.seconds:.0f} s; {', '.join(str(path) for path in made.files)}")
    write_out("\n".join(lines))
