"""`sterna.sample`: rounds of tuning, then sampling with everything frozen (paper, algorithm NRPT)."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sterna.engine.program import EVALUATIONS, EXPLORE, GRADIENTS, LOG_LIKELIHOOD
from sterna.engine.record import Record, new_record
from sterna.engine.round import (
    Plan,
    draw_states,
    end_scan,
    explore_some,
    find_start,
    nearest_chains,
    new_copy,
    refresh_some,
    resized,
    run_scans,
)
from sterna.errors import EvaluationError, InitialStateError
from sterna.explorers.base import Explorer
from sterna.explorers.default import default_explorer
from sterna.ground.compilation import address_of
from sterna.ground.streams import new_generator
from sterna.reference.fitted_reference import FittedMap
from sterna.result.result import Result
from sterna.result.rounds import Rounds
from sterna.result.settings import Settings
from sterna.run.display import Display, make_display
from sterna.run.options import SCHEMES, as_explorer, as_target, make_settings
from sterna.target.target import Target
from sterna.theory.checks import check_schedule
from sterna.tuning.chains import MOST_BOOST, explores_slowly, next_n_chains
from sterna.tuning.exploration import next_explorations
from sterna.tuning.rounds import Round, summarise_round
from sterna.tuning.schedule import uniform_schedule, update_schedule
from sterna.types import FloatArray
from sterna.workers.batch_team import BatchTeam
from sterna.workers.blas import one_blas_thread
from sterna.workers.choice import Teams
from sterna.workers.thread_team import ThreadTeam, errors_at_point

BLOCK_SECONDS = 0.2
TRIES = 1000

# A scan that takes longer is worth the time of waking threads, about 0.1 ms each.
SPREAD_SECONDS = 0.002


def sample(
    target: Any,
    reference: Any = None,
    data: Mapping[str, Any] | None = None,
    *,
    n_chains: Any = "auto",
    n_rounds: int = 10,
    n_scans: int | None = None,
    n_copies: Any = 1,
    explorer: Explorer | Callable[..., Any] | Mapping[Any, Any] | str | None = None,
    explorations: Any = "auto",
    scheme: str = "deo",
    schedule: Any = None,
    keep: str = "target",
    thin: int = 1,
    keep_energies: bool = False,
    seed: int = 1,
    workers: Any = None,
    vectorized: bool | str = False,
    progress: bool | Display = True,
) -> Result:
    """Sample a target by non-reversible parallel tempering.

    Parameters
    ----------
    target
        A log-likelihood function (with `reference`), a `sterna.Target`, a PyMC model, or a built-in model.
    reference, data
        As in `sterna.Target`; only with a function.
    n_chains
        Number of annealed chains, both ends included (the paper's N + 1). By default "auto": twice the global barrier,
        which the tuning rounds measure, and more where exploration proves slow. A `schedule` sets it too.
    n_rounds
        Tuning rounds; round r has 2**r scans.
    n_scans
        Sampling scans after tuning; by default as many as tuning took.
    n_copies
        Independent copies of parallel tempering, tuned together; "auto" takes one for each worker.
    explorer
        A `sterna.Slice(...)`, the name of an explorer, a function of your own (`sterna.Move`), a dict of explorers by
        variable or tuple of variables, or None: the target's own, or the best of those that suit it, found in tuning.
    explorations
        How often a scan applies the explorer to every chain. By default "auto": once, and more where the tuning rounds
        show that exploration keeps most of a chain's energy.
    scheme
        "deo" (non-reversible) or "seo" (reversible).
    schedule
        Betas of the first round, increasing from 0 to 1; by default equally spaced.
    keep, thin
        Whose draws to keep, of the "target" chain or of "all" chains, and every how many scans.
    keep_energies
        Whether to keep the log-likelihoods of all chains at all sampling scans, for `result.path_integral`.
    seed
        The same seed gives the same bits, whatever the number of workers (`n_copies="auto"` depends on it). An explorer
        that sterna chooses depends on the measured cost of an evaluation: name one for the same bits on other machines.
    workers
        How many threads explore, by default one a core; no result depends on it. For a log-likelihood that runs as
        Python: how many processes evaluate it, by default none but this one. Or a `concurrent.futures.Executor`, or a
        pool with a `map`, that evaluates it. Without any of these, one thread calls it.
    vectorized
        As in `sterna.Target`; only with a function.
    progress
        Whether to show progress on standard error.

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
    chosen = as_target(target, reference, data, vectorized).for_a_run()
    began = time.perf_counter() - chosen.build_seconds
    settings = make_settings(
        n_chains,
        n_rounds,
        n_scans,
        n_copies,
        explorations,
        scheme,
        schedule,
        keep,
        thin,
        keep_energies,
        seed,
        # a user's Python function is called by one thread alone, unless workers are asked for
        1 if workers is None and chosen.one_thread else workers,
    )
    with one_blas_thread():
        kernel = default_explorer(chosen) if explorer is None else as_explorer(explorer, chosen)
    betas = uniform_schedule(settings.n_chains)
    if schedule is not None:
        betas = check_schedule(schedule, settings.n_chains)
    display = progress if isinstance(progress, Display) else make_display(bool(progress))
    with display, one_blas_thread():
        run = _Run(chosen, kernel, settings, betas, display, began, workers is None and n_copies == "auto")
        return run.go(workers)


class _Run:
    """One call of `sample`, in the order of the paper's algorithm."""

    def __init__(
        self,
        target: Target,
        explorer: Explorer,
        settings: Settings,
        schedule: FloatArray,
        display: Display,
        began: float,
        any_copies: bool = False,
    ) -> None:
        self.target, self.explorer, self.settings = target, explorer, settings
        self.schedule, self.display, self.began = schedule, display, began
        target.moves.clear()
        # its arrays must live as long as their addresses are in use
        self.bound = explorer.bind(target)
        if any_copies and self.bound.python:
            # a user's Python move is called by one thread alone, which makes more copies no faster
            settings = self.settings = replace(settings, n_copies=1)
        self.explore = address_of(self.bound.kernel, EXPLORE)
        self.explorer_data = np.array([array.ctypes.data for array in self.bound.data] or [0], dtype=np.int64)
        self.copies = [new_copy(settings.n_chains, target.dimension) for _ in range(settings.n_copies)]
        self.streams = [new_generator() for _ in range(settings.n_copies)]
        self.teams: list[ThreadTeam | BatchTeam | None] = [None] * settings.n_copies
        self.stop = threading.Event()
        self.n_chains, self.boost, self.counts = settings.n_chains, 1, np.zeros(2)
        self.explorations, self.since = settings.explorations, 0
        self.notes: list[str] = []

    def go(self, workers: Any) -> Result:
        """Run with the workers that the user gave, or those that suit."""
        compiled = self.target.compiled and not self.bound.python
        self.one_thread = workers is None and (self.target.one_thread or bool(self.bound.python))
        teams = Teams(self.target, compiled, workers, self.settings.workers, self.settings.n_copies)
        self.teams, self.notes, self.renew = teams.teams, teams.notes, teams.renew
        try:
            result = self._go()
        finally:
            teams.close()
        result.notes.extend(teams.deaths())
        self.display.finish(result)
        return result

    def _go(self) -> Result:
        settings = self.settings
        self.display.start(self.target, self.explorer, settings)
        self._find_starts()
        self._first_guesses()
        self.parameters = self._first_parameters()
        self._warm_up()
        compiled = time.perf_counter()
        rounds = Rounds()
        for number in range(1, settings.n_rounds + 1):
            records, statistics = self._round(number, 2**number, kept_chains=int(self.target.fitted is not None))
            rounds.append(self._summary(number, records))
            self._tune(rounds, statistics)
            # the last round tunes everything to the law that sampling has
            if self.target.fitted is not None and number < settings.n_rounds:
                self._refit(self.target.fitted, records)
        tuned = time.perf_counter()
        kept = 1 if settings.keep == "target" else self.n_chains
        records, statistics = self._round(settings.n_rounds + 1, settings.n_scans, kept, settings.keep_energies)
        rounds.append(self._summary(settings.n_rounds + 1, records))
        self._count()
        done = time.perf_counter()
        return Result(
            target=self.target,
            explorer=self.bound.chosen(self.parameters) or self.explorer.name,
            settings=replace(settings, n_chains=self.n_chains),
            rounds=rounds,
            records=records,
            evaluations=int(self.counts[0]),
            gradient_evaluations=int(self.counts[1]),
            diverged=self.bound.diverged(statistics),
            notes=[*self.target.notes, *self.bound.python, *self.notes],
            timing={
                "compile": compiled - self.began,
                "tuning": tuned - compiled,
                "sampling": done - tuned,
            },
        )

    def _find_starts(self) -> None:
        """Give every replica a starting point of positive likelihood; one without a find begins where another does."""
        seed, block = self.settings.seed, self.target.block
        found: list[tuple[FloatArray, FloatArray]] = []
        for number, copy in enumerate(self.copies):
            self._with_team(number, partial(find_start, block, seed, TRIES, number))
            good = copy.log_densities[:, LOG_LIKELIHOOD] > -np.inf
            found += [(copy.states[j].copy(), copy.log_densities[j, :2].copy()) for j in np.flatnonzero(good)]
        if not found:
            tries = TRIES * self.settings.n_chains * self.settings.n_copies
            # what another library's model returns is not refused for being NaN
            how = "-inf" if self.target.view is None else "-inf or NaN"
            raise InitialStateError(
                f"The likelihood is zero (log_likelihood = {how}) at all of {tries} draws from the "
                "reference, so there is no place to start. Check the likelihood at a point where it must be positive, "
                f"or narrow the reference.{self.target.odd_data}"
            )
        for copy in self.copies:
            for j in np.flatnonzero(copy.log_densities[:, LOG_LIKELIHOOD] == -np.inf):
                copy.states[j], copy.log_densities[j, :2] = found[j % len(found)]

    def _with_team(self, number: int, function: Callable[..., None]) -> None:
        """Call a function of some replicas of a copy on all of them."""
        team, copy = self.teams[number], self.copies[number]
        if team is not None:
            team.each(copy, function)
            return
        with errors_at_point(self.target, copy.states, copy.at_work):
            function(copy, 0, copy.chain_of.size, *self.streams[number])

    def _count(self) -> None:
        """Take evaluations and gradients over from the copies' own counts."""
        for copy in self.copies:
            self.counts += copy.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0)

    def _first_guesses(self) -> None:
        """Guess the energies from the starting points."""
        start = float(np.median([copy.log_densities[:, LOG_LIKELIHOOD] for copy in self.copies]))
        self.centre = np.full(self.n_chains, start)
        self.pivot = start * np.diff(self.schedule)

    def _first_parameters(self) -> FloatArray:
        return np.tile(self.bound.start(self._draw), (self.n_chains, 1))

    def _draw(self, n: int) -> FloatArray:
        """Return n draws from the reference."""
        draws, at_work = np.zeros((n, self.target.dimension)), np.zeros(1, dtype=np.int64)
        with errors_at_point(self.target, draws, at_work):
            draw_states(self.target.block, self.settings.seed, draws, at_work, *self.streams[0])
        return draws

    def _plan(self, number: int, n_scans: int) -> Plan:
        settings = self.settings
        return Plan(
            block=self.target.block,
            explore=self.explore,
            explorer_data=self.explorer_data,
            explorations=self.explorations,
            scheme=SCHEMES[settings.scheme],
            schedule=self.schedule,
            parameters=np.ascontiguousarray(self.parameters),
            pivot=self.pivot,
            centre=self.centre,
            seed=settings.seed,
            round_number=number,
            n_scans=n_scans,
            thin=self._thin(number),
        )

    def _thin(self, number: int) -> int:
        """Every how many scans a round keeps a draw: tuning may need all of them."""
        return self.settings.thin if number > self.settings.n_rounds else 1

    def _warm_up(self) -> None:
        """Compile or load the engine by a call of no scans, so that tuning is not blamed for it."""
        record = new_record(1, self.n_chains, self.target.dimension, 0, 1)
        run_scans(self._plan(0, 1), 0, self.copies[0], self._statistics(), record, 1, 0, *self.streams[0])

    def _statistics(self) -> FloatArray:
        return np.zeros((self.n_chains, self.bound.n_row))

    def _round(
        self, number: int, n_scans: int, kept_chains: int, keep_energies: bool = False
    ) -> tuple[list[Record], FloatArray]:
        """Run one round of all copies; return their records, and the explorer's statistics merged in copy order."""
        settings = self.settings
        plan = self._plan(number, n_scans)
        records = [
            new_record(n_scans, self.n_chains, self.target.dimension, kept_chains, self._thin(number), keep_energies)
            for _ in self.copies
        ]
        statistics = [self._statistics() for _ in self.copies]
        self.display.begin_round(number, n_scans, records, self.schedule, self.explorations)
        jobs = [
            partial(self._run_copy, plan, number, statistics[number], records[number])
            for number in range(len(self.copies))
        ]
        threads = 1 if self.one_thread else min(settings.workers, len(jobs))
        if self._elsewhere:
            # threads that wait may be many; a function of many points is called by one at a time
            threads = len(jobs) if any(isinstance(team, ThreadTeam) for team in self.teams) else 1
        if threads == 1:
            for job in jobs:
                job()
        else:
            self._run_threads(jobs, threads)
        return records, self.bound.merge([rows[:, : self.bound.n_statistics] for rows in statistics])

    @property
    def _elsewhere(self) -> bool:
        """Whether threads only wait for evaluations that are made elsewhere."""
        return any(team is not None and team.waits for team in self.teams)

    def _run_threads(self, jobs: Sequence[Callable[[], None]], threads: int) -> None:
        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(job) for job in jobs]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
                for future in futures:
                    if future.done():
                        future.result()
            finally:
                self.stop.set()
                if not all(future.done() for future in futures):
                    self._end_teams()
                wait(futures)
                self.stop.clear()
        for future in futures:
            future.result()

    def _end_teams(self) -> None:
        """Let replicas under way fail at their next evaluation, as the run cannot go on."""
        for team in self.teams:
            if team is not None:
                team.end()

    def _run_copy(self, plan: Plan, number: int, statistics: FloatArray, record: Record) -> None:
        """Run one copy's scans in blocks of about BLOCK_SECONDS; where a block ends has no effect on the result."""
        first, block, spread = 1, 1, self._elsewhere
        while first <= plan.n_scans and not self.stop.is_set():
            last = min(plan.n_scans, first + block - 1)
            began = time.perf_counter()
            run = self._spread_scans if spread else self._run_scans
            run(plan, number, statistics, record, first, last)
            seconds = max(time.perf_counter() - began, 1e-9)
            self.display.advance(number, last - first + 1)
            spread = spread or (self.teams[number] is not None and seconds > SPREAD_SECONDS * (last - first + 1))
            block = max(1, min(4 * block, int(block * BLOCK_SECONDS / seconds)))
            first = last + 1

    def _run_scans(
        self, plan: Plan, number: int, statistics: FloatArray, record: Record, first: int, last: int
    ) -> None:
        copy = self.copies[number]
        with errors_at_point(self.target, copy.states, copy.at_work):
            run_scans(plan, number, copy, statistics, record, first, last, *self.streams[number])

    def _spread_scans(
        self, plan: Plan, number: int, statistics: FloatArray, record: Record, first: int, last: int
    ) -> None:
        """Do the same with the copy's team."""
        copy = self.copies[number]
        for scan in range(first, last + 1):
            self._with_team(number, partial(explore_some, plan, statistics, scan, number))
            end_scan(plan, number, copy, record, scan)

    def _summary(self, number: int, records: list[Record]) -> Round:
        return summarise_round(
            number, self.schedule, self.pivot, self.centre, records, self.settings.scheme, self.explorations
        )

    def _tune(self, rounds: Rounds, statistics: FloatArray) -> None:
        """Set the next round's exploration, chains, schedule and explorer parameters from this round's records."""
        last = rounds[-1]
        barrier = last.placement_barrier
        # rounds of another explorer do not tell how much is kept by this one
        own = rounds[self.since :]
        if self.settings.auto_explorations and own:
            self.explorations = next_explorations(own)
        n_chains = self._next_n_chains(last) if self.settings.auto_chains else self.n_chains
        new_schedule = update_schedule(barrier, n_chains)
        tuned = self.bound.tune(self.parameters, statistics)
        chosen = self.bound.chosen(tuned)
        if chosen != self.bound.chosen(self.parameters) and chosen is not None:
            self.display.choose(chosen)
            self.since = len(rounds)
        self.parameters = self.bound.carry(tuned, self.schedule, new_schedule)
        known = np.concatenate([[0.0], np.cumsum(last.evidence.known)])
        self.pivot = np.diff(np.interp(new_schedule, self.schedule, known))
        # a short round may have seen no reference draw of positive likelihood
        means = np.where(np.isfinite(last.energies.mean), last.energies.mean, self.centre)
        # the reference's mean may be larger by any factor, and would cost the digits of the others' moments
        others = np.interp(new_schedule[1:], self.schedule[1:], means[1:])
        self.centre = np.concatenate([means[:1], others])
        if n_chains != self.n_chains:
            self._count()
            nearest = nearest_chains(barrier.smooth(self.schedule), barrier.smooth(new_schedule))
            self.copies = [resized(copy, nearest) for copy in self.copies]
        self.schedule, self.n_chains = new_schedule, n_chains
        self.display.end_round(last)

    def _refit(self, fitted: FittedMap, records: list[Record]) -> None:
        """Fit the reference to the target chain's draws of all copies, and evaluate all replicas anew."""
        draws = np.concatenate([record.draws[:, -1] for record in records])
        if len(draws) == 0:
            return
        carry = fitted.refit(draws)
        self.renew()
        for number, copy in enumerate(self.copies):
            copy.states[:] = carry(copy.states)
            good = copy.log_densities[:, LOG_LIKELIHOOD] > -np.inf
            self._with_team(number, partial(refresh_some, self.target.block))
            # rounding may put a state on the wrong side of an edge, and no chain but the reference's may hold it
            lost = good & (copy.log_densities[:, LOG_LIKELIHOOD] == -np.inf)
            kept = np.flatnonzero(good & ~lost)
            if lost.any() and len(kept) == 0:
                raise EvaluationError(
                    "The likelihood is zero at the states of all chains of a copy, at which it was positive before the "
                    "reference was fitted anew: log_likelihood must be a function of its arguments alone."
                )
            for j in np.flatnonzero(lost):
                copy.states[j], copy.log_densities[j, :2] = copy.states[kept[0]], copy.log_densities[kept[0], :2]

    def _next_n_chains(self, last: Round) -> int:
        """Find the next round's number of chains, and note where slow exploration raises it."""
        smooth = max(barrier.total - barrier.jump for barrier in (last.barrier, last.placement_barrier))
        # more exploration first: it is the better help where it helps at all
        slow = explores_slowly(last) and self.boost < MOST_BOOST and self.explorations <= last.explorations
        self.boost *= 2 if slow else 1
        n_chains = next_n_chains(last, smooth, self.boost, final=last.number == self.settings.n_rounds)
        if slow:
            self.notes.append(
                f"Exploration is slow: {last.restarts} restarts in round {last.number} where the rejections allow "
                f"{last.predicted_restarts:.0f}. So {n_chains} chains were taken next, more than the barrier asks."
            )
        return n_chains
