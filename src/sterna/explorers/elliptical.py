"""Elliptical slice sampling (Murray, Adams and MacKay 2010, figure 2) of coordinates with a normal reference."""

import math
from dataclasses import dataclass

from sterna.engine.densities import NORMAL, normal_log_density
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program, log_likelihood
from sterna.errors import OptionError
from sterna.explorers.base import Bound, all_coordinates, annealed
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.options import as_typed, take_whole
from sterna.ground.compilation import compiled, inlined, int_pointer
from sterna.ground.rows import field_pointer, fields, new_row, size_of, sizes
from sterna.ground.streams import Stream, exponential, fill_normals, uniform
from sterna.types import FloatPointer, IntArray, IntPointer

# The bracket is halved about every 1.5 steps on average; long before this many it is below floating-point resolution.
MAX_SHRINKS = 300

(COUNT,) = sizes(1)


@fields
class Parameters:
    """A chain's row of parameters: moves per scan, and number of coordinates."""

    moves = 1
    count = 1


@fields
class Scratch:
    """Working memory: distances of a draw from the mean, and the old state."""

    draw = COUNT
    before = COUNT


@inlined
def block_log_reference(program: Program, x: FloatPointer, coordinates: IntPointer, count: int) -> float:
    """Return the reference's log-density of a block of normal coordinates."""
    total = 0.0
    for k in range(count):
        i = coordinates[k]
        total += normal_log_density(program.constants, 4 * i, x[i])
    return total


@inlined
def place_on_ellipse(
    program: Program,
    x: FloatPointer,
    coordinates: IntPointer,
    count: int,
    draw: FloatPointer,
    before: FloatPointer,
    angle: float,
) -> None:
    """Go to an angle on the ellipse through the old state, at angle 0, and the draw, at a right angle."""
    cosine, sine = math.cos(angle), math.sin(angle)
    for k in range(count):
        i = coordinates[k]
        mean = program.constants[4 * i]
        x[i] = mean + cosine * (before[k] - mean) + sine * draw[k]


@compiled
def move(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    coordinates: IntPointer,
    count: int,
    scratch: FloatPointer,
    stream: Stream,
) -> None:
    """Move a block once."""
    draw, before = field_pointer(scratch, Scratch.draw, count), field_pointer(scratch, Scratch.before, count)
    fill_normals(draw, count, stream)
    for k in range(count):
        i = coordinates[k]
        draw[k] /= program.constants[4 * i + 1]
        before[k] = x[i]
    reference = block_log_reference(program, x, coordinates, count)
    level = annealed(0.0, beta, log_densities[LOG_LIKELIHOOD]) - exponential(stream)
    angle = 2.0 * math.pi * uniform(stream)
    low, high = angle - 2.0 * math.pi, angle
    for _ in range(MAX_SHRINKS):
        place_on_ellipse(program, x, coordinates, count, draw, before, angle)
        likelihood = log_likelihood(program, x, None, log_densities)
        if annealed(0.0, beta, likelihood) >= level:
            log_densities[LOG_REFERENCE] += block_log_reference(program, x, coordinates, count) - reference
            log_densities[LOG_LIKELIHOOD] = likelihood
            return
        if angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * uniform(stream)
    # The bracket is below floating-point resolution: stay.
    for k in range(count):
        x[coordinates[k]] = before[k]


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
    """Move the block repeatedly; the row of statistics is working memory."""
    coordinates, count = int_pointer(data[0]), int(parameters[Parameters.count])
    for _ in range(int(parameters[Parameters.moves])):
        move(program, x, log_densities, beta, coordinates, count, statistics, stream)


@dataclass(frozen=True)
class Elliptical:
    """Elliptical slice sampling, for variables whose reference is `Normal` or `MultivariateNormal`.

    All coordinates move at once, on an ellipse through the state and a draw from the reference. It needs no gradient
    and no tuning. It works best if the likelihood carries little information on each coordinate: many latent normal
    variables, few or weak data. If the likelihood is much narrower than the reference, its moves are small.

    Parameters
    ----------
    moves
        Moves of all variables per scan.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> from sterna.explorers.elliptical import Elliptical
    >>> def log_likelihood(f, y):
    ...     return -0.5 * np.sum((y - f) ** 2)
    >>> time = np.arange(10.0)
    >>> covariance = np.exp(-0.1 * (time[:, None] - time) ** 2) + 1e-6 * np.eye(10)
    >>> target = sterna.Target(
    ...     log_likelihood, {"f": sterna.MultivariateNormal(np.zeros(10), covariance)}, {"y": np.sin(time)}
    ... )
    >>> sterna.sample(target, explorer=Elliptical(moves=3), n_rounds=6, progress=False).explorer
    'elliptical'
    """

    moves: int = 1
    name = "elliptical"

    def __post_init__(self) -> None:
        take_whole(self, "moves", 0, "moves is the number of moves per scan; give an integer that is not negative")

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to coordinates of a target, all of which must be normal under the reference."""
        block = all_coordinates(target, coordinates)
        check_normal(target, block)
        count = len(block)
        row = new_row(Parameters, moves=self.moves, count=count)
        return Bound(
            kernel=explore,
            data=(block,),
            start=lambda draw: row,
            n_parameters=len(row),
            n_scratch=size_of(Scratch, count),
        )


def check_normal(target: ExplorableTarget, block: IntArray) -> None:
    """Check that the reference of every coordinate of a block is an independent normal distribution."""
    if target.program.log_reference != 0:
        raise OptionError(
            "Elliptical needs a normal reference, and this one is given by a pair of functions: give named "
            'distributions, such as {"x": sterna.Normal(0, 1)} or sterna.MultivariateNormal, or use sterna.Slice().'
        )
    explored = [v for v in target.space.variables if ((block >= v.start) & (block < v.stop)).any()]
    others = [v.name for v in explored if target.program.family[v.start] != NORMAL]
    if not others:
        return
    normal = [v.name for v in target.space.variables if target.program.family[v.start] == NORMAL]
    blocks = [f"{_names(normal)}: Elliptical()"] if normal else []
    raise OptionError(
        f"Elliptical explores variables whose reference is Normal or MultivariateNormal, which {', '.join(others)} "
        f"{'is' if len(others) == 1 else 'are'} not: give a dict of explorers by block, "
        f"such as {{{', '.join([*blocks, f'{_names(others)}: sterna.Slice()'])}}}."
    )


def _names(names: list[str]) -> str:
    """Write names as a key of a dict of explorers."""
    quoted = ", ".join(f'"{name}"' for name in names)
    return quoted if len(names) == 1 else f"({quoted})"
