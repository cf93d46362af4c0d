"""The options of `sterna.sample`: what a user gave, checked and filled in."""

import math
import os
from dataclasses import dataclass

import numpy as np

from sterna.engine.schemes import find_scheme
from sterna.errors import OptionError
from sterna.ground.numbers import real_number, whole_number
from sterna.result.goal import DEFAULT_GOAL, goal_of
from sterna.result.settings import MAX_SEARCH, Settings
from sterna.theory.checks import check_schedule
from sterna.tuning.chains import FIRST_N_CHAINS

DEFAULT_ROUNDS, MAX_ROUNDS = 10, 40
# The index process is kept in 16 bits.
MAX_CHAINS = 2**15 - 1
MAX_SEED = 2**63 - 1
# Where the path to the target may begin.
PATHS = ("auto", "prior", "fitted")
# Where replicas may begin.
STARTS = ("reference", "smc")
# What becomes of a log-density that is NaN or +inf or raises.
ON_ERROR = ("raise", "reject")


@dataclass(frozen=True)
class Options:
    """What a user gave as options of `sterna.sample`, not yet checked."""

    n_chains: object = "auto"
    n_rounds: object = None
    n_scans: object = None
    n_copies: object = 1
    explorations: object = "auto"
    scheme: object = "deo"
    schedule: object = None
    keep: object = "target"
    thin: object = 1
    keep_log_likelihoods: object = False
    seed: object = 1
    path: object = "auto"
    search: object = None
    start: object = "reference"
    workers: object = None
    """A number, an executor, a pool with a `map`, or None."""
    until: object = None
    max_seconds: object = None
    on_error: object = "raise"


def make_settings(options: Options) -> Settings:
    """Check every option, and fill in those left open."""
    given_rounds = DEFAULT_ROUNDS if options.n_rounds is None else options.n_rounds
    rounds = _whole("n_rounds", given_rounds, 0, "round r has 2**r scans", MAX_ROUNDS)
    n_chains, auto_chains = _number_of_chains(options, rounds)
    scans = _number_of_scans(options.n_scans, rounds)
    goal = goal_of(options.until)
    if goal is None and options.n_rounds is None and options.n_scans is None:
        # whoever gives one of them has chosen how long the run is
        goal = DEFAULT_GOAL
    workers = number_of_workers(options.workers)
    # more copies than workers would cost time
    copies = workers if _is_auto(options.n_copies) else options.n_copies
    if not isinstance(options.keep, str) or options.keep not in ("target", "all"):
        raise OptionError(
            f'keep={options.keep!r} is not known: "target" keeps the draws of the target chain, "all" those of all.'
        )
    if not isinstance(options.path, str) or options.path not in PATHS:
        raise OptionError(f"path={options.path!r} is not known: give {' or '.join(map(repr, PATHS))}.")
    if not isinstance(options.start, str) or options.start not in STARTS:
        raise OptionError(
            f'start={options.start!r} is not known: replicas begin at draws from the "reference", or with "smc" at '
            "particles of sequential Monte Carlo."
        )
    auto_explorations = _is_auto(options.explorations)
    explorations = 1 if auto_explorations else options.explorations
    thin = _whole("thin", options.thin, 1, "every thin-th scan is kept")
    if thin > scans:
        raise OptionError(f"thin={thin} is more than the {scans} sampling scans: no draw would be kept.")
    return Settings(
        n_chains=n_chains,
        n_rounds=rounds,
        n_scans=scans,
        n_copies=_whole("n_copies", copies, 1, 'give the number of independent copies, or "auto" for one per worker'),
        scheme=find_scheme(options.scheme).name,
        keep=str(options.keep),
        thin=thin,
        seed=_whole("seed", options.seed, 0, "give an integer of at least 0, or None to draw one", MAX_SEED),
        workers=workers,
        explorations=_whole("explorations", explorations, 1, 'give how often a scan explores each chain, or "auto"'),
        auto_explorations=auto_explorations,
        auto_chains=auto_chains,
        path=options.path,
        search=None if options.search is None else _share("search", options.search),
        start=options.start,
        keep_log_likelihoods=check_flag("keep_log_likelihoods", options.keep_log_likelihoods),
        until=goal,
        on_error=check_on_error(options.on_error),
    )


def check_on_error(given: object) -> str:
    """Return what becomes of a log-density that fails."""
    if not isinstance(given, str) or given not in ON_ERROR:
        raise OptionError(
            f'on_error={given!r} is not known: a log-density that is NaN or +inf or raises ends the run with "raise", '
            'and counts as -inf with "reject".'
        )
    return given


def check_seconds(given: object) -> float | None:
    """Return the time after which a run ends."""
    seconds = None if given is None else real_number(given)
    if given is not None and (seconds is None or not 0.0 < seconds < math.inf):
        raise OptionError(f"max_seconds={given!r}: give a number of seconds above 0.")
    return seconds


def _share(name: str, given: object) -> float:
    """Return a share of the evaluations of a run."""
    share = real_number(given)
    if share is None or not 0.0 <= share <= MAX_SEARCH:
        raise OptionError(
            f"{name}={given!r} is not possible: give the evaluations of the search for modes relative to those of the "
            f"run, such as 0.1 (at most {MAX_SEARCH:g})."
        )
    return share


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"


def _number_of_chains(options: Options, rounds: int) -> tuple[int, bool]:
    """Return the number of chains of the first round, and whether the run finds it."""
    given, automatic = options.n_chains, _is_auto(options.n_chains)
    if automatic and options.schedule is not None:
        given, automatic = len(check_schedule(options.schedule)), False
    if automatic and rounds == 0:
        raise OptionError(
            'n_chains="auto" learns the number of chains during tuning, and n_rounds=0 does not tune: give n_chains.'
        )
    why = 'give a number of chains, both ends included, or "auto"'
    return _whole("n_chains", FIRST_N_CHAINS if automatic else given, 2, why, MAX_CHAINS), automatic


def _number_of_scans(given: object, rounds: int) -> int:
    """Return the number of sampling scans, by default as many as tuning takes."""
    default = max(2 ** (rounds + 1) - 2, 1)
    scans = _whole("n_scans", default if given is None else given, 1, "sampling takes at least one scan")
    if given is None and rounds == 0:
        raise OptionError("n_rounds=0 leaves nothing from which n_scans could follow: give n_scans.")
    return scans


def number_of_workers(given: object) -> int:
    """Return the number of threads, or of processes if the target runs as Python; by default one per core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    why = "give a number of threads (of processes, if the target runs as Python), an executor, or a pool with a map"
    evaluates_elsewhere = not isinstance(given, type) and (hasattr(given, "submit") or hasattr(given, "map"))
    return _whole("workers", cores if given is None or evaluates_elsewhere else given, 1, why)


def _whole(name: str, value: object, lowest: int, why: str, highest: int | None = None) -> int:
    """Check that an option is a whole number in its range; a float without a fraction is one too."""
    number = whole_number(value)
    if number is None:
        raise OptionError(f"{name}={value!r} is not a whole number, which it must be: {why}.")
    if number < lowest or (highest is not None and number > highest):
        bounds = f"at least {lowest}" if highest is None else f"from {lowest} to {highest}"
        raise OptionError(f"{name}={number} must be {bounds}: {why}.")
    return number


def check_flag(name: str, value: object) -> bool:
    """Check that an option is True or False, or 1, 0 or None; a string such as "no" would count as true."""
    if not isinstance(value, (bool, np.bool_)) and value is not None and whole_number(value) not in (0, 1):
        raise OptionError(f"{name}={value!r}: give True or False.")
    return bool(value)
