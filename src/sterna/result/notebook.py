"""A result as a notebook shows it: the report as HTML.

All styles are attributes of their elements, because pages that show notebooks remove style sheets. Colours are those of
the page, or translucent, so that light and dark pages both are readable.
"""

import itertools
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from sterna.result import mode_table, rounds, summary
from sterna.result.report import facts, rows_left_out, verdict

if TYPE_CHECKING:
    from sterna.result.result import Result

_BLOCK = "margin:0.7em 0"
_TABLE = f"border-collapse:collapse;border:none;{_BLOCK};font-size:1em;font-variant-numeric:tabular-nums"
_CELL = "padding:1px 14px 1px 0;border:none;background:transparent;color:inherit;vertical-align:top;white-space:pre"
_HEAD = f"{_CELL};font-weight:600;border-bottom:1px solid rgba(128,128,128,0.5)"
_SMALL = "font-size:0.9em;opacity:0.7"
_WARNING = f"{_BLOCK};padding:4px 10px;border-left:4px solid #e0a000;background:rgba(224,160,0,0.15)"
_NOTE = f"{_BLOCK};padding:4px 10px;border-left:4px solid rgba(128,128,128,0.6);background:rgba(128,128,128,0.12)"


def html_of(result: "Result", max_rows: int = 20) -> str:
    """Return the report as HTML that contains all it needs."""
    shown = itertools.islice(result.summary_rows(), max_rows)
    rows = [line for row in shown for line in summary.cells(*row)]
    others = rows_left_out(result, max_rows)
    parts = [
        heading(verdict(result), result.warnings),
        table(summary.COLUMNS, rows, names=1),
        f"<div>... and {others} more</div>" if others > 0 else "",
        f'<div style="{_SMALL}">{escape(summary.explanation_of(result))}</div>',
        facts_table(facts(result)),
        _modes(result) if len(result.modes) > 1 else "",
        notes_of(result.notes),
        '<details><summary style="cursor:pointer">Rounds</summary>',
        table(rounds.HEADS, map(rounds.cells, result.rounds.rows())),
        f'<div style="{_SMALL}">{escape(rounds.EXPLANATION)}</div></details>',
    ]
    return page(parts)


def page(parts: Iterable[str]) -> str:
    """Return parts of a report as one element."""
    return f'<div style="font-size:13px;line-height:1.4;max-width:75em">{"".join(parts)}</div>'


def heading(verdict: str, warnings: Iterable[str]) -> str:
    """Return what a report begins with."""
    shown = (f'<div style="{_WARNING}"><b>Warning:</b> {escape(text)}</div>' for text in warnings)
    return f'<div style="{_BLOCK};font-weight:600">{escape(verdict)}</div>{"".join(shown)}'


def notes_of(notes: Iterable[str]) -> str:
    """Return every note once."""
    return "".join(f'<div style="{_NOTE}"><b>Note:</b> {escape(text)}</div>' for text in dict.fromkeys(notes))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], names: int = 0) -> str:
    """Return a table whose first columns are names, to the left, and the others numbers, to the right."""

    def line(cells: Sequence[str], element: str, style: str) -> str:
        sides = ["left" if k < names else "right" for k in range(len(cells))]
        return "".join(
            f'<{element} style="{style};text-align:{side}">{escape(cell)}</{element}>'
            for cell, side in zip(cells, sides, strict=True)
        )

    body = "".join(f'<tr style="background:transparent">{line(row, "td", _CELL)}</tr>' for row in rows)
    head = f"<thead><tr>{line(heads, 'th', _HEAD)}</tr></thead>"
    return f'<table style="{_TABLE}">{head}<tbody>{body}</tbody></table>'


def _modes(result: "Result") -> str:
    modes = table(mode_table.HEADS, result.modes.rows(), names=1)
    return f'{modes}<div style="{_SMALL}">{escape(result.modes.detection_limit)}</div>'


def facts_table(found: Iterable[tuple[str, str]]) -> str:
    """Return what was measured, a line for each name."""
    wide = _CELL.replace("pre", "normal")
    lines = "".join(
        f'<tr style="background:transparent"><th style="{_CELL};text-align:left">{escape(name)}</th>'
        f'<td style="{wide};text-align:left">{escape(text)}</td></tr>'
        for name, text in found
    )
    return f'<table style="{_TABLE}"><tbody>{lines}</tbody></table>'
