"""How long a run takes until its goals hold: the run itself is begun, paused after a few seconds, and extrapolated.

Scans that are left of tuning are known. The standard error of the log evidence falls with the square root of the
sampling scans, and effective sample sizes grow with them, so that the last scans tell how many are needed; sampling
goes on in blocks, by the rule of every run. Also of a run that reaches its goals within the time, the needed scans are
taken and not those that it made: when its goals are first seen to hold is partly chance.
"""

import math
import time
from dataclasses import dataclass, replace

from sterna.explorers.best import Best
from sterna.result.goal import Goal
from sterna.result.result import Result
from sterna.run.display import Display
from sterna.run.ends import Ends, ended_early
from sterna.run.fitted_runtime import along
from sterna.run.goals import LEAST_GROWTH, MIN_RESTARTS, MOST_GROWTH, RESERVE, most_scans, shortfalls, standing_of
from sterna.run.loop import run_rounds
from sterna.run.outcome import result_of
from sterna.run.runtime import Runtime
from sterna.run.search import check_at_end as search_at_end
from sterna.run.search_for_modes import FEW_EVALUATIONS, is_expensive
from sterna.run.state import RunState
from sterna.run.tune import summarise, total_evaluations
from sterna.theory.rates import optimal_n_chains
from sterna.tuning.rounds import MIN_RESTARTS_FOR_ERROR, Round

# By how much predictions are off, as a factor: of runs that were made to their end, of those whose tuning was nearly
# done, and of others. `bench/check_times.py` measures it.
WHOLE, NEAR, FAR = 1.3, 1.5, 4.0

# Rounds of fewer scans do not tell how many chains later ones will have, nor how large the error is.
MIN_SCANS = 128

# A run that was paused and has spent so many times as long as its scans has compiled or loaded code.
COLD = 3.0

# Goals are looked at after about each doubling of the scans, and once more at the end.
LOOKS = 3.0

# By how many times the search at the end of a cheap run takes longer at most if that takes longer itself.
MOST_SEARCH = 4.0

# A round whose scans took less says little about what a scan takes.
MIN_SECONDS = 0.5

# Goals that hold already do not say by how much, so that they are asked for so many times as good.
TIGHTER = 1e6

# What an evaluation by another process costs there, and here, where one thread serves all processes.
IN_PROCESS, BY_PROCESSES = 5e-5, 1.2e-4

# A scan that takes less is not shared among threads.
SHARED_SCAN_SECONDS = 0.002


@dataclass(frozen=True)
class Forecast:
    """What a run will take."""

    seconds: float
    """Of tuning, sampling and the searches for modes, without compilation."""
    factor: float
    """By which that may be too small or too large."""
    scans: int
    """Sampling scans."""
    scan_seconds: float
    """Of a scan of all chains."""
    barrier: float
    n_chains: int
    """The chains that the barrier needs."""
    chains_in_use: int
    is_whole: bool
    """Whether the run was made to its end."""
    is_out_of_reach: bool
    """Whether the run will end before its goals hold."""
    is_known: bool
    """Whether enough replicas have travelled to know how many scans are needed; if not, it is at least this."""
    is_cold: bool
    """Whether most of the time was not spent on scans, but on code that had to be compiled or loaded."""
    summary: Round
    result: Result | None


def forecast(runtime: Runtime, state: RunState, seconds: float) -> Forecast:
    """Begin the run, and say what all of it takes."""
    wholes: list[RunState] = []

    def watch(state: RunState, before: RunState | None) -> None:
        if before is not None:
            wholes.append(before)

    end = time.perf_counter() + seconds
    state = run_rounds(runtime, state, lambda scans_done: time.perf_counter() > end, watch)
    last = state if state.ended_by else _as_if_ended(runtime, state, wholes)
    summary, began = summarise(last), time.perf_counter()
    result = result_of(runtime, last) if state.ended_by else None
    if result is None:
        search_at_end(runtime, last, summary.log_evidence)
    search = time.perf_counter() - began
    return _extrapolated(runtime, state, Seen(last, summary, search, result))


def _spent(state: RunState) -> float:
    return state.seconds.tuning + state.seconds.sampling


def _as_if_ended(runtime: Runtime, state: RunState, wholes: list[RunState]) -> RunState:
    """Return the run with all of its scans so far, or at the end of the round before."""
    ends = Ends(Display())
    ends.round_before = wholes[-1] if wholes and wholes[-1].round_number < state.round_number else None
    return replace(ended_early(runtime, state, ends), ended_by="")


def range_of(found: Forecast) -> tuple[float, float]:
    """Return between what times the run probably takes."""
    high = found.seconds * found.factor if found.is_known else math.inf
    return found.seconds / found.factor, high


@dataclass(frozen=True)
class Seen:
    """What the beginning of a run has shown."""

    last: RunState
    """The run as if it had ended with its last scan."""
    summary: Round
    search_seconds: float
    """Of the search for missed mass from these scans."""
    result: Result | None
    """If the run was made to its end."""


def _extrapolated(runtime: Runtime, state: RunState, seen: Seen) -> Forecast:
    """Return what all of a run takes that was paused, or that was made to an end which chance has decided, too."""
    last, goal, each = seen.last, state.settings.until, _scan_seconds(state, seen.last)
    each = _seconds_after_trial(runtime, state, each)
    needed, look = _scans_needed(runtime, last, goal)
    scans, out_of_reach = _sampling_scans(state, needed, goal)
    chains = state.seconds.tuning + _tuning_scans_left(state) * each + _sampling_seconds(scans * each, goal)
    looks = LOOKS * look * scans / last.n_scans
    barrier, is_whole = seen.summary.barrier.total, seen.result is not None
    return Forecast(
        seconds=chains + looks + _search(runtime, seen, chains / max(_spent(state), 1e-9)),
        factor=WHOLE if is_whole else NEAR if _is_near(runtime, state, seen) else FAR,
        scans=scans,
        scan_seconds=each,
        barrier=barrier,
        n_chains=optimal_n_chains(barrier),
        chains_in_use=state.tuned.n_chains,
        is_whole=is_whole,
        is_out_of_reach=out_of_reach,
        is_known=is_whole or seen.summary.restarts >= MIN_RESTARTS_FOR_ERROR,
        is_cold=not is_whole and _is_cold(state),
        summary=seen.summary,
        result=seen.result,
    )


def _is_near(runtime: Runtime, state: RunState, seen: Seen) -> bool:
    """Whether path and explorer are chosen, and enough was seen to know errors and chains."""
    on_trial = _is_on_trial(runtime, state)
    enough = seen.last.n_scans >= MIN_SCANS and seen.summary.restarts >= MIN_RESTARTS
    return enough and not on_trial and (state.settings.path == "prior" or state.why_path != "")


def _sampling_seconds(needed: float, goal: Goal | None) -> float:
    """Return the seconds of sampling, which a goal may limit or set."""
    if goal is None or goal.seconds is None:
        return needed
    return goal.seconds if goal.is_only_time else min(needed, goal.seconds)


def _is_cold(state: RunState) -> bool:
    rounds = [*state.rounds, *(() if state.beside is None else state.beside.rounds)]
    return _spent(state) > COLD * (sum(one.seconds for one in rounds) + state.seconds.this_round)


def _search(runtime: Runtime, seen: Seen, more: float) -> float:
    """Return the seconds of the search at the end of a run that takes so many times as long as what was seen of it.

    It takes a share of the evaluations; where these are cheap, it has a largest number of starts.
    """
    return seen.search_seconds * (more if is_expensive(runtime) else min(more, MOST_SEARCH))


def _scan_seconds(state: RunState, last: RunState) -> float:
    """Return what a scan of all copies takes with the chains and explorations in use."""
    done = float(state.scans_done.mean())
    now = state.seconds.this_round if done else 0.0
    if now >= MIN_SECONDS or last.round_number == state.round_number:
        return now / max(done, 1.0)
    before = last.seconds.this_round * _load(state) / _load(last)
    return (now + before) / max(done + last.n_scans, 1.0)


def _seconds_after_trial(runtime: Runtime, state: RunState, scan_seconds: float) -> float:
    """Return what a scan will take once one of the explorers on trial is chosen.

    If evaluations are expensive that will be one of few evaluations.
    """
    evaluations, gradients = total_evaluations(state)
    spent = sum(one.seconds for one in state.rounds) + state.seconds.this_round
    cost = 2 if state.cost is None else state.cost.gradient
    if not _is_on_trial(runtime, state) or not is_expensive(runtime) or not evaluations:
        return scan_seconds
    each = spent / (evaluations + cost * gradients)
    return min(scan_seconds, FEW_EVALUATIONS * _load(state) * len(state.copies) * each)


def _is_on_trial(runtime: Runtime, state: RunState) -> bool:
    """Whether the explorer is not chosen yet."""
    bound = along(runtime, state.mixture).bound
    return isinstance(runtime.explorer, Best) and bound.chosen(state.tuned.parameters) is None


def _load(state: RunState) -> int:
    return state.tuned.n_chains * state.tuned.explorations


def _tuning_scans_left(state: RunState) -> float:
    """Return the scans of tuning that are left."""
    if state.is_sampling:
        return 0.0
    later = sum(2**r for r in range(state.round_number + 1, state.settings.n_rounds + 1))
    return float(later + state.n_scans - state.scans_done.mean())


def _scans_needed(runtime: Runtime, last: RunState, goal: Goal | None) -> tuple[float, float]:
    """Return how many scans the goals need, and the seconds of a look at them now."""
    if goal is None:
        return 0.0, 0.0
    began = time.perf_counter()
    standing = standing_of(along(runtime, last.mixture), last, goal)
    look = time.perf_counter() - began
    missing = [factor for factor in shortfalls(_tighter(goal), standing).values() if math.isfinite(factor)]
    for_restarts = MIN_RESTARTS / max(min(standing.restarts), 0.5)
    return last.n_scans * max(max(missing, default=1.0) / TIGHTER, for_restarts), look


def _tighter(goal: Goal) -> Goal:
    """Return goals that need so many times as many scans, which all are missed."""
    return replace(
        goal,
        log_evidence=None if goal.log_evidence is None else goal.log_evidence / math.sqrt(TIGHTER),
        ess=None if goal.ess is None else goal.ess * TIGHTER,
        ess_of=tuple((name, size * TIGHTER) for name, size in goal.ess_of),
        restarts=None if goal.restarts is None else int(goal.restarts * TIGHTER),
    )


def _sampling_scans(state: RunState, needed: float, goal: Goal | None) -> tuple[int, bool]:
    """Return how many sampling scans a run makes that needs so many, and whether it gives up before."""
    # as many as tuning has, unless the user has chosen another number
    scans = min(state.settings.n_scans, 2 ** (state.settings.n_rounds + 1) - 2)
    if goal is None or goal.is_only_time:
        return scans, False
    most = most_scans(state, goal)
    while scans < needed:
        growth = min(max(RESERVE * needed / scans, LEAST_GROWTH), MOST_GROWTH)
        more = min(math.ceil(growth * scans), most)
        if more <= scans:
            return scans, True
        scans = more
    return scans, False


def seconds_on(found: Forecast, cores: int, cores_here: int, processes: float | None) -> float:
    """Return the seconds on another number of cores, which share the chains of each scan evenly.

    Scans of compiled code that take less than 2 ms are not shared. `processes` is what an evaluation takes if it runs
    as Python, which processes can share (`workers=cores`).
    """
    n = found.chains_in_use
    if processes is not None:
        return found.seconds * _of_processes(processes, n, cores) / _of_processes(processes, n, cores_here)
    if found.scan_seconds * min(cores_here, n) < SHARED_SCAN_SECONDS:
        return found.seconds
    return found.seconds * math.ceil(n / cores) / math.ceil(n / cores_here)


def _of_processes(seconds: float, chains: int, processes: int) -> float:
    """Return the time of an evaluation by one of several processes, relative to that in this process."""
    if processes == 1:
        return 1.0
    shared = (seconds + IN_PROCESS) * math.ceil(chains / processes) / chains
    return max(shared, BY_PROCESSES) / max(seconds, 1e-9)
