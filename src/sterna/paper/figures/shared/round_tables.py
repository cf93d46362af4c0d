"""Tables of what the rounds of a run found: schedules, rejections, barriers and evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sterna.paper.figure import Table, Tables, table
from sterna.result.result import Result
from sterna.types import FloatArray

# Betas at which barriers are drawn: half of them close to 0, where many barriers have a narrow peak.
GRID = np.unique(np.concatenate([np.geomspace(1e-4, 1.0, 100), np.linspace(0.0, 1.0, 101)]))

PAIRS = ("label", "round", "pair", "beta", "next_beta", "rejection", "error")
CURVES = ("label", "round", "beta", "local", "cumulative", "placement")
ROUNDS = ("label", "round", "scans", "chains", "barrier", "rejections", "deviation", "zero_share", "evidence", "error")


def round_tables(results: Sequence[tuple[str, Result]], curves: str = "all") -> Tables:
    """Return the tables of several runs; barriers as functions of beta of "all" rounds or of the "last" one."""
    pairs: list[Sequence[object]] = []
    lines: list[Sequence[object]] = []
    rounds: list[Sequence[object]] = []
    for label, result in results:
        for number, one in enumerate(result.rounds, 1):
            estimate = one.log_evidence
            deviation = float(one.rejection.std())
            sums = one.barrier.total, float(one.rejection.sum()), deviation, one.zero_share
            rounds.append((label, number, one.n_scans, one.n_chains, *sums, estimate.value, estimate.error))
            steps = zip(one.schedule[:-1], one.schedule[1:], one.rejection, one.rejection_error, strict=True)
            pairs += [(label, number, pair, *step) for pair, step in enumerate(steps)]
            if curves == "all" or one is result.rounds[-1]:
                barrier, placement = one.barrier, one.placement_barrier
                local, total, placed = barrier.local(GRID), barrier.cumulative(GRID), placement.cumulative(GRID)
                lines += [(label, number, *row) for row in zip(GRID, local, total, placed, strict=True)]
    return {"pairs": table(PAIRS, pairs), "curves": table(CURVES, lines), "rounds": table(ROUNDS, rounds)}


def schedule_of(pairs: Table) -> FloatArray:
    """Return the betas of one round from its pairs."""
    return np.append(pairs["beta"], pairs["next_beta"][-1:])
