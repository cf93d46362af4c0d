"""How much exploration: how often a scan applies the explorer to every chain, learned from the rounds.

Swaps see energies. While exploration keeps most of a chain's energy, swaps only carry replicas to and fro; once it
keeps little of it, more of it costs time and brings nothing. Restarts per second were highest where explorations kept
0.8 of the energy, in the mean over chains, and fell slowly on both sides. Communication costs far less than exploration
but for the smallest of targets, which forget their energy at once.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sterna.tuning.rounds import Round

# Energy that a scan's exploration may keep.
WANTED = 0.8

# Rounds of fewer scans, over all copies, do not tell how much is kept.
LEAST_SCANS = 64

# No round has more than so many times the explorations of the last, and none more than MOST.
GROWTH, MOST = 4, 1024

# More exploration must forget at least this share of what explorations that are independent of each other would.
LEAST_GAIN = 0.25


def next_explorations(rounds: "Sequence[Round]") -> int:
    """Explorations of every chain in a scan of the next round, after all rounds of the explorer so far.

    If k explorations keep r of the energy, one keeps r^(1/k), as far as each forgets as much as the last. Where chains
    stay in modes of unequal height it is not so: then more explorations do not pay, and the number goes back.
    """
    now = rounds[-1]
    if now.n_scans * now.n_copies < LEAST_SCANS:
        return now.explorations
    fewer = [one for one in rounds if one.explorations < now.explorations]
    if fewer and not _pays(fewer[-1], now):
        return fewer[-1].explorations
    wanted = math.ceil(now.explorations * math.log(WANTED) / _log_kept(now) - 1e-9)
    refused = [one.explorations for k, one in enumerate(rounds) if _refused(rounds[:k], one)]
    most = min(GROWTH * now.explorations, MOST)
    if any(number > now.explorations for number in refused):
        most = now.explorations
    return min(wanted, most)


def _refused(before: "Sequence[Round]", one: "Round") -> bool:
    """Whether a round had more explorations than the last that had fewer, and they did not pay."""
    fewer = [other for other in before if other.explorations < one.explorations]
    return bool(fewer) and not _pays(fewer[-1], one)


def _pays(before: "Round", now: "Round") -> bool:
    """Whether the explorations added since a round before have lowered the energy kept."""
    added = now.explorations / before.explorations - 1.0
    return _log_kept(now) < _log_kept(before) * (1.0 + LEAST_GAIN * added)


def _log_kept(one: "Round") -> float:
    """Logarithm of the energy that a scan's exploration keeps, in the mean over chains; never quite 0 nor -inf."""
    kept = one.energies.autocorrelation[1:]
    known = kept[kept == kept]
    mean = float(known.mean()) if known.size else 0.0
    return math.log(min(max(mean, 1e-3), 1.0 - 1e-6))
