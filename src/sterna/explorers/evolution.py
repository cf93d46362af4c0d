"""Differential evolution: steps along differences of draws recorded in the last round.

After ter Braak (2006) and, for the archive and the snooker move, ter Braak and Vrugt (2008). One evaluation per
proposal. A chain's archive is fixed during a round, so that detailed balance holds given the archive.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from sterna.engine.circles import shortest
from sterna.engine.program import Program
from sterna.errors import OptionError
from sterna.explorers.base import Bound, Draw, all_coordinates, carry_nearest
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.archive import (
    COUNT,
    ENTRIES,
    MAX_CENTRES,
    Statistics,
    merge,
    new_archive,
    record_state,
    recorded,
)
from sterna.explorers.shared.line_moves import (
    best_scale,
    change_of_scale,
    check_real,
    on_line,
    read_line,
    spread_of,
    step,
)
from sterna.explorers.shared.options import as_typed, check_number, take_moves, take_whole
from sterna.ground.compilation import compiled, inlined, int_pointer
from sterna.ground.rows import columns, field_pointer, fields, fields_behind, new_row, size_of
from sterna.ground.streams import Stream, standard_normal, uniform
from sterna.tuning.clusters import centres_of
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# The continuous noise that makes every position reachable, relative to the spread.
NOISE_SHARE = 0.01
# The largest archive by default, in numbers per chain.
MAX_ENTRIES = 200_000


@fields
class Parameters:
    """A chain's row of parameters: proposals per scan, coordinates, room in the record; shares and scales; the archive.

    `scale` is that of plain steps, `stretch` that of radial moves, and `units` the spread of each coordinate.
    """

    moves = 1
    count = 1
    room = 1
    snooker = 1
    jump = 1
    radial = 1
    scale = 1
    stretch = 1
    n_centres = 1
    n_points = 1
    units = COUNT
    centres = COUNT.times(MAX_CENTRES)
    points = ENTRIES


@fields_behind(Statistics)
class Scratch:
    """Working memory."""

    here = COUNT
    there = COUNT
    kept = COUNT


@inlined
def other_than(first: int, points: int, stream: Stream) -> int:
    """Draw a point of the archive other than the first."""
    second = int(uniform(stream) * (points - 1))
    return second + 1 if second >= first else second


@inlined
def along_difference(
    program: Program,
    coordinates: IntPointer,
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
    """Propose here plus a multiple of the difference of two points, whose order is random, plus noise."""
    first = int(uniform(stream) * points)
    second = other_than(first, points, stream)
    for k in range(count):
        difference = archive[first * count + k] - archive[second * count + k]
        difference = shortest(program.circles, coordinates[k], difference)
        there[k] = here[k] + size * difference + noise * units[k] * (uniform(stream) - 0.5)


@inlined
def through_point(
    count: int, size: float, archive: FloatPointer, points: int, here: FloatPointer, there: FloatPointer, stream: Stream
) -> float:
    """Propose a position on the line through here and a point of the archive; return the logarithm of its factor.

    The step is the difference of two points projected on the line, so that both directions are equally likely. In polar
    coordinates about the point only the distance changes, whose density has the factor distance^(count - 1).
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
    # the factor by which the distance from the pole changes; negative on its other side
    stretch = 1.0 + size * along / square
    for k in range(count):
        pole_k = archive[pole * count + k]
        there[k] = pole_k + stretch * (here[k] - pole_k)
    if stretch == 0.0:
        return -math.inf
    return (count - 1) * math.log(abs(stretch))


@inlined
def nearest(count: int, line: FloatPointer, centres: FloatPointer, n_centres: int, units: FloatPointer) -> int:
    """Return the centre nearest to a position."""
    best, shortest = 0, math.inf
    for c in range(n_centres):
        distance = 0.0
        for k in range(count):
            difference = (line[k] - centres[c * count + k]) / units[k]
            distance += difference * difference
        if distance < shortest:
            best, shortest = c, distance
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
    """Propose a position on the ray from the nearest centre, exp(stretch) times as far; return its log-factor.

    The way back uses the same centre only if that is the nearest one there too; otherwise the move is not possible.
    Energies, on which swaps depend, change most along these rays.
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
    """Propose moves, and record where they end."""
    coordinates = int_pointer(data[0])
    count, room = int(parameters[Parameters.count]), int(parameters[Parameters.room])
    n_points, n_centres = int(parameters[Parameters.n_points]), int(parameters[Parameters.n_centres])
    entries = room * count
    units = field_pointer(parameters, Parameters.units, entries, count)
    centres = field_pointer(parameters, Parameters.centres, entries, count)
    archive = field_pointer(parameters, Parameters.points, entries, count)
    here = field_pointer(statistics, Scratch.here, entries, count)
    there = field_pointer(statistics, Scratch.there, entries, count)
    kept = field_pointer(statistics, Scratch.kept, entries, count)
    scale, jump = parameters[Parameters.scale], parameters[Parameters.snooker] + parameters[Parameters.jump]
    radial = jump + parameters[Parameters.radial]
    noise = NOISE_SHARE * scale
    read_line(program, x, coordinates, count, here)
    for _ in range(int(parameters[Parameters.moves])):
        move = uniform(stream)
        log_factor, proposed, accepted, wraps = 0.0, -1, -1, True
        if move < parameters[Parameters.snooker]:
            wraps = False
            log_factor = through_point(count, 1.2 + uniform(stream), archive, n_points, here, there, stream)
        elif move < jump:
            along_difference(program, coordinates, count, 1.0, noise, units, archive, n_points, here, there, stream)
        elif move < radial:
            proposed, accepted = Statistics.radial_proposed, Statistics.radial_accepted
            stretch = parameters[Parameters.stretch] * standard_normal(stream)
            wraps = False
            log_factor = from_centre(count, stretch, centres, n_centres, units, here, there)
        else:
            proposed, accepted = Statistics.proposed, Statistics.accepted
            size = scale * (0.5 + uniform(stream))
            along_difference(program, coordinates, count, size, noise, units, archive, n_points, here, there, stream)
        probability = 0.0
        if log_factor > -math.inf:
            probability = step(
                program, x, log_densities, beta, coordinates, count, here, there, kept, log_factor, wraps, stream
            )
        if proposed >= 0:
            statistics[proposed] += 1.0
            statistics[accepted] += probability
    record_state(count, room, here, statistics)


@dataclass(frozen=True)
class Evolution:
    """Differential evolution: one evaluation per proposal, with steps that follow the shape of earlier draws.

    A plain step is the difference of two draws of the same chain in the last round, scaled so that it is accepted often
    enough. A jump is the unscaled difference, which leads from one mode to another. A snooker move goes along the line
    through a third draw. A radial move goes towards the centre of the nearest cluster of draws or away from it, which
    changes the energy most, on which swaps depend. For real variables only; bounded ones are first transformed to the
    whole line.

    Parameters
    ----------
    moves
        Proposals per scan; by default as many as there are coordinates.
    archive
        Number of draws that each chain keeps; by default ten per coordinate, and at least 100.
    snooker, jump, radial
        Shares of snooker moves, of jumps, and of radial moves among all proposals.

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
        take_moves(self)
        for name in ("snooker", "jump", "radial"):
            check_number(self, name, "this is a share of all proposals: give a number from 0 to 1", upper=1.0)
        if self.snooker + self.jump + self.radial > 1:
            given = f"Evolution(snooker={self.snooker!r}, jump={self.jump!r}, radial={self.radial!r})"
            raise OptionError(f"{given}: these are shares of all proposals, none negative and together at most 1.")
        if self.archive is not None:
            take_whole(self, "archive", 10, "give the number of draws to keep, at least 10")

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target, with an archive for each chain, made of its own draws in the last round."""
        block = all_coordinates(target, coordinates)
        check_real("Evolution", target, block)
        count = len(block)
        room = self.archive or max(100, min(10 * count, MAX_ENTRIES // count))
        moves = count if self.moves is None else self.moves
        given = room * count, count

        def start(draw: Draw) -> FloatArray:
            row = new_row(
                Parameters,
                given,
                moves=moves,
                count=count,
                room=room,
                snooker=self.snooker,
                jump=self.jump,
                radial=self.radial,
                scale=best_scale(2 * count),
                stretch=best_stretch(count),
            )
            store_archive(row, on_line(target.program, block, draw(room)))
            return row

        return Bound(
            kernel=explore,
            data=(block,),
            start=start,
            n_parameters=size_of(Parameters, *given),
            n_statistics=size_of(Statistics, *given),
            n_scratch=size_of(Scratch, *given) - size_of(Statistics, *given),
            tune=tune,
            carry=carry_nearest,
            merge=partial(merge, count),
        )


def best_stretch(count: int) -> float:
    """Return the best scale of radial moves on a normal distribution, whose log-radius has variance 1 / (2 count)."""
    return best_scale(2 * count)


def store_archive(row: FloatArray, points: FloatArray) -> None:
    """Write an archive into a chain's row of parameters, with its units and centres."""
    count = points.shape[1]
    units = spread_of(points)[1]
    centres = centres_of(points / units)[:MAX_CENTRES] * units
    row[Parameters.n_centres], row[Parameters.n_points] = len(centres), len(points)
    columns(row, Parameters.units, 0, count)[:] = units
    columns(row, Parameters.centres, 0, count)[: centres.size] = centres.ravel()
    columns(row, Parameters.points, points.size, count)[:] = points.ravel()


def archive_of(row: FloatArray) -> FloatArray:
    """Return the archive in a chain's row of parameters."""
    count, n_points = int(row[Parameters.count]), int(row[Parameters.n_points])
    return columns(row, Parameters.points, n_points * count, count).reshape(n_points, count)


def tune(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return each chain's new archive and scales.

    The scale is changed by what acceptance requires for steps of the size that was tried, and by the reciprocal of the
    growth of the archive.
    """
    tuned = parameters.copy()
    count, room = int(parameters[0, Parameters.count]), int(parameters[0, Parameters.room])
    best = best_scale(2 * count)
    seen = [recorded(row, count) for row in statistics]
    for chain, (row, sums) in enumerate(zip(tuned, statistics, strict=True)):
        if len(seen[chain]) == 0:
            continue
        old = archive_of(row).copy()
        points = new_archive(seen, chain, old, room)
        grown = float(np.exp(np.mean(np.log(spread_of(points)[1] / spread_of(old)[1]))))
        change = float(change_of_scale(count, sums[Statistics.proposed], sums[Statistics.accepted]))
        row[Parameters.scale] = np.clip(row[Parameters.scale] * change / grown, 0.01 * best, 2.0 * best)
        change = float(change_of_scale(1, sums[Statistics.radial_proposed], sums[Statistics.radial_accepted]))
        stretch, best_one = row[Parameters.stretch] * change, best_stretch(count)
        row[Parameters.stretch] = np.clip(stretch, 0.01 * best_one, 10.0 * best_one)
        store_archive(row, points)
    return tuned
