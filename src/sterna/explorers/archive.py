"""A record of a chain's states, even over a round, which the next round's proposals are made of.

A kernel calls `record_state` once a scan. Tuning turns what all copies have kept into the archive of the next round, in
which it is frozen: detailed balance then holds given the archive.
"""

from collections.abc import Sequence

import numpy as np

from sterna.ground.compilation import inlined, offset_pointer
from sterna.types import FloatArray, FloatPointer

# Places in a chain's row of statistics: scans, every how many of them one is kept, points kept, four counts of the
# explorer's own; then the points.
SCANS, EVERY, KEPT, COUNTS, RECORD = 0, 1, 2, 3, 7

# The most centres of a chain, and the share of variance that may be left where a cloud of points is split in two: a
# normal law cut in half leaves 0.36 of it, two modes seven standard deviations apart less than 0.1.
MOST_CENTRES, MOST_LEFT = 8, 0.15


@inlined
def record_state(count: int, room: int, line: FloatPointer, statistics: FloatPointer) -> None:
    """Keep every so many-th state; when the room is full, forget every second one and keep half as often from then on.

    So the record is even over the round, however long it is, and depends on the number of calls alone.
    """
    every = int(max(statistics[EVERY], 1.0))
    kept = int(statistics[KEPT])
    points = offset_pointer(statistics, RECORD)
    if int(statistics[SCANS]) % every == 0:
        if kept == room:
            kept = (room + 1) // 2
            for place in range(1, kept):
                for k in range(count):
                    points[place * count + k] = points[2 * place * count + k]
            every *= 2
        if int(statistics[SCANS]) % every == 0:
            for k in range(count):
                points[kept * count + k] = line[k]
            kept += 1
    statistics[EVERY], statistics[KEPT] = float(every), float(kept)
    statistics[SCANS] += 1.0


def thinned(points: FloatArray, room: int) -> FloatArray:
    """Return as many points as there is room for, evenly taken."""
    if len(points) <= room:
        return points
    return np.asarray(points[(np.arange(room) * len(points)) // room])


def recorded(row: FloatArray, count: int) -> FloatArray:
    """Return the points in a chain's row of statistics."""
    kept = int(row[KEPT])
    return np.asarray(row[RECORD : RECORD + kept * count].reshape(kept, count))


def merge(count: int, statistics: Sequence[FloatArray]) -> FloatArray:
    """Merge the copies' statistics: counts add up, and of all their points as many are taken as there is room for."""
    merged = np.asarray(np.sum(statistics, axis=0))
    room = (merged.shape[1] - RECORD) // count
    for chain, row in enumerate(merged):
        points = thinned(np.concatenate([recorded(one[chain], count) for one in statistics]), room)
        row[KEPT] = len(points)
        row[RECORD : RECORD + points.size] = points.ravel()
    return merged


def new_archive(seen: list[FloatArray], chain: int, old: FloatArray, room: int) -> FloatArray:
    """Return a chain's archive: its own draws, and where they are too few to span the space, those of chains beside it.

    Where all chains together have too few, as after the first rounds, the old archive makes up for the rest.
    """
    points = seen[chain]
    least = min(room, 2 * points.shape[1] + 10)
    for distance in range(1, len(seen)):
        for other in (chain - distance, chain + distance):
            if len(points) < least and 0 <= other < len(seen):
                points = np.concatenate([points, thinned(seen[other], least - len(points))])
    if len(points) < least:
        points = np.concatenate([points, thinned(old, least - len(points))])
    return points


def centres_of(points: FloatArray) -> FloatArray:
    """Return the means of the clouds that points fall into, by splitting clouds as long as they are clearly two."""
    middle = points.mean(axis=0)
    if len(points) < 10:
        return middle[None]
    axis = np.linalg.svd(points - middle, full_matrices=False)[2][0]
    right = (points - middle) @ axis > 0
    for _ in range(10):
        if not 2 <= right.sum() <= len(points) - 2:
            return middle[None]
        ends = points[~right].mean(axis=0), points[right].mean(axis=0)
        right = ((points - ends[0]) ** 2).sum(axis=1) > ((points - ends[1]) ** 2).sum(axis=1)
    along = points @ (ends[1] - ends[0])
    if not 2 <= right.sum() <= len(points) - 2:
        return middle[None]
    left_over = right.mean() * along[right].var() + (~right).mean() * along[~right].var()
    if left_over > MOST_LEFT * along.var():
        return middle[None]
    return np.concatenate([centres_of(points[right]), centres_of(points[~right])])
