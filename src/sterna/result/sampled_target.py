"""What a result keeps of the target that was sampled: its name, its space, and how draws become variables.

While the target exists, its functions compute what is asked for. A result that is pickled or deep-copied takes along
their answers at its draws instead, so that it reads the same in a process that has never seen the model.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sterna.engine.evaluation import evaluate_reference
from sterna.errors import TargetError
from sterna.reference.space import Space, View
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray

Answer = TypeVar("Answer")
Values = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class SampledTarget:
    """A target as its results know it.

    Examples
    --------
    >>> import pickle, sterna
    >>> result = sterna.sample(sterna.models.normal(2), n_chains=4, n_rounds=6, progress=False)
    >>> copy = pickle.loads(pickle.dumps(result))
    >>> copy.target.name, copy.target.space.names
    ('normal', ['x'])
    """

    name: str
    space: Space
    """The variables, in the order of the flat state."""
    view: View | None
    """How a model of another library names what states hold."""
    compiled: bool
    """Whether no part of the target ran as Python."""
    log_reference: Callable[[FloatArray], FloatArray] = field(repr=False)
    """Log-density of the reference at states of shape (..., dimension)."""

    @property
    def circles(self) -> Mapping[str, FloatArray]:
        """(first value, period) of every periodic variable, by name: a row for each entry, or one for all."""
        if self.view is not None:
            return self.view.circles
        return {v.name: v.circle for v in self.space.variables if v.periodic}

    @property
    def unordered(self) -> frozenset[str]:
        """Names of the variables whose values are names of categories."""
        return frozenset(v.name for v in self.space.variables if v.unordered and self.view is None)

    def values(self, states: FloatArray) -> Values:
        """All variables by name, in their own shapes, from states of shape (..., dimension).

        In a result that was pickled or deep-copied, variables that are functions of the state (those of a PyMC or
        NumPyro model, of a prior transform, of a fitted reference) are known at the result's draws only.
        """
        x = self.space.checked(states, self.name)
        return self.space.values(x) if self.view is None else self.view.values(x)

    def stored(self, draws: Sequence[FloatArray]) -> "SampledTarget":
        """Return the target without its functions: their answers at `draws`, the target chain's first, are kept."""
        if isinstance(self.log_reference, StoredFunction):
            return self
        space, view = self.space, self.view
        if space.map is not None or view is not None:
            view = self._stored_view(draws)
        if space.map is not None:
            space = replace(space, map=AbsentMap(space.map.dimension, space.map.mixes))
        log_reference = StoredFunction.of(self.log_reference, draws[:1])
        return replace(self, space=space, view=view, log_reference=log_reference)

    def _stored_view(self, draws: Sequence[FloatArray]) -> "StoredView":
        values = StoredFunction.of(self.values, draws)
        if self.view is None:
            return StoredView(
                {}, {}, self.circles, self.space.names, values, StoredFunction.of(lambda states: {}, draws[:1])
            )
        view = self.view
        groups = StoredFunction.of(lambda states: view.groups(states, True), draws[:1])
        return StoredView(dict(view.dims), dict(view.coords), dict(view.circles), list(view.shown), values, groups)


def sampled_target(target: PreparedTarget) -> SampledTarget:
    """Return what a result keeps of a target."""

    def log_reference(states: FloatArray) -> FloatArray:
        x = target.space.checked(states, target.name)
        rows = np.ascontiguousarray(x.reshape(-1, x.shape[-1]))
        return np.array([evaluate_reference(target.block, row) for row in rows]).reshape(x.shape[:-1])

    return SampledTarget(target.name, target.space, target.view, target.compiled, log_reference)


def _fingerprint(states: FloatArray) -> tuple[tuple[int, ...], bytes]:
    """Return what identifies states, so that draws need not be kept a second time."""
    return states.shape, hashlib.sha256(np.ascontiguousarray(states).data).digest()


@dataclass(frozen=True)
class StoredFunction(Generic[Answer]):
    """A function of states that is known at the draws of a result only."""

    answers: Mapping[tuple[tuple[int, ...], bytes], Answer]

    @classmethod
    def of(cls, function: Callable[[FloatArray], Answer], draws: Sequence[FloatArray]) -> "StoredFunction[Answer]":
        """Evaluate a function at all draws, as they are grouped."""
        return cls({_fingerprint(states): function(states) for states in draws})

    def __call__(self, states: FloatArray) -> Answer:
        """Return the answer at draws that were stored."""
        try:
            return self.answers[_fingerprint(np.asarray(states, dtype=np.float64))]
        except KeyError:
            raise TargetError(_ABSENT) from None


_ABSENT = (
    "This result was pickled or deep-copied, so the functions of its target are not here: variables are known at its "
    "own draws (result.states) only. For other states, build the target again and call target.values(states)."
)


@dataclass
class StoredView:
    """The view of a model that is not here; it knows the draws of its result."""

    dims: Mapping[str, Sequence[str | None]]
    coords: Mapping[str, Any]
    circles: Mapping[str, FloatArray]
    shown: Sequence[str]
    stored_values: StoredFunction[Values]
    stored_groups: StoredFunction[dict[str, Values]]

    def values(self, states: FloatArray) -> Values:
        """The variables by name, at draws of the result."""
        return self.stored_values(states)

    def groups(self, states: FloatArray, log_likelihood: bool) -> dict[str, Values]:
        """What ArviZ holds beside the posterior, by group and name."""
        groups = self.stored_groups(states)
        return {name: values for name, values in groups.items() if log_likelihood or name != "log_likelihood"}


@dataclass
class AbsentMap:
    """The state map of a target that is not here: refuses to compute."""

    dimension: int
    mixes: bool
    data: Mapping[str, FloatArray] = field(default_factory=dict)

    def forward(self, state: FloatArray) -> FloatArray:
        """Refuse: the function of the target is not here."""
        raise TargetError(_ABSENT)

    def lines(self, datum: Callable[[str], str]) -> tuple[list[str], dict[str, Any]]:
        """Refuse: the function of the target is not here."""
        raise TargetError(_ABSENT)
