"""`sterna.check(folder)`: whether the files of a run are whole, and whether what they hold is that of a right run.

The scans of the round under way, or of the sampling phase, are looked at. All statistical checks of a folder together
raise a false alarm with a probability of about 1e-4.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from sterna.errors import Error, StorageError
from sterna.result.check_report import NOT_CHECKED, NOTE, OK, PROBLEM, CheckReport, CheckRow
from sterna.result.result import Result
from sterna.result.saved import MANIFEST, RESULT, SUMMARY, read_result
from sterna.result.text import count
from sterna.run.check.energies import check_energies
from sterna.run.check.index_process import check_occupation, check_permutations, check_swaps
from sterna.run.check.recorded import Recorded, of_result, of_state
from sterna.run.folder import CHECKPOINTS, RunFolder, holds_run
from sterna.run.state import RunState
from sterna.storage.array_folder import ArrayFolder
from sterna.storage.lock import NAME as LOCK
from sterna.storage.lock import locked
from sterna.storage.tensors import read_tensors

Read = TypeVar("Read")


@dataclass
class Files:
    """What was found on disk."""

    root: Path
    problems: list[str] = field(default_factory=list)
    state: RunState | None = None
    """The newest that is whole."""
    result: Result | None = None
    checkpoints: int = 0


def check_run(root: Path) -> CheckReport:
    """Check the folder of a run, or of a saved result; nothing is written."""
    if not root.is_dir():
        raise StorageError(
            f"{root} is not there: give the folder of a run or of a saved result, or a target itself: a function with "
            "its reference, a sterna.Target, a PyMC model, or a built-in model such as sterna.models.ising()."
        )
    if not holds_run(root) and not (root / RESULT).is_file():
        raise StorageError(f"{root} holds no run of sterna: give the folder of a run, or one that result.save wrote.")
    files = read_files(root)
    rows = [*([_under_way()] if _is_in_use(root) else []), _row_of_files(files)]
    found: list[Recorded] = []
    if files.state is not None:
        found += of_state(files.state)
    elif files.result is not None:
        found.append(of_result(files.result))
    for one in found:
        rows += [
            _row(f"index process{one.label}", check_permutations, one),
            _row(f"swaps{one.label}", check_swaps, one),
            _row(f"occupation{one.label}", check_occupation, one),
            _row(f"log-likelihoods{one.label}", check_energies, one),
        ]
    if not found:
        rows.append(CheckRow("index process", NOT_CHECKED, "there are no scans that can be read"))
    return CheckReport(str(root), tuple(rows))


def _row(name: str, function: Callable[[Recorded], tuple[str, str]], recorded: Recorded) -> CheckRow:
    if recorded.n_scans == 0:
        return CheckRow(name, NOT_CHECKED, "the round under way has no scan yet")
    return CheckRow(name, *function(recorded))


def _is_in_use(root: Path) -> bool:
    """Whether a process writes to the folder now."""
    if not os.access(root / LOCK, os.W_OK):
        # there is none, or this user cannot ask it
        return False
    try:
        with locked(root):
            return False
    except StorageError:
        return True


def _under_way() -> CheckRow:
    return CheckRow("run", NOTE, "a process is writing to this folder, whose files may change while they are read")


def read_files(root: Path) -> Files:
    """Read all files of a folder, with their checksums."""
    found = Files(root)
    if (root / MANIFEST).exists():
        _attempt(found, lambda: _read_json(root / MANIFEST))
    for path in sorted(root.glob(CHECKPOINTS), reverse=True):
        state = _attempt(found, partial(RunFolder(root, {}).read_one, path))
        found.checkpoints += 1
        if found.state is None:
            found.state = state
    if (root / RESULT).is_file():
        found.result = _attempt(found, lambda: read_result(root))
        _attempt(found, lambda: _check_last_chunks(root))
        _attempt(found, lambda: _read_json(root / SUMMARY))
    return found


def _attempt(files: Files, read: Callable[[], Read]) -> Read | None:
    try:
        return read()
    except StorageError as error:
        if str(error) not in files.problems:
            files.problems.append(str(error))
    except (Error, OSError) as error:
        files.problems.append(f"{type(error).__name__}: {error}")
    return None


def _read_json(path: Path) -> None:
    try:
        json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError(f"{path} cannot be read: {error}.") from error


def _check_last_chunks(root: Path) -> None:
    """Compare the last rows of arrays, which other tools read from chunks, with those that sterna reads."""
    document, tensors = read_tensors(root / RESULT)
    arrays = ArrayFolder(root).give_back(document["rows"], tensors)
    for name, entry in document["rows"].items():
        array, in_chunks = arrays[name], len(entry["checksums"]) * int(entry["chunk_rows"])
        rest = array[in_chunks : int(entry["rows"])].tobytes()
        path = root / str(entry["path"]) / ".".join([str(len(entry["checksums"])), *["0"] * (array.ndim - 1)])
        if rest and path.read_bytes()[: len(rest)] != rest:
            raise StorageError(f"{path} is damaged: its rows are not those of {RESULT}.")


def _row_of_files(files: Files) -> CheckRow:
    paths = [path for path in files.root.rglob("*") if path.is_file()]
    try:
        megabytes = sum(path.stat().st_size for path in paths) / 1e6
    except OSError:
        # a run under way may have removed one
        megabytes = float("nan")
    if files.problems:
        text = " ".join(files.problems)
        if files.state is not None:
            text += " sterna.resume goes on from the newest checkpoint that is whole."
        elif files.result is not None:
            text += " The result can be read, but the run cannot go on."
        return CheckRow("files", PROBLEM, text)
    parts = [count(files.checkpoints, "checkpoint")] if files.checkpoints else []
    parts += ["the result"] if files.result is not None else []
    text = f"{count(len(paths), 'file')} ({megabytes:.3g} MB) with {' and '.join(parts)}; all checksums are right"
    if files.result is None:
        return CheckRow("files", NOTE, f"{text}. There is no result yet: sterna.resume goes on with the run")
    return CheckRow("files", OK, text)
