"""Independence proposals from Student laws fitted to the last round's draws, one for each cloud of them.

One evaluation a proposal, and where the fit is good a fresh state. After Andrieu and Thoms (2008, section 7), with
nothing adapted during a round.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import types

from sterna.distributions.gamma_draw import log_gamma_draw
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
from sterna.explorers.line_moves import check_moves, check_real, on_line, read_line, spread_of, step
from sterna.explorers.metropolis import pack
from sterna.ground.compilation import as_pointer, compiled, inlined, offset_pointer
from sterna.ground.streams import Stream, fill_normals, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# Places in a chain's row of parameters: proposals in a scan, coordinates, room in the record, degrees of freedom,
# number of laws; then of each law its weight, its log-weight with all constants of its density, its centre and, by
# rows, the Cholesky factor of its scale matrix.
MOVES, COUNT, ROOM, FREEDOM, LAWS, FIRST = 0, 1, 2, 3, 4, 5
WEIGHT, CONSTANT, CENTRE = 0, 1, 2


@inlined
def size_of_law(count: int) -> int:
    """How many numbers describe one law."""
    return CENTRE + count + count * (count + 1) // 2


@inlined
def draw_from_laws(
    count: int,
    n_laws: int,
    freedom: float,
    laws: FloatPointer,
    there: FloatPointer,
    normals: FloatPointer,
    stream: Stream,
) -> None:
    """Draw a place from one of the laws, taken by their weights."""
    size, chosen, rest = size_of_law(count), 0, uniform(stream)
    while chosen < n_laws - 1 and rest >= laws[chosen * size + WEIGHT]:
        rest -= laws[chosen * size + WEIGHT]
        chosen += 1
    fill_normals(normals, count, stream)
    # the root of chi-square over its degrees of freedom
    narrow = math.exp(0.5 * (log_gamma_draw(0.5 * freedom, stream) - math.log(0.5 * freedom)))
    begin = chosen * size + CENTRE
    place = begin + count
    for k in range(count):
        total = 0.0
        for j in range(k + 1):
            total += laws[place] * normals[j]
            place += 1
        there[k] = laws[begin + k] + total / narrow


@inlined
def log_density_of_laws(
    count: int, n_laws: int, freedom: float, laws: FloatPointer, line: FloatPointer, solved: FloatPointer
) -> float:
    """Log-density of the proposal at a place, by substitution through every factor."""
    size = size_of_law(count)
    highest, total = -math.inf, 0.0
    for law in range(n_laws):
        begin = law * size + CENTRE
        place, square = begin + count, 0.0
        for k in range(count):
            value = line[k] - laws[begin + k]
            for j in range(k):
                value -= laws[place] * solved[j]
                place += 1
            solved[k] = value / laws[place]
            place += 1
            square += solved[k] * solved[k]
        density = laws[law * size + CONSTANT] - 0.5 * (freedom + count) * math.log1p(square / freedom)
        if density > highest:
            total = total * math.exp(highest - density) + 1.0
            highest = density
        elif density > -math.inf:
            total += math.exp(density - highest)
    return highest + math.log(total) if total > 0.0 else -math.inf


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
    """Propose fresh places from the fitted laws, and record where that ends."""
    coordinates = as_pointer(data[0], types.int64)
    count, room, n_laws = int(parameters[COUNT]), int(parameters[ROOM]), int(parameters[LAWS])
    freedom, laws = parameters[FREEDOM], offset_pointer(parameters, FIRST)
    here = offset_pointer(statistics, RECORD + room * count)
    there, kept, work = offset_pointer(here, count), offset_pointer(here, 2 * count), offset_pointer(here, 3 * count)
    read_line(program, x, coordinates, count, here)
    for _ in range(int(parameters[MOVES])):
        draw_from_laws(count, n_laws, freedom, laws, there, work, stream)
        log_factor = log_density_of_laws(count, n_laws, freedom, laws, here, work)
        log_factor -= log_density_of_laws(count, n_laws, freedom, laws, there, work)
        probability = step(program, x, log_densities, beta, coordinates, count, here, there, kept, log_factor, stream)
        statistics[COUNTS] += 1.0
        statistics[COUNTS + 1] += probability
    record_state(count, room, here, statistics)


@dataclass(frozen=True)
class Fitted:
    """Fresh states from Student laws fitted to each chain's draws of the last round: one evaluation a proposal.

    Where the chain's law is a few clouds, each nearly normal, most proposals are accepted, and a scan leaves nothing of
    the state before it; modes change places too. RemoteEvaluator few are accepted, so it is best together with a walk,
    `Cycle(Evolution(), Fitted())`. For real variables alone, on the whole line where they are bounded.

    Parameters
    ----------
    moves
        How many proposals each scan makes.
    archive
        How many draws each chain keeps for the fit; by default fifty a coordinate.
    freedom
        Degrees of freedom: the fewer, the heavier the proposal's tails.

    Examples
    --------
    >>> import sterna
    >>> from sterna.explorers.fitted import Fitted
    >>> explorer = sterna.Cycle(Fitted(), sterna.Slice(passes=0.5))
    >>> result = sterna.sample(sterna.models.normal(3), explorer=explorer, n_chains=5, n_rounds=6, progress=False)
    >>> result.explorer
    'cycle(fitted, slice)'
    """

    moves: int = 1
    archive: int | None = None
    freedom: float = 10.0
    name = "fitted"

    def __post_init__(self) -> None:
        check_moves("Fitted", self.moves)
        if self.archive is not None and (not isinstance(self.archive, (int, np.integer)) or self.archive < 10):
            raise OptionError(f"Fitted(archive={self.archive!r}): give the number of draws to keep, at least 10.")
        if not 0.0 < self.freedom < math.inf:
            raise OptionError(f"Fitted(freedom={self.freedom!r}): give a positive number of degrees of freedom.")

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for a target: laws for each chain, fitted to its own draws in the last round."""
        block = all_coordinates(target, coordinates)
        check_real("Fitted", target, block)
        count = len(block)
        room = self.archive or 50 * count + 50
        head = np.array([self.moves, count, room, self.freedom], dtype=np.float64)
        return Bound(
            kernel=explore,
            data=(block,),
            start=partial(first_laws, target.program, block, head),
            n_statistics=RECORD + room * count,
            n_scratch=4 * count,
            tune=tune,
            carry=carry_nearest,
            merge=partial(merge, count),
        )


def first_laws(program: Program, block: IntArray, head: FloatArray, draw: Draw) -> FloatArray:
    """Return the first round's parameters: laws fitted to draws from the reference."""
    row = np.concatenate([head, np.zeros(1 + MOST_CENTRES * size_of_law(len(block)))])
    store_laws(row, on_line(program, block, draw(int(head[ROOM]))))
    return row


def tune(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return new laws by chain."""
    tuned = parameters.copy()
    count, room = int(parameters[0, COUNT]), int(parameters[0, ROOM])
    seen = [recorded(row, count) for row in statistics]
    for chain, row in enumerate(tuned):
        points = new_archive(seen, chain, np.zeros((0, count)), room)
        if len(seen[chain]) > 0 and len(points) > count + 5:
            store_laws(row, points)
    return tuned


def store_laws(row: FloatArray, points: FloatArray) -> None:
    """Fit a law to each cloud of points.

    Covariances of clouds of few points are drawn towards that of all clouds about their centres, and this towards its
    diagonal, so that a factor exists.
    """
    count, freedom = points.shape[1], float(row[FREEDOM])
    units = spread_of(points)[1]
    points = points / units
    centres = centres_of(points)[:MOST_CENTRES]
    nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    about = points - centres[nearest]
    common = shrunk(about.T @ about / len(points), len(points))
    size = size_of_law(count)
    row[LAWS] = len(centres)
    for law, centre in enumerate(centres):
        own = about[nearest == law]
        trust = len(own) / (len(own) + 4.0 * count)
        scale = trust * shrunk(own.T @ own / max(len(own), 1), len(own)) + (1.0 - trust) * common
        factor = np.linalg.cholesky(scale) * units[:, None]
        weight = (len(own) + 1.0) / (len(points) + len(centres))
        constant = math.lgamma(0.5 * (freedom + count)) - math.lgamma(0.5 * freedom)
        constant -= 0.5 * count * math.log(freedom * math.pi) + float(np.sum(np.log(np.diag(factor))))
        begin = FIRST + law * size
        row[begin : begin + size] = np.concatenate(
            [[weight, math.log(weight) + constant], centre * units, pack(factor)]
        )


def shrunk(covariance: FloatArray, points: int) -> FloatArray:
    """Draw a covariance towards its diagonal, the more so the fewer points it is of; no variance may be zero."""
    variances = np.maximum(np.diag(covariance), 1e-6)
    trust = points / (points + len(variances) + 5.0)
    smaller = trust * covariance
    np.fill_diagonal(smaller, variances)
    return np.asarray(smaller)
