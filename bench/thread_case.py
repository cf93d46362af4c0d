"""Two independent copies: two threads compared with one."""

from collections.abc import Callable
from typing import Any

import numpy as np
from report import Row, race

import sterna


def race_threads(limit: float) -> list[Row]:
    """Return the ratio of sampling times of two copies with one and two threads, and whether the bits agree."""
    return [
        _race("normal d=100, 10 chains, 2 copies", sterna.models.normal(dim=100), 10, 1000, limit),
        _race("ising 30x30, 30 chains, 2 copies", sterna.models.ising(size=30), 30, 4000, limit),
    ]


def _race(label: str, target: Any, chains: int, n_scans: int, limit: float) -> Row:
    draws: dict[int, Any] = {}

    def by_threads(workers: int) -> Callable[[], float]:
        def run() -> float:
            result = sterna.sample(
                target, n_chains=chains, n_rounds=5, n_scans=n_scans, n_copies=2, workers=workers, thin=10,
                progress=False,
            )  # fmt: skip
            draws[workers] = next(iter(result.posterior.values())).values
            return result.timing["sampling"]

        return run

    one, two = race([by_threads(1), by_threads(2)])
    same = "same bits" if np.array_equal(draws[1], draws[2]) else "DIFFERENT RESULTS"
    scan = 1e6 * one / (2 * n_scans)
    return Row(label, one, two, one / two, limit, f"{same}; {scan:.0f} us per scan", at_least=True)
