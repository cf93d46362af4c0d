"""How a run ended, and what a stricter goal would cost."""

import math
from typing import TYPE_CHECKING

from sterna.result.text import count

if TYPE_CHECKING:
    from sterna.result.result import Result

# What may end a run.
SCANS, GOAL, LIMIT, SECONDS, INTERRUPT, MEMORY = "scans", "goal", "limit", "seconds", "interrupt", "memory"
ENDINGS = (SCANS, GOAL, LIMIT, SECONDS, INTERRUPT, MEMORY)

# A goal that is stricter by about this factor is what the report names.
STRICTER = 3.0


def ending_line(result: "Result") -> str:
    """Return in one line how the run ended."""
    goal, scans = result.settings.until, count(result.settings.n_scans, "scan")
    where = "" if result.is_sampled else f" of tuning round {len(result.rounds)}"
    missed = "; not reached: " + ", ".join(result.unreached) if result.unreached else ""
    if result.ended_by == INTERRUPT:
        return f"interrupted after {scans}{where}"
    if result.ended_by == SECONDS:
        return f"the time was up after {scans}{where}{missed}"
    if result.ended_by == GOAL and goal is not None:
        return f"by its goal after {scans}: {goal.without_time()}"
    if result.ended_by == MEMORY:
        return f"because more than {scans} would not fit into memory{missed}"
    if result.ended_by == LIMIT and goal is not None and goal.is_default:
        return f"after {scans}, at the limit of evaluations without until={missed}"
    if result.ended_by == LIMIT:
        return f"after {scans}, the most that a goal is pursued for{missed}"
    return f"after {scans}, as many as planned"


def price_line(result: "Result") -> str:
    """Return in one line what a smaller error of the log evidence would cost; empty if that is not known."""
    error, seconds = result.log_evidence.error, result.timing["sampling"]
    if not (math.isfinite(error) and error > 0 and result.log_evidence.valid and result.is_sampled):
        return ""
    goal = _one_digit(error / STRICTER)
    factor = (error / goal) ** 2
    time = "less than a second" if factor * seconds < 1.0 else f"about {duration(factor * seconds)}"
    return f"log evidence to ± {goal:g}: {time}, {factor:.0f} times as many scans"


def _one_digit(number: float) -> float:
    """Return the nearest of 1, 2 and 5 times a power of ten."""
    unit = 10.0 ** math.floor(math.log10(number))
    return float(min((unit, 2 * unit, 5 * unit, 10 * unit), key=lambda one: abs(math.log(one / number))))


def duration(seconds: float) -> str:
    """Return a time in words of two digits."""
    for name, unit in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 2 * unit or (name == "minute" and seconds >= 100):
            number = seconds / unit
            return f"{number:.1f} {name}s" if number < 10 else f"{number:.0f} {name}s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def interrupted_run(result: "Result") -> str | None:
    """Warn of a result that is only the beginning of a run."""
    if result.is_sampled:
        return None
    why = "was interrupted" if result.ended_by == INTERRUPT else "had no time left"
    what_to_do = f"Go on with it: {resume_call(result)}." if result.folder else "Give it more time."
    return (
        f"This run {why} in tuning round {len(result.rounds)}, after {count(result.settings.n_scans, 'scan')} of it "
        "(normal: a sampling phase after all tuning rounds). Draws and evidence are those of this round, whose "
        f"schedule and explorer were not tuned to the end. {what_to_do}"
    )


def resume_call(result: "Result") -> str:
    """Return what goes on with a run."""
    return f"sterna.resume({result.folder!r}, target)"


def not_saved(result: "Result") -> str | None:
    """Warn of a run that is not in its folder as it should be."""
    if not result.not_saved:
        return None
    return f"{result.not_saved} This result is whole, but only here: result.save(path) writes it elsewhere."


def goal_not_reached(result: "Result") -> str | None:
    """Warn if sampling ended before the goals that a user named, for a reason that the user did not."""
    goal = result.settings.until
    if goal is None or goal.is_default or result.ended_by not in (LIMIT, MEMORY):
        return None
    scans = count(result.settings.n_scans, "scan")
    why = f"{scans}, and more would not fit into memory" if result.ended_by == MEMORY else scans
    help_ = "use a larger thin" if result.ended_by == MEMORY else f"use n_rounds={result.settings.n_rounds + 2}"
    return (
        f"The goal was not reached within {why}: {', '.join(result.unreached)} (normal: {goal}). See the other "
        f"warnings if there are any; otherwise {help_}, or a goal that is less strict."
    )
