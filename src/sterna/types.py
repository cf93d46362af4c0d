"""Types that all layers share: arrays, and the pointers of compiled code."""

from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
WordArray: TypeAlias = NDArray[np.uint64]
"""Words of a random stream."""
IndexArray: TypeAlias = NDArray[np.int16]
"""Chains of replicas, in two bytes each because there may be many."""

Auto: TypeAlias = Literal["auto"]


class FloatPointer(Protocol):
    """A bare pointer to float64 numbers: it can be indexed, but has no length and no methods of an array."""

    def __getitem__(self, index: int, /) -> float: ...

    def __setitem__(self, index: int, value: float, /) -> None: ...


class IntPointer(Protocol):
    """A bare pointer to int64 numbers."""

    def __getitem__(self, index: int, /) -> int: ...

    def __setitem__(self, index: int, value: int, /) -> None: ...


class WordPointer(Protocol):
    """A bare pointer to the words of a random stream."""

    def __getitem__(self, index: int, /) -> np.uint64: ...

    def __setitem__(self, index: int, value: np.uint64, /) -> None: ...
