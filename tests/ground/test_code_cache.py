"""Machine code on disk: found again, never out of date, bounded, and harmless where it cannot be written."""

import os
import subprocess
import sys

import pytest
from numba.core.registry import cpu_target

from sterna.ground import code_cache
from sterna.ground.code_cache import PREFIX, SUFFIX, cache_folder, make_known, read, remove_oldest, write


@pytest.fixture
def fresh_folder_choice():
    cache_folder.cache_clear()
    yield
    cache_folder.cache_clear()


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "code"
    assert read(path) is None
    write(path, b"machine code")
    assert read(path) == b"machine code"
    assert [found.name for found in tmp_path.iterdir()] == ["code"]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:20], lambda b: b"", lambda b: b[:-1] + b"x"])
def test_a_damaged_file_counts_as_missing(tmp_path, damage):
    path = tmp_path / "code"
    write(path, b"machine code")
    path.write_bytes(damage(path.read_bytes()))
    assert read(path) is None


def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(code_cache.os, "replace", full)
    write(tmp_path / "code", b"machine code")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_no_error(tmp_path):
    write(tmp_path / "gone" / "code", b"machine code")


def test_the_files_not_used_for_longest_are_removed(tmp_path):
    for age in range(10):
        path = tmp_path / f"{age}{SUFFIX}"
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    (tmp_path / "of somebody else").write_bytes(bytes(10_000))
    remove_oldest(tmp_path, 1000)
    assert len(list(tmp_path.iterdir())) == 11
    remove_oldest(tmp_path, 999)
    assert sorted(path.name for path in tmp_path.glob("*" + SUFFIX)) == [f"{age}{SUFFIX}" for age in range(7)]


def test_reading_counts_as_use(tmp_path):
    path = tmp_path / "code"
    write(path, b"machine code")
    os.utime(path, (1e9, 1e9))
    read(path)
    assert path.stat().st_mtime > 1e9


@pytest.mark.usefixtures("fresh_folder_choice")
def test_the_first_folder_that_can_be_written_is_used(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("STERNA_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache_folder() == tmp_path / "numba" / "sterna"


SCRIPT = """
import os, resource, sys
import numpy as np
from numba.core import event
if "full" in sys.argv:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import sterna

compiled = []
class Count(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
event.register("numba:compile", Count())

FACTOR = 2.0 if "captured" not in sys.argv else 4.0

if "helper" in sys.argv:
    def helper(mu):
        return 3.0 * mu
else:
    def helper(mu):
        return mu

def log_likelihood(mu, y):
    return FACTOR * helper(mu) + y[0]

target = sterna.Target(log_likelihood, {"mu": sterna.HalfNormal(2.0)}, {"y": np.array([0.5])})
assert target.compiled
print(target.log_densities(mu=1.5)[1], len(compiled))
# what only compilation needs takes longer to import than all code takes to load
assert compiled or "numba.np.linalg" not in sys.modules
"""


def started(folder, *arguments):
    """Start a script that evaluates a target."""
    environment = {**os.environ, "STERNA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process):
    """Return the value and the number of compilations of a script that was started."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    value, compilations = out.split()
    return float(value), int(compilations)


def test_processes_share_a_folder_and_notice_every_change(tmp_path):
    # two at once, with nothing in the folder
    for first in [started(tmp_path), started(tmp_path)]:
        value, compilations = outcome(first)
        assert value == 3.5
        assert compilations > 0
    assert outcome(started(tmp_path)) == (3.5, 0)
    value, compilations = outcome(started(tmp_path, "helper"))
    assert (value, compilations > 0) == (9.5, True)
    value, compilations = outcome(started(tmp_path, "captured"))
    assert (value, compilations > 0) == (6.5, True)


def test_code_that_calls_what_is_not_known_yet_makes_numba_load_everything():
    """LLVM ends the process if a name is not known."""

    class Context:
        refreshed = 0

        def refresh(self):
            self.refreshed += 1

    make_known([], cpu_target.target_context)
    context = Context()
    make_known(["sqrt", "numba_xxgemm", "NRT_MemInfo_alloc_aligned"], context)
    assert context.refreshed == 0
    make_known(["sqrt", "a_name_that_nobody_has"], context)
    assert context.refreshed == 1


@pytest.mark.laws
@pytest.mark.skipif(sys.platform == "win32", reason="file sizes cannot be limited")
def test_a_disk_without_space_and_damaged_files_only_cost_time(tmp_path):
    assert outcome(started(tmp_path, "full"))[0] == 3.5
    assert list(tmp_path.glob("*" + SUFFIX)) == []
    outcome(started(tmp_path))
    files = list(tmp_path.glob("*" + SUFFIX))
    assert files
    for number, path in enumerate(files):
        path.write_bytes(path.read_bytes()[: 40 * number])
    value, compilations = outcome(started(tmp_path))
    assert (value, compilations > 0) == (3.5, True)
    assert outcome(started(tmp_path)) == (3.5, 0)


def test_only_sternas_own_files_are_removed(tmp_path):
    old = [tmp_path / name for name in ("thesis.tmp", f"{PREFIX}1", f"{PREFIX}2")]
    for path in old:
        path.touch()
        os.utime(path, (1e9, 1e9))
    os.utime(old[2])
    remove_oldest(tmp_path, 10**9)
    assert [path.exists() for path in old] == [True, False, True]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner")
@pytest.mark.usefixtures("fresh_folder_choice")
def test_a_folder_that_all_may_write_to_is_not_trusted(tmp_path, monkeypatch):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setenv("STERNA_CACHE_DIR", str(open_to_all))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache_folder() == tmp_path / "numba" / "sterna"


LINKED = """
import sys
import numpy as np
import sterna

def by_columns(x, m):
    return np.sum(m, axis=0)[0] * x + np.sum(m * m, axis=0)[1]

def by_rows(x, m):
    return np.sum(m, axis=1)[0] * x + np.sum(m * m, axis=1)[1]

m = np.array([[1.0, 2.0], [30.0, 40.0]])
for name in sys.argv[1:]:
    function = globals()[name]
    target = sterna.Target(function, {"x": sterna.Normal(0, 1)}, {"m": m})
    assert target.compiled
    assert target.log_densities(x=1.5)[1] == function(1.5, m), name
"""


def test_code_of_two_processes_is_not_mixed_up(tmp_path):
    """Numba numbers functions from 1 in each process, and links parts of machine code by name and number."""
    environment = {**os.environ, "STERNA_CACHE_DIR": str(tmp_path)}
    for names in (["by_columns"], ["by_rows"], ["by_columns", "by_rows"], ["by_rows", "by_columns"]):
        subprocess.run([sys.executable, "-c", LINKED, *names], env=environment, check=True)
