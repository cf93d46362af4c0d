"""The index process: where each replica is on the schedule, its restarts and its round trips."""

from sterna.ground.compilation import compiled
from sterna.types import IntArray

# What a replica was last seen to do: nothing yet, leave the reference, leave the target after the reference.
UNKNOWN, UPWARD, DOWNWARD = 0, 1, 2


@compiled
def follow(chain_of: IntArray, leg: IntArray, trips: IntArray, scan: int) -> None:
    """Advance every replica's leg, and count restarts (0 to N) in trips[0], round trips (and back) in trips[1].

    trips[2] becomes the scan of the first restart.

    Only the index counts, not the direction in which the next swap is proposed: so the rates of the theorem
    on round trips hold for SEO too.
    """
    last = chain_of.size - 1
    for replica in range(chain_of.size):
        if chain_of[replica] == last:
            if leg[replica] == UPWARD:
                leg[replica] = DOWNWARD
                trips[0] += 1
                if trips[0] == 1:
                    trips[2] = scan
        elif chain_of[replica] == 0:
            if leg[replica] == DOWNWARD:
                trips[1] += 1
            leg[replica] = UPWARD
