"""Elliptical slice sampling (Murray, Adams and MacKay 2010, figure 2) of coordinates with a normal reference."""

import math
from dataclasses import dataclass

import numpy as np
from numba import types

from sterna.engine.densities import NORMAL, normal_log_density
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program, log_likelihood
from sterna.errors import OptionError
from sterna.explorers.base import Bound, all_coordinates, annealed
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import as_pointer, compiled, inlined
from sterna.ground.streams import Stream, exponential, fill_normals, uniform
from sterna.types import FloatPointer, IntArray, IntPointer

# Places in a chain's row of parameters: moves in a scan, and number of coordinates.
MOVES, COUNT = 0, 1

# The bracket is halved about every 1.5 steps in the mean; long before these it is below what floating point resolves.
MAX_SHRINKS = 300


@inlined
def block_log_reference(program: Program, x: FloatPointer, coordinates: IntPointer, count: int) -> float:
    """Log-density of the reference of a block of normal coordinates."""
    total = 0.0
    for k in range(count):
        i = coordinates[k]
        total += normal_log_density(program.constants, 4 * i, x[i])
    return total


@inlined
def place_on_ellipse(
    program: Program, x: FloatPointer, coordinates: IntPointer, count: int, scratch: FloatPointer, angle: float
) -> None:
    """Go to an angle of the ellipse through the old state, at 0, and a draw from the reference, at a right angle."""
    cosine, sine = math.cos(angle), math.sin(angle)
    for k in range(count):
        i = coordinates[k]
        mean = program.constants[4 * i]
        x[i] = mean + cosine * (scratch[count + k] - mean) + sine * scratch[k]


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
    """Move a block once; the scratch holds the draw's distance from the mean, and behind it the old state."""
    fill_normals(scratch, count, stream)
    for k in range(count):
        i = coordinates[k]
        scratch[k] /= program.constants[4 * i + 1]
        scratch[count + k] = x[i]
    before = block_log_reference(program, x, coordinates, count)
    level = annealed(0.0, beta, log_densities[LOG_LIKELIHOOD]) - exponential(stream)
    angle = 2.0 * math.pi * uniform(stream)
    low, high = angle - 2.0 * math.pi, angle
    for _ in range(MAX_SHRINKS):
        place_on_ellipse(program, x, coordinates, count, scratch, angle)
        likelihood = log_likelihood(program, x, log_densities)
        if annealed(0.0, beta, likelihood) >= level:
            log_densities[LOG_REFERENCE] += block_log_reference(program, x, coordinates, count) - before
            log_densities[LOG_LIKELIHOOD] = likelihood
            return
        if angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * uniform(stream)
    # The bracket is narrower than floating point can tell apart: stay.
    for k in range(count):
        x[coordinates[k]] = scratch[count + k]


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
    """Move the block a number of times."""
    coordinates, count = as_pointer(data[0], types.int64), int(parameters[COUNT])
    for _ in range(int(parameters[MOVES])):
        move(program, x, log_densities, beta, coordinates, count, statistics, stream)


@dataclass(frozen=True)
class Elliptical:
    """Elliptical slice sampling, for variables whose reference is `Normal` or `MultivariateNormal`.

    All coordinates move at once, on an ellipse through the state and a draw from the reference. There is no gradient
    and nothing to tune. It is at its best where the likelihood says little about each coordinate: many latent normal
    variables, few or weak data. Where the likelihood is much narrower than the reference its moves are small.

    Parameters
    ----------
    moves
        How many times each scan moves the variables.

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
        whole = isinstance(self.moves, (int, np.integer)) and not isinstance(self.moves, bool)
        if not (whole and self.moves >= 0):
            raise OptionError(
                f"Elliptical(moves={self.moves!r}): moves is how often a scan moves the variables; "
                "give a whole number from 0 up."
            )

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for coordinates of a target, all of which must be normal under the reference."""
        block = all_coordinates(target, coordinates)
        check_normal(target, block)
        row = np.array([self.moves, len(block)], dtype=np.float64)
        return Bound(kernel=explore, data=(block,), start=lambda draw: row, n_scratch=2 * len(block))


def check_normal(target: ExplorableTarget, block: IntArray) -> None:
    """Check that the reference of every coordinate of a block is an independent normal distribution."""
    if target.program.log_reference != 0:
        raise OptionError(
            "Elliptical needs a reference that it knows to be normal, and this one is a pair of functions: name "
            'distributions, such as {"x": sterna.Normal(0, 1)} or sterna.MultivariateNormal, or use sterna.Slice().'
        )
    own = [v for v in target.space.variables if ((block >= v.start) & (block < v.stop)).any()]
    others = [v.name for v in own if target.program.family[v.start] != NORMAL]
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
    """Names as a key of a dict of explorers."""
    quoted = ", ".join(f'"{name}"' for name in names)
    return quoted if len(names) == 1 else f"({quoted})"
