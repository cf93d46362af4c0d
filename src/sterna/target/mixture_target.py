"""A prepared target whose path begins at a fitted mixture instead of the prior."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sterna.engine.mixture import room_for, write_mixture
from sterna.engine.mixture_path import gradient_address, path_addresses, path_data
from sterna.explorers.base import Explorer
from sterna.explorers.cost import Cost
from sterna.search.mixture import MAX_COMPONENTS, MAX_FULL, Mixture
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray


class MixtureTarget(PreparedTarget):
    """A target with the same states, functions and data as another, and the path from a mixture to it.

    The mixture is changed in place between rounds; compiled code reads it from there.
    """

    def __init__(self, target: PreparedTarget) -> None:
        # the same functions and data, so that whoever evaluates the one can evaluate the other
        self.__dict__.update(target.__dict__)
        self.prior = target
        self.full = target.dimension <= MAX_FULL
        self.mixture: FloatArray = np.zeros(room_for(target.dimension, self.full, MAX_COMPONENTS))
        self._path_data = path_data(target.block, self.mixture)
        fields: dict[str, Any] = path_addresses()
        self.program = target.program._replace(data=self._path_data.ctypes.data, **fields)
        self.block = self.program.block()

    def set_mixture(self, mixture: Mixture) -> None:
        """Set the mixture in place."""
        write_mixture(self.mixture, mixture.weights, mixture.centres, mixture.factors, mixture.prior_share)

    @property
    def kernels(self) -> Mapping[Any, Any]:
        """None, because the target's own kernels contain its likelihood, which is another one here."""
        return {}

    @property
    def explorer(self) -> Explorer | None:
        """None, for the same reason."""
        return None

    @property
    def cost(self) -> Cost:
        """What an evaluation of the target costs, by which explorers are chosen."""
        return self.prior.cost

    @property
    def has_gradient(self) -> bool:
        """Whether the gradient of the target is known; that of the mixture always is."""
        return self.prior.has_gradient

    def prepare_gradient(self) -> None:
        """Compile the gradient, once."""
        self.prior.prepare_gradient()
        if self.program.whole_gradient == 0:
            self.program = self.program._replace(whole_gradient=gradient_address())
            self.block[:] = self.program.block()
