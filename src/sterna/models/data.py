"""Where the models' data come from: arguments, else files of a folder that the user names, else simulation."""

import os
from pathlib import Path

from sterna.errors import OptionError
from sterna.target.target import Target

# Names the folder with the data of all models, one folder for each; `sterna run --data` sets it.
FOLDER = "STERNA_DATA"

SEED = 1


def data_file(*parts: str) -> Path | None:
    """Return the path of a data file, or None if no folder is named: then the model simulates its data."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    path = Path(folder, *parts)
    if not path.is_file():
        raise OptionError(
            f"There is no {path}: the data folder (--data, or the environment variable {FOLDER}) must hold "
            f"{'/'.join(parts)}. Without a folder the model simulates its data."
        )
    return path


def say_simulated(target: Target) -> Target:
    """Note that a target's data were simulated."""
    return target.with_notes(
        f"The data are simulated from the model itself (seed {SEED}), in the sizes of the paper. Real data are taken "
        f"as arguments, or from a folder named by --data or {FOLDER}."
    )
