"""`sterna.check`: what is wrong with a model and how long a run will take, or whether a run on disk is right."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sterna.engine.interrupts import holds_interrupts, interruptible
from sterna.errors import Error, OptionError, describe
from sterna.explorers.base import Explorer
from sterna.ground.numbers import whole_number
from sterna.result.check_report import NOT_CHECKED, NOTE, OK, PROBLEM, CheckReport, CheckRow
from sterna.result.goal import Goal
from sterna.run.check.forecast import Forecast, forecast, range_of, seconds_on
from sterna.run.check.functions import (
    check_compilation,
    check_data,
    check_gradients,
    check_local_changes,
    check_normalisation,
    check_reference_draws,
)
from sterna.run.check.repeats import check_order, check_processes, check_threads
from sterna.run.check.run_on_disk import check_run
from sterna.run.check.shape import check_dependence, check_jumps
from sterna.run.check.subject import Subject, new_subject, row_of
from sterna.run.check.values import check_support, check_values, check_zeros
from sterna.run.display import Display, make_display
from sterna.run.given import as_explorer, as_target, is_pymc
from sterna.run.options import Options, check_flag, check_seconds, make_settings, number_of_workers
from sterna.run.running import started
from sterna.run.start import SECONDS_FOR_PYMC
from sterna.target.target import Target

# Of the time for a check, the share for the points of one kind of check, and for the beginning of a run.
SHARE_OF_KIND, SHARE_OF_RUN = 0.06, 0.5

# The checks of a target's functions by the names of their rows, in the order of the report.
CHECKS: dict[str, Callable[[Subject], CheckRow]] = {
    "data": check_data,
    "support": check_support,
    "draws of the reference": check_reference_draws,
    "normalisation": check_normalisation,
    "log-likelihood": check_values,
    "zero likelihood": check_zeros,
    "repeated evaluations": check_order,
    "threads": check_threads,
    "processes": check_processes,
    "compiled code": check_compilation,
    "gradient": check_gradients,
    "local change": check_local_changes,
    "variables": check_dependence,
    "jumps": check_jumps,
}

# What a run would not survive: without these it is begun.
FATAL = tuple(name for name in CHECKS if name not in ("threads", "processes", "jumps", "zero likelihood"))


def check(
    target: Any,
    reference: Any = None,
    data: Mapping[str, Any] | None = None,
    *,
    prior: Any = None,
    until: Any = None,
    cores: float | None = None,
    max_seconds: float = 10.0,
    seed: float = 1,
    explorer: Explorer | Callable[..., Any] | Mapping[Any, Any] | str | None = None,
    workers: Any = None,
    vectorized: bool | str = False,
    progress: bool | Display = True,
) -> CheckReport:
    """Find what is wrong with a target before a long run, or with a run that is on disk.

    The checks that every run makes at a few points are made at thousands: draws of the reference against its density,
    log-densities that are numbers, the same when repeated, in threads and processes, and as Python; gradient and local
    change against whole evaluations; the support, variables without effect, jumps. Then a run is begun, and how long
    it will take until its goals hold is extrapolated. A fault is a row of the report, not an error.

    Parameters
    ----------
    target, reference, data, prior, vectorized
        As in `sterna.sample`. Or the folder of a run or of a saved result: whether its files are whole, its index
        process uniform, and the log-likelihoods of neighbouring chains related as their betas say.
    until
        The goals for which the time is predicted, as in `sterna.sample`; by default {"log_evidence": 0.1}.
    cores
        The number of cores for which the time is predicted as well, by default those of this machine.
    max_seconds
        About how long all of this may take, without compilation. More finds rarer faults, and predicts better.
    seed, explorer, workers
        As in `sterna.sample`, of the run that is begun.
    progress
        Whether to show progress on standard error.

    Examples
    --------
    >>> import sterna
    >>> def log_likelihood(mu, y):
    ...     return -0.5 * (y - mu) ** 2
    >>> report = sterna.check(log_likelihood, {"mu": sterna.Normal(0, 10)}, {"y": 3.0}, progress=False)
    >>> report.ok, report.problems
    (True, [])
    >>> report["gradient"].outcome
    'not checked'
    """
    if isinstance(target, (str, os.PathLike)):
        return check_run(Path(target))

    def read_target() -> Target:
        return as_target(target, reference, data, vectorized, prior, caller="check")

    goal = {"log_evidence": 0.1} if until is None else until
    options = Options(until=goal, seed=seed, workers=workers)
    about = SECONDS_FOR_PYMC if is_pymc(target) else None
    return check_target_of(read_target, options, explorer, cores, max_seconds, progress, about)


@holds_interrupts
def check_target_of(
    read_target: Callable[[], Target],
    options: Options,
    explorer: object,
    cores: float | None,
    max_seconds: object,
    progress: bool | Display,
    about_seconds: float | None = None,
) -> CheckReport:
    """Read a target and check it, with a display of both."""
    seconds, settings = check_seconds(max_seconds) or 10.0, make_settings(options)
    n_cores = number_of_workers(None) if cores is None else whole_number(cores)
    if n_cores is None or n_cores < 1:
        raise OptionError(f"cores={cores!r}: give the number of cores for which the time shall be predicted.")
    shown = progress if isinstance(progress, Display) else make_display(check_flag("progress", progress))
    with shown as display:
        try:
            with display.working("compiling the model", about_seconds):
                target = interruptible(read_target)
        except OptionError:
            # a mistake in the call, not in the target
            raise
        except Error as error:
            return CheckReport("the target", (CheckRow("target", PROBLEM, str(error)),))
        if explorer is not None:
            # a name that is not known is a mistake in the call, too
            as_explorer(explorer, target)
        try:
            with display.working("drawing from the reference"):
                subject = new_subject(target.prepare(), settings.seed, SHARE_OF_KIND * seconds)
        except Error as error:
            row = CheckRow("draws of the reference", PROBLEM, str(error))
            return CheckReport(target.name, (_functions(target), row))
        rows = [_functions(target)]
        for name, function in CHECKS.items():
            with display.working(f"checking: {name}"):
                rows.append(row_of(name, function, subject))
        began = None
        if any(row.outcome == PROBLEM and row.name in FATAL for row in rows) or not len(subject.positive):
            rows.append(CheckRow("run", NOT_CHECKED, "a run would not begin before the problems above are fixed"))
        else:
            with display.working("beginning a run, to see how long it will take"):
                began, row = _begin(target, options, explorer, SHARE_OF_RUN * seconds)
            rows.append(row)
        return _report(target, subject, rows, began, settings.until, n_cores, options.workers)


def _functions(target: Target) -> CheckRow:
    """Say how the target's functions run."""
    if target.compiled:
        return CheckRow("target", OK, f"{target.dimension} coordinates, compiled")
    reasons = " ".join(target.notes) or "part of it runs as Python."
    return CheckRow("target", NOTE, f"{target.dimension} coordinates, not all compiled: {reasons}")


def _begin(target: Target, options: Options, explorer: object, seconds: float) -> tuple[Forecast | None, CheckRow]:
    """Begin a run; what it raises is a problem."""
    try:
        found = _forecast(target, options, explorer, seconds)
        if found.is_cold:
            # what was compiled for it is there now
            found = _forecast(target, options, explorer, seconds)
    except Error as error:
        return None, CheckRow("run", PROBLEM, str(error))
    except Exception as error:
        return None, CheckRow("run", NOT_CHECKED, f"the run that was begun failed with {describe(error)}")
    return found, _row_of_run(found)


def _forecast(target: Target, options: Options, explorer: object, seconds: float) -> Forecast:
    with started(target, options, explorer=explorer) as (runtime, state):
        return forecast(runtime, state, seconds)


def _row_of_run(found: Forecast) -> CheckRow:
    """Say what the run that was begun has shown."""
    last = found.summary
    text = f"{last.n_scans} scans of {last.n_chains} chains had {last.restarts} restarts without an error"
    if found.result is not None and found.result.warnings:
        return CheckRow("run", NOTE, f"{text}, but with warnings: {' '.join(found.result.warnings)}")
    if last.restarts == 0:
        return CheckRow("run", NOTE, f"{text}: too short to know what a run takes, for which max_seconds=60 may do")
    return CheckRow("run", OK, text)


def _report(
    target: Target,
    subject: Subject,
    rows: list[CheckRow],
    found: Forecast | None,
    goal: Goal | None,
    cores: int,
    workers: object,
) -> CheckReport:
    """Put everything together."""
    each = subject.target.cost.seconds or subject.seconds_per_evaluation
    rows.append(CheckRow("cost", OK, f"an evaluation of the log-likelihood takes {_time(each)}"))
    if found is None:
        return CheckReport(
            target.name,
            tuple(rows),
            cores=cores,
            seconds_per_evaluation=each,
            zero_share=subject.zero_share,
            goal={} if goal is None else goal.to_dict(),
        )
    here, by_processes = _cores_here(target, workers), None if target.compiled else each
    on_cores = found.seconds if _takes_batches(subject) else seconds_on(found, cores, here, by_processes)
    rows += [
        CheckRow("barrier", OK, f"{found.barrier:.2f}, for which {found.n_chains} chains are best"),
        _row_of_time(found, goal, _on_cores(found, cores, here, on_cores, target.compiled)),
    ]
    return CheckReport(
        target.name,
        tuple(rows),
        seconds=found.seconds,
        seconds_range=range_of(found),
        cores=cores,
        seconds_on_cores=on_cores,
        seconds_per_evaluation=each,
        zero_share=subject.zero_share,
        barrier=found.barrier,
        n_chains=found.n_chains,
        goal={} if goal is None else goal.to_dict(),
    )


def _cores_here(target: Target, workers: object) -> int:
    """Return how many cores the run that was begun could use."""
    if not target.compiled and workers is None:
        # one thread calls functions that run as Python
        return 1
    return number_of_workers(workers)


def _takes_batches(subject: Subject) -> bool:
    """Whether one call evaluates many points, which only that function can share among cores."""
    return bool(subject.target.batch_functions)


def _on_cores(found: Forecast, cores: int, here: int, seconds: float, compiled: bool) -> str:
    """Say how long it takes on a number of cores."""
    if cores == here:
        return ""
    option = "" if compiled else f" with workers={cores}"
    if seconds < found.seconds:
        return f"; on {cores} cores{option} about {_time(seconds)}, if they share the chains of each scan evenly"
    why = "scans that take so little time are not shared" if compiled else "evaluations take too little time for that"
    return f"; more cores{option} would not help, because {why}"


def _row_of_time(found: Forecast, goal: Goal | None, on_cores: str) -> CheckRow:
    """Say how long a run takes."""
    low, high = range_of(found)
    if not found.is_known:
        return CheckRow(
            "time",
            NOTE,
            f"a run until {goal} takes at least {_time(low)} here; how much longer is not known, because so few "
            "replicas travelled from the reference to the target: max_seconds=60 tells more",
        )
    text = f"a run until {goal} takes about {_time(found.seconds)} here"
    text += ", as one just did" if found.is_whole else f" ({_time(low)} to {_time(high)}), {found.scans} sampling scans"
    text += on_cores
    if found.is_out_of_reach:
        return CheckRow("time", NOTE, f"{text}, and ends before that: the goal is out of reach within the limits")
    return CheckRow("time", OK, text)


def _time(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    for size, unit in ((1e-6, "ns"), (1e-3, "us"), (1.0, "ms"), (120.0, "s"), (7200.0, "min")):
        if seconds < size:
            scale = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "min": 1 / 60}[unit]
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds / 3600:.3g} h"
