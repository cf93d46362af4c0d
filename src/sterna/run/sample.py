"""`sterna.sample`: rounds of tuning, then sampling with everything fixed (paper, algorithm NRPT)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from sterna.engine.interrupts import holds_interrupts, interruptible
from sterna.explorers.base import Explorer
from sterna.ground.keywords import explains_keywords
from sterna.result.result import Result
from sterna.run.display import Display, make_display
from sterna.run.folder import holds_run
from sterna.run.given import as_target, is_pymc
from sterna.run.keywords import HINTS
from sterna.run.options import Options, check_flag
from sterna.run.resume import NOTHING_MORE, More, go_on, new_folder
from sterna.run.running import begin_run
from sterna.run.start import SECONDS_FOR_PYMC
from sterna.target.target import Target

if TYPE_CHECKING:
    import os


@explains_keywords("sterna.sample", HINTS)
def sample(
    target: Any,
    reference: Any = None,
    data: Mapping[str, Any] | None = None,
    *,
    prior: Any = None,
    n_chains: Any = "auto",
    n_rounds: float | None = None,
    n_scans: float | None = None,
    n_copies: Any = 1,
    explorer: Explorer | Callable[..., Any] | Mapping[Any, Any] | str | None = None,
    explorations: Any = "auto",
    scheme: str = "deo",
    schedule: Any = None,
    path: str = "auto",
    search: float | None = None,
    start: str = "reference",
    keep: str = "target",
    thin: float = 1,
    keep_log_likelihoods: bool = False,
    until: Any = None,
    max_seconds: float | None = None,
    on_error: str = "raise",
    seed: float | None = 1,
    workers: Any = None,
    vectorized: bool | str = False,
    progress: bool | Display = True,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    keep_energies: bool | None = None,
) -> Result:
    """Sample a target by non-reversible parallel tempering.

    Parameters
    ----------
    target
        A log-likelihood function (with `reference`), a `sterna.Target`, a PyMC model, or a built-in model.
    reference, data
        As in `sterna.Target`; only with a function. The reference may also be given as `prior`.
    n_chains
        Number of annealed chains, both ends included (the paper's N + 1). By default "auto": twice the global barrier,
        which the tuning rounds measure, and more if exploration is slow. A `schedule` sets it too.
    n_rounds
        Tuning rounds, by default 10; round r has 2**r scans.
    n_scans
        Sampling scans after tuning; by default as many as tuning took. If neither `n_rounds` nor `n_scans` is given,
        sampling then goes on in blocks, with everything frozen, until every effective sample size is 200 and the
        standard error of the log evidence 0.1, up to 1e6 evaluations of the likelihood in all and 16 times the scans
        of tuning. The result says which of these ended the run.
    n_copies
        Independent copies of parallel tempering, tuned together; "auto" takes one per worker.
    explorer
        A `sterna.Slice(...)`, the name of an explorer, your own function (`sterna.Move`), a dict of explorers by
        variable or tuple of variables, or None: the target's own, or the best of those that suit it, found by tuning.
    explorations
        How often a scan applies the explorer to each chain. By default "auto": once, and more often if the tuning
        rounds show that exploration keeps most of a chain's energy.
    scheme
        "deo" (non-reversible) or "seo" (reversible).
    schedule
        Betas of the first round, increasing from 0 to 1; by default equally spaced.
    path
        Where the path to the target begins. "prior": at the reference. "fitted": at a mixture of the reference and of
        normal distributions around the modes that a search finds, while the path from the reference is followed beside
        it with a fifth of the evaluations. Modes of unequal width are lost on the way from the reference. By default
        "auto": what tuning finds to be cheaper, if all variables are real and the reference's density is normalised.
    search
        Evaluations of the search for modes at which the path may begin, relative to those that the run would take along
        the path from the reference. By default up to 0.1 (0.2 in short runs), and 0.025 if the path from the reference
        is kept or an evaluation takes more than 10 microseconds. More finds modes that are narrower than others.
    start
        Where replicas begin: at draws from the "reference", or with "smc" at the 50 particles of a coarse run of
        sequential Monte Carlo (`sterna.smc`), each near the beta of its chain. It takes about ten steps for each unit
        of the path's squared length, which can be more than a few tuning rounds take.
    keep, thin
        Which draws to keep: those of the "target" chain or of "all" chains, every `thin` scans.
    keep_log_likelihoods
        Whether to keep the log-likelihoods of all chains at all sampling scans, for `result.log_likelihoods` and
        `result.path_integral`.
    until
        Goals that sampling goes on for, in blocks, until all of them hold: a dict with some of `log_evidence` (its
        standard error), `ess` (the effective sample size of the worst scalar, or a dict of sizes by variable),
        `restarts`, and `seconds`, after which sampling ends in any case. The first block has `n_scans` scans.
    max_seconds
        End the run in good order after this time, tuning included. If no time is left to sample, the result has the
        draws of the last tuning round, and says so.
    on_error
        What becomes of a log-likelihood, or a log-density of your own reference, that is NaN or +inf or raises an
        exception. "raise" ends the run with an error that names the point. "reject" counts it as -inf, a density of
        zero, and the result counts such points (`result.failed_evaluations`): the run then samples the part of the
        target without them. Draws, gradients, local changes, conditional distributions and moves must never raise.
    seed
        The same seed gives the same bits, whatever the number of workers (`n_copies="auto"` depends on it). An explorer
        that sterna chooses depends on the measured cost of an evaluation: name one for the same bits on other machines.
        None draws a seed, which `result.settings.seed` and the report show.
    workers
        How many threads explore, by default one per core; no result depends on it. For a log-likelihood that runs as
        Python: how many processes evaluate it, by default only this one. Or a `concurrent.futures.Executor`, or a pool
        with a `map`, that evaluates it. Without any of these, a single thread calls it.
    vectorized
        As in `sterna.Target`; only with a function.
    progress
        Whether to show progress on standard error.
    folder
        Write the run to this folder while it goes on, after every round and every 30 seconds, so that it survives
        anything: `sterna.resume(folder, target)` goes on with it, and `sterna.load(folder)` reads its result.
    resume
        Whether to go on with the run in `folder` if there is one; then a script can simply be started again.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> def log_likelihood(mu, y):
    ...     return -0.5 * np.sum((y - abs(mu)) ** 2)
    >>> result = sterna.sample(
    ...     log_likelihood,
    ...     reference={"mu": sterna.Normal(0, 10)},
    ...     data={"y": np.array([4.0, 5.0, 6.0])},
    ...     n_chains=8, n_rounds=8, progress=False,
    ... )
    >>> bool(abs(result.posterior["mu"].mean()) < 2)  # both modes are visited
    True
    """
    if keep_energies is not None:
        warnings.warn(
            "keep_energies is now called keep_log_likelihoods; the old name will be removed.",
            DeprecationWarning,
            stacklevel=2,
        )
        keep_log_likelihoods = keep_energies
    options = Options(
        n_chains,
        n_rounds,
        n_scans,
        n_copies,
        explorations,
        scheme,
        schedule,
        keep,
        thin,
        keep_log_likelihoods,
        seed,
        path,
        search,
        start,
        workers,
        until,
        max_seconds,
        on_error,
    )
    read_target = partial(as_target, target, reference, data, vectorized, prior)
    about_seconds = SECONDS_FOR_PYMC if is_pymc(target) else None
    return sample_into(folder, check_flag("resume", resume), read_target, options, explorer, progress, about_seconds)


@holds_interrupts
def sample_into(
    folder: str | os.PathLike[str] | None,
    resume: bool,
    read_target: Callable[[], Target],
    options: Options,
    explorer: object,
    progress: bool | Display,
    about_seconds: float | None = None,
    command: Mapping[str, Any] | None = None,
) -> Result:
    """Read the target and run it, with a display of both: compilation takes seconds, too.

    `command` is how the command line found the target, for `sterna resume`.
    """
    shown = progress if isinstance(progress, Display) else make_display(check_flag("progress", progress))
    with new_folder(folder, resume) as place, shown as display:
        if place is not None and holds_run(place.root):
            more = NOTHING_MORE if options.until is None else More(until=options.until)
            return go_on(place, read_target, explorer, display, more, options)
        with display.working("compiling the model", about_seconds):
            target = interruptible(read_target)
        result = begin_run(target, options, explorer=explorer, display=display, folder=place, command=command)
    assert isinstance(result, Result), "nothing asked for a pause"
    return result
