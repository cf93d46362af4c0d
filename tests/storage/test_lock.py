"""One process at a time writes to a folder, and a killed one leaves it free."""

import errno
import os
import signal
import subprocess
import sys

import pytest

import sterna
from sterna.storage import lock
from sterna.storage.lock import locked

HOLD = """
import sys, time, pathlib
from sterna.storage.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    refused = pytest.raises(sterna.StorageError, match=f"in use by another run .process {holder.pid} on ")
    with refused, locked(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with locked(tmp_path):
        assert (tmp_path / "lock").read_text().startswith(f"process {os.getpid()} on ")


def test_the_same_process_is_refused_too(tmp_path):
    with locked(tmp_path), pytest.raises(sterna.StorageError, match="in use"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(sterna.StorageError, match="cannot be written to"), locked(tmp_path / "none"):
        pass


def test_a_file_system_without_locks_is_used_without(tmp_path, monkeypatch):
    def fails(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_lock", fails)
    with locked(tmp_path), locked(tmp_path):
        pass
