"""Folders with random content: only errors of storage, little time and memory, and no code of theirs is run."""

import json
import os
import shutil
import time
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

import sterna
from sterna.run.folder import RunFolder
from sterna.storage import growing
from sterna.storage.tensors import read_tensors, write_tensors

MAX_SECONDS, MAX_BYTES = 1.0, 200e6
ODD = [
    None, True, -1, 0, 1, 10**12, 10**30, -(10**9), 1.5, 1e308, "", "x", "../../etc/passwd", [], [[]], {}, {"a": 1},
    {"float": "nan"}, {"array": "state"}, {"tuple": []}, {"Result": {}}, {"RunState": {}}, {"os.system": ["true"]},
    {"builtins.eval": "1"}, {"times": ["x", "O"]}, {"texts": [[10**9], "U", []]}, {"dict": [[1, 2]]}, {"bytes": "00"},
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a small run with full chunks."""
    root = tmp_path_factory.mktemp("fuzzed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "CHUNK_BYTES", 512)
        patch.setattr(growing, "LEAST_CHUNK_BYTES", 512)
        target = sterna.models.normal(2)
        sterna.sample(target, n_chains=3, n_rounds=4, explorer="slice", folder=root, progress=False)
    return root


def places_in(value, path=()):
    """Return the paths of all parts of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places_in(part, (*path, key)))]


def changed(document, path, new):
    """Return a document in which one part is another."""
    if not path:
        return new
    copy = document.copy()
    copy[path[0]] = changed(document[path[0]], path[1:], new)
    return copy


def fuzz_bytes(path, rng):
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 9))):
        at = int(rng.integers(0, len(content) + 1))
        kind = rng.integers(4)
        if kind == 0 and at < len(content):
            content[at] = rng.integers(256)
        elif kind == 1:
            content[at:at] = rng.bytes(int(rng.integers(1, 40)))
        elif kind == 2:
            del content[at : at + int(rng.integers(1, 40))]
        elif rng.random() < 0.2:
            del content[at:]
    path.write_bytes(content)


def fuzz_document(path, rng):
    """Change what a file says, with the right checksum: as somebody with bad intentions would."""
    document, arrays = read_tensors(path)
    places = places_in(document)
    for _ in range(int(rng.integers(1, 4))):
        place = places[rng.integers(len(places))]
        new = ODD[rng.integers(len(ODD))]
        try:
            document = changed(document, place, new)
        except (TypeError, KeyError, IndexError, AttributeError):
            continue
    if arrays and rng.random() < 0.3:
        name = list(arrays)[rng.integers(len(arrays))]
        arrays[name] = [np.zeros((0, 3)), np.full(5, np.nan), np.arange(7, dtype=np.int8), arrays[name][:1]][
            rng.integers(4)
        ]
    try:
        write_tensors(path, document, arrays)
    except (ValueError, TypeError, RecursionError):
        fuzz_bytes(path, rng)


def one(folder, copy, rng):
    """Fuzz one file of a copy of the folder and read it; return whether anything could be read."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    paths = sorted(path for path in copy.rglob("*") if path.is_file() and path.name != "lock")
    tensors = [path for path in paths if path.suffix == ".safetensors"]
    if rng.random() < 0.6:
        fuzz_document(tensors[rng.integers(len(tensors))], rng)
    else:
        fuzz_bytes(paths[rng.integers(len(paths))], rng)
    tracemalloc.clear_traces()
    began, good = time.process_time(), 0
    for read in (lambda: sterna.load(copy), lambda: RunFolder(copy, {}).read(), lambda: RunFolder(copy, {}).where()):
        # any other error ends the test
        with suppress(sterna.StorageError):
            read()
            good += 1
    assert time.process_time() - began < MAX_SECONDS
    assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    return good


def fuzz(folder, tmp_path, monkeypatch, seed, count):
    def forbidden(*given, **keywords):
        raise AssertionError("code of a file was run")

    monkeypatch.setattr(os, "system", forbidden)
    monkeypatch.setattr("builtins.eval", forbidden)
    rng = np.random.default_rng(seed)
    tracemalloc.start()
    try:
        good = [one(folder, tmp_path / "copy", rng) for _ in range(count)]
    finally:
        tracemalloc.stop()
    # much of a folder is for other tools, a damaged checkpoint has another behind it, and other values may be values
    assert 0 < np.mean(np.array(good) == 3) < 1


def test_fuzzed_folders(folder, tmp_path, monkeypatch):
    fuzz(folder, tmp_path, monkeypatch, 1, 150)


@pytest.mark.laws
def test_ten_thousand_fuzzed_folders(folder, tmp_path, monkeypatch):
    fuzz(folder, tmp_path, monkeypatch, 2, 10_000)


def test_the_fuzzer_finds_a_loader_that_runs_code(folder, tmp_path, monkeypatch):
    """A planted fault: a reader that evaluates what a file says."""

    def evaluates(path):
        text = json.dumps(read_tensors(path)[0]["result"])
        return eval(text, {"null": None, "true": True, "false": False})

    monkeypatch.setattr("sterna.run.load.read_result", lambda root: evaluates(root / "result.safetensors"))
    with pytest.raises(AssertionError, match="code of a file was run"):
        fuzz(folder, tmp_path, monkeypatch, 1, 30)
