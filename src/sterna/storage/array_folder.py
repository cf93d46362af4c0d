"""The growing arrays of one folder: what is on disk, what is not yet in a full chunk, and how both become one again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from sterna.errors import StorageError
from sterna.storage.atomic import make_folder
from sterna.storage.document import Arrays
from sterna.storage.growing import SavedRows, append_rows, chunk_rows_of, make_group, read_rows, write_last_rows

# What a name in a file of tensors begins with, if it is that of rows that do not fill a chunk.
LAST = "last rows of "


@dataclass(frozen=True)
class Place:
    """Where an array that grows belongs."""

    path: str
    """Of its folder, relative to that of all arrays."""
    rows: int
    """The rows that are to be saved; later ones mean nothing yet."""
    dims: tuple[str, ...]


@dataclass
class ArrayFolder:
    """A folder with growing arrays; remembers which chunks are on disk."""

    root: Path
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Of all groups, for other tools."""
    saved: dict[str, SavedRows] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    """The paths of arrays whose folders are there."""

    def take(self, arrays: Arrays, places: Mapping[str, Place]) -> tuple[dict[str, Any], Arrays]:
        """Write full chunks of arrays, and return what describes them and all arrays with the last rows instead."""
        described, rest = {}, {name: array for name, array in arrays.items() if name not in places}
        for name, place in places.items():
            array = arrays[name]
            before = self.saved.get(place.path) or SavedRows(0, chunk_rows_of(array), ())
            if place.rows >= before.chunk_rows:
                self._make_folders(place.path)
            self.saved[place.path] = append_rows(self.root / place.path, array, place.rows, before, place.dims)
            now = self._now(place)
            described[name] = {"path": place.path, **asdict(now)}
            rest[LAST + name] = array[now.in_chunks : now.rows]
        return described, rest

    def _now(self, place: Place) -> SavedRows:
        """Return what is saved of an array if only so many rows count."""
        saved = self.saved[place.path]
        return SavedRows(place.rows, saved.chunk_rows, saved.checksums[: place.rows // saved.chunk_rows])

    def finish(self, arrays: Arrays, places: Mapping[str, Place]) -> None:
        """Let other tools see the last rows too."""
        for name, place in places.items():
            self._make_folders(place.path)
            write_last_rows(self.root / place.path, arrays[name], self._now(place), place.dims)

    def _make_folders(self, path: str) -> None:
        """Make the folder of an array and the groups that lead to it; most arrays of short rounds need none."""
        if path not in self.made:
            for part in [*PurePosixPath(path).parents][-2::-1]:
                if not (self.root / part / ".zgroup").exists():
                    make_group(self.root / part, self.attributes)
            make_folder(self.root / path)
            self.made.add(path)

    def give_back(self, described: Mapping[str, Any], arrays: Arrays) -> Arrays:
        """Return all arrays, with the rows that were saved."""
        found = {name: array for name, array in arrays.items() if not name.startswith(LAST)}
        for name, entry in described.items():
            saved = SavedRows(int(entry["rows"]), int(entry["chunk_rows"]), tuple(entry["checksums"]))
            path = _checked(entry["path"])
            self.saved[path] = saved
            found[name] = read_rows(self.root / path, saved, arrays[LAST + name])
        return found

    def forget(self, group: str) -> None:
        """Forget arrays whose group was removed."""
        self.saved = {path: saved for path, saved in self.saved.items() if not path.startswith(group + "/")}
        self.made = {path for path in self.made if not path.startswith(group + "/")}


def _checked(path: str) -> str:
    """Return a path that does not lead out of its folder."""
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or PurePosixPath(path).is_absolute():
        raise StorageError(f"The path {path!r} leads out of the folder: the file is damaged.")
    return path
