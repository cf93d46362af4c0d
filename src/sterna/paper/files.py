"""The tables behind a figure as files of comma-separated values, from which it can be drawn again."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sterna.errors import OptionError
from sterna.paper.figure import Claim, Table, Tables


def table_path(folder: Path, figure: str, name: str) -> Path:
    """Return the path of a table."""
    return folder / f"{figure}.{name}.csv"


def write_tables(folder: Path, figure: str, tables: Tables) -> list[Path]:
    """Write every table to its file."""
    paths = []
    for name, columns in tables.items():
        paths.append(table_path(folder, figure, name))
        texts = [[_text(value) for value in column.tolist()] for column in columns.values()]
        _write(paths[-1], list(columns), list(zip(*texts, strict=True)))
    return paths


def write_claims(folder: Path, figure: str, claims: Sequence[Claim]) -> Path:
    """Write the paper's claims beside what was found."""
    path = table_path(folder, figure, "claims")
    rows = [(one.claim, one.found, "yes" if one.holds else "no") for one in claims]
    _write(path, ["claim", "found", "holds"], rows)
    return path


def read_tables(folder: Path, figure: str) -> Tables:
    """Read the tables of a figure."""
    found = {
        path.name.removeprefix(f"{figure}.").removesuffix(".csv"): _read(path)
        for path in sorted(folder.glob(f"{figure}.*.csv"))
    }
    found.pop("claims", None)
    if not found:
        raise OptionError(f"{folder} has no tables of the figure {figure}: run sterna paper {figure} first.")
    return found


def _text(value: object) -> str:
    # eight digits are more than anybody can see, and halve the files
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _write(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(rows)


def _read(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8") as file:
        heads, *rows = csv.reader(file)
    columns = zip(*rows, strict=True) if rows else [()] * len(heads)
    return {name: _column(values) for name, values in zip(heads, columns, strict=True)}


def _column(values: Sequence[str]) -> Any:
    try:
        return np.array([int(value) for value in values])
    except ValueError:
        pass
    try:
        return np.array([float(value) for value in values])
    except ValueError:
        return np.array(values)
