"""Ctrl-C during an import is raised at its end: a library imported by half often cannot be imported again."""

import signal
import sys
import threading

import pytest

import sterna
from sterna.ground.whole_import import import_whole

pytestmark = pytest.mark.usefixtures("untraced_thread")


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module whose import is interrupted."""
    lines = ["import signal", "begun = True", "signal.raise_signal(signal.SIGINT)", "complete = True"]
    (tmp_path / "interrupted_module.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield "interrupted_module"
    sys.modules.pop("interrupted_module", None)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_the_interrupt_waits(module):
    with pytest.raises(KeyboardInterrupt):
        import_whole(module)
    assert sys.modules[module].complete


def test_a_handler_that_does_not_raise(module):
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    assert import_whole(module).complete
    assert seen == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_cannot_change_handlers():
    found = []
    thread = threading.Thread(target=lambda: found.append(import_whole("math")))
    thread.start()
    thread.join()
    assert found[0].pi > 3.0


def test_public_names_are_imported_in_this_way():
    assert sterna._import_whole is import_whole
