"""Random-walk Metropolis with a covariance learned between rounds (Haario, Saksman and Tamminen 2001).

One evaluation a proposal, for likelihoods that are expensive. Real coordinates of the block move together, on the
whole line; integer and binary ones move one at a time.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import types

from sterna.engine.program import (
    LOG_LIKELIHOOD,
    LOG_REFERENCE,
    Program,
    coordinate_likelihood,
    coordinate_reference,
    reference_of,
)
from sterna.errors import OptionError
from sterna.explorers.base import Bound, Draw, all_coordinates
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.line_moves import (
    DRAWS_FOR_SPREAD,
    acceptance,
    best_scale,
    change_of_scale,
    check_moves,
    on_line,
    read_line,
    spread_of,
    step,
)
from sterna.ground.compilation import as_pointer, compiled, inlined, offset_pointer
from sterna.ground.streams import Stream, fill_normals, uniform
from sterna.ground.values import BINARY, REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# Places in a chain's row of parameters: proposals in a scan, numbers of real and of other coordinates, whether the
# covariance is full, the scale of the walk; then the centre of the real coordinates, how far from it a moment counts,
# the Cholesky factor of their covariance by rows (or its diagonal), and the largest steps of the others.
MOVES, REALS, OTHERS, FULL, SCALE, CENTRE = 0, 1, 2, 3, 4, 5

# Places in a chain's row of statistics: scans, proposals and acceptance of the real coordinates; then their sums and
# their sums of products, from the centre; then proposals and acceptance of each other coordinate.
SCANS, PROPOSED, ACCEPTED, SUMS = 0, 1, 2, 3

# Covariances of more coordinates than this are diagonal unless asked for: a full one is n * n / 2 numbers a chain.
MOST_FULL = 200
# How many scans the last round's spread counts for, and the share by which a variance may fall in a round.
PRIOR_SCANS, LEAST_SHARE = 4.0, 0.01
# In moments, states farther out than this many standard deviations count as if they were so far, against heavy tails.
FAR = 5.0


@inlined
def size_of_factor(count: int, full: float) -> int:
    """How many numbers describe a covariance."""
    return count * (count + 1) // 2 if full > 0.0 else count


@inlined
def walk(
    count: int,
    full: float,
    scale: float,
    factor: FloatPointer,
    here: FloatPointer,
    there: FloatPointer,
    normals: FloatPointer,
    stream: Stream,
) -> None:
    """Propose a place: here plus a normal step of the learned covariance."""
    fill_normals(normals, count, stream)
    place = 0
    for k in range(count):
        if full > 0.0:
            total = 0.0
            for j in range(k + 1):
                total += factor[place] * normals[j]
                place += 1
        else:
            total = factor[k] * normals[k]
        there[k] = here[k] + scale * total


@inlined
def neighbour(here: float, lower: float, upper: float, reach: int, stream: Stream) -> float:
    """Propose an integer at most `reach` away; steps over a bound are folded back at the outer edge of its cell.

    Folding keeps the proposal symmetric: the way back is folded at the same edge. A fold can end where it began.
    """
    size = 1.0 + math.floor(uniform(stream) * reach)
    new = here + size if uniform(stream) < 0.5 else here - size
    if new < lower:
        return 2.0 * lower - 1.0 - new
    if new > upper:
        return 2.0 * upper + 1.0 - new
    return new


@compiled
def step_of_one(
    program: Program, x: FloatPointer, log_densities: FloatPointer, beta: float, i: int, reach: int, stream: Stream
) -> float:
    """Move an integer or flip a binary coordinate by Metropolis' rule; return the acceptance probability."""
    here = x[i]
    if program.value_type[i] == BINARY:
        new = program.lower[i] + program.upper[i] - here
    else:
        new = neighbour(here, program.lower[i], program.upper[i], reach, stream)
    if new == here:
        return 1.0
    reference_here = reference_of(program, x, i, here, log_densities)
    reference = coordinate_reference(program, x, i, here, new, log_densities)
    if reference == -math.inf:
        x[i] = here
        return 0.0
    likelihood = coordinate_likelihood(program, x, i, here, new, log_densities)
    probability = acceptance(beta, reference - reference_here, log_densities[LOG_LIKELIHOOD], likelihood)
    if uniform(stream) < probability:
        log_densities[LOG_REFERENCE] += reference - reference_here
        log_densities[LOG_LIKELIHOOD] = likelihood
    else:
        x[i] = here
    return probability


@inlined
def add_moments(
    count: int,
    full: float,
    centre: FloatPointer,
    limit: FloatPointer,
    line: FloatPointer,
    deviation: FloatPointer,
    sums: FloatPointer,
    products: FloatPointer,
) -> None:
    """Add a state's first and second moments about the centre."""
    place = 0
    for k in range(count):
        deviation[k] = min(max(line[k] - centre[k], -limit[k]), limit[k])
        sums[k] += deviation[k]
        if full > 0.0:
            for j in range(k + 1):
                products[place] += deviation[k] * deviation[j]
                place += 1
        else:
            products[k] += deviation[k] * deviation[k]


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
    """Propose a number of moves, of all real coordinates or of one other: which of them, a coin decides."""
    coordinates = as_pointer(data[0], types.int64)
    count, others = int(parameters[REALS]), int(parameters[OTHERS])
    full, size = parameters[FULL], size_of_factor(int(parameters[REALS]), parameters[FULL])
    centre, limit = offset_pointer(parameters, CENTRE), offset_pointer(parameters, CENTRE + count)
    factor, reaches = offset_pointer(limit, count), offset_pointer(limit, count + size)
    sums, products = offset_pointer(statistics, SUMS), offset_pointer(statistics, SUMS + count)
    counts = offset_pointer(statistics, SUMS + count + size)
    here = offset_pointer(statistics, SUMS + count + size + 2 * others)
    there, kept, normals = offset_pointer(here, count), offset_pointer(here, 2 * count), offset_pointer(here, 3 * count)
    read_line(program, x, coordinates, count, here)
    for _ in range(int(parameters[MOVES])):
        place = count
        if others > 0:
            place = int(uniform(stream) * (count + others))
        if place < count or others == 0:
            walk(count, full, parameters[SCALE], factor, here, there, normals, stream)
            statistics[PROPOSED] += 1.0
            statistics[ACCEPTED] += step(
                program, x, log_densities, beta, coordinates, count, here, there, kept, 0.0, stream
            )
        else:
            other = place - count
            counts[other] += 1.0
            counts[others + other] += step_of_one(
                program, x, log_densities, beta, coordinates[place], int(reaches[other]), stream
            )
    statistics[SCANS] += 1.0
    add_moments(count, full, centre, limit, here, there, sums, products)


@dataclass(frozen=True)
class Metropolis:
    """Random-walk Metropolis: one evaluation a proposal, with steps of the covariance that the last round has seen.

    All real coordinates move at once, on the whole line where they are bounded. An integer moves by itself, by a step
    of learned size, and a binary one flips; every coordinate that is not real has an equal share of the proposals, and
    all real ones together have theirs. The learned covariance is that of all modes together: where they are far apart,
    `Evolution` is better.

    Parameters
    ----------
    moves
        How many proposals each scan makes; by default as many as there are coordinates.
    covariance
        "full", or "diagonal" for the variances alone; by default full up to 200 real coordinates.

    Examples
    --------
    >>> import sterna
    >>> from sterna.explorers.metropolis import Metropolis
    >>> result = sterna.sample(
    ...     sterna.models.normal(3), explorer=Metropolis(moves=5), n_chains=5, n_rounds=6, progress=False
    ... )
    >>> result.explorer
    'metropolis'
    """

    moves: int | None = None
    covariance: str | None = None
    name = "metropolis"

    def __post_init__(self) -> None:
        check_moves("Metropolis", self.moves)
        if self.covariance not in (None, "full", "diagonal"):
            raise OptionError(
                f'Metropolis(covariance={self.covariance!r}): give "full", or "diagonal" for the variances alone.'
            )

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for a target: a covariance for each chain, tuned by the moments of its states."""
        block, program = all_coordinates(target, coordinates), target.program
        real = program.value_type[block] == REAL
        # the kernel finds real coordinates first
        block = np.concatenate([block[real], block[~real]])
        count, others = int(real.sum()), int((~real).sum())
        full = self.covariance == "full" or (self.covariance is None and count <= MOST_FULL)
        size = size_of_factor(count, float(full))
        moves = len(block) if self.moves is None else self.moves
        head = np.array([moves, count, others, full, best_scale(count)], dtype=np.float64)
        return Bound(
            kernel=explore,
            data=(block,),
            start=lambda draw: np.concatenate([head, *first_spread(program, block, count, full, draw)]),
            n_statistics=SUMS + count + size + 2 * others,
            n_scratch=4 * count,
            tune=partial(tune, program, block),
        )


def first_spread(program: Program, block: IntArray, count: int, full: bool, draw: Draw) -> list[FloatArray]:
    """Return centre, covariance and steps of the first round: those of draws from the reference."""
    draws = draw(DRAWS_FOR_SPREAD)
    centre, spread = spread_of(on_line(program, block[:count], draws))
    others = block[count:]
    reaches = _within_reason(program, others, 2.0 * spread_of(draws[:, others])[1])
    return [centre, FAR * spread, pack(np.diag(spread)) if full else spread, reaches]


def tune(program: Program, block: IntArray, parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return new parameters: covariance and scale of the real coordinates, steps of the others; by chain."""
    tuned = parameters.copy()
    count, others, full = int(parameters[0, REALS]), int(parameters[0, OTHERS]), bool(parameters[0, FULL])
    if count > 0:
        for row, sums in zip(tuned, statistics, strict=True):
            if sums[SCANS] > 0:
                tune_covariance(row, sums, count, full)
    if others > 0:
        proposed, accepted = statistics[:, -2 * others : -others], statistics[:, -others:]
        change = change_of_scale(1, proposed, accepted)
        tuned[:, -others:] = _within_reason(program, block[count:], tuned[:, -others:] * change)
    return tuned


def tune_covariance(row: FloatArray, sums: FloatArray, count: int, full: bool) -> None:
    """Set centre, factor and scale of one chain.

    Variances are averaged with the last round's on the scale of their logarithms, as the reference's can be larger by
    many powers of ten; correlations are drawn towards zero, so that a factor exists however few scans there are. The
    scale is the one that acceptance asks for, for steps of the size that was tried: where the covariance grows or
    shrinks, the scale makes good for it.
    """
    scans = sums[SCANS]
    size = size_of_factor(count, float(full))
    factor_place = slice(CENTRE + 2 * count, CENTRE + 2 * count + size)
    old = unpack(row[factor_place], count) if full else np.diag(row[factor_place])
    old_variances = np.sum(old**2, axis=1)
    shift = sums[SUMS : SUMS + count] / scans
    products = sums[SUMS + count : SUMS + count + size] / scans
    seen = unpack(products, count) if full else np.diag(products)
    seen = seen - np.tril(np.outer(shift, shift))
    variances = np.maximum(np.diag(seen), LEAST_SHARE * old_variances)
    weight = scans / (scans + PRIOR_SCANS)
    spread = np.exp(0.5 * (weight * np.log(variances) + (1.0 - weight) * np.log(old_variances)))
    new = np.diag(spread)
    if full:
        trust = scans / (scans + 10.0 + 3.0 * count)
        correlation = trust * np.tril(seen, -1) / np.sqrt(np.outer(variances, variances))
        new = spread[:, None] * np.linalg.cholesky(correlation + correlation.T + np.eye(count))
    grown = float(np.exp(np.mean(np.log(np.diag(new) / np.diag(old)))))
    change = float(change_of_scale(count, sums[PROPOSED], sums[ACCEPTED]))
    row[CENTRE : CENTRE + count] += shift
    row[CENTRE + count : CENTRE + 2 * count] = FAR * spread
    row[factor_place] = pack(new) if full else np.diag(new)
    row[SCALE] = np.clip(row[SCALE] * change / grown, 0.01 * best_scale(count), 2.0 * best_scale(count))


def pack(triangle: FloatArray) -> FloatArray:
    """Return the rows of a lower triangle, one after the other."""
    return np.asarray(triangle[np.tril_indices(len(triangle))])


def unpack(numbers: FloatArray, count: int) -> FloatArray:
    """Return the lower triangle whose rows these are."""
    triangle = np.zeros((count, count))
    triangle[np.tril_indices(count)] = numbers
    return triangle


def _within_reason(program: Program, others: IntArray, reaches: FloatArray) -> FloatArray:
    """Keep steps inside the support, so that one fold ends inside, and inside what is exact as a float."""
    with np.errstate(over="ignore"):
        cells = program.upper[others] - program.lower[others] + 1.0
    return np.asarray(np.clip(reaches, 1.0, np.minimum(cells, 1e9)))
