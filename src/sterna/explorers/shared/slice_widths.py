"""What slice sampling learns: the width of each coordinate's intervals, and how often they may be doubled."""

import numpy as np

from sterna.engine.program import Program
from sterna.ground.rows import columns, fields, sizes
from sterna.ground.values import HUGE, INTEGER
from sterna.types import FloatArray, IntArray

MAX_DOUBLINGS = 30
# Replicas begin as draws from the reference, whose density under the target may be so small that the slice at its level
# is astronomically long. So an interval is at most so many times as long as the span of draws from the reference: long
# enough to go where the target is, too short to get lost, or to where a user's function fails. After the first rounds
# it may also be doubled so often, because the width of a chain that is on its way, or has heavy tails, grows.
FIRST_SPANS, FIRST_ROUNDS, ALWAYS_DOUBLINGS = 8.0, 7, 5.0
DRAWS_FOR_SPREAD = 100
# Doubling makes an interval up to 2^30 times as long, which must still be a finite number.
MIN_WIDTH, MAX_WIDTH = 1e-300, 2.0**-32 * HUGE

(COUNT,) = sizes(1)


@fields
class Parameters:
    """A chain's row of parameters: updates per scan, number of coordinates, rounds tuned, and for each coordinate.

    These are its width, that of the first round, and how often an interval may be doubled.
    """

    updates = 1
    count = 1
    rounds = 1
    widths = COUNT
    first_widths = COUNT
    doublings = COUNT


@fields
class Statistics:
    """A chain's row of statistics: for each coordinate the sum of its moves, and how many updates moved it."""

    moved = COUNT
    moves = COUNT


def span_of(draws: FloatArray) -> FloatArray:
    """Return the distance between the smallest and the largest draw, as a finite number."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(draws.max(axis=0) - draws.min(axis=0), HUGE))


def first_widths(program: Program, block: IntArray, draws: FloatArray) -> FloatArray:
    """Return the widths of the first round, for every chain: the spread of draws from the reference.

    The spread of a reference with many scales is far below its largest draws. Doubling must be able to span these too,
    otherwise a chain that came there would never leave.
    """
    value_type, lower, upper = program.value_type[block], program.lower[block], program.upper[block]
    with np.errstate(over="ignore"):
        spread = 2.0 * np.median(np.abs(draws - np.median(draws, axis=0)), axis=0)
    widths = np.maximum(spread, 2.0**-20 * span_of(draws))
    widths = np.where(widths > 0, widths, 1.0)
    widths = np.where(value_type == INTEGER, np.maximum(widths, 2.0), widths)
    # A small finite set is an interval itself: there is nothing to double or to tune.
    small = (value_type == INTEGER) & (upper < lower + 32)
    return np.where(small, np.inf, _clip_widths(program, block, widths))


def doublings_to_circle(program: Program, block: IntArray, widths: FloatArray) -> FloatArray:
    """Return how often intervals must be doubled to go around their circles; inf for coordinates that do not repeat.

    The density repeats, so that nothing would end the doubling of an interval that goes around.
    """
    periods = program.circles[1::2][block]
    with np.errstate(divide="ignore"):
        needed = np.ceil(np.log2(periods) - np.log2(np.where(np.isfinite(widths), widths, 1.0)))
    return np.where(periods > 0.0, np.maximum(needed, 0.0), np.inf)


def first_doublings(program: Program, block: IntArray, draws: FloatArray, widths: FloatArray) -> FloatArray:
    """Return how often an interval of the first rounds may be doubled: up to FIRST_SPANS times the span of draws."""
    finite = np.where(np.isfinite(widths), widths, 1.0)
    needed = np.log2(FIRST_SPANS) + np.log2(np.maximum(span_of(draws), finite)) - np.log2(finite)
    limits = np.clip(np.ceil(needed), 0, MAX_DOUBLINGS)
    return np.minimum(limits, doublings_to_circle(program, block, widths))


def next_doublings(program: Program, block: IntArray, parameters: FloatArray, tuned: FloatArray) -> FloatArray:
    """Return how often an interval may be doubled: up to the same length whatever its width, later at least 5 times.

    Doubling with a limit leaves the distribution unchanged (Neal 2003, section 4.1).
    """
    count = len(block)
    later = tuned[:, Parameters.rounds : Parameters.rounds + 1] >= FIRST_ROUNDS
    before, after = (columns(rows, Parameters.widths, count) for rows in (parameters, tuned))
    # a width that is infinite is never doubled
    with np.errstate(invalid="ignore"):
        longer = np.nan_to_num(np.log2(before) - np.log2(after))
    limits = np.clip(np.ceil(columns(parameters, Parameters.doublings, count) + longer), 0, MAX_DOUBLINGS)
    limits = np.where(later, np.maximum(limits, ALWAYS_DOUBLINGS), limits)
    return np.minimum(limits, doublings_to_circle(program, block, after))


def tune_widths(program: Program, block: IntArray, parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return new widths by chain: three times the mean move, which is the mean length of a slice.

    Two uniform points of an interval are on average a third of its length apart. A coordinate that did not move returns
    to its first width, because the ends of its last interval may have been equal as floating-point numbers.
    """
    count, tuned = len(block), parameters.copy()
    moved, moves = columns(statistics, Statistics.moved, count), columns(statistics, Statistics.moves, count)
    with np.errstate(over="ignore"):
        widths = _clip_widths(program, block, 3.0 * (moved / np.maximum(moves, 1.0)))
    first = columns(parameters, Parameters.first_widths, count)
    columns(tuned, Parameters.widths, count)[:] = np.where((moved > 0) & np.isfinite(first), widths, first)
    tuned[:, Parameters.rounds] += 1.0
    columns(tuned, Parameters.doublings, count)[:] = next_doublings(program, block, parameters, tuned)
    return tuned


def _clip_widths(program: Program, block: IntArray, widths: FloatArray) -> FloatArray:
    """Keep widths within the support or the circle, and within what can be doubled without overflow."""
    integer = program.value_type[block] == INTEGER
    with np.errstate(over="ignore"):
        support = program.upper[block] - program.lower[block]
    periods = program.circles[1::2][block]
    support = np.where(periods > 0.0, periods, support)
    smallest = np.where(integer, 1.0, MIN_WIDTH)
    largest = np.asarray(np.minimum(support + integer, MAX_WIDTH))
    return np.clip(widths, smallest, np.maximum(largest, smallest))
