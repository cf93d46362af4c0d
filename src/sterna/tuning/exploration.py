"""The number of explorations: how often each scan applies the explorer to every chain, learned from the rounds.

Swaps depend only on energies. As long as the energies before and after exploration are highly correlated, swaps only
move replicas back and forth; once the correlation is low, more exploration costs time without benefit. In
measurements, restarts per second were highest at a correlation of 0.8, averaged over chains, and fell slowly on both
sides. Communication costs far less than exploration except for the smallest targets, whose energies decorrelate at
once.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sterna.tuning.rounds import Round

# Correlation of a chain's energy before and after a scan's exploration, averaged over chains, that is aimed for.
KEPT_ENERGY_GOAL = 0.8

# Rounds of fewer scans, over all copies, are too short to estimate this correlation.
MIN_SCANS = 64

# No round multiplies the number of explorations by more than MAX_GROWTH, nor exceeds MAX_EXPLORATIONS.
MAX_GROWTH, MAX_EXPLORATIONS = 4, 1024

# More explorations must reduce the log-correlation by at least this share of what independent ones would.
MIN_GAIN = 0.25


def next_explorations(rounds: "Sequence[Round]") -> int:
    """Explorations of every chain in each scan of the next round, given all rounds of this explorer so far.

    If k explorations have a correlation of r, one has r^(1/k), provided that all decorrelate equally. This fails if
    chains stay in modes of unequal height: then more explorations do not pay, and the number is reduced again.
    """
    now = rounds[-1]
    if now.n_scans * now.n_copies < MIN_SCANS:
        return now.explorations
    fewer = [one for one in rounds if one.explorations < now.explorations]
    if fewer and not _pays(fewer[-1], now):
        return fewer[-1].explorations
    recommended = math.ceil(now.explorations * math.log(KEPT_ENERGY_GOAL) / _log_kept(now) - 1e-9)
    failed = [one.explorations for k, one in enumerate(rounds) if _failed(rounds[:k], one)]
    upper_bound = min(MAX_GROWTH * now.explorations, MAX_EXPLORATIONS)
    if any(number > now.explorations for number in failed):
        upper_bound = now.explorations
    return min(recommended, upper_bound)


def _failed(before: "Sequence[Round]", one: "Round") -> bool:
    """Whether a round's increase in explorations, over the last round that had fewer, did not pay."""
    fewer = [other for other in before if other.explorations < one.explorations]
    return bool(fewer) and not _pays(fewer[-1], one)


def _pays(before: "Round", now: "Round") -> bool:
    """Whether the explorations added since an earlier round have lowered the correlation enough."""
    added = now.explorations / before.explorations - 1.0
    return _log_kept(now) < _log_kept(before) * (1.0 + MIN_GAIN * added)


def _log_kept(one: "Round") -> float:
    """Logarithm of the energy autocorrelation over a scan's exploration, averaged over chains; below 0 and finite."""
    kept = one.log_likelihoods.autocorrelation[1:]
    defined = kept[kept == kept]
    mean = float(defined.mean()) if defined.size else 0.0
    return math.log(min(max(mean, 1e-3), 1.0 - 1e-6))
