"""`sterna.load`: the result that a folder holds, without the target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sterna.errors import StorageError
from sterna.result.result import Result
from sterna.result.saved import RESULT, path_of, read_result
from sterna.run.folder import RunFolder, holds_run

if TYPE_CHECKING:
    import os


def load(folder: str | os.PathLike[str]) -> Result:
    """Return the result in the folder of a run, or in one that `result.save` wrote; the target is not needed.

    Nothing in the folder is ever run, so that folders of other people are safe to read.

    Examples
    --------
    >>> import sterna, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = sterna.sample(sterna.models.normal(2), n_chains=4, n_rounds=5, folder=folder, progress=False)
    ...     again = sterna.load(folder)
    >>> again.log_evidence == result.log_evidence
    True
    """
    root = path_of(folder)
    if (root / RESULT).is_file():
        # it may have been moved
        return replace(read_result(root), folder=str(root) if holds_run(root) else "")
    if not root.is_dir():
        raise StorageError(f"{root} is not there: give the folder of a run, or one that result.save wrote.")
    if holds_run(root):
        raise StorageError(
            f"The run in {root} has no result yet, {RunFolder(root, {}).where()}: it is still going on, or was killed. "
            "Then sterna.resume(folder, target) brings it to its end."
        )
    raise StorageError(f"{root} holds no run of sterna: give the folder of a run, or one that result.save wrote.")
