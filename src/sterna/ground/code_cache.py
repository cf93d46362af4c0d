"""Machine code on disk: one file for each compiled function and its types, found by a key of all that it depends on.

Keys hold contents (source, captured values, versions, processor), never times or places of files, so that a change
leads to another file. Files are written elsewhere and moved into place, so that several processes may share the folder.
A file that is missing, damaged or cannot be written only costs another compilation.
"""

import hashlib
import os
import pickle
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import scipy
from llvmlite.binding import address_of_symbol
from numba.core import caching, compiler, config
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from sterna.ground.lazy_library import LazyLibrary

# The folder holds at most so many bytes; the files that were not used for longest are removed.
MAX_BYTES = 512 * 2**20
# After such a clean-up the folder holds at most this share of them, so that clean-ups are rare.
SHARE_KEPT = 0.8
SUFFIX = ".machine_code"
# Of files that are being written; what remains of them after so many seconds belongs to a process that has died.
PREFIX, SECONDS_TO_WRITE = "sterna-writes-", 3600.0


@cache
def cache_folder() -> Path | None:
    """Return the first folder that can be written to: as the user says, the user's cache, or the package itself."""
    candidates = [os.environ.get("STERNA_CACHE_DIR"), _below(os.environ.get("NUMBA_CACHE_DIR"), "sterna")]
    candidates += [_below(_user_cache(), "sterna"), str(Path(__file__).parents[1] / "__pycache__")]
    for candidate in candidates:
        if candidate:
            try:
                folder = Path(candidate)
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                if _is_private(folder):
                    with tempfile.NamedTemporaryFile(dir=folder, prefix=PREFIX):
                        return folder
            except OSError:
                continue
    return None


def _is_private(folder: Path) -> bool:
    """Return whether only this user can write files into a folder: code that is loaded from it is trusted."""
    status = folder.stat()
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o002)


def _below(folder: str | None, name: str) -> str | None:
    return os.path.join(folder, name) if folder else None


def _user_cache() -> str | None:
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches")
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA")
    return os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")


def _environment() -> tuple[object, ...]:
    """Return what all machine code depends on besides its source and the processor."""
    libraries = (numba.__version__, llvmlite.__version__, np.__version__, scipy.__version__)
    options: list[object] = [getattr(config.OPT, "_raw_value", config.OPT), config.LOOP_VECTORIZE, config.SLP_VECTORIZE]
    options += [config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT, config.LLVM_REFPRUNE_PASS, config.LLVM_REFPRUNE_FLAGS]
    return sys.implementation.cache_tag, *libraries, *map(str, options), config.USING_SVML


class CodeCache(caching._Cache):  # type: ignore[misc] # Numba has no types
    """The machine code of one function, in the form that Numba's dispatchers ask for."""

    def __init__(self, key: str) -> None:
        self._key, self._enabled = key, True
        self._unusable: set[Path] = set()
        """Files that cannot be used here, although they are whole."""

    @property
    def cache_path(self) -> str | None:
        """The folder, if there is one."""
        return None if cache_folder() is None else str(cache_folder())

    def enable(self) -> None:
        """Use the files."""
        self._enabled = True

    def disable(self) -> None:
        """Do not use the files."""
        self._enabled = False

    def flush(self) -> None:
        """Do nothing: files of other contents have other names."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for some types, or None if it must be compiled."""
        path = self._path(sig, target_context.codegen())
        if path is None or (payload := read(path)) is None:
            return None
        try:
            symbols, environments, parts = pickle.loads(payload)  # noqa: S301 (its folder is this user's alone)
            make_known(symbols, target_context)
            rebuilt = tuple(rebuilt_environment(*one) for one in environments)
            return compiler.CompileResult._rebuild(target_context, *parts, rebuilt)
        except Exception:  # whatever is wrong with a file, compilation replaces it
            self._unusable.add(path)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a newly compiled function of which there is machine code, unless it holds addresses of this process."""
        library = data.library
        if not (isinstance(library, LazyLibrary) and library.has_machine_code and library.is_known):
            return
        path = self._path(sig, data.codegen)
        if path is None or library.has_dynamic_globals or any(not part.can_cache for part in data.lifted):
            return
        if not path.exists() or path in self._unusable:
            *parts, environments = data._reduce()
            kept = [(one.globals.get("__name__"), one.consts, one.env_name) for one in environments]
            write(path, dumps((library.symbols, kept, parts)))
            self._unusable.discard(path)

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        """Return the file for some types; None if there is no folder, or if a type is an object of this process."""
        folder = cache_folder()
        types = str(sig)
        if folder is None or not self._enabled or " at 0x" in types:
            return None
        key = repr((self._key, types, codegen.magic_tuple(), _environment()))
        return folder / (hashlib.sha256(key.encode()).hexdigest() + SUFFIX)


def rebuilt_environment(module: str, constants: list[object], name: str) -> Environment:
    """Return the environment of a function that is part of machine code, for what it raises or returns to Python.

    Only Python code in it needs the module, and Numba's own functions have none: their modules are not imported.
    """
    if not module.startswith("numba.") or module in sys.modules:
        return _rebuild_env(module, constants, name)
    environment = lookup_environment(name)
    if environment is None:
        environment = Environment({"__name__": module})
        environment.consts[:], environment.env_name = constants, name
        Environment._memo[name] = environment
    return environment


def make_known(symbols: list[str], target_context: Any) -> None:
    """Make known what machine code from disk calls by these names, because LLVM ends the process otherwise.

    Numba's runtime nearly always suffices. All that compilation needs takes most of the time of a start to import.
    """
    rtsys.initialize(target_context)
    if any(address_of_symbol(symbol) is None for symbol in symbols):
        target_context.refresh()


def read(path: Path) -> bytes | None:
    """Return the content of a file and note that it was used; None if there is none, and a damaged one is removed."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, payload = content[:32], content[32:]
    if hashlib.sha256(payload).digest() != digest:
        _remove(path)
        return None
    with suppress(OSError):  # the folder may be readable only
        os.utime(path)
    return payload


def write(path: Path, payload: bytes) -> None:
    """Write a file with its checksum, at once; if that fails, as on a full disk, there is no file."""
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX, delete=False) as file:
            temporary = Path(file.name)
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            _remove(temporary)
        if not isinstance(error, OSError):
            raise
        return
    _bound_folder(path.parent)


_written_since_clean_up = 0


def _bound_folder(folder: Path) -> None:
    """Remove the files that were not used for longest, if the folder is too large; looked at every 64 files."""
    global _written_since_clean_up
    _written_since_clean_up = (_written_since_clean_up + 1) % 64
    if _written_since_clean_up == 1:
        remove_oldest(folder, MAX_BYTES)


def remove_oldest(folder: Path, max_bytes: int) -> None:
    """Keep the folder below a size; other processes may remove files too."""
    found = []
    for path in [*folder.glob("*" + SUFFIX), *folder.glob(PREFIX + "*")]:
        try:
            status = path.stat()
        except OSError:
            continue
        if path.name.startswith(PREFIX):
            if status.st_mtime < time.time() - SECONDS_TO_WRITE:
                _remove(path)
        else:
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    if total <= max_bytes:
        return
    for _, size, path in sorted(found):
        if total <= SHARE_KEPT * max_bytes:
            return
        _remove(path)
        total -= size


def _remove(path: Path) -> None:
    with suppress(OSError):  # it may be gone, or not ours
        path.unlink()
