"""Whether to believe a run: each warning says what is wrong, the number, what is normal and what to do."""

import math
from typing import TYPE_CHECKING

import numpy as np

from sterna.explorers.base import MAX_DIVERGED
from sterna.result.advice import SAME_POSTERIOR, longer_run
from sterna.result.convergence import RUNS_PER_FALSE_ALARM, unconverged
from sterna.result.ending import goal_not_reached, interrupted_run, not_saved
from sterna.result.failed_evaluations import failing_evaluations
from sterna.result.missed_mass import evidence_too_large, light_tails, missed_mass
from sterna.result.other_path import (
    disagreeing_paths,
    draws_outside_the_mixture,
    mode_outside_the_mixture,
    modes_seen_by_few_climbs,
    narrow_modes_may_be_missing,
)
from sterna.result.precision import single_precision
from sterna.result.text import count
from sterna.tuning.chains import MAX_MEAN_REJECTION, SLOW_SHARE, explores_slowly, saturated
from sterna.tuning.estimate import student_quantile
from sterna.tuning.journeys import effective_number, sizes_of

if TYPE_CHECKING:
    from sterna.result.result import Result

# With fewer restarts of a copy, its target chain has hardly been reached by replicas from the reference. Other copies
# are no help, because each must forget where it began: with about 10 restarts in each of four copies, 95 % intervals of
# a mode's weight covered 87 % of 30 runs.
MIN_RESTARTS = 10

# If the likelihood is zero at more of the reference's draws, few replicas can leave the reference.
MAX_ZERO_SHARE = 0.99

# If the log-likelihood varies by less among all draws, the posterior is the reference.
LEAST_VARIATION = 0.001

# Shorter tuning rounds are not compared with the sampling phase.
MIN_SCANS_TO_COMPARE = 256

# A larger range of the target's log-likelihoods means that some draws are far outside the reference.
MAX_RANGE = 1e6

# A journey that holds a larger share of the target's draws, of all copies or of its own, decides what they say. In runs
# that were wrong the largest share was 0.4 to 0.9, in healthy ones 0.01 to 0.15; in short copies it may be 0.6 of one.
MAX_JOURNEY_SHARE, MAX_JOURNEY_SHARE_OF_COPY = 0.35, 0.65


def warnings_of(result: "Result") -> list[str]:
    """Return all warnings that a result deserves."""
    checks = (
        interrupted_run,
        not_saved,
        goal_not_reached,
        failing_evaluations,
        unknown_evidence,
        constant_likelihood,
        single_precision,
        too_few_chains,
        few_restarts,
        slow_exploration,
        diverging_trajectories,
        disagreeing_estimators,
        moved_evidence,
        few_journeys,
        unconverged,
        draws_outside_the_reference,
        missed_mass,
        evidence_too_large,
        light_tails,
        disagreeing_paths,
        draws_outside_the_mixture,
        mode_outside_the_mixture,
        modes_seen_by_few_climbs,
        narrow_modes_may_be_missing,
    )
    return [text for check in checks if (text := check(result)) is not None]


def unknown_evidence(result: "Result") -> str | None:
    """Warn if the evidence has a large error, and name the cause if the likelihood is zero at most reference draws."""
    evidence, share = result.log_evidence, result.last.zero_share
    known = evidence.valid and np.isfinite(evidence.error)
    if share < 1 and known and evidence.error <= 1:
        return None
    if share > MAX_ZERO_SHARE:
        n_draws = result.settings.n_scans * result.settings.n_copies
        if result.other_path is not None:
            return (
                f"The likelihood is zero at {share:.2%} of the {n_draws} draws from the fitted mixture (normal: at "
                f"less than {MAX_ZERO_SHARE:.0%}), so the evidence is unknown: use {longer_run(result, 4)}, or "
                'path="prior".'
            )
        where = f"all {n_draws}" if share == 1 else f"{share:.2%} of the {n_draws}"
        return (
            f"The likelihood is zero at {where} draws from the reference (normal: at less than {MAX_ZERO_SHARE:.0%}), "
            f"so {'no' if share == 1 else 'hardly any'} replica travelled from the reference to the target, and the "
            "evidence is unknown. A longer run helps little. Use a reference that is narrower or elsewhere "
            f"({SAME_POSTERIOR})."
        )
    # with hardly any restart it is not known how much longer the run must be
    factor = 2 * min(evidence.error, 4.0) ** 2 if known else max(16.0, 2.0 ** (10 - result.settings.n_rounds))
    return (
        f"The evidence is poorly known: {evidence} (normal: an error below 1). The run is too short for so large a "
        f"distance between reference and target: use {longer_run(result, factor)}, or a narrower reference "
        f"({SAME_POSTERIOR})."
    )


def constant_likelihood(result: "Result") -> str | None:
    """Warn if the likelihood hardly varied: the data may have been forgotten, or the logarithm."""
    low, high = float(result.log_likelihood.min()), float(result.log_likelihood.max())
    # along the path from a mixture swaps are rejected whatever the likelihood is
    varies = result.other_path is None and result.rejection.max() > LEAST_VARIATION
    if varies or not (low == high or high - low <= LEAST_VARIATION):
        return None
    values = f"{low:.6g}" if f"{low:.6g}" == f"{high:.6g}" else f"from {low:.3g} to {high:.3g}"
    logarithm = ", and that it is a logarithm, since no value is negative" if 0.0 <= low < high <= 1.0 else ""
    return (
        f"The log-likelihood is {values} at all draws (normal: it varies by more than {LEAST_VARIATION}), so the "
        "posterior equals the reference. Check that the function depends on the variables and the data"
        f"{logarithm}. If it does, it varies only where no draw of the reference has been: use a narrower reference "
        f"({SAME_POSTERIOR})."
    )


def too_few_chains(result: "Result") -> str | None:
    """Warn if neighbouring chains reject most swaps."""
    if result.last.zero_share == 1:
        return None
    # without draws of likelihood zero, whose rejections more chains would not reduce
    rejection = result.last.rejection_of_possible
    mean, largest = float(rejection.mean()), float(rejection.max())
    if mean <= MAX_MEAN_REJECTION and largest <= 0.9:
        return None
    if len(rejection) > 2 and rejection[0] > 0.75 and np.delete(rejection, 0).mean() < 0.5:
        return (
            f"The reference is far from its neighbouring chain: they reject {rejection[0]:.0%} of their swaps, and "
            f"other pairs {np.delete(rejection, 0).mean():.0%} (normal: about the same for all pairs). If "
            "log_likelihood is hugely negative where the likelihood should be zero, return -inf there; otherwise use "
            f"a narrower reference ({SAME_POSTERIOR})."
        )
    wanted = result.recommended_n_chains
    advice = (
        f'use {longer_run(result, 4)}, so that n_chains="auto" can find enough'
        if result.settings.auto_chains
        else f'use n_chains={wanted} or more, or n_chains="auto"'
    )
    return (
        f"Too few chains: neighbouring chains reject {mean:.0%} of their swaps on average and {largest:.0%} in the "
        f"worst pair (normal: 30 % to 60 %). The global barrier is at least {result.global_barrier:.1f}; {advice}."
    )


def few_restarts(result: "Result") -> str | None:
    """Warn if few replicas travelled from the reference to the target in some copy."""
    fewest = min(result.last.restarts_of_copies)
    if fewest >= MIN_RESTARTS or result.last.zero_share == 1:
        return None
    possible = result.predicted_restarts / result.settings.n_copies
    advice = f"Use {longer_run(result, 2 * MIN_RESTARTS / max(fewest, 1))}"
    if saturated(result.last) and fewest >= 0.5 * possible:
        advice = f"Use n_chains={result.recommended_n_chains}"
    where = " in the worst copy" if result.settings.n_copies > 1 else ""
    found = "No restarts" if fewest == 0 else f"Only {count(fewest, 'restart')}"
    return (
        f"{found}{where} (normal: at least {MIN_RESTARTS}; the rejections allow "
        f"{possible:.0f}): {'no' if fewest == 0 else 'hardly any'} replica travelled from the reference to the target, "
        f"so modes may be missing. {advice}."
    )


def slow_exploration(result: "Result") -> str | None:
    """Warn if there are far fewer restarts than the rejections allow."""
    if not explores_slowly(result.last):
        return None
    memory = result.energy_autocorrelation
    # that of the reference is 0 by construction
    worst = 1 + int(np.argmax(np.nan_to_num(memory[1:], nan=-1.0)))
    # restarts grow more slowly than the number of explorations
    more = result.explorations * min(
        math.ceil(2 * SLOW_SHARE * result.predicted_restarts / max(result.restarts, 1)), 16
    )
    return (
        f"Exploration is slow: {count(result.restarts, 'restart')}, but the rejections would allow "
        f"{result.predicted_restarts:.0f} (normal: more than {SLOW_SHARE:.0%} of that). In the worst chain, at "
        f"beta = {result.schedule[worst]:.3g}, the log-likelihoods before and after a scan's exploration have a "
        f"correlation of {memory[worst]:.2f} (0 means independent). Explore more often in each scan "
        f"(explorations={more}) or, if you chose the explorer, let the run choose it."
    )


def diverging_trajectories(result: "Result") -> str | None:
    """Warn of trajectories that diverged: they miss regions of high curvature, which nothing else shows."""
    worst = int(result.diverged.argmax())
    share = float(result.diverged[worst])
    if share <= MAX_DIVERGED:
        return None
    return (
        f"At beta = {result.schedule[worst]:.3g}, {share:.1%} of the trajectories diverged (normal: less than "
        f"{MAX_DIVERGED:.1%}), so the explorer {result.explorer} may not reach narrow parts of the target, such as "
        'the neck of a funnel. Use explorer="slice", or explorer="automala" for real variables: both adapt to them.'
    )


def disagreeing_estimators(result: "Result") -> str | None:
    """Compare estimators that agree if chains overlap and draws suffice; thermodynamic integration does not count."""
    for (first, second), difference in result.last.evidence.differences.items():
        if not difference.valid or not np.isfinite(difference.error):
            continue
        allowed = difference.error * student_quantile(1 - 0.5 / RUNS_PER_FALSE_ALARM, difference.freedom)
        # if the likelihood hardly varies, estimators differ by rounding only
        if abs(difference.value) > allowed + 1e-9 * max(1.0, abs(result.evidence[first].value)):
            values = [f"{name.replace('_', ' ')} {result.evidence[name].value:.3f}" for name in (first, second)]
            return (
                f"Estimators of the evidence disagree: {values[0]}, {values[1]} (normal: within {allowed:.3f} of each "
                "other, given their errors). Some part of the target was met too rarely, or the run is too short: use "
                f"{longer_run(result, 4)}."
            )
    return None


def moved_evidence(result: "Result") -> str | None:
    """Compare with the last tuning round: the evidence moves if a mode was found or lost in between."""
    if len(result.rounds) < 2 or result.rounds[-2].n_scans < MIN_SCANS_TO_COMPARE:
        return None
    before, now = result.rounds[-2].log_evidence, result.log_evidence
    moved = now - before
    if not moved.valid or not np.isfinite(moved.error):
        return None
    allowed = moved.error * student_quantile(1 - 0.5 / RUNS_PER_FALSE_ALARM, moved.freedom)
    if abs(moved.value) <= allowed + 1e-9 * max(1.0, abs(now.value)):
        return None
    return (
        f"The run has not converged: the log evidence was {before} in the last tuning round and {now} in the sampling "
        f"phase (normal: within {allowed:.3f} of each other, given their errors). A mode may have been found or lost "
        f"in between: use {longer_run(result, 4)}."
    )


def few_journeys(result: "Result") -> str | None:
    """Warn if one journey holds a large share of the target's draws, of all or of one copy."""
    if result.last.zero_share == 1:
        return None
    counts = [sizes_of(one - one.min()) for one in result.journeys]
    largest, scans = max(float(sizes.max()) for sizes in counts), result.journeys.shape[1]
    share, of_copy = largest / result.journeys.size, largest / scans
    if share <= MAX_JOURNEY_SHARE and of_copy <= MAX_JOURNEY_SHARE_OF_COPY:
        return None
    number = effective_number(np.concatenate(counts))
    where = f"{share:.0%} of all draws" if share == of_copy else f"{of_copy:.0%} of the draws of one copy"
    return (
        f"A single journey, the stay of one replica between two visits to the reference, holds {where} (normal: less "
        "than 15 %). If modes are far apart, their weights and the evidence depend on chance: all draws are worth "
        f"{number:.1f} journeys of equal length. Use {longer_run(result, 10 * of_copy)}."
    )


def draws_outside_the_reference(result: "Result") -> str | None:
    """Warn of draws so far outside the reference that its log-density nearly cancels the log-likelihood."""
    found = result.log_likelihood
    low, high = float(found.min()), float(found.max())
    # replicas that have run away together have similar ones, and none comes from the reference
    if not high - low > MAX_RANGE and not (low > MAX_RANGE and result.restarts == 0):
        return None
    return (
        f"The target's draws have log-likelihoods from {low:.3g} to {high:.3g} (normal: within {MAX_RANGE:.0e} of each "
        "other and of those of the reference): some are so far outside the reference that the logarithms of both "
        "densities cancel. Check the sign: the function must return the logarithm of the likelihood, not minus it. "
        "Otherwise the target may have no finite integral (check improper priors), or far heavier tails than the "
        "reference: use proper priors, or a reference with heavier tails, such as sterna.StudentT or sterna.Cauchy "
        f"({SAME_POSTERIOR})."
    )
