"""Swap schemes: which of the even and odd pairs a scan proposes, and the rates that follow. All of them are known here.

A scheme is an entry of `SCHEMES` and a branch in each of the two compiled rules.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sterna.errors import OptionError
from sterna.ground.compilation import compiled
from sterna.ground.streams import Key, Stream, coin, uniform

DEO, SEO = 0, 1


@dataclass(frozen=True)
class Scheme:
    """What is known of a swap scheme; N is the number of neighbouring pairs."""

    name: str
    code: int
    """By which compiled code knows it."""
    meaning: str
    persistence: float
    """Probability that a replica's next proposal goes on in its direction after a swap, and turns after a rejection."""
    travel: Callable[[int], int]
    """The c(N) of the round-trip rate 1 / (2 c(N) + 2 E), where E is the sum of r / (1 - r) over pairs."""
    scans_per_time: Callable[[int], int]
    """Scans per unit of time of the scaled index process."""


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("deo", DEO, "non-reversible", 1.0, travel=lambda n: 1, scans_per_time=lambda n: n),
        Scheme("seo", SEO, "reversible", 0.5, travel=lambda n: n, scans_per_time=lambda n: n**2),
    )
}


def find_scheme(name: object) -> Scheme:
    """Return the scheme of a name that a user gave."""
    if not isinstance(name, str) or name not in SCHEMES:
        names = " or ".join(f'"{scheme.name}" ({scheme.meaning})' for scheme in SCHEMES.values())
        raise OptionError(f"scheme={name!r} is not known: give {names}.")
    return SCHEMES[name]


@compiled
def parity_of(scheme: int, scan: int, key: Key) -> int:
    """Return 0 if this scan proposes the even pairs, 1 for the odd ones; scans count from 1."""
    if scheme == DEO:
        return scan % 2
    return coin(key)


@compiled
def next_direction(scheme: int, up: int, accepted: int, words: Stream) -> int:
    """Return the direction (1 for up, 0 for down) of a replica's next proposal, given its last one and its outcome.

    This is the parity rule as one replica meets it. At either end of the schedule there is no swap to propose, which
    counts as a rejection.
    """
    if scheme == DEO:
        return up if accepted else 1 - up
    return 1 if uniform(words) < 0.5 else 0
