"""Whether a target and an explorer are those of a run that goes on."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE
from sterna.engine.record import extended
from sterna.engine.round import Copy, new_copy, refresh_some
from sterna.errors import OptionError, StorageError
from sterna.result.text import count
from sterna.run.fitted_runtime import along
from sterna.run.runtime import Runtime
from sterna.run.start import copy_of
from sterna.run.state import RunState
from sterna.workers.point_errors import Place

# Two evaluations at a state may differ by rounding; with local changes, which are summed, by more.
ROUNDING, SUMMED = 1e-6, 1e-4


def check_fits(runtime: Runtime, state: RunState) -> None:
    """Refuse a state of another target or explorer: compiled code would read beyond its arrays."""
    dimension = state.copies[0].states.shape[1]
    if dimension != runtime.target.dimension:
        raise OptionError(
            f"The state is of a target with {count(dimension, 'coordinate')}, and {runtime.target.name} has "
            f"{runtime.target.dimension}: give the target of the run."
        )
    fresh = new_copy(2, dimension)
    of_replicas = [state.copies[0].log_densities.shape[1], state.copies[0].at_work.size]
    if of_replicas != [fresh.log_densities.shape[1], fresh.at_work.size]:
        raise OptionError("The state was written by another version of sterna, whose replicas have other numbers.")
    bound = along(runtime, state.mixture).bound
    widths = state.tuned.parameters.shape[1], state.statistics[0].shape[1]
    if widths != (bound.n_parameters, bound.n_row):
        raise OptionError(
            f"The state is of another explorer than {runtime.explorer.name}: it has {widths[0]} parameters per chain, "
            f"and this one has {bound.n_parameters}. Give the explorer of the run."
        )
    if state.beside is not None:
        check_fits(runtime, state.beside)


def check_whole_state(state: RunState, root: Path) -> None:
    """Refuse arrays that do not fit together, along both paths: compiled code would write beyond them."""
    n_chains, n_copies = state.tuned.n_chains, len(state.copies)
    dimension = state.copies[0].states.shape[1:]
    good = len(state.records) == len(state.statistics) == len(state.scans_done) == n_copies == state.settings.n_copies
    good &= bool((state.scans_done >= 0).all() and (state.scans_done <= state.n_scans).all())
    good &= len(state.tuned.parameters) == n_chains == len(state.tuned.pivot) + 1 == len(state.tuned.centre)
    for copy, rows in zip(state.copies, state.statistics, strict=False):
        like = new_copy(n_chains, *dimension)
        good &= all(mine.shape == one.shape and mine.dtype == one.dtype for mine, one in zip(copy, like, strict=True))
        good &= len(rows) == n_chains and _is_permutation(copy)
    if not good:
        raise StorageError(f"The run in {root} is damaged: its arrays do not fit together.")
    if state.beside is not None:
        check_whole_state(state.beside, root)


def _is_permutation(copy: Copy) -> bool:
    """Whether chains and replicas belong to one another."""
    n = len(copy.states)
    inside = all(((part >= 0) & (part < n)).all() for part in (copy.chain_of, copy.replica_of, copy.at_work[:1]))
    return bool(inside and (copy.chain_of[copy.replica_of] == np.arange(n)).all())


def with_room(state: RunState, root: Path) -> RunState:
    """Return a state that was read from a folder with room for all scans of its round, along both paths."""
    beside = None if state.beside is None else with_room(state.beside, root)
    try:
        records = tuple(extended(one, state.n_scans, state.layout, state.thin) for one in state.records)
    except ValueError as error:
        raise StorageError(f"The run in {root} is damaged: its records do not fit its scans ({error}).") from error
    return replace(state, records=records, beside=beside)


def check_states(runtime: Runtime, state: RunState, root: Path) -> None:
    """Refuse a target that has other log-densities at the states of the run than the run had.

    The content of functions was compared before, but not that of other libraries, of files or of external programs.
    """
    if state.beside is not None:
        check_states(runtime, state.beside, root)
    found = along(runtime, state.mixture)
    for number, before in enumerate(state.copies):
        now = copy_of(before)
        place = Place("at the states of the saved run")
        found.on_replicas(number, now, partial(refresh_some, found.target.block), place)
        _compare(before, now, _sums(found), root)


def _compare(before: Copy, now: Copy, sums: bool, root: Path) -> None:
    columns = [LOG_REFERENCE, LOG_LIKELIHOOD]
    old, new = before.log_densities[:, columns], now.log_densities[:, columns]
    size = 1.0 + np.where(np.isfinite(old), np.abs(old), 0.0)
    tolerance = np.maximum(ROUNDING * size, SUMMED * size.max(initial=0.0) if sums else 0.0)
    with np.errstate(invalid="ignore"):
        same = (old == new) | (np.abs(old - new) <= tolerance)
    if not same.all():
        replica, column = np.argwhere(~same)[0]
        what = ("reference", "likelihood")[column]
        raise StorageError(
            f"The run in {root} cannot go on, because its target has changed: at the saved state of replica {replica} "
            f"the log-density of the {what} was {old[replica, column]:.12g}, and now is {new[replica, column]:.12g}. "
            "Give the target as it was, or begin another run in another folder."
        )


def _sums(runtime: Runtime) -> bool:
    """Whether the run sums local changes."""
    program = runtime.target.program
    return bool(program.likelihood_change or program.reference_change or runtime.target.kernels)
