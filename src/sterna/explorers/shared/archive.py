"""A record of a chain's states, evenly spaced over a round, from which the next round's proposals are made.

A kernel calls `record_state` once per scan. Tuning turns the records of all copies into the archive of the next round,
during which it is fixed, so that detailed balance holds given the archive.
"""

from collections.abc import Sequence

import numpy as np

from sterna.ground.compilation import inlined
from sterna.ground.rows import columns, field_pointer, fields, size_of, sizes
from sterna.types import FloatArray, FloatPointer

# The largest number of clusters of a chain's states.
MAX_CENTRES = 8

# Entries of the record, which are room * coordinates, and the number of coordinates.
ENTRIES, COUNT = sizes(2)


@fields
class Statistics:
    """A chain's row of statistics: scans, every how many of them one is kept, points kept; counts; the points.

    Counts are those of proposals and of their acceptance, and of radial proposals, if the explorer has them.
    """

    scans = 1
    every = 1
    kept = 1
    proposed = 1
    accepted = 1
    radial_proposed = 1
    radial_accepted = 1
    points = ENTRIES


@inlined
def record_state(count: int, room: int, line: FloatPointer, statistics: FloatPointer) -> None:
    """Keep a state at regular intervals; when the room is full, drop every second one and double the interval.

    So the record is evenly spaced over the round, however long it is, and depends only on the number of calls.
    """
    every = int(max(statistics[Statistics.every], 1.0))
    kept = int(statistics[Statistics.kept])
    points = field_pointer(statistics, Statistics.points, room * count, count)
    if int(statistics[Statistics.scans]) % every == 0:
        if kept == room:
            kept = (room + 1) // 2
            for point in range(1, kept):
                for k in range(count):
                    points[point * count + k] = points[2 * point * count + k]
            every *= 2
        if int(statistics[Statistics.scans]) % every == 0:
            for k in range(count):
                points[kept * count + k] = line[k]
            kept += 1
    statistics[Statistics.every], statistics[Statistics.kept] = float(every), float(kept)
    statistics[Statistics.scans] += 1.0


def thinned(points: FloatArray, room: int) -> FloatArray:
    """Return at most `room` of the points, evenly spaced."""
    if len(points) <= room:
        return points
    return np.asarray(points[(np.arange(room) * len(points)) // room])


def recorded(row: FloatArray, count: int) -> FloatArray:
    """Return the points in a chain's row of statistics."""
    kept = int(row[Statistics.kept])
    return columns(row, Statistics.points, kept * count, count).reshape(kept, count)


def merge(count: int, statistics: Sequence[FloatArray]) -> FloatArray:
    """Merge the copies' statistics: counts are summed, and points are taken evenly from all of them."""
    merged = np.asarray(np.sum(statistics, axis=0))
    room = (merged.shape[1] - size_of(Statistics, 0, count)) // count
    for chain, row in enumerate(merged):
        points = thinned(np.concatenate([recorded(one[chain], count) for one in statistics]), room)
        row[Statistics.kept] = len(points)
        columns(row, Statistics.points, points.size, count)[:] = points.ravel()
    return merged


def new_archive(seen: list[FloatArray], chain: int, old: FloatArray, room: int) -> FloatArray:
    """Return a chain's archive: its own draws and, if these are too few to span the space, those of nearby chains.

    If all chains together have too few, as after the first rounds, points of the old archive are added.
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
