"""The folder of a run: checkpoints from which it goes on, the scans so far, and at the end its result.

A checkpoint is one file with everything that the run is between two blocks of scans, except what grows with every scan
(draws, index process, log-likelihoods), of which it holds the last rows only: full chunks are in the folder `scans`,
in the Zarr format. Summaries of finished rounds are files of their own, written once. The newest two checkpoints are
kept; whatever they do not need is removed. `run.json` describes the folder for readers.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sterna.engine.record import BY_SCAN
from sterna.errors import StorageError
from sterna.result.result import Result
from sterna.result.saved import (
    DIMS,
    FORMAT,
    MANIFEST,
    RESULT,
    SUMMARY,
    check_format,
    remove_samples,
    write_result,
    write_samples,
)
from sterna.result.text import count
from sterna.run.serialization import CLASSES, put_together, take_apart
from sterna.run.state import RunState
from sterna.storage import document as documents
from sterna.storage.array_folder import ArrayFolder, Place
from sterna.storage.atomic import make_folder, remove_file, remove_folder, remove_parts
from sterna.storage.growing import write_json
from sterna.storage.tensors import read_tensors, write_tensors
from sterna.tuning.rounds import Round
from sterna.version import __version__

# How often a run is written, and how much of its time that may take if it is written more often than this.
SECONDS_BETWEEN, MAX_SHARE = 30.0, 0.02

ROUNDS, SCANS = "rounds", "scans"
CHECKPOINTS = "checkpoint-*.safetensors"

# Nothing else in a folder is ever removed.
NAME_OF_CHECKPOINT = re.compile(r"checkpoint-\d{6,}\.safetensors")
NAME_OF_ROUND = re.compile(r"round-\d\d-[0-9a-f]{16}")
NAME_OF_GROUP = re.compile(r"scans/(sampling-after-\d+-rounds|round-\d\d-of-\d+)/(main|beside)")


@dataclass(frozen=True)
class Needed:
    """What a checkpoint needs: its own file, summaries of rounds, and folders of scans."""

    checkpoint: Path
    checksum: str
    rounds: frozenset[str]
    groups: frozenset[str]


@dataclass
class RunFolder:
    """A folder to which one process writes one run."""

    root: Path
    origin: dict[str, Any]
    """What was asked for, and of which target: a run that goes on must be of the same."""
    say: Callable[[str], None] = lambda text: None
    """Tells the user at once that something could not be written."""
    arrays: ArrayFolder = field(init=False)
    number: int = 0
    """Of the newest checkpoint."""
    kept: tuple[Needed, ...] = ()
    """The newest checkpoints, the last one last."""
    written_at: float = -1e9
    seconds: float = 0.0
    """What writing a checkpoint takes."""
    problem: str = ""
    """Why the newest checkpoint, or the result, could not be written."""
    names: dict[int, tuple[Round, str]] = field(default_factory=dict)
    """Names of the files of finished rounds, by identity."""

    def __post_init__(self) -> None:
        self.arrays = ArrayFolder(self.root)

    @property
    def is_due(self) -> bool:
        """Whether it is time for another checkpoint inside a round."""
        return time.monotonic() - self.written_at >= SECONDS_BETWEEN

    @property
    def is_cheap(self) -> bool:
        """Whether another checkpoint at the end of a round takes little of the run's time."""
        return (time.monotonic() - self.written_at) * MAX_SHARE >= self.seconds

    def save(self, state: RunState) -> None:
        """Write a checkpoint; if that is not possible the run goes on, and tries again later."""
        began = time.monotonic()
        self._attempt("The run", lambda: self._write(state))
        self.written_at = time.monotonic()
        self.seconds = self.written_at - began

    def finish(self, state: RunState, result: Result) -> str:
        """Write the end of a run and its result; return what went wrong."""
        self.save(state)
        if not self.problem:
            self._attempt("The result", lambda: self._write_result(state, result))
        return self.problem

    def _write_result(self, state: RunState, result: Result) -> None:
        if not result.is_sampled:
            # the scans of a tuning round are removed when the run goes on, and may be those of the round before
            write_samples(result, self.root)
            return
        write_result(result, self.root, self.arrays, _group(state, "main"))
        remove_samples(self.root)

    def remove_result(self) -> None:
        """Remove the result, because the run goes on without the scans that it has."""
        for name in (RESULT, SUMMARY):
            remove_file(self.root / name)
        remove_samples(self.root)

    def _attempt(self, what: str, action: Callable[[], None]) -> None:
        before, self.problem = self.problem, ""
        try:
            action()
        except Exception as error:  # whatever it is, the run and its result are worth more than the folder
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            self.problem = f"{what} could not be written to {self.root}: {reason}."
            if not before:
                kept = f" Its checkpoint number {self.number} is whole." if self.kept else ""
                self.say(f"sterna: warning: {self.problem}{kept} The run goes on, and writes again later.")

    def _write(self, state: RunState) -> None:
        paths = {"state": state} if state.beside is None else {"state": state, "state.beside": state.beside}
        rounds = {prefix: [self._name_of(one) for one in found.rounds] for prefix, found in paths.items()}
        document, arrays = take_apart(_without_rounds(state))
        places = {}
        for prefix, found in paths.items():
            places.update(self._places(state, found, prefix))
        self.arrays.attributes = {"target": str(self.origin["name"]), "written by": f"sterna {__version__}"}
        described, tensors = self.arrays.take(arrays, places)
        number = self.number + 1
        path = self.root / f"checkpoint-{number:06d}.safetensors"
        content = {
            "format": FORMAT, "sterna": __version__, "origin": self.origin, "state": document, "rows": described,
            "rounds": rounds,
        }  # fmt: skip
        checksum = write_tensors(path, content, tensors)
        names = frozenset(name for some in rounds.values() for name in some)
        groups = frozenset(place.path.rpartition("/copy-")[0] for place in places.values())
        self.number, self.kept = number, (*self.kept[-1:], Needed(path, checksum, names, groups))
        self._describe(state)
        self._tidy()

    def _places(self, main: RunState, state: RunState, prefix: str) -> dict[str, Place]:
        """Return where the arrays of one path that grow with every scan belong."""
        group = _group(main, "main" if state is main else "beside")
        places = {}
        for number, done in enumerate(state.scans_done):
            path = f"{group}/copy-{number}"
            for name in BY_SCAN:
                rows = int(done) if name in ("positions", "energies") else int(done) // state.thin
                # along the path from a mixture the engine's likelihood is another one
                known_as = f"path_{name}" if name == "log_likelihood" and state.mixture is not None else name
                place = Place(f"{path}/{known_as}", rows, DIMS[name])
                places[f"{prefix}.records.{number}.{name}"] = place
        return places

    def _name_of(self, one: Round) -> str:
        """Return the name of the file with the summary of a round, which is written once."""
        if id(one) not in self.names:
            parts, arrays = documents.take_apart(one, CLASSES, "round")
            text = hashlib.sha256(json.dumps(parts).encode())
            for array in arrays.values():
                text.update(array.tobytes())
            name = f"round-{one.number:02d}-{text.hexdigest()[:16]}"
            make_folder(self.root / ROUNDS)
            write_tensors(self._round_file(name), {"format": FORMAT, "sterna": __version__, "round": parts}, arrays)
            self.names[id(one)] = one, name
        return self.names[id(one)][1]

    def _round_file(self, name: str) -> Path:
        return self.root / ROUNDS / f"{Path(name).name}.safetensors"

    def _describe(self, state: RunState) -> None:
        """Write what readers may want to know of the folder."""
        content = {
            "what": "a run of sterna: sterna.load reads its result, sterna.resume goes on with it",
            "format": FORMAT,
            "sterna": __version__,
            "origin": self.origin,
            "round": state.round_number,
            "tuning rounds": state.settings.n_rounds,
            "scans of this round": [int(done) for done in state.scans_done],
            "ended by": state.ended_by or None,
            "checkpoints": {one.checkpoint.name: one.checksum for one in self.kept},
            "written": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }
        write_json(self.root / MANIFEST, content)

    def _tidy(self) -> None:
        """Remove what no kept checkpoint needs."""
        needed = {one.checkpoint for one in self.kept}
        for path in self.root.glob(CHECKPOINTS):
            if path not in needed and NAME_OF_CHECKPOINT.fullmatch(path.name):
                remove_file(path)
        names = {name for one in self.kept for name in one.rounds}
        for path in (self.root / ROUNDS).glob("*.safetensors"):
            if path.stem not in names and NAME_OF_ROUND.fullmatch(path.stem):
                remove_file(path)
        groups = {group for one in self.kept for group in one.groups}
        for path in (self.root / SCANS).glob("*/*"):
            name = path.relative_to(self.root).as_posix()
            if path.is_dir() and name not in groups and NAME_OF_GROUP.fullmatch(name):
                remove_folder(path)
                self.arrays.forget(path.relative_to(self.root).as_posix())
                if not any(one.is_dir() for one in path.parent.iterdir()):
                    remove_folder(path.parent)

    def where(self) -> str:
        """Say how far the run had come when it was last written."""
        try:
            content = json.loads((self.root / MANIFEST).read_text())
            number, rounds = int(content["round"]), int(content["tuning rounds"])
            scans = max(int(done) for done in content["scans of this round"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return "and what describes it cannot be read"
        phase = f"tuning round {number} of {rounds}" if number <= rounds else "sampling"
        return f"only {count(scans, 'scan')} of {phase}"

    def read(self) -> tuple[RunState, list[str]]:
        """Return the newest state that is whole, and why newer ones were passed over."""
        for part in (self.root, self.root / ROUNDS, self.root / SCANS):
            remove_parts(part, within=part != self.root)
        problems: list[str] = []
        for path in sorted(self.root.glob(CHECKPOINTS), reverse=True):
            self.arrays = ArrayFolder(self.root)
            try:
                state = self._read(path)
            except StorageError as error:
                problems.append(str(error))
                continue
            self.number = max(self.number, _number_of(path))
            return state, problems
        raise StorageError(
            f"{self.root} holds no checkpoint that can be read, so the run cannot go on. {' '.join(problems)}".strip()
        )

    def read_one(self, path: Path) -> RunState:
        """Return the state of one checkpoint, which must be whole."""
        return self._read(path)

    def _read(self, path: Path) -> RunState:
        content, tensors = read_tensors(path)
        try:
            check_format(path, content)
            rounds = {prefix: self._read_rounds(names) for prefix, names in content["rounds"].items()}
            state = put_together(content["state"], self.arrays.give_back(content["rows"], tensors))
            if not isinstance(state, RunState):
                raise TypeError("it holds no run")
            beside = state.beside
            if beside is not None:
                beside = replace(beside, rounds=rounds["state.beside"])
            state = replace(state, rounds=rounds["state"], beside=beside)
            groups = frozenset(str(entry["path"]).rpartition("/copy-")[0] for entry in content["rows"].values())
            names = frozenset(name for some in content["rounds"].values() for name in some)
            self.origin = dict(content["origin"])
        except StorageError:
            raise
        except Exception as error:  # whatever a file says, it must not end in an unexpected way
            raise StorageError(f"{path} is damaged: {type(error).__name__}: {error}") from error
        self.kept = (Needed(path, "", names, groups),)
        return state

    def _read_rounds(self, names: list[str]) -> tuple[Round, ...]:
        found = []
        for name in names:
            content, tensors = read_tensors(self._round_file(str(name)))
            one = documents.put_together(content["round"], tensors, CLASSES)
            if not isinstance(one, Round):
                raise StorageError(f"{self._round_file(str(name))} is damaged: it holds no round.")
            self.names[id(one)] = one, str(name)
            found.append(one)
        return tuple(found)


def _without_rounds(state: RunState) -> RunState:
    beside = None if state.beside is None else replace(state.beside, rounds=())
    return replace(state, rounds=(), beside=beside)


def _group(state: RunState, path: str) -> str:
    """Return the folder of a round's scans along one path."""
    rounds = state.settings.n_rounds
    name = f"sampling-after-{rounds}-rounds" if state.is_sampling else f"round-{state.round_number:02d}-of-{rounds}"
    return f"{SCANS}/{name}/{path}"


def _number_of(path: Path) -> int:
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def holds_run(root: Path) -> bool:
    """Return whether a folder holds a run."""
    return any(root.glob(CHECKPOINTS)) or (root / MANIFEST).exists()
