"""Independence proposals from a mixture of Student distributions, one for each cluster of the last round's draws.

One evaluation per proposal and, if the fit is good, an independent state. After Andrieu and Thoms (2008, section 7),
without adaptation during a round.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from sterna.distributions.gamma_draw import log_gamma_draw
from sterna.engine.program import Program
from sterna.explorers.base import Bound, Draw, all_coordinates, carry_nearest
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.metropolis import pack
from sterna.explorers.shared.archive import (
    COUNT,
    MAX_CENTRES,
    Statistics,
    merge,
    new_archive,
    record_state,
    recorded,
)
from sterna.explorers.shared.line_moves import check_real, on_line, read_line, spread_of, step
from sterna.explorers.shared.options import as_typed, check_number, take_moves, take_whole
from sterna.ground.compilation import compiled, inlined, int_pointer, offset_pointer
from sterna.ground.rows import columns, field_pointer, fields, fields_behind, new_row, size_of, sizes
from sterna.ground.streams import Stream, fill_normals, uniform
from sterna.tuning.clusters import centres_of, shrunk
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# Numbers of coordinates, and of entries in the lower triangle of a matrix.
COORDINATES, TRIANGLE = sizes(2)
# Size of a component.
(COMPONENT,) = sizes(1)


@fields
class Component:
    """One Student distribution of the mixture.

    `constant` is its log-weight plus all constants of its log-density, `factor` the rows of the Cholesky factor of its
    scale matrix.
    """

    weight = 1
    constant = 1
    centre = COORDINATES
    factor = TRIANGLE


@fields
class Parameters:
    """A chain's row of parameters: proposals per scan, coordinates, room in the record, degrees of freedom, mixture."""

    moves = 1
    count = 1
    room = 1
    freedom = 1
    n_components = 1
    component_size = 1
    components = COMPONENT.times(MAX_CENTRES)


@fields_behind(Statistics)
class Scratch:
    """Working memory."""

    here = COUNT
    there = COUNT
    kept = COUNT
    work = COUNT


class Mixture(NamedTuple):
    """The mixture in compiled code."""

    dimension: int
    freedom: float
    n_components: int
    component_size: int
    components: FloatPointer


@inlined
def draw_position(mixture: Mixture, there: FloatPointer, normals: FloatPointer, stream: Stream) -> None:
    """Draw a position from one of the components, which is drawn by weight."""
    chosen, rest = 0, uniform(stream)
    component = mixture.components
    while chosen < mixture.n_components - 1 and rest >= component[Component.weight]:
        rest -= component[Component.weight]
        chosen += 1
        component = offset_pointer(mixture.components, chosen * mixture.component_size)
    centre = field_pointer(component, Component.centre, mixture.dimension)
    factor = field_pointer(component, Component.factor, mixture.dimension)
    fill_normals(normals, mixture.dimension, stream)
    # the square root of a chi-square variate over its degrees of freedom
    half = 0.5 * mixture.freedom
    narrow = math.exp(0.5 * (log_gamma_draw(half, stream) - math.log(half)))
    entry = 0
    for k in range(mixture.dimension):
        total = 0.0
        for j in range(k + 1):
            total += factor[entry] * normals[j]
            entry += 1
        there[k] = centre[k] + total / narrow


@inlined
def log_proposal(mixture: Mixture, line: FloatPointer, solved: FloatPointer) -> float:
    """Return the log-density of the mixture at a position, by forward substitution with every factor."""
    count, freedom = mixture.dimension, mixture.freedom
    highest, total = -math.inf, 0.0
    for number in range(mixture.n_components):
        component = offset_pointer(mixture.components, number * mixture.component_size)
        centre = field_pointer(component, Component.centre, count)
        factor = field_pointer(component, Component.factor, count)
        entry, square = 0, 0.0
        for k in range(count):
            value = line[k] - centre[k]
            for j in range(k):
                value -= factor[entry] * solved[j]
                entry += 1
            solved[k] = value / factor[entry]
            entry += 1
            square += solved[k] * solved[k]
        density = component[Component.constant] - 0.5 * (freedom + count) * math.log1p(square / freedom)
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
    """Propose positions from the mixture, and record the state at the end."""
    coordinates = int_pointer(data[0])
    count, room = int(parameters[Parameters.count]), int(parameters[Parameters.room])
    size = int(parameters[Parameters.component_size])
    mixture = Mixture(
        count,
        parameters[Parameters.freedom],
        int(parameters[Parameters.n_components]),
        size,
        field_pointer(parameters, Parameters.components, size),
    )
    here = field_pointer(statistics, Scratch.here, room * count, count)
    there = field_pointer(statistics, Scratch.there, room * count, count)
    kept = field_pointer(statistics, Scratch.kept, room * count, count)
    work = field_pointer(statistics, Scratch.work, room * count, count)
    read_line(program, x, coordinates, count, here)
    for _ in range(int(parameters[Parameters.moves])):
        draw_position(mixture, there, work, stream)
        log_factor = log_proposal(mixture, here, work)
        log_factor -= log_proposal(mixture, there, work)
        probability = step(
            program, x, log_densities, beta, coordinates, count, here, there, kept, log_factor, False, stream
        )
        statistics[Statistics.proposed] += 1.0
        statistics[Statistics.accepted] += probability
    record_state(count, room, here, statistics)


@dataclass(frozen=True)
class Fitted:
    """States from a mixture of Student distributions that is fitted to each chain's last round.

    One evaluation per proposal. If the chain's distribution consists of a few nearly normal clusters, most proposals
    are accepted, and the state after a scan is independent of the one before, even between modes. Otherwise few are
    accepted, so it is best combined with a random walk, `Cycle(Evolution(), Fitted())`. For real variables only;
    bounded ones are first transformed to the whole line.

    Parameters
    ----------
    moves
        Proposals per scan.
    archive
        Number of draws that each chain keeps for the fit; by default fifty per coordinate.
    freedom
        Degrees of freedom: the fewer, the heavier the tails of the proposal.

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
        take_moves(self)
        if self.archive is not None:
            take_whole(self, "archive", 10, "give the number of draws to keep, at least 10")
        check_number(self, "freedom", "give a positive number of degrees of freedom", above=True)

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target, with a mixture for each chain, fitted to its own draws in the last round."""
        block = all_coordinates(target, coordinates)
        check_real("Fitted", target, block)
        count = len(block)
        room = self.archive or 50 * count + 50
        size = component_size(count)

        def start(draw: Draw) -> FloatArray:
            row = new_row(
                Parameters,
                (size,),
                moves=self.moves,
                count=count,
                room=room,
                freedom=self.freedom,
                component_size=size,
            )
            store_mixture(row, on_line(target.program, block, draw(room)))
            return row

        n_statistics = size_of(Statistics, room * count, count)
        return Bound(
            kernel=explore,
            data=(block,),
            start=start,
            n_parameters=size_of(Parameters, size),
            n_statistics=n_statistics,
            n_scratch=size_of(Scratch, room * count, count) - n_statistics,
            tune=tune,
            carry=carry_nearest,
            merge=partial(merge, count),
        )


def component_size(count: int) -> int:
    """Return how many numbers describe a component."""
    return size_of(Component, count, count * (count + 1) // 2)


def components_of(row: FloatArray) -> FloatArray:
    """Return the components in a chain's row of parameters, one per row, also those that are not in use."""
    size = int(row[Parameters.component_size])
    return columns(row, Parameters.components, size).reshape(MAX_CENTRES, size)


def tune(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return each chain's parameters with a new mixture."""
    tuned = parameters.copy()
    count, room = int(parameters[0, Parameters.count]), int(parameters[0, Parameters.room])
    seen = [recorded(row, count) for row in statistics]
    for chain, row in enumerate(tuned):
        points = new_archive(seen, chain, np.zeros((0, count)), room)
        if len(seen[chain]) > 0 and len(points) > count + 5:
            store_mixture(row, points)
    return tuned


def store_mixture(row: FloatArray, points: FloatArray) -> None:
    """Fit a component to each cluster of points.

    Covariances of small clusters are shrunk towards the covariance within all clusters, and this towards its diagonal,
    so that a factor exists.
    """
    count, freedom = points.shape[1], float(row[Parameters.freedom])
    units = spread_of(points)[1]
    points = points / units
    centres = centres_of(points)[:MAX_CENTRES]
    nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    about = points - centres[nearest]
    common = shrunk(about.T @ about / len(points), len(points))
    row[Parameters.n_components] = len(centres)
    for number, centre in enumerate(centres):
        inside = about[nearest == number]
        trust = len(inside) / (len(inside) + 4.0 * count)
        scale = trust * shrunk(inside.T @ inside / max(len(inside), 1), len(inside)) + (1.0 - trust) * common
        factor = np.linalg.cholesky(scale) * units[:, None]
        weight = (len(inside) + 1.0) / (len(points) + len(centres))
        constant = math.lgamma(0.5 * (freedom + count)) - math.lgamma(0.5 * freedom)
        constant -= 0.5 * count * math.log(freedom * math.pi) + float(np.sum(np.log(np.diag(factor))))
        components_of(row)[number] = new_row(
            Component,
            (count, count * (count + 1) // 2),
            weight=weight,
            constant=math.log(weight) + constant,
            centre=centre * units,
            factor=pack(factor),
        )
