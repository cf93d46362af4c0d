"""Results on disk: a folder with everything that a result knows, read the next day without the target.

Draws are arrays in the Zarr format in the folder `samples`, for other tools too; all else is in `result.safetensors`.
Nothing in a file is ever run. `sterna.run.folder` keeps runs under way in the same formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sterna.engine.record import BY_SCAN, Record
from sterna.errors import OptionError, StorageError
from sterna.reference.space import Space, Variable
from sterna.result.failed_evaluations import FailedEvaluations
from sterna.result.goal import Goal
from sterna.result.mode_table import Mode, Modes
from sterna.result.other_path import OtherPath
from sterna.result.plain_numbers import numbers_of_run
from sterna.result.result import Result
from sterna.result.rounds import Rounds
from sterna.result.sampled_target import AbsentMap, SampledTarget, StoredFunction, StoredView
from sterna.result.settings import Settings
from sterna.search.check import Check
from sterna.search.curvature import Optimum
from sterna.search.light_reference import UpperTail
from sterna.search.missed_mass import Discrepancy
from sterna.search.mixture import Mixture
from sterna.search.modes import Unseen
from sterna.search.planted import Planted
from sterna.search.search import Search
from sterna.search.tails import Tail
from sterna.storage.array_folder import ArrayFolder, Place
from sterna.storage.atomic import make_folder, remove_folder
from sterna.storage.document import Arrays, by_name, put_together, take_apart
from sterna.storage.growing import write_json
from sterna.storage.tensors import read_tensors, write_tensors
from sterna.tuning.energies import Energies
from sterna.tuning.estimate import Estimate
from sterna.tuning.evidence import Evidence
from sterna.tuning.evidence_curve import EvidenceCurve
from sterna.tuning.journey_influence import JourneyInfluence
from sterna.tuning.rounds import Round
from sterna.tuning.share import Share
from sterna.version import __version__

if TYPE_CHECKING:
    import os

FORMAT = 1

RESULT, SUMMARY, SAMPLES = "result.safetensors", "result.json", "samples"

# What describes the folder of a run.
MANIFEST = "run.json"

# All classes of which results consist.
CLASSES: dict[str, Any] = by_name(
    Result, SampledTarget, Space, Variable, StoredView, StoredFunction, AbsentMap, Settings, Goal, Rounds, Round,
    Record, Check, Discrepancy, Tail, UpperTail, Search, Optimum, Mixture, Modes, Mode, Unseen, Planted, OtherPath,
    Estimate, Share, Evidence, EvidenceCurve, Energies, JourneyInfluence, FailedEvaluations,
)  # fmt: skip

# What the axes of arrays by scan are called.
DIMS = {
    "positions": ("scan", "replica"),
    "draws": ("draw", "chain", "coordinate"),
    "log_likelihood": ("draw", "chain"),
    "energies": ("scan", "chain"),
}


def save_result(result: Result, path: str | os.PathLike[str]) -> Path:
    """Write a result to a new folder, or in place of one that holds a result."""
    folder = path_of(path)
    if (folder / MANIFEST).exists():
        raise StorageError(f"{folder} holds a run, with its own result: give the name of a new folder.")
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or (folder / RESULT).exists())):
        raise StorageError(f"{folder} exists and is no saved result: give the name of a new folder.")
    try:
        make_folder(folder)
        write_samples(result, folder)
    except OSError as error:
        raise StorageError(f"{folder} could not be written: {error.strerror or error}.") from error
    return folder


def path_of(given: str | os.PathLike[str]) -> Path:
    """Return where a folder is, also if the process later goes elsewhere."""
    try:
        return Path(given).expanduser().absolute()
    except (TypeError, RuntimeError) as error:
        raise OptionError(f"{given!r} is no path of a folder: give a text such as 'run', or a pathlib.Path.") from error


def write_samples(result: Result, folder: Path) -> None:
    """Write a result with its draws, beside those of an earlier one, which is whole until the new one is."""
    taken = [path.name for path in folder.glob(f"{SAMPLES}-*")]
    group = next(name for name in (f"{SAMPLES}-{k}" for k in range(len(taken) + 1)) if name not in taken)
    write_result(result, folder, ArrayFolder(folder, attributes_of(result)), group)
    remove_samples(folder, but=group)


def remove_samples(folder: Path, but: str = "") -> None:
    """Remove draws that no result of the folder has any more."""
    for path in folder.glob(f"{SAMPLES}-*"):
        if path.name != but and re.fullmatch(rf"{SAMPLES}-\d+", path.name):
            remove_folder(path)


def write_result(result: Result, folder: Path, arrays_on_disk: ArrayFolder, group: str) -> None:
    """Write a result; arrays that grow go to a group, whose chunks may be on disk already."""
    plain = replace(result, target=result.stored_target())
    document, arrays = take_apart(plain, CLASSES, "result", labels=".view.coords")
    places = {}
    for number, record in enumerate(result.records):
        path = f"{group}/copy-{number}"
        for name in BY_SCAN:
            array = getattr(record, name)
            if len(array):
                places[f"result.records.{number}.{name}"] = Place(f"{path}/{name}", len(array), DIMS[name])
    described, tensors = arrays_on_disk.take(arrays, places)
    arrays_on_disk.finish(arrays, places)
    written = {"format": FORMAT, "sterna": __version__, "result": document, "rows": described}
    write_tensors(folder / RESULT, written, tensors)
    write_json(folder / SUMMARY, numbers_of_run(result))


def attributes_of(result: Result) -> dict[str, Any]:
    """Return what other tools shall know about draws."""
    variables = {v.name: [v.start, v.stop] for v in result.target.space.variables}
    return {"target": result.target.name, "coordinates of variables, from and to": json.dumps(variables)}


def read_result(folder: Path) -> Result:
    """Return the result that a folder holds."""
    path = folder / RESULT
    document, tensors = read_tensors(path)
    return restored(path, document, tensors, ArrayFolder(folder))


def restored(path: Path, document: Any, tensors: Arrays, arrays_on_disk: ArrayFolder) -> Result:
    """Return the result of a document and its arrays, or say that they are not those of one."""
    try:
        check_format(path, document)
        arrays = arrays_on_disk.give_back(document["rows"], tensors)
        result = put_together(document["result"], arrays, CLASSES)
        if not isinstance(result, Result):
            raise TypeError("it holds no result")
        _check(result)
    except StorageError as error:
        raise StorageError(f"{path}: {error}") from error
    except Exception as error:  # whatever a file says, it must not end in an unexpected way
        raise StorageError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    return result


def check_format(path: Path, document: Mapping[str, Any]) -> None:
    """Refuse files of later versions."""
    if document.get("format") != FORMAT:
        raise StorageError(
            f"{path} was written by sterna {document.get('sterna')}, whose files this version, {__version__}, cannot "
            "read: use that version."
        )


def _check(result: Result) -> None:
    """Look at what a result needs first, so that damage is noticed here."""
    states = result.states
    if states.shape[0] != result.settings.n_copies or states.shape[-1] != result.target.space.dimension:
        raise ValueError("its draws have another shape than it says")
    for record in result.records:
        chains = record.positions.shape[1]
        if record.positions.size and not 0 <= record.positions.min() <= record.positions.max() < chains:
            raise ValueError("its index process leads to chains that are not there")
    result.__repr__()
