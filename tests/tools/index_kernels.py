"""Transition matrices of the index process (paper, appendix on its kernel).

State 2 i is chain i moving up, 2 i + 1 chain i moving down.
"""

import numpy as np


def deo_moves(rejection):
    """Index process of DEO under ideal exploration: continue in one direction, turn if a swap is rejected."""
    last = len(rejection)
    moves = np.zeros((2 * last + 2, 2 * last + 2))
    for chain in range(last + 1):
        up, down = 2 * chain, 2 * chain + 1
        if chain < last:
            moves[up, up + 2] = 1 - rejection[chain]
            moves[up, down] = rejection[chain]
        else:
            moves[up, down] = 1.0
        if chain > 0:
            moves[down, down - 2] = 1 - rejection[chain - 1]
            moves[down, up] = rejection[chain - 1]
        else:
            moves[down, up] = 1.0
    return moves


def seo_moves(rejection):
    """Index process of SEO: the same moves, and then a coin decides the direction of the next."""
    moves = deo_moves(rejection)
    arrived = moves.reshape(len(moves), -1, 2).sum(axis=2)
    return np.repeat(0.5 * arrived, 2, axis=1)


MOVES = {"deo": deo_moves, "seo": seo_moves}


def scaled_law(rejection, time, start, direction, scheme):
    """Distribution of the chain of the scaled index process at `time`, by the exponential of its generator."""
    from scipy.linalg import expm

    last = len(rejection)
    moves = MOVES[scheme](rejection)
    pace = last if scheme == "deo" else last**2
    law = expm(pace * time * (moves - np.eye(len(moves))))[2 * start + (direction < 0)]
    return law.reshape(-1, 2).sum(axis=1)
