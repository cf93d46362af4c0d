"""Count the source files that a user's call passes through: from `sample` to the first evaluation, and to the report.

    PYTHONPATH=SOURCE python bench/walks.py [-v]

The likelihood runs as Python, so that its first evaluation can be seen. Only files whose functions are called count, in
the main thread, and not their imports.
"""

import sys
from pathlib import Path

import sterna

ROOT = Path(sterna.__file__).parent


def log_likelihood(x):
    """Mark the first evaluation."""
    if "evaluation" not in marks:
        marks["evaluation"] = len(files)
    return -0.5 * (abs(x) - 3.0) ** 2


def note(frame, event, argument):
    """Remember the file of every call."""
    if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)) and frame.f_code.co_name != "<module>":
        files.setdefault(str(Path(frame.f_code.co_filename).relative_to(ROOT)), len(files))


files, marks = {}, {}
# everything is imported and compiled by a first run
for run in range(2):
    files, marks = {}, {}
    sys.setprofile(note if run else None)
    target = sterna.Target(log_likelihood, {"x": sterna.Normal(0, 5)}, compile=False)
    text = str(sterna.sample(target, explorer="slice", n_rounds=5, progress=False))
    sys.setprofile(None)
print(f"to the first evaluation: {marks['evaluation']} files; to the report: {len(files)} files")
if "-v" in sys.argv:
    for name, order in files.items():
        print("  " if order < marks["evaluation"] else "      ", name)
