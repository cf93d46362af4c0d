"""A run's target as a landscape: rows are evaluated by whoever explores replicas in this run."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from sterna.engine.line_evaluation import (
    evaluate_points,
    evaluate_references,
    evaluate_slopes,
    evaluate_stencils,
    from_lines,
    to_lines,
)
from sterna.engine.program import EVALUATIONS, GRADIENTS
from sterna.engine.round import Copy, new_copy
from sterna.ground.values import HUGE, REAL
from sterna.run.runtime import Runtime
from sterna.search.search import Search
from sterna.types import BoolArray, FloatArray
from sterna.workers.point_errors import Place, errors_at_point

SEARCHING = Place("in a search for modes or missed mass")

# Rows that are evaluated in one call, if this process evaluates them.
ROWS = 4096

# Rows that take longer are shared among threads; waking one takes about 0.1 ms.
SHARED_SECONDS = 0.005

# The most that a climb changes a bounded variable at once: by this many units of the logistic or exponential function.
MAX_CHANGE = 2.0


class TargetLandscape:
    """The target of a run on the unconstrained line (`sterna.search.landscape.Landscape`)."""

    def __init__(self, runtime: Runtime, n_chains: int) -> None:
        self._runtime, self._block = runtime, runtime.target.block
        # a function of many points may have been compiled for as many points as there are chains
        self._rows = n_chains if runtime.evaluates_elsewhere else ROWS
        self.free: BoolArray = runtime.target.program.value_type == REAL
        program = runtime.target.program
        bounded = (program.lower > -HUGE) | (program.upper < HUGE)
        self.periods: FloatArray = program.circles[1::2]
        around = np.where(self.periods > 0.0, 0.25 * self.periods, np.inf)
        self.limits: FloatArray = np.where(bounded, MAX_CHANGE, around)
        # a gradient that no explorer of the run needs is not compiled for this
        self.has_slopes = program.likelihood_gradient != 0 or program.whole_gradient != 0
        self.evaluations = self.gradients = 0
        cost = runtime.target.measured_cost
        self._gradient_cost = 2 if cost is None else cost.gradient
        # of a row, by function; only who evaluates depends on it
        self._seconds: dict[Callable[..., None], float] = {}

    @property
    def spent(self) -> int:
        """Evaluations so far; a gradient counts as several."""
        return self.evaluations + self.gradients * self._gradient_cost

    def cost_of(self, search: Search) -> int:
        """Return what a search has spent."""
        return search.evaluations + search.gradients * self._gradient_cost

    def values(self, points: FloatArray) -> FloatArray:
        """Return the log-densities of points."""
        values = np.empty((len(points), 1))
        for part in self._parts(len(points)):
            self._apply(evaluate_points, np.ascontiguousarray(points[part]), values[part])
        return values[:, 0]

    def references(self, points: FloatArray) -> FloatArray:
        """Return the log-densities of the reference at points."""
        values = np.empty((len(points), 1))
        for part in self._parts(len(points)):
            self._apply(evaluate_references, np.ascontiguousarray(points[part]), values[part])
        return np.asarray(np.nan_to_num(values[:, 0], nan=-np.inf))

    def stencils(self, points: FloatArray, steps: FloatArray) -> FloatArray:
        """Return the log-density one step up and down each coordinate."""
        values = np.zeros((len(points), 2 * points.shape[1]))
        for part in self._parts(len(points)):
            self._apply(
                evaluate_stencils, np.ascontiguousarray(points[part]), np.ascontiguousarray(steps[part]), values[part]
            )
        return values.reshape(*points.shape, 2)

    def slopes(self, points: FloatArray) -> FloatArray:
        """Return the gradients of the log-density."""
        slopes, scratch = np.zeros_like(points), np.zeros_like(points)
        for part in self._parts(len(points)):
            self._apply(evaluate_slopes, np.ascontiguousarray(points[part]), slopes[part], scratch[part])
        return slopes

    def points_of(self, states: FloatArray) -> FloatArray:
        """Return the points of states."""
        points = np.empty(states.shape)
        to_lines(self._block, np.ascontiguousarray(states), points)
        return points

    def variables(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the states of points, and the log-Jacobian of every coordinate."""
        states, log_jacobians = np.empty(points.shape), np.empty(points.shape)
        from_lines(self._block, np.ascontiguousarray(points), states, log_jacobians)
        return states, log_jacobians

    def _parts(self, count: int) -> list[slice]:
        return [slice(k, min(k + self._rows, count)) for k in range(0, count, self._rows)]

    def _apply(self, function: Callable[..., None], *arrays: FloatArray) -> None:
        """Evaluate rows as if they were replicas of a copy of their own, and count."""
        elsewhere, count = self._runtime.evaluates_elsewhere, len(arrays[0])
        copy: Copy = new_copy(self._rows if elsewhere else count, self._runtime.target.dimension)
        call, began = partial(function, self._block, *arrays), time.perf_counter()
        if elsewhere or count * self._seconds.get(function, 0.0) > SHARED_SECONDS:
            self._runtime.on_replicas(0, copy, call, SEARCHING)
        else:
            with errors_at_point(self._runtime.target, copy, SEARCHING):
                call(copy, 0, count, self._runtime.streams[0])
        # the best time counts, because others were disturbed
        seconds = (time.perf_counter() - began) / count
        self._seconds[function] = min(seconds, self._seconds.get(function, seconds))
        self.evaluations += int(copy.log_densities[:, EVALUATIONS].sum())
        self.gradients += int(copy.log_densities[:, GRADIENTS].sum())
