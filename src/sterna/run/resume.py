"""`sterna.resume`: go on with the run in a folder, to its end or further."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sterna.engine.interrupts import holds_interrupts, interruptible
from sterna.engine.program import EVALUATIONS, LARGEST_REFERENCE
from sterna.errors import OptionError, StorageError
from sterna.explorers.base import Explorer
from sterna.ground.numbers import whole_number
from sterna.result.goal import goal_of
from sterna.result.result import Result
from sterna.result.sampled_target import sampled_target
from sterna.result.saved import RESULT, path_of
from sterna.run.display import Display, make_display
from sterna.run.fitted_runtime import along
from sterna.run.folder import RunFolder, holds_run
from sterna.run.given import as_target
from sterna.run.goals import check_names
from sterna.run.memory import check_memory
from sterna.run.options import MAX_ROUNDS, Options, check_flag, check_seconds
from sterna.run.running import continue_run
from sterna.run.runtime import Runtime
from sterna.run.start import begin_round
from sterna.run.state import RunState
from sterna.storage.atomic import make_folder
from sterna.storage.lock import NAME as LOCK
from sterna.storage.lock import locked
from sterna.target.target import Target

if TYPE_CHECKING:
    import os


def resume(
    folder: str | os.PathLike[str],
    target: Any,
    reference: Any = None,
    data: Mapping[str, Any] | None = None,
    *,
    prior: Any = None,
    explorer: Explorer | Callable[..., Any] | Mapping[Any, Any] | str | None = None,
    until: Any = None,
    more_scans: float | None = None,
    more_rounds: float | None = None,
    max_seconds: float | None = None,
    workers: Any = None,
    vectorized: bool | str = False,
    progress: bool | Display = True,
) -> Result:
    """Go on with the run that `sterna.sample(..., folder=...)` began: the same bits as if it had never stopped.

    Parameters
    ----------
    folder
        The folder of the run.
    target, reference, data, prior, vectorized
        The target, as it was given to `sterna.sample`: functions are not saved. One that has changed is refused.
    explorer
        The explorer that was given to `sterna.sample`, unless it was a name or none.
    until
        New goals, in place of those of the run: sampling goes on until they hold.
    more_scans
        Sample so many scans beyond those that the run has or had planned. Each call adds as many again: after an
        interruption go on without it.
    more_rounds
        Tune for so many further rounds. Sampling scans so far are discarded, because they were less tuned, and if
        neither their number nor goals were given, the new ones are as many as tuning took, and more for small errors.
    max_seconds
        End in good order after this time.
    workers, progress
        As in `sterna.sample`; no bit depends on them.

    Examples
    --------
    >>> import sterna, tempfile
    >>> target = sterna.models.normal(2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     short = sterna.sample(target, n_chains=4, n_rounds=5, explorer="slice", folder=folder, progress=False)
    ...     long = sterna.resume(folder, target, more_scans=100, progress=False)
    >>> short.settings.n_scans, long.settings.n_scans
    (62, 162)
    """
    read_target = partial(as_target, target, reference, data, vectorized, prior, "resume")
    more = More(until, more_scans, more_rounds)
    root = existing(folder)
    with locked(root):
        return resumed(RunFolder(root, {}), read_target, explorer, more, max_seconds, workers, progress)


class More:
    """What a run that goes on shall do beyond what it was to do."""

    def __init__(self, until: object = None, scans: object = None, rounds: object = None) -> None:
        self.goal = goal_of(until)
        self.scans = None if scans is None else _count("more_scans", scans)
        self.rounds = None if rounds is None else _count("more_rounds", rounds)
        if self.scans is not None and self.goal is not None:
            raise OptionError(
                "Give until= or more_scans=, not both: the one asks for a quality, the other for a length."
            )

    @property
    def is_nothing(self) -> bool:
        """Whether the run shall only come to its end."""
        return self.goal is None and self.scans is None and self.rounds is None

    def apply(self, runtime: Runtime, state: RunState, folder: RunFolder) -> RunState:
        """Return the state with more to do."""
        if self.is_nothing:
            return state
        check_names(self.goal, sampled_target(runtime.target))
        state = self._with_rounds(runtime, state, folder) if self.rounds is not None else state
        settings = state.settings
        if self.goal is not None:
            settings = replace(settings, until=self.goal)
        if self.scans is not None:
            have = state.n_scans if state.is_sampling and state.ended_by else settings.n_scans
            settings = replace(settings, until=None, n_scans=have + self.scans)
            found = along(runtime, state.mixture)
            check_memory(settings, state.tuned.n_chains, runtime.target.dimension, found.bound, found.explorer.name)
        return _with_settings(replace(state, ended_by=""), settings)

    def _with_rounds(self, runtime: Runtime, state: RunState, folder: RunFolder) -> RunState:
        assert self.rounds is not None
        settings = state.settings
        rounds = settings.n_rounds + self.rounds
        if rounds > MAX_ROUNDS:
            raise OptionError(f"more_rounds={self.rounds}: that would be {rounds} rounds; at most {MAX_ROUNDS} can be.")
        as_tuning = 2 ** (settings.n_rounds + 1) - 2
        n_scans = 2 ** (rounds + 1) - 2 if settings.n_scans == as_tuning else settings.n_scans
        was_sampling = state.is_sampling
        state = _with_settings(replace(state, ended_by=""), replace(settings, n_rounds=rounds, n_scans=n_scans))
        if not was_sampling:
            return state
        beside = None if state.beside is None else begin_round(runtime, _without_sampling(state.beside))
        found = begin_round(along(runtime, state.mixture), _without_sampling(state))
        folder.remove_result()
        return replace(found, beside=beside)


def _without_sampling(state: RunState) -> RunState:
    """Return the state from before the sampling phase, whose random numbers the next tuning round draws again.

    What sampling has evaluated still counts.
    """
    for before, now in zip(state.before_sampling, state.copies, strict=True):
        before.log_densities[:, EVALUATIONS:LARGEST_REFERENCE] = now.log_densities[:, EVALUATIONS:LARGEST_REFERENCE]
    seconds = replace(state.seconds, sampling=0.0, tuning=state.seconds.tuning + state.seconds.sampling)
    return replace(state, copies=state.before_sampling, seconds=seconds)


def _with_settings(state: RunState, settings: Any) -> RunState:
    """Return a state with other settings along both paths, whose seeds differ."""
    beside = state.beside
    if beside is not None:
        beside = replace(beside, settings=replace(settings, seed=beside.settings.seed))
    return replace(state, settings=settings, beside=beside)


def _count(name: str, given: object) -> int:
    number = whole_number(given)
    if number is None or number < 1:
        raise OptionError(f"{name}={given!r}: give a whole number of at least 1.")
    return number


def existing(folder: str | os.PathLike[str]) -> Path:
    """Return the folder of a run, which must be there."""
    root = path_of(folder)
    if not root.is_dir():
        raise StorageError(f"{root} is not there: give the folder of a run that sterna.sample(..., folder=...) began.")
    return root


NOTHING_MORE, NO_OPTIONS = More(), Options()


@contextmanager
def new_folder(given: str | os.PathLike[str] | None, resume: bool) -> Iterator[RunFolder | None]:
    """Hold the folder to which a run shall be written, if one was given; refuse one that holds another run."""
    if given is None:
        if resume:
            raise OptionError("resume=True needs folder=, the folder of the run to go on with.")
        yield None
        return
    root = path_of(given)
    try:
        make_folder(root)
    except OSError as error:
        raise StorageError(f"folder={str(root)!r} cannot be made: {error.strerror or error}.") from error
    # before the lock, which is a file of its own
    check_empty(root, resume)
    with locked(root):
        check_empty(root, resume)
        yield RunFolder(root, {})


def check_empty(root: Path, resume: bool) -> None:
    """Refuse a folder with anything but a run to go on with: what a run no longer needs there is removed."""
    if holds_run(root):
        if not resume:
            raise StorageError(
                f"folder={str(root)!r} holds a run already: sterna.resume(folder, target) goes on with it, resume=True "
                "lets this call do so, and another folder keeps both."
            )
    elif any(path.name != LOCK for path in root.iterdir()):
        what = "holds a saved result" if (root / RESULT).exists() else "is not empty"
        raise StorageError(
            f"folder={str(root)!r} {what}: give the name of a new folder, such as {str(root / 'run')!r}."
        )


@holds_interrupts
def resumed(
    folder: RunFolder,
    read_target: Callable[[], Target],
    explorer: Any,
    more: More,
    max_seconds: float | None,
    workers: Any,
    progress: bool | Display,
) -> Result:
    """Go on with the run in a folder whose lock this process holds."""
    with progress if isinstance(progress, Display) else make_display(check_flag("progress", progress)) as display:
        options = replace(Options(), workers=workers, max_seconds=max_seconds)
        return go_on(folder, read_target, explorer, display, more, options, with_options=False)


def go_on(
    folder: RunFolder,
    read_target: Callable[[], Target],
    explorer: Any,
    display: Display,
    more: More = NOTHING_MORE,
    options: Options = NO_OPTIONS,
    with_options: bool = True,
) -> Result:
    """Go on with the run in a folder; `with_options` if they were given again and must be those of the run."""
    seconds = check_seconds(options.max_seconds)
    folder.say = display.warn
    state, problems = folder.read()
    for problem in problems:
        display.warn(f"sterna: warning: {problem} The run goes on from the checkpoint before.")
    with display.working("compiling the model"):
        target = interruptible(read_target)
    result = continue_run(
        target,
        state,
        explorer=_explorer_of(folder, explorer),
        workers=options.workers,
        display=display,
        max_seconds=seconds,
        folder=folder,
        options=options if with_options else None,
        change=partial(more.apply, folder=folder),
    )
    assert isinstance(result, Result), "nothing asked for a pause"
    return result


def _explorer_of(folder: RunFolder, given: Any) -> Any:
    """Return the explorer of the run: the one given, or the one that is known by its name."""
    before = str(folder.origin["explorer"])
    if given is not None:
        return given
    if before == repr(None):
        return None
    if before[:1] in "'\"" and before[-1:] == before[:1]:
        return before[1:-1]
    raise OptionError(
        f"The run in {folder.root} was begun with explorer={before.partition(' ')[0]}(...), which cannot be read from "
        "a file: give it again, as in sterna.resume(folder, target, explorer=...)."
    )
