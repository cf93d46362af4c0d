"""Random-walk Metropolis with a covariance learned between rounds (Haario, Saksman and Tamminen 2001).

One evaluation per proposal, for expensive likelihoods. Real coordinates of the block move together, on the
unconstrained line; integer and binary ones move one at a time.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from sterna.engine.circles import shortest
from sterna.engine.program import (
    LOG_LIKELIHOOD,
    LOG_REFERENCE,
    Program,
    coordinate_likelihood,
    coordinate_reference,
    reference_of,
)
from sterna.explorers.base import Bound, Draw, all_coordinates
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.line_moves import (
    DRAWS_FOR_SPREAD,
    acceptance,
    best_scale,
    change_of_scale,
    on_line,
    read_line,
    spread_of,
    step,
)
from sterna.explorers.shared.options import as_typed, check_choice, take_moves
from sterna.ground.compilation import compiled, inlined, int_pointer
from sterna.ground.rows import columns, field_pointer, fields, fields_behind, new_row, size_of, sizes
from sterna.ground.streams import Stream, fill_normals, uniform
from sterna.ground.values import BINARY, REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# By default, covariances of more coordinates than this are diagonal: a full one has n * n / 2 numbers per chain.
MAX_FULL = 200
# How many scans the last round's spread counts for, and the smallest factor by which a variance may fall in a round.
PRIOR_SCANS, MIN_SHARE = 4.0, 0.01
# In moments, states further out than this many standard deviations count as if they were this far, against heavy tails.
MAX_DEVIATIONS = 5.0

# Numbers of real coordinates, of entries of the factor of their covariance, and of other coordinates.
REALS, FACTOR, OTHERS = sizes(3)


@fields
class Parameters:
    """A chain's row of parameters.

    `limit` is how far from the centre a real coordinate counts in moments, `factor` the rows of the Cholesky factor of
    the covariance or its diagonal, `reaches` the largest steps of the other coordinates.
    """

    moves = 1
    reals = 1
    others = 1
    full = 1
    scale = 1
    centre = REALS
    limit = REALS
    factor = FACTOR
    reaches = OTHERS


@fields
class Statistics:
    """A chain's row of statistics: scans, proposals and their acceptance, and first and second moments of the reals.

    Proposals and acceptance are those of the real coordinates together, and then of each other coordinate.
    """

    scans = 1
    proposed = 1
    accepted = 1
    sums = REALS
    products = FACTOR
    others_proposed = OTHERS
    others_accepted = OTHERS


@fields_behind(Statistics)
class Scratch:
    """Working memory."""

    here = REALS
    there = REALS
    kept = REALS
    normals = REALS


@inlined
def size_of_factor(count: int, full: float) -> int:
    """Return how many numbers describe a covariance."""
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
    """Propose a position: here plus a normal step with the learned covariance."""
    fill_normals(normals, count, stream)
    entry = 0
    for k in range(count):
        if full > 0.0:
            total = 0.0
            for j in range(k + 1):
                total += factor[entry] * normals[j]
                entry += 1
        else:
            total = factor[k] * normals[k]
        there[k] = here[k] + scale * total


@inlined
def neighbour(here: float, lower: float, upper: float, reach: int, stream: Stream) -> float:
    """Propose an integer at most `reach` away; steps beyond a bound are reflected at the outer edge of its cell.

    Reflection keeps the proposal symmetric, because the way back is reflected at the same edge. It can end where it
    began.
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
    """Move an integer or flip a binary coordinate by the Metropolis rule; return the acceptance probability."""
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
    likelihood = coordinate_likelihood(program, x, i, here, new, reference, log_densities)
    probability = acceptance(beta, reference - reference_here, log_densities[LOG_LIKELIHOOD], likelihood)
    if uniform(stream) < probability:
        log_densities[LOG_REFERENCE] += reference - reference_here
        log_densities[LOG_LIKELIHOOD] = likelihood
    else:
        x[i] = here
    return probability


@inlined
def add_moments(
    program: Program,
    coordinates: IntPointer,
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
    entry = 0
    for k in range(count):
        away = shortest(program.circles, coordinates[k], line[k] - centre[k])
        deviation[k] = min(max(away, -limit[k]), limit[k])
        sums[k] += deviation[k]
        if full > 0.0:
            for j in range(k + 1):
                products[entry] += deviation[k] * deviation[j]
                entry += 1
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
    """Propose moves, each of all real coordinates or of one other, drawn by their numbers."""
    coordinates = int_pointer(data[0])
    count, others, full = (
        int(parameters[Parameters.reals]),
        int(parameters[Parameters.others]),
        parameters[Parameters.full],
    )
    size = size_of_factor(count, full)
    centre = field_pointer(parameters, Parameters.centre, count, size, others)
    limit = field_pointer(parameters, Parameters.limit, count, size, others)
    factor = field_pointer(parameters, Parameters.factor, count, size, others)
    reaches = field_pointer(parameters, Parameters.reaches, count, size, others)
    sums = field_pointer(statistics, Statistics.sums, count, size, others)
    products = field_pointer(statistics, Statistics.products, count, size, others)
    proposed = field_pointer(statistics, Statistics.others_proposed, count, size, others)
    accepted = field_pointer(statistics, Statistics.others_accepted, count, size, others)
    here = field_pointer(statistics, Scratch.here, count, size, others)
    there = field_pointer(statistics, Scratch.there, count, size, others)
    kept = field_pointer(statistics, Scratch.kept, count, size, others)
    normals = field_pointer(statistics, Scratch.normals, count, size, others)
    read_line(program, x, coordinates, count, here)
    for _ in range(int(parameters[Parameters.moves])):
        k = count
        if others > 0:
            k = int(uniform(stream) * (count + others))
        if k < count or others == 0:
            walk(count, full, parameters[Parameters.scale], factor, here, there, normals, stream)
            statistics[Statistics.proposed] += 1.0
            statistics[Statistics.accepted] += step(
                program, x, log_densities, beta, coordinates, count, here, there, kept, 0.0, True, stream
            )
        else:
            reach = int(reaches[k - count])
            proposed[k - count] += 1.0
            accepted[k - count] += step_of_one(program, x, log_densities, beta, coordinates[k], reach, stream)
    statistics[Statistics.scans] += 1.0
    add_moments(program, coordinates, count, full, centre, limit, here, there, sums, products)


@dataclass(frozen=True)
class Metropolis:
    """Random-walk Metropolis: one evaluation per proposal, with steps of the covariance estimated in the last round.

    All real coordinates move at once; bounded ones are first transformed to the whole line. Integers move one at a time
    by steps of learned size, and binary coordinates flip. Each coordinate has the same share of the proposals, where
    real ones pool theirs. The learned covariance is that of all modes together: if they are far apart, `Evolution` is
    better.

    Parameters
    ----------
    moves
        Proposals per scan; by default as many as there are coordinates.
    covariance
        "full", or "diagonal" for variances only; by default full up to 200 real coordinates.

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
        take_moves(self)
        check_choice(self, "covariance", (None, "full", "diagonal"), 'give "full", or "diagonal" for variances only')

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target, with a covariance for each chain, tuned by the moments of its states."""
        block, program = all_coordinates(target, coordinates), target.program
        real = program.value_type[block] == REAL
        # the kernel expects real coordinates first
        block = np.concatenate([block[real], block[~real]])
        count, others = int(real.sum()), int((~real).sum())
        full = self.covariance == "full" or (self.covariance is None and count <= MAX_FULL)
        given = count, size_of_factor(count, float(full)), others
        moves = len(block) if self.moves is None else self.moves

        def start(draw: Draw) -> FloatArray:
            spread = first_spread(program, block, count, full, draw)
            scale = best_scale(count)
            return new_row(Parameters, given, moves=moves, reals=count, others=others, full=full, scale=scale, **spread)

        return Bound(
            kernel=explore,
            data=(block,),
            start=start,
            n_parameters=size_of(Parameters, *given),
            n_statistics=size_of(Statistics, *given),
            n_scratch=size_of(Scratch, *given) - size_of(Statistics, *given),
            tune=partial(tune, program, block),
        )


def first_spread(program: Program, block: IntArray, count: int, full: bool, draw: Draw) -> dict[str, FloatArray]:
    """Return the fields of the first round's parameters that come from draws from the reference."""
    draws = draw(DRAWS_FOR_SPREAD)
    centre, spread = spread_of(on_line(program, block[:count], draws))
    others = block[count:]
    factor = pack(np.diag(spread)) if full else spread
    reaches = _clip_reaches(program, others, 2.0 * spread_of(draws[:, others])[1])
    return {"centre": centre, "limit": MAX_DEVIATIONS * spread, "factor": factor, "reaches": reaches}


def tune(program: Program, block: IntArray, parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return each chain's new parameters: covariance and scale of the real coordinates, steps of the others."""
    tuned = parameters.copy()
    count, full = int(parameters[0, Parameters.reals]), bool(parameters[0, Parameters.full])
    given = count, size_of_factor(count, float(full)), int(parameters[0, Parameters.others])
    if count > 0:
        for row, sums in zip(tuned, statistics, strict=True):
            if sums[Statistics.scans] > 0:
                tune_covariance(row, sums, given, full)
    proposed = columns(statistics, Statistics.others_proposed, *given)
    accepted = columns(statistics, Statistics.others_accepted, *given)
    reaches = columns(tuned, Parameters.reaches, *given)
    reaches[:] = _clip_reaches(program, block[count:], reaches * change_of_scale(1, proposed, accepted))
    return tuned


def tune_covariance(row: FloatArray, sums: FloatArray, given: tuple[int, int, int], full: bool) -> None:
    """Set centre, factor and scale of one chain.

    Variances are averaged with those of the last round on a logarithmic scale, because those of the reference can be
    larger by many powers of ten. Correlations are shrunk towards zero, so that a factor exists however few scans there
    are. The scale is changed by what acceptance requires for steps of the size that was tried, and by the reciprocal of
    the growth of the covariance.
    """
    count, scans = given[0], sums[Statistics.scans]
    factor = columns(row, Parameters.factor, *given)
    old = unpack(factor, count) if full else np.diag(factor)
    old_variances = np.sum(old**2, axis=1)
    shift = columns(sums, Statistics.sums, *given) / scans
    products = columns(sums, Statistics.products, *given) / scans
    seen = unpack(products, count) if full else np.diag(products)
    seen = seen - np.tril(np.outer(shift, shift))
    variances = np.maximum(np.diag(seen), MIN_SHARE * old_variances)
    weight = scans / (scans + PRIOR_SCANS)
    spread = np.exp(0.5 * (weight * np.log(variances) + (1.0 - weight) * np.log(old_variances)))
    new = np.diag(spread)
    if full:
        trust = scans / (scans + 10.0 + 3.0 * count)
        correlation = trust * np.tril(seen, -1) / np.sqrt(np.outer(variances, variances))
        new = spread[:, None] * np.linalg.cholesky(correlation + correlation.T + np.eye(count))
    grown = float(np.exp(np.mean(np.log(np.diag(new) / np.diag(old)))))
    change = float(change_of_scale(count, sums[Statistics.proposed], sums[Statistics.accepted]))
    columns(row, Parameters.centre, *given)[:] += shift
    columns(row, Parameters.limit, *given)[:] = MAX_DEVIATIONS * spread
    factor[:] = pack(new) if full else np.diag(new)
    scale = row[Parameters.scale] * change / grown
    row[Parameters.scale] = np.clip(scale, 0.01 * best_scale(count), 2.0 * best_scale(count))


def pack(triangle: FloatArray) -> FloatArray:
    """Return the rows of a lower triangle in one array."""
    return np.asarray(triangle[np.tril_indices(len(triangle))])


def unpack(entries: FloatArray, count: int) -> FloatArray:
    """Return the lower triangle whose rows are in one array."""
    triangle = np.zeros((count, count))
    triangle[np.tril_indices(count)] = entries
    return triangle


def _clip_reaches(program: Program, others: IntArray, reaches: FloatArray) -> FloatArray:
    """Keep steps within the support, so that one reflection ends inside, and exact as floating-point numbers."""
    with np.errstate(over="ignore"):
        cells = program.upper[others] - program.lower[others] + 1.0
    return np.asarray(np.clip(reaches, 1.0, np.minimum(cells, 1e9)))
