"""What a run has found, as its result."""

import time

from sterna.engine.record import Record
from sterna.result.ending import INTERRUPT
from sterna.result.result import Result
from sterna.result.rounds import Rounds
from sterna.result.sampled_target import sampled_target
from sterna.run.fitted_runtime import along
from sterna.run.goals import unreached
from sterna.run.modes import find_modes
from sterna.run.path_results import evaluations_of_paths, failed_of_paths, other_path, records_of, settings_of_result
from sterna.run.runtime import Runtime
from sterna.run.search import check_at_end
from sterna.run.state import RunState
from sterna.run.tune import summarise
from sterna.search.check import Check


def finish(runtime: Runtime, state: RunState) -> Result | RunState:
    """Return the result of a run whose sampling phase is done, or the state of one that has paused."""
    if not state.ended_by:
        return state
    result = result_of(runtime, state)
    runtime.display.finish(result)
    return result


def _kept(record: Record, keep_log_likelihoods: bool) -> Record:
    """Return what a result keeps of a record: log-likelihoods of all chains only if asked for."""
    return record if keep_log_likelihoods else record._replace(energies=record.energies[:0].copy())


def result_of(runtime: Runtime, state: RunState) -> Result:
    """Return what a run has found whose sampling phase is done."""
    found = along(runtime, state.mixture)
    bound, target = found.bound, runtime.target
    evaluations, gradients = evaluations_of_paths(state)
    rounds = Rounds([*state.rounds, summarise(state)])
    began = time.perf_counter()
    if state.ended_by == INTERRUPT:
        check = Check(skipped="the run was interrupted")
    else:
        with runtime.display.working("searching for missed mass"):
            check = check_at_end(found, state, rounds[-1].log_evidence)
    return Result(
        target=sampled_target(target),
        explorer=bound.chosen(state.tuned.parameters) or found.explorer.name,
        settings=settings_of_result(state),
        ended_by=state.ended_by,
        unreached=unreached(runtime, state),
        rounds=rounds,
        records=[_kept(record, state.settings.keep_log_likelihoods) for record in records_of(runtime, state)],
        evaluations=evaluations + check.evaluations,
        gradient_evaluations=gradients + check.gradients,
        failed_evaluations=failed_of_paths(state),
        search=check,
        modes=find_modes(runtime, state, check.found, rounds[-1].log_evidence),
        why_path=state.why_path,
        other_path=other_path(runtime, state),
        diverged=bound.diverged(bound.merge([rows[:, : bound.n_statistics] for rows in state.statistics])),
        notes=[*target.notes, *bound.python, *runtime.teams.notes, *state.notes, *runtime.teams.notes_of_deaths()],
        timing=timing_of(state, time.perf_counter() - began),
    )


def timing_of(state: RunState, search: float) -> dict[str, float]:
    """Return the seconds of a run by phase."""
    seconds = state.seconds
    return {"compile": seconds.compile, "tuning": seconds.tuning, "sampling": seconds.sampling, "search": search}
