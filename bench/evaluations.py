"""Accuracy for a budget of likelihood evaluations: three modes in 12 dimensions, by explorer.

The modes are normal, with standard deviation 0.3 and weights 0.6, 0.3 and 0.1; the prior is uniform with width 20 in
every coordinate. The goal for each explorer is a log evidence within 0.1 and weights within 0.05 of the exact values,
with 1.5 million evaluations in total, including tuning. `python bench/evaluations.py --seeds 8`.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import sterna
from sterna.explorers.evolution import Evolution
from sterna.explorers.fitted import Fitted
from sterna.explorers.metropolis import Metropolis

DIMENSION, WIDTH, PRIOR = 12, 0.3, 20.0
WEIGHTS = np.array([0.6, 0.3, 0.1])
BUDGET = 1_500_000


def centres_at(distance: float) -> np.ndarray:
    """Return the centres: neighbours are `distance` widths apart, in orthogonal directions."""
    signs = np.array([[1, 1], [1, -1], [-1, -1]]).repeat(DIMENSION // 2, axis=1)
    # the first and the last are farther from each other, by a factor of sqrt(2)
    return signs * distance * WIDTH / math.sqrt(2 * DIMENSION)


def three_modes(x, centres, log_densities):  # type: ignore[no-untyped-def]
    """Return the log-density of the mixture."""
    total, highest = 0.0, -math.inf
    for mode in range(3):
        square = 0.0
        for k in range(x.size):
            square += (x[k] - centres[mode, k]) ** 2
        value = log_densities[mode] - 0.5 * square / WIDTH**2
        if value > highest:
            total = total * math.exp(highest - value) + 1.0
            highest = value
        else:
            total += math.exp(value - highest)
    return highest + math.log(total)


def make_target(centres: np.ndarray) -> sterna.Target:
    """Return the target; its log evidence is minus the log volume of the prior."""
    log_densities = np.log(WEIGHTS) - DIMENSION * math.log(WIDTH * math.sqrt(2 * math.pi))
    reference = {"x": sterna.Uniform(-PRIOR / 2, PRIOR / 2, shape=DIMENSION)}
    return sterna.Target(three_modes, reference, {"centres": centres, "log_densities": log_densities})


@dataclass(frozen=True)
class Setting:
    """An explorer, and how long to run it."""

    label: str
    explorer: Any
    n_rounds: int
    n_scans: int


SETTINGS = [
    Setting("Slice(0.25)", sterna.Slice(0.25), 8, 4500),
    Setting("Slice(1)", sterna.Slice(1.0), 7, 900),
    Setting("Metropolis(5)", Metropolis(5), 9, 15000),
    Setting("Evolution(5, radial=0)", Evolution(5, radial=0.0), 9, 15000),
    Setting("Evolution(5)", Evolution(5), 9, 15000),
    Setting("Cycle(Metropolis(1), Fitted(1))", sterna.Cycle(Metropolis(1), Fitted(1)), 10, 36000),
    Setting("Cycle(Evolution(1), Fitted(1))", sterna.Cycle(Evolution(1), Fitted(1)), 10, 36000),
    Setting("Cycle(Evolution(3), Fitted(1))", sterna.Cycle(Evolution(3), Fitted(1)), 9, 18500),
]


def errors_of(result: sterna.Result, centres: np.ndarray) -> tuple[float, float]:
    """Return the errors of the log evidence and of the worst weight."""
    draws = result.posterior["x"].values.reshape(-1, DIMENSION)
    nearest = ((draws[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    weights = np.bincount(nearest, minlength=3) / len(draws)
    exact = -DIMENSION * math.log(PRIOR)
    return result.log_evidence.value - exact, float(np.abs(weights - WEIGHTS).max())


def report(setting: Setting, target: sterna.Target, centres: np.ndarray, seeds: Sequence[int]) -> None:
    """Run a setting with every seed and print its errors."""
    rows = []
    for seed in seeds:
        result = sterna.sample(
            target,
            explorer=setting.explorer,
            explorations=1,
            n_rounds=setting.n_rounds,
            n_scans=setting.n_scans,
            seed=seed,
            progress=False,
        )
        rows.append((*errors_of(result, centres), result.evaluations, result.restarts))
    evidence, weight, evaluations, restarts = np.array(rows).T
    good = (np.abs(evidence) < 0.1) & (weight < 0.05) & (evaluations <= BUDGET)
    print(
        f"{setting.label:34} {math.sqrt(np.mean(evidence**2)):8.3f} {np.abs(evidence).max():7.3f} "
        f"{math.sqrt(np.mean(weight**2)):8.3f} {weight.max():7.3f} {evaluations.max() / 1e6:7.2f} "
        f"{restarts.mean():8.0f} {good.sum():4d}/{len(good)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=101, help="the first seed")
    parser.add_argument("--distance", type=float, default=20.0, help="distance between modes, in widths")
    parser.add_argument("--only", default="", help="only settings whose label contains this")
    given = parser.parse_args()
    centres = centres_at(given.distance)
    target = make_target(centres)
    print(f"{'':34} {'log Z':>8} {'worst':>7} {'weights':>8} {'worst':>7} {'million':>7} {'restarts':>8}   good")
    for setting in SETTINGS:
        if given.only in setting.label:
            report(setting, target, centres, range(given.first, given.first + given.seeds))


if __name__ == "__main__":
    main()
