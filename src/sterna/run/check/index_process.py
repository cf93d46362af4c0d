"""The index process: a permutation that only proposed swaps change, with the probabilities that energies give.

Given all log-likelihoods, each swap is an independent event of known probability, so that the number of swaps of a pair
follows Bernstein's inequality. Replicas are exchangeable, so that each is at every chain for the same share of time.
"""

import math

import numpy as np

from sterna.engine.record import MAX_BATCHES, Record
from sterna.result.check_report import NOT_CHECKED, OK, PROBLEM
from sterna.run.check.recorded import LEVEL, Recorded
from sterna.tuning.batches import errors_and_freedom, merge, standard_errors
from sterna.tuning.estimate import student_quantile
from sterna.types import BoolArray, FloatArray, IntArray

# With fewer restarts per replica, times between visits are too long for an estimate of their error.
RESTARTS_PER_REPLICA = 5


def check_permutations(recorded: Recorded) -> tuple[str, str]:
    """Every scan has one replica at each chain, and differs from the one before by proposed swaps."""
    for number, record in enumerate(recorded.records):
        where = f" of copy {number}" if len(recorded.records) > 1 else ""
        wrong = np.flatnonzero((np.sort(record.positions, axis=1) != np.arange(recorded.n_chains)).any(axis=1))
        if len(wrong):
            return PROBLEM, (
                f"after scan {wrong[0] + 1}{where} the replicas are not at different chains, and so after {len(wrong)} "
                "scans: the file was changed, or the memory failed."
            )
        impossible = np.flatnonzero(~_moves_are_possible(recorded, record))
        if len(impossible):
            return PROBLEM, (
                f"scan {impossible[0] + 2}{where}, and {len(impossible)} in all, moved replicas otherwise than by "
                f"swaps that the scheme {recorded.scheme} proposes: the file was changed, or the memory failed."
            )
    return OK, f"one replica at each of {recorded.n_chains} chains in {recorded.n_scans} scans, moved by proposed swaps"


def _replica_of(record: Record) -> IntArray:
    """Return the replica at each chain after each scan."""
    return np.argsort(record.positions, axis=1)


def _swapped(record: Record) -> BoolArray:
    """Return which pairs swapped in each scan from the second on."""
    at = _replica_of(record)
    return np.asarray((at[1:, :-1] == at[:-1, 1:]) & (at[1:, 1:] == at[:-1, :-1]))


def _moves_are_possible(recorded: Recorded, record: Record) -> BoolArray:
    """Return for each scan from the second on whether swaps of one parity explain it."""
    at, swapped = _replica_of(record), _swapped(record)
    scans, pairs = swapped.shape
    parity = np.arange(pairs) % 2
    expected = at[:-1].copy()
    for pair in range(pairs):
        which = swapped[:, pair]
        expected[which, pair], expected[which, pair + 1] = at[:-1][which, pair + 1], at[:-1][which, pair]
    explained = (expected == at[1:]).all(axis=1)
    if recorded.scheme == "deo":
        # scan s, from 1, proposes the pairs of the parity of s
        allowed = parity[None] == (np.arange(2, scans + 2) % 2)[:, None]
        return np.asarray(explained & ~(swapped & ~allowed).any(axis=1))
    both = (swapped & (parity == 0)).any(axis=1) & (swapped & (parity == 1)).any(axis=1)
    return np.asarray(explained & ~both)


def check_swaps(recorded: Recorded) -> tuple[str, str]:
    """Swaps were accepted as often as the log-likelihoods say."""
    if recorded.n_scans < 3:
        return NOT_CHECKED, "too few scans"
    with_energies = all(len(record.energies) == len(record.positions) for record in recorded.records)
    accepted, expected, limits = _counts(recorded) if with_energies else _counts_from_means(recorded)
    over = np.abs(accepted - expected) / limits
    worst = int(over.argmax())
    said = f"pair {worst} of chains swapped {accepted[worst]:.0f} times, and its log-likelihoods"
    if over[worst] > 1:
        return PROBLEM, (
            f"{said} allow {expected[worst]:.1f} (at most {limits[worst]:.1f} more or less): swaps were not decided by "
            "their acceptance probabilities. Do not use the run, and report it."
        )
    how = "" if with_energies else " by the means of the rejections"
    return OK, (
        f"all of {len(accepted)} pairs swapped as often as log-likelihoods allow{how}: {accepted.sum():.0f} times, "
        f"expected {expected.sum():.1f}"
    )


def _proposed(recorded: Recorded, scans: int, pairs: int) -> FloatArray:
    """Return the probability with which each scan from the second on proposes each pair."""
    if recorded.scheme != "deo":
        return np.full((scans, pairs), 0.5)
    return np.asarray((np.arange(pairs) % 2)[None] == (np.arange(2, scans + 2) % 2)[:, None], dtype=np.float64)


def _counts(recorded: Recorded) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return swaps of each pair, how many are expected, and how far these may be apart."""
    steps = np.diff(recorded.schedule)
    accepted, expected, variance = np.zeros((3, len(steps)))
    for record in recorded.records:
        swapped, energies = _swapped(record), record.energies[1:]
        with np.errstate(invalid="ignore"):
            exponents = steps * (energies[:, :-1] - energies[:, 1:])
        # a state of likelihood zero is never swapped
        chances = np.exp(np.minimum(np.where(np.isnan(exponents), -np.inf, exponents), 0.0))
        chances = chances * _proposed(recorded, *swapped.shape)
        accepted += swapped.sum(axis=0)
        expected += chances.sum(axis=0)
        variance += (chances * (1.0 - chances)).sum(axis=0)
    # Bernstein: P(|sum| > t) < 2 exp(-t^2 / (2 (V + t / 3)))
    need = math.log(2.0 * len(steps) / LEVEL)
    return accepted, expected, need / 3.0 + np.sqrt(need**2 / 9.0 + 2.0 * need * variance) + 1e-6


def _counts_from_means(recorded: Recorded) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the same where log-likelihoods of all scans were not kept: from the mean rejections."""
    batches = merge(recorded.records)
    rejection, errors = batches.mean(batches.rejection), standard_errors(batches.influence(batches.rejection))
    accepted, proposed = np.zeros((2, len(rejection)))
    for record in recorded.records:
        swapped = _swapped(record)
        accepted += swapped.sum(axis=0)
        proposed += _proposed(recorded, *swapped.shape).sum(axis=0)
    quantile = -student_quantile(LEVEL / (2 * len(rejection)), 30.0)
    # the scans that propose a pair are half of those over which its rejections are averaged
    variance = proposed * rejection * (1.0 - rejection) + 2.0 * (proposed * np.nan_to_num(errors)) ** 2
    if recorded.scheme != "deo":
        variance += proposed
    return accepted, proposed * (1.0 - rejection), quantile * np.sqrt(variance) + quantile**2


def check_occupation(recorded: Recorded) -> tuple[str, str]:
    """Each replica is as often at hot chains as at cold ones."""
    least = RESTARTS_PER_REPLICA * recorded.n_chains * len(recorded.records)
    if recorded.restarts < least:
        return NOT_CHECKED, (
            f"{recorded.restarts} restarts are too few to say whether replicas are at all chains alike: at least "
            f"{least} are needed"
        )
    scores, limits = zip(*(_scores(recorded, record) for record in recorded.records), strict=True)
    over = np.concatenate([np.abs(score) / limit for score, limit in zip(scores, limits, strict=True)])
    worst, score = int(np.nanargmax(over)), float(np.concatenate(scores)[int(np.nanargmax(over))])
    limit = float(np.concatenate(limits)[worst])
    if over[worst] > 1:
        return PROBLEM, (
            f"replica {worst % recorded.n_chains} was at {'colder' if score > 0 else 'hotter'} chains than others by "
            f"{abs(score):.1f} standard errors (normal: below {limit:.1f}): replicas are not exchangeable. They may be "
            "stuck in different modes; otherwise report it."
        )
    return OK, (
        f"all replicas were at all chains alike: mean places differ by at most {np.abs(score):.1f} standard errors "
        f"(normal: below {limit:.1f})"
    )


def _scores(recorded: Recorded, record: Record) -> tuple[FloatArray, FloatArray]:
    """Return how many standard errors each replica's mean place is off the middle, and how many may be."""
    places = record.positions.astype(np.float64) - 0.5 * (recorded.n_chains - 1)
    size = max(1, len(places) // MAX_BATCHES)
    batches = places[: len(places) // size * size].reshape(-1, size, recorded.n_chains).mean(axis=1)
    means = batches.mean(axis=0)
    errors, freedom = errors_and_freedom(np.moveaxis((batches - means)[None], 2, 0))
    share = LEVEL / (2 * recorded.n_chains * len(recorded.records))
    limits = np.array([-student_quantile(share, float(one)) for one in freedom])
    return np.divide(means, errors, out=np.zeros_like(means), where=errors > 0), limits
