"""How the cost of a fitted mixture grows: a search with its starts, a refit and an evaluation of q with the dimension.

Printed by `python bench/modes.py growth`. Times are CPU seconds of this process; a search is measured in evaluations.
"""

import math
import time
from collections.abc import Callable

import numpy as np

import sterna
from sterna.engine.line_evaluation import evaluate_references
from sterna.engine.round import new_copy
from sterna.ground.streams import new_stream
from sterna.search.climb import climb
from sterna.search.mixture import MAX_FULL, Mixture, refitted
from sterna.target.mixture_target import MixtureTarget


def seconds_of(function: Callable[[], object], least: float = 0.2) -> float:
    """Return the CPU seconds of a call, repeated until it took long enough to be measured."""
    calls, began = 0, time.process_time()
    while time.process_time() - began < least:
        function()
        calls += 1
    return (time.process_time() - began) / calls


def mixture_of(dimension: int, number: int) -> Mixture:
    """Return equal components far apart, with full covariances as far as a run has them."""
    centres = 10.0 * np.random.default_rng(1).standard_normal((number, dimension))
    unit = np.eye(dimension) if dimension <= MAX_FULL else np.ones(dimension)
    return Mixture(np.full(number, 1.0 / number), centres, np.array([unit] * number))


def refit_seconds(dimension: int, number: int = 4, draws: int = 4000) -> float:
    """Return the time of fitting a mixture to target draws again."""
    mixture, rng = mixture_of(dimension, number), np.random.default_rng(2)
    points = mixture.centres[rng.integers(number, size=draws)] + 0.8 * rng.standard_normal((draws, dimension))
    return seconds_of(lambda: refitted(mixture, points))


def flat(x: object) -> float:
    """A likelihood that costs nothing."""
    return 0.0


def evaluation_seconds(dimension: int, number: int) -> float:
    """Return the time of one evaluation of q at draws of its components."""
    prepared = sterna.Target(flat, {"x": sterna.Normal(0, 10, shape=dimension)}).prepare()
    target, mixture, rows = MixtureTarget(prepared), mixture_of(dimension, number), 1000
    target.set_mixture(mixture)
    rng = np.random.default_rng(3)
    points = mixture.centres[rng.integers(number, size=rows)] + rng.standard_normal((rows, dimension))
    values, copy, stream = np.empty((rows, 1)), new_copy(rows, dimension), new_stream()
    return seconds_of(lambda: evaluate_references(target.block, points, values, copy, 0, rows, stream)) / rows


class Counted:
    """A correlated normal density that counts its evaluations (`sterna.search.landscape.Landscape`)."""

    def __init__(self, dimension: int) -> None:
        self.free, self.periods = np.ones(dimension, dtype=bool), np.zeros(dimension)
        self.limits, self.has_slopes, self.spent = np.full(dimension, np.inf), False, 0
        self.widths = np.geomspace(0.1, 1.0, dimension)

    def values(self, points: np.ndarray) -> np.ndarray:
        self.spent += len(points)
        return np.asarray(-0.5 * ((points / self.widths) ** 2).sum(axis=1))

    def stencils(self, points: np.ndarray, steps: np.ndarray) -> np.ndarray:
        shifts = steps[:, :, None] * np.eye(points.shape[1])
        both = [self.values((points[:, None] + sign * shifts).reshape(-1, points.shape[1])) for sign in (1, -1)]
        return np.stack([found.reshape(points.shape) for found in both], axis=2)


def climb_evaluations(dimension: int, starts: int) -> int:
    """Return the evaluations of climbs from so many starts to the end."""
    landscape = Counted(dimension)
    climb(landscape, np.random.default_rng(4).uniform(-10, 10, (starts, dimension)), np.ones(dimension))
    return landscape.spent


def growth() -> None:
    """Print the tables."""
    print("climbs to the end, evaluations per start: by starts (10 dimensions), by dimension (100 starts)")
    print("   ", {starts: round(climb_evaluations(10, starts) / starts) for starts in (10, 100, 1000)})
    print("   ", {d: round(climb_evaluations(d, 100) / 100) for d in (2, 5, 10, 20, 50)})
    print("refit of 4 components to 4000 draws, ms by dimension (full covariances up to 100):")
    times = {d: refit_seconds(d) for d in (5, 10, 20, 50, 100, 200, 400)}
    print("   ", {d: round(1e3 * seconds, 2) for d, seconds in times.items()})
    print(f"    exponent from 20 to 100: {math.log(times[100] / times[20]) / math.log(5):.2f} (at most 3)")
    print("one evaluation of q, us by dimension, for 1, 4 and 16 components:")
    for number in (1, 4, 16):
        print("   ", number, {d: round(1e6 * evaluation_seconds(d, number), 2) for d in (2, 10, 20, 50, 100, 200)})
