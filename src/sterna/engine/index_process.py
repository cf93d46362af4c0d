"""The index process: where each replica is on the schedule, its restarts and its round trips."""

from sterna.ground.compilation import compiled
from sterna.ground.rows import fields
from sterna.types import IntArray

# A replica's leg: it has not visited the reference yet, it is on its way up from there, or on its way down from the
# target after that.
UNKNOWN, UPWARD, DOWNWARD = 0, 1, 2


@fields
class Trips:
    """Counts of one copy: restarts (0 to N), round trips (0 to N and back), and the first restart's scan, or 0."""

    restarts = 1
    round_trips = 1
    first_restart = 1


@compiled
def follow(chain_of: IntArray, leg: IntArray, trips: IntArray, scan: int) -> None:
    """Advance every replica's leg, and count restarts and round trips.

    Only the index counts, not the direction in which the next swap is proposed, so that the rates of the theorem on
    round trips hold for SEO too.
    """
    last = chain_of.size - 1
    for replica in range(chain_of.size):
        if chain_of[replica] == last:
            if leg[replica] == UPWARD:
                leg[replica] = DOWNWARD
                trips[Trips.restarts] += 1
                if trips[Trips.restarts] == 1:
                    trips[Trips.first_restart] = scan
        elif chain_of[replica] == 0:
            if leg[replica] == DOWNWARD:
                trips[Trips.round_trips] += 1
            leg[replica] = UPWARD
