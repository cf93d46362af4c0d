"""Reasons not to trust a run with particles."""

from typing import TYPE_CHECKING

import numpy as np

from sterna.explorers.base import MAX_DIVERGED
from sterna.result.text import count

if TYPE_CHECKING:
    from sterna.particles.result import ParticleResult

# Draws that rest on fewer families than this have errors that mean little.
MIN_FAMILIES = 16.0

# Weights whose tail has a larger shape have no variance, so that the stated error says nothing. It was at most 0.38 in
# 90 healthy runs. Of four runs of the mixture model in 30 steps, whose evidence was too low by 2 to 7 of their errors,
# it was 0.59 to 1.06.
MAX_TAIL_SHAPE = 0.5


def warnings_of(result: "ParticleResult") -> list[str]:
    """Return all warnings of a result."""
    return [*(_few_families(result) or _unknown_error(result) or _heavy_tail(result)), *_divergences(result)]


def _few_families(result: "ParticleResult") -> list[str]:
    found, settings = result.n_families, result.settings
    if found >= MIN_FAMILIES:
        return []
    known = "" if np.isfinite(result.log_evidence.error) else " The error of the evidence is therefore unknown."
    if settings.n_particles < MIN_FAMILIES:
        return [
            f"There are only {settings.n_particles} particles, worth {found:.1f} of equal weight; at least "
            f"{MIN_FAMILIES:.0f} are needed. Give more (n_particles=).{known}"
        ]
    if not result.resampled.any():
        shorter = _shorter_steps(result)
        advice = f"resampling (sterna.smc) and {shorter}" if settings.method == "ais" else shorter
        return [
            f"At the target the weights rest on {found:.1f} of {settings.n_particles} particles, because the weights "
            f"of the others have become negligible; at least {MIN_FAMILIES:.0f} are needed. More particles, more "
            f"explorations per step and {advice} help.{known}"
        ]
    return [
        f"All particles descend from {found:.1f} of {settings.n_particles} first draws (counted by weight), after "
        f"{int(result.resampled.sum())} resamplings; at least {MIN_FAMILIES:.0f} are needed, since modes that their "
        "ancestors did not reach are missing, and the shares of others are chance. Give more particles, or more "
        f"explorations per step.{known}"
    ]


def _shorter_steps(result: "ParticleResult") -> str:
    """Say how this run is given shorter steps."""
    settings = result.settings
    if settings.n_rounds > 0:
        return "shorter steps (more n_rounds=)"
    return "shorter steps (more betas)" if settings.threshold is None else "shorter steps (a threshold= closer to 1)"


def _unknown_error(result: "ParticleResult") -> list[str]:
    if np.isfinite(result.log_evidence.error):
        return []
    return [
        f"The error of the evidence is unknown: after {count(int(result.resampled.sum()), 'resampling')} what families "
        "tell about it is not much larger than its noise. Resample less often (a smaller resample_below=), or give "
        "more particles."
    ]


def _heavy_tail(result: "ParticleResult") -> list[str]:
    if not result.tail_shape > MAX_TAIL_SHAPE:
        return []
    return [
        f"The weights of the first draws' descendants have a heavy tail, of shape {result.tail_shape:.2f} (normal: at "
        f"most {MAX_TAIL_SHAPE}): draws that were not made may outweigh all others. The evidence is probably too low, "
        f"and its error too small. More particles, more explorations per step and {_shorter_steps(result)} help."
    ]


def _divergences(result: "ParticleResult") -> list[str]:
    worst = int(np.argmax(result.diverged))
    if result.diverged[worst] <= MAX_DIVERGED:
        return []
    return [
        f"{result.diverged[worst]:.1%} of the trajectories of {result.explorer} diverged at beta "
        f"{result.schedule[worst + 1]:.3g} (normal: at most {MAX_DIVERGED:.1%}), so that it does not reach all of the "
        'distribution. Use explorer="slice".'
    ]
