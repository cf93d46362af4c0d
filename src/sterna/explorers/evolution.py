"""Differential evolution: steps along differences of draws that the last round has recorded.

After ter Braak (2006) and, for the archive and the snooker move, ter Braak and Vrugt (2008). One evaluation a proposal.
The archive of a chain is frozen during a round, so that detailed balance holds given the archive.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import types

from sterna.engine.program import Program
from sterna.errors import OptionError
from sterna.explorers.archive import (
    COUNTS,
    MOST_CENTRES,
    RECORD,
    centres_of,
    merge,
    new_archive,
    record_state,
    recorded,
)
from sterna.explorers.base import Bound, Draw, all_coordinates, carry_nearest
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.line_moves import (
    best_scale,
    change_of_scale,
    check_moves,
    check_real,
    on_line,
    read_line,
    spread_of,
    step,
)
from sterna.ground.compilation import as_pointer, compiled, inlined, offset_pointer
from sterna.ground.streams import Stream, standard_normal, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# Places in a chain's row of parameters: proposals in a scan, coordinates, room in the record, shares of snooker moves,
# of jumps and of radial moves, scale of a step and of a radial move, numbers of centres and of points in the archive;
# then the unit of each coordinate, the centres, and the points.
MOVES, COUNT, ROOM, SNOOKER, JUMP, RADIAL, SCALE, STRETCH, CENTRES, POINTS, UNITS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

# Places of the counts in a chain's row of statistics: plain steps proposed and their acceptance, and the same of radial
# moves.
PROPOSED, ACCEPTED, STRETCHED, STRETCHED_WELL = COUNTS, COUNTS + 1, COUNTS + 2, COUNTS + 3

# The continuous noise that makes every place reachable, in shares of the spread.
NOISE_SHARE = 0.01
# The largest archive by default, in numbers a chain.
MOST_NUMBERS = 200_000


@inlined
def other_than(first: int, points: int, stream: Stream) -> int:
    """Draw a point of the archive other than the first."""
    second = int(uniform(stream) * (points - 1))
    return second + 1 if second >= first else second


@inlined
def along_difference(
    count: int,
    size: float,
    noise: float,
    units: FloatPointer,
    archive: FloatPointer,
    points: int,
    here: FloatPointer,
    there: FloatPointer,
    stream: Stream,
) -> None:
    """Propose here plus the difference of two points, times a size, and noise: either order of the two is as likely."""
    first = int(uniform(stream) * points)
    second = other_than(first, points, stream)
    for k in range(count):
        difference = archive[first * count + k] - archive[second * count + k]
        there[k] = here[k] + size * difference + noise * units[k] * (uniform(stream) - 0.5)


@inlined
def through_point(
    count: int, size: float, archive: FloatPointer, points: int, here: FloatPointer, there: FloatPointer, stream: Stream
) -> float:
    """Propose a place on the line through here and a point of the archive; return the logarithm of its factor.

    The step is the difference of two points, seen along the line, so that either direction is as likely. In polar
    coordinates about the point the density is that of the distance alone, with the factor distance^(count - 1).
    """
    pole = int(uniform(stream) * points)
    first = int(uniform(stream) * points)
    second = other_than(first, points, stream)
    square = along = 0.0
    for k in range(count):
        away = here[k] - archive[pole * count + k]
        square += away * away
        along += away * (archive[first * count + k] - archive[second * count + k])
    if not 0.0 < square < math.inf:
        return -math.inf
    # the distance from the pole becomes this many times as large; negative on its other side
    stretch = 1.0 + size * along / square
    for k in range(count):
        pole_k = archive[pole * count + k]
        there[k] = pole_k + stretch * (here[k] - pole_k)
    if stretch == 0.0:
        return -math.inf
    return (count - 1) * math.log(abs(stretch))


@inlined
def nearest(count: int, line: FloatPointer, centres: FloatPointer, n_centres: int, units: FloatPointer) -> int:
    """Find the centre nearest to a place."""
    best, least = 0, math.inf
    for c in range(n_centres):
        distance = 0.0
        for k in range(count):
            difference = (line[k] - centres[c * count + k]) / units[k]
            distance += difference * difference
        if distance < least:
            best, least = c, distance
    return best


@inlined
def from_centre(
    count: int,
    stretch: float,
    centres: FloatPointer,
    n_centres: int,
    units: FloatPointer,
    here: FloatPointer,
    there: FloatPointer,
) -> float:
    """Propose a place on the ray from the nearest centre, exp(stretch) times as far; return its factor's logarithm.

    The way back starts from the same centre only if that is the nearest one there too; else there is no such move.
    Energies change most along these rays, and energies are what swaps depend on.
    """
    centre = nearest(count, here, centres, n_centres, units)
    for k in range(count):
        middle = centres[centre * count + k]
        there[k] = middle + math.exp(stretch) * (here[k] - middle)
    if n_centres > 1 and nearest(count, there, centres, n_centres, units) != centre:
        return -math.inf
    return count * stretch


@compiled
def explore(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Propose a number of moves, and record where they end."""
    coordinates = as_pointer(data[0], types.int64)
    count, room, points = int(parameters[COUNT]), int(parameters[ROOM]), int(parameters[POINTS])
    units, centres = offset_pointer(parameters, UNITS), offset_pointer(parameters, UNITS + count)
    archive, n_centres = offset_pointer(centres, MOST_CENTRES * count), int(parameters[CENTRES])
    here = offset_pointer(statistics, RECORD + room * count)
    there, kept = offset_pointer(here, count), offset_pointer(here, 2 * count)
    scale, jump = parameters[SCALE], parameters[SNOOKER] + parameters[JUMP]
    radial = jump + parameters[RADIAL]
    noise = NOISE_SHARE * scale
    read_line(program, x, coordinates, count, here)
    for _ in range(int(parameters[MOVES])):
        kind = uniform(stream)
        log_factor, place = 0.0, -1
        if kind < parameters[SNOOKER]:
            log_factor = through_point(count, 1.2 + uniform(stream), archive, points, here, there, stream)
        elif kind < jump:
            along_difference(count, 1.0, noise, units, archive, points, here, there, stream)
        elif kind < radial:
            stretch, place = parameters[STRETCH] * standard_normal(stream), STRETCHED
            log_factor = from_centre(count, stretch, centres, n_centres, units, here, there)
        else:
            size, place = scale * (0.5 + uniform(stream)), PROPOSED
            along_difference(count, size, noise, units, archive, points, here, there, stream)
        probability = 0.0
        if log_factor > -math.inf:
            probability = step(
                program, x, log_densities, beta, coordinates, count, here, there, kept, log_factor, stream
            )
        if place >= 0:
            statistics[place] += 1.0
            statistics[place + 1] += probability
    record_state(count, room, here, statistics)


@dataclass(frozen=True)
class Evolution:
    """Differential evolution: one evaluation a proposal, with steps that follow the shape of what was seen before.

    A plain step is the difference of two draws of the same chain in the last round, made smaller so that it is accepted
    often enough; now and then it is taken as it is, which jumps between modes. A snooker move goes along the line
    through a third draw. A radial move goes away from the centre of the draws or towards it, from the nearest where
    they are clouds far apart: it changes the energy most, on which swaps depend. For real variables alone, on the whole
    line where they are bounded.

    Parameters
    ----------
    moves
        How many proposals each scan makes; by default as many as there are coordinates.
    archive
        How many draws each chain keeps; by default ten a coordinate, and at least 100.
    snooker, jump, radial
        Shares of snooker moves, of differences that are taken as they are, and of radial moves.

    Examples
    --------
    >>> import sterna
    >>> from sterna.explorers.evolution import Evolution
    >>> result = sterna.sample(
    ...     sterna.models.normal(3), explorer=Evolution(moves=5), n_chains=5, n_rounds=6, progress=False
    ... )
    >>> result.explorer
    'evolution'
    """

    moves: int | None = None
    archive: int | None = None
    snooker: float = 0.1
    jump: float = 0.1
    radial: float = 0.3
    name = "evolution"

    def __post_init__(self) -> None:
        check_moves("Evolution", self.moves)
        shares = (self.snooker, self.jump, self.radial)
        if not (min(shares) >= 0 and sum(shares) <= 1):
            given = f"Evolution(snooker={self.snooker!r}, jump={self.jump!r}, radial={self.radial!r})"
            raise OptionError(f"{given}: these are shares of all proposals, none negative and together at most 1.")
        if self.archive is not None and (not isinstance(self.archive, (int, np.integer)) or self.archive < 10):
            raise OptionError(f"Evolution(archive={self.archive!r}): give the number of draws to keep, at least 10.")

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for a target: an archive for each chain, of its own draws in the last round."""
        block = all_coordinates(target, coordinates)
        check_real("Evolution", target, block)
        count = len(block)
        room = self.archive or max(100, min(10 * count, MOST_NUMBERS // count))
        moves = count if self.moves is None else self.moves
        scales = best_scale(2 * count), best_stretch(count)
        head = np.array([moves, count, room, self.snooker, self.jump, self.radial, *scales])
        return Bound(
            kernel=explore,
            data=(block,),
            start=partial(first_archive, target.program, block, room, head),
            n_statistics=RECORD + room * count,
            n_scratch=3 * count,
            tune=tune,
            carry=carry_nearest,
            merge=partial(merge, count),
        )


def first_archive(program: Program, block: IntArray, room: int, head: FloatArray, draw: Draw) -> FloatArray:
    """Return the first round's parameters: the archive holds draws from the reference."""
    row = np.concatenate([head, np.zeros(2 + (1 + MOST_CENTRES + room) * len(block))])
    store_archive(row, on_line(program, block, draw(room)))
    return row


def best_stretch(count: int) -> float:
    """Scale of radial moves that is best for a normal law, the logarithm of whose radius has variance 1 / (2 count)."""
    return best_scale(2 * count)


def store_archive(row: FloatArray, points: FloatArray) -> None:
    """Write an archive into a chain's row of parameters, with its unit and centres."""
    count = points.shape[1]
    units = spread_of(points)[1]
    centres = centres_of(points / units)[:MOST_CENTRES] * units
    row[CENTRES], row[POINTS] = len(centres), len(points)
    row[UNITS : UNITS + count] = units
    for place, numbers in ((UNITS + count, centres), (UNITS + (1 + MOST_CENTRES) * count, points)):
        row[place : place + numbers.size] = numbers.ravel()


def archive_of(row: FloatArray) -> FloatArray:
    """Read the archive from a chain's row of parameters."""
    count, points = int(row[COUNT]), int(row[POINTS])
    begin = UNITS + (1 + MOST_CENTRES) * count
    return np.asarray(row[begin : begin + points * count].reshape(points, count))


def tune(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return new archives and scales by chain.

    The scale is the one that acceptance asks for, for steps of the size that was tried: where the archive has become
    wider or narrower, the scale makes good for it.
    """
    tuned = parameters.copy()
    count, room = int(parameters[0, COUNT]), int(parameters[0, ROOM])
    best = best_scale(2 * count)
    seen = [recorded(row, count) for row in statistics]
    for chain, (row, sums) in enumerate(zip(tuned, statistics, strict=True)):
        if len(seen[chain]) == 0:
            continue
        old = archive_of(row).copy()
        points = new_archive(seen, chain, old, room)
        grown = float(np.exp(np.mean(np.log(spread_of(points)[1] / spread_of(old)[1]))))
        change = float(change_of_scale(count, sums[PROPOSED], sums[ACCEPTED]))
        row[SCALE] = np.clip(row[SCALE] * change / grown, 0.01 * best, 2.0 * best)
        stretched = float(change_of_scale(1, sums[STRETCHED], sums[STRETCHED_WELL]))
        row[STRETCH] = np.clip(row[STRETCH] * stretched, 0.01 * best_stretch(count), 10.0 * best_stretch(count))
        store_archive(row, points)
    return tuned
