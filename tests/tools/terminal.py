"""Commands that write to a terminal."""

import os
import pty
import subprocess


def read_terminal(command, output=False, **environment):
    """Run a command whose standard error, and output if asked for, is a terminal; return what the terminal received."""
    parent, child = pty.openpty()
    streams = {"stderr": child, **({"stdout": child} if output else {})}
    process = subprocess.Popen(command, env={**os.environ, **environment}, **streams)
    os.close(child)
    text = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:
            break
        if not chunk:
            break
        text += chunk
    os.close(parent)
    assert process.wait() == 0
    return text.decode()
