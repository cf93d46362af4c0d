"""The normal model: slice updates and complete scans, compared with C."""

from dataclasses import dataclass
from typing import Any

import native
import numpy as np
from numba import njit, types
from report import Row, agreement, clock, race

import sterna
from sterna.engine.program import EVALUATIONS, EXPLORE, view
from sterna.engine.record import layout_of, new_record
from sterna.engine.round import Plan, call_explore, new_copy, run_scans
from sterna.engine.schemes import DEO
from sterna.explorers.shared.slice_widths import Parameters
from sterna.ground.compilation import address_of, as_pointer, row
from sterna.ground.rows import columns
from sterna.ground.streams import new_stream, scan_key, start_stream

SEED = 1
# The round number in the keys of exploration without communication, here and in C.
NUMBER = 1
PILOT_ROUNDS, PILOT_SCANS = 5, 100


@njit(nogil=True, error_model="numpy")
def explore_scans(plan, copy, statistics, first, last, stream):
    """Explore every chain except the reference, with streams and calls by address as in a round."""
    program = view(plan.block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    data = as_pointer(plan.explorer_data.ctypes.data, types.int64)
    for scan in range(first, last + 1):
        key = scan_key(plan.seed, 0, plan.round_number, scan)
        for chain in range(1, plan.schedule.size):
            start_stream(words, key, chain)
            x, log_densities = row(copy.states, chain), row(copy.log_densities, chain)
            parameters, sums = row(plan.parameters, chain), row(statistics, chain)
            call_explore(plan.explore, (program, x, log_densities, plan.schedule[chain], parameters, sums, data, words))


ALIVE: list[Any] = []


def make_plan(target: Any, explorer: Any, schedule: Any, parameters: Any, n_scans: int) -> Plan:
    """Everything that is fixed during a round."""
    bound, layout = explorer.bind(target), layout_of(n_scans)
    # addresses do not keep their arrays alive
    ALIVE.append(bound)
    return Plan(
        block=target.block,
        explore=address_of(bound.kernel, EXPLORE),
        explorer_data=np.array([array.ctypes.data for array in bound.data], dtype=np.int64),
        explorations=1,
        scheme=DEO,
        schedule=schedule,
        parameters=np.ascontiguousarray(parameters),
        # not used by exploration without communication
        pivot=np.diff(-0.5 * target.dimension * np.log1p(4.0 * schedule)),
        centre=-2.0 * target.dimension / (1.0 + 4.0 * schedule),
        seed=SEED,
        round_number=NUMBER,
        batch_scans=layout.scans,
        batches=layout.batches,
        thin=1,
    )


@dataclass
class Case:
    """A tuned initial state, from which both programs run the same scans."""

    dimension: int
    chains: int
    schedule: Any
    parameters: Any
    states: Any
    log_densities: Any

    def field(self, field: Any) -> Any:
        """Return a field of the slice explorer's parameters, in the layout that C uses."""
        return np.ascontiguousarray(columns(self.parameters, field, self.dimension))

    @property
    def label(self) -> str:
        """Return a short description of the case."""
        return f"normal d={self.dimension}, {self.chains} chains"


def tuned_case(dimension: int, chains: int) -> Case:
    """Tune the schedule in a short run, and the widths by sterna's rule in a pilot run with that schedule."""
    target, explorer = sterna.models.normal(dim=dimension), sterna.Slice()
    run = sterna.sample(target, n_chains=chains, n_rounds=7, seed=SEED, progress=False)
    copy, stream = new_copy(chains, dimension), new_stream()
    copy.states[:] = run.posterior["x"].values[0, -chains:]
    copy.log_densities[:, :2] = [target.log_densities(x) for x in copy.states]
    rng = np.random.default_rng(SEED)
    parameters = np.tile(explorer.bind(target).start(lambda n: rng.standard_normal((n, dimension))), (chains, 1))
    for pilot in range(PILOT_ROUNDS):
        statistics = np.zeros((chains, 2 * dimension))
        plan = make_plan(target, explorer, run.schedule, parameters, PILOT_SCANS)
        explore_scans(plan, copy, statistics, pilot * PILOT_SCANS, (pilot + 1) * PILOT_SCANS - 1, stream)
        parameters = explorer.bind(target).tune(parameters, statistics)
    copy.log_densities[:, EVALUATIONS] = 0.0
    return Case(dimension, chains, run.schedule, parameters, copy.states, copy.log_densities)


def race_slices(case: Case, target: Any, n_scans: int, limit: float | None, label: str) -> Row:
    """Compare exploration without communication, per likelihood evaluation."""
    library = native.build("normal", DIMENSION=case.dimension)
    plan = make_plan(target, sterna.Slice(), case.schedule, case.parameters, n_scans)
    copy, stream = new_copy(case.chains, case.dimension), new_stream()
    widths, doublings = case.field(Parameters.widths), case.field(Parameters.doublings)
    sums = np.zeros((2, case.chains, 2 * case.dimension))
    states, log_densities = case.states.copy(), case.log_densities.copy()

    def run_c() -> float:
        states[:], log_densities[:], sums[0] = case.states, case.log_densities, 0.0
        given = case.schedule, widths, doublings, states, log_densities, sums[0]
        arrays = [native.address(array) for array in given]
        first, last, chains, seed = (native.integer(number) for number in (1, n_scans, case.chains, SEED))
        return clock(lambda: library.explore_scans(first, last, chains, seed, *arrays))

    def run_sterna() -> float:
        copy.states[:], copy.log_densities[:], sums[1] = case.states, case.log_densities, 0.0
        return clock(lambda: explore_scans(plan, copy, sums[1], 1, n_scans, stream))

    explore_scans(plan, copy, sums[1], 1, 0, stream)
    seconds = race([run_c, run_sterna])
    same = agreement([copy.states, copy.log_densities, sums[1]], [states, log_densities, sums[0]])
    return _row(f"{case.label}{label}", seconds, [log_densities, copy.log_densities], limit, same)


def race_scans(case: Case, n_scans: int, limit: float) -> Row:
    """Compare complete scans with swaps and recording, per likelihood evaluation."""
    target = sterna.models.normal(dim=case.dimension)
    library = native.build("normal", DIMENSION=case.dimension)
    plan = make_plan(target, sterna.Slice(), case.schedule, case.parameters, n_scans)
    sides = [_Side(case, n_scans) for _ in range(2)]
    c_round, kept_alive = _c_round(case, plan, sides[0], n_scans)
    stream = new_stream()
    assert kept_alive

    def run_c() -> float:
        sides[0].restart()
        first, last = native.integer(1), native.integer(n_scans)
        return clock(lambda: library.run_scans(native.ctypes.byref(c_round), first, last))

    def run_sterna() -> float:
        side = sides[1]
        side.restart()
        return clock(lambda: run_scans(plan, 0, side.copy, side.statistics, side.record, 1, n_scans, stream))

    run_scans(plan, 0, sides[1].copy, sides[1].statistics, sides[1].record, 1, 0, stream)
    seconds = race([run_c, run_sterna])
    same = agreement(sides[1].results(), sides[0].results())
    return _row(case.label, seconds, [side.copy.log_densities for side in sides], limit, same)


class _Side:
    """One program's arrays, written before timing starts, so that page faults are not timed."""

    def __init__(self, case: Case, n_scans: int) -> None:
        self.copy = new_copy(case.chains, case.dimension)
        self.copy.states[:], self.copy.log_densities[:] = case.states, case.log_densities
        self.record = new_record(n_scans, layout_of(n_scans), case.chains, case.dimension, 1, 1)
        self.statistics = np.zeros((case.chains, 2 * case.dimension))
        self.start = [array.copy() for array in self.results()]

    def results(self) -> list[Any]:
        """Return everything that a round writes."""
        return [*self.copy[:-1], *self.record, self.statistics]

    def restart(self) -> None:
        """Reset everything to the initial state."""
        for array, start in zip(self.results(), self.start, strict=True):
            array[...] = start


def _c_round(case: Case, plan: Plan, side: _Side, n_scans: int) -> tuple[native.Round, Any]:
    """Return the C program's round, and the arrays it points to."""
    arrays = {
        **side.copy._asdict(), **side.record._asdict(), **native.ziggurat(),
        "schedule": case.schedule, "pivot": plan.pivot, "centre": plan.centre, "statistics": side.statistics,
        "widths": case.field(Parameters.widths), "doublings": case.field(Parameters.doublings),
    }  # fmt: skip
    numbers = {
        "chains": case.chains, "n_scans": n_scans, "batches": side.record.scans.size,
        "seed": SEED, "copy": 0, "number": NUMBER,
    }  # fmt: skip
    return native.make_round(numbers, arrays), arrays


def _row(label: str, seconds: list[float], log_densities: list[Any], limit: float | None, same: str) -> Row:
    evaluations = [float(part[:, EVALUATIONS].sum()) for part in log_densities]
    c, ours = (1e9 * time / count for time, count in zip(seconds, evaluations, strict=True))
    return Row(label, c, ours, ours / c, limit, f"{same}; {evaluations[0]:.0f} evaluations each")
