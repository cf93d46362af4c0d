"""Sources of the models' data: arguments, otherwise files of a folder that the user names, otherwise simulation."""

import os
from pathlib import Path

from sterna.errors import OptionError
from sterna.target.target import Target

# The environment variable that names the folder with the data of all models; `sterna run --data` sets it.
FOLDER = "STERNA_DATA"

SEED = 1


def data_file(*parts: str) -> Path | None:
    """Return the path of a data file, or None if no folder is named and the model is to simulate its data."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    path = Path(folder, *parts)
    if not path.is_file():
        raise OptionError(
            f"{path} does not exist: the data folder (--data, or the environment variable {FOLDER}) must contain "
            f"{'/'.join(parts)}. If no folder is named, the model simulates its data."
        )
    return path


def say_simulated(target: Target) -> Target:
    """Add a note to a target that its data were simulated."""
    return target.with_notes(
        f"The data are simulated from the model itself (seed {SEED}), in the sizes of the paper. To use real data, "
        f"pass them as arguments, or name their folder by --data or {FOLDER}."
    )
