"""The user's call: options, the loop over rounds, the run's state as data, progress."""

import sys
from types import ModuleType
from typing import NoReturn


class _Folder(ModuleType):
    """This folder, which users of other samplers take for a function."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            "sterna.run is not a function: sterna.sample(log_likelihood, reference, data) runs the sampler."
        )


sys.modules[__name__].__class__ = _Folder
