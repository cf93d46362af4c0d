"""A chain that is added below the last one of a ladder, and whose beta is adapted to the swaps between the two.

The rules are those of Atchade, Roberts and Rosenthal (2011) and of Miasojedow, Moulines and Vihola (2013), as the paper
compares them (appendix, stochastic optimization methods): rho grows by gain * (acceptance - 0.23), and beta falls with
rho. Only the last chain and the one being added are explored.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from sterna.engine.communication import acceptance
from sterna.engine.program import LOG_LIKELIHOOD, N_LOG_DENSITIES, view
from sterna.engine.round import Copy, Plan, explore_range, new_at_work
from sterna.ground.compilation import as_pointer, compiled, inlined
from sterna.ground.rows import fields, size_of
from sterna.ground.streams import scan_key, swap_uniform
from sterna.types import FloatArray, WordArray

ARR, MMV = 0, 1

TARGET_ACCEPTANCE, TOLERANCE = 0.23, 0.05
# An interval of 90 % is so many standard errors wide on either side, over so many of the last steps.
DEVIATIONS, WINDOW = 1.645, 1000

FIRST_RHO = 1.0

# Chains of the two replicas: the added one is tried at the reference, or is below the upper one, which is the last.
REFERENCE, ADDED, UPPER = 0, 1, 2


@fields
class Progress:
    """What is known of the chain that is being added; the sums are those of the last steps, up to `WINDOW`."""

    rho = 1
    steps = 1
    sum = 1
    square = 1
    done = 1


class Adaptation(NamedTuple):
    """The state of the adaptation of one chain."""

    progress: FloatArray
    """A row of `Progress`."""
    recent: FloatArray
    """Acceptance probabilities of the last steps, as a ring."""


def new_adaptation() -> Adaptation:
    """Return the state before the first step."""
    progress = np.zeros(size_of(Progress))
    progress[Progress.rho] = FIRST_RHO
    return Adaptation(progress, np.zeros(WINDOW))


def new_pair(dimension: int) -> Copy:
    """Allocate the two replicas of a step: replica 0 at the added chain, replica 1 at the one above it."""
    return Copy(
        states=np.zeros((2, dimension)),
        log_densities=np.zeros((2, N_LOG_DENSITIES)),
        chain_of=np.array([ADDED, UPPER], dtype=np.int64),
        replica_of=np.array([0, 0, 1], dtype=np.int64),
        leg=np.zeros(0, dtype=np.int64),
        accepted=np.zeros(0),
        before=np.zeros(3),
        at_work=new_at_work(),
    )


@compiled
def beta_below(rule: int, beta: float, rho: float) -> float:
    """Return the beta of the chain below the one at `beta`."""
    return beta / (1.0 + (1.0 if rule == ARR else beta) * math.exp(rho))


@compiled
def gain(rule: int, n: float) -> float:
    """Return by how much step n, counted from 0, changes rho per unit of acceptance."""
    return 1.0 / (n + 1.0) if rule == ARR else (n + 1.0) ** -0.6


@compiled
def next_rho(rule: int, rho: float, n: float, accepted: float) -> float:
    """Return rho after step n: swaps that are accepted too often lead further down."""
    return rho + gain(rule, n) * (accepted - TARGET_ACCEPTANCE)


@compiled
def remember(adaptation: Adaptation, accepted: float) -> None:
    """Take the acceptance probability of a step into the sums, and out of them that of `WINDOW` steps ago."""
    progress = adaptation.progress
    place = int(progress[Progress.steps]) % WINDOW
    old = adaptation.recent[place]
    adaptation.recent[place] = accepted
    progress[Progress.sum] += accepted - old
    progress[Progress.square] += accepted * accepted - old * old
    progress[Progress.steps] += 1.0


@compiled
def mean_acceptance(adaptation: Adaptation) -> float:
    """Return the mean acceptance probability of the last steps."""
    return float(adaptation.progress[Progress.sum] / min(adaptation.progress[Progress.steps], float(WINDOW)))


@compiled
def is_on_target(adaptation: Adaptation) -> bool:
    """Whether the 90 % interval of the acceptance lies within the target and its tolerance.

    A single step has no interval.
    """
    progress = adaptation.progress
    count = min(progress[Progress.steps], float(WINDOW))
    if count < 2.0:
        return False
    mean = mean_acceptance(adaptation)
    variance = max(progress[Progress.square] - count * mean * mean, 0.0) / (count - 1.0)
    return abs(mean - TARGET_ACCEPTANCE) + DEVIATIONS * math.sqrt(variance / count) <= TOLERANCE


@inlined
def swap_and_adapt(
    plan: Plan, rule: int, lower: int, copy_number: int, copy: Copy, adaptation: Adaptation, step: int
) -> None:
    """Propose the swap of the pair; adapt the added chain's beta unless it is tried at the reference or done."""
    key = scan_key(plan.seed, copy_number, plan.round_number, step)
    below, above = copy.replica_of[lower], copy.replica_of[UPPER]
    accepted = acceptance(
        plan.schedule[lower],
        plan.schedule[UPPER],
        copy.log_densities[below, LOG_LIKELIHOOD],
        copy.log_densities[above, LOG_LIKELIHOOD],
    )
    if swap_uniform(key, 0) < accepted:
        copy.replica_of[lower], copy.replica_of[UPPER] = above, below
        copy.chain_of[above], copy.chain_of[below] = lower, UPPER
    progress = adaptation.progress
    n = progress[Progress.steps]
    remember(adaptation, accepted)
    if lower == REFERENCE:
        return
    if is_on_target(adaptation):
        progress[Progress.done] = 1.0
        return
    progress[Progress.rho] = next_rho(rule, progress[Progress.rho], n, accepted)
    plan.schedule[ADDED] = beta_below(rule, plan.schedule[UPPER], progress[Progress.rho])


@compiled
def end_step(
    plan: Plan, rule: int, lower: int, copy_number: int, copy: Copy, adaptation: Adaptation, step: int
) -> None:
    """Swap and adapt, after `explore_some` has explored both replicas."""
    swap_and_adapt(plan, rule, lower, copy_number, copy, adaptation, step)


@compiled
def run_steps(
    plan: Plan,
    rule: int,
    lower: int,
    copy_number: int,
    copy: Copy,
    statistics: FloatArray,
    adaptation: Adaptation,
    first: int,
    last: int,
    stream: WordArray,
) -> None:
    """Run steps `first` to `last`, counted from 1, or until the chain is done."""
    program = view(plan.block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    for step in range(first, last + 1):
        explore_range(program, plan, statistics, step, copy_number, copy, 0, 2, words)
        swap_and_adapt(plan, rule, lower, copy_number, copy, adaptation, step)
        if adaptation.progress[Progress.done] > 0.0:
            return
