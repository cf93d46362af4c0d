"""Measure gradient-based explorers: a leapfrog step compared with C, and how their cost grows with the dimension.

Run `python bench/gradients.py`; it takes about a minute.
"""

import sys
from ctypes import c_double
from typing import Any

import native
import numpy as np
from normal_case import explore_scans
from report import Row, agreement, clock, race, show

import sterna
from sterna.engine.program import EXPLORE, GRADIENTS, N_LOG_DENSITIES
from sterna.engine.round import Plan, new_copy
from sterna.engine.schemes import DEO
from sterna.explorers.automala import AutoMALA
from sterna.explorers.hamiltonian import HMC
from sterna.explorers.shared.gradient_block import aligned_zeros
from sterna.explorers.shared.leapfrog import Parameters, sizes_of_metric
from sterna.ground.compilation import address_of
from sterna.ground.rows import columns
from sterna.ground.streams import new_stream

SEED, CHAINS, SIZE = 1, 10, 0.3


def gradient(x):
    """A user's gradient, which creates an array at every evaluation."""
    return -4.0 * x


def log_likelihood(x):
    """A user's log-likelihood of the normal model."""
    total = 0.0
    for value in x:
        total += value**2
    return -2.0 * total


def make_plan(target: Any, bound: Any, schedule: Any, parameters: Any) -> Plan:
    """Everything that exploration without communication needs."""
    return Plan(
        block=target.block,
        explore=address_of(bound.kernel, EXPLORE),
        explorer_data=np.array([array.ctypes.data for array in bound.data], dtype=np.int64),
        explorations=1,
        scheme=DEO,
        schedule=schedule,
        parameters=np.ascontiguousarray(parameters),
        pivot=np.zeros(len(schedule) - 1),
        centre=np.zeros(len(schedule)),
        seed=SEED,
        round_number=1,
        batch_scans=1,
        batches=1,
        thin=1,
    )


def aligned(array: Any) -> Any:
    """Return a copy that starts at a cache-line boundary."""
    copy = aligned_zeros(array.size)[: array.size].reshape(array.shape)
    copy[:] = array
    return copy


class Sides:
    """The same trajectories in C and in sterna, from the same states."""

    def __init__(self, target: Any, steps: int, n_scans: int, known: int) -> None:
        d = target.dimension
        self.n_scans, self.steps = n_scans, steps
        self.library = native.build("hamiltonian", DIMENSION=d, KNOWN_REFERENCE=known)
        # aligned with cache lines, which is fastest for C
        self.reference = [aligned(np.zeros(d)), aligned(np.ones(d))]
        self.schedule = np.linspace(0.0, 1.0, CHAINS)
        rng = np.random.default_rng(SEED)
        self.bound = HMC(steps=steps, jitter=0.0).bind(target)
        self.parameters = np.tile(self.bound.start(lambda n: rng.standard_normal((n, d))), (CHAINS, 1))
        self.scale = aligned(np.tile(1.0 / np.sqrt(1.0 + 4.0 * self.schedule)[:, None], (1, d)))
        self.parameters[:, Parameters.step_size] = SIZE
        columns(self.parameters, Parameters.scale, *sizes_of_metric(d, dense=False))[:] = self.scale
        self.start = self.scale * rng.standard_normal((CHAINS, d))
        self.log_densities = np.zeros((CHAINS, N_LOG_DENSITIES))
        self.log_densities[:, :2] = [target.log_densities(x) for x in self.start]
        self.copy = new_copy(CHAINS, d)
        self.statistics = np.zeros((CHAINS, self.bound.n_row))
        self.c = [aligned(self.start), self.log_densities.copy(), np.zeros((CHAINS, 2))]
        self.stream = new_stream()
        self.plan = make_plan(target, self.bound, self.schedule, self.parameters)

    def run_c(self) -> float:
        """Return the seconds taken by C."""
        self.c[0][:], self.c[1][:], self.c[2][:] = self.start, self.log_densities, 0.0
        numbers = [native.integer(number) for number in (1, self.n_scans, CHAINS, SEED, self.steps)]
        arrays = [native.address(array) for array in (*self.reference, self.schedule, self.scale, *self.c)]
        return clock(lambda: self.library.explore_scans(*numbers, c_double(SIZE), *arrays))

    def run_sterna(self) -> float:
        """Return the seconds taken by sterna."""
        self.copy.states[:], self.copy.log_densities[:], self.statistics[:] = self.start, self.log_densities, 0.0
        return clock(lambda: explore_scans(self.plan, self.copy, self.statistics, 1, self.n_scans, self.stream))

    def same(self) -> str:
        """Return whether the results agree."""
        return agreement(
            [self.copy.states, self.copy.log_densities[:, :2], self.statistics[:, :2]],
            [self.c[0], self.c[1][:, :2], self.c[2]],
        )


def race_trajectories(target: Any, limit: float | None, label: str, known: int = 0) -> list[Row]:
    """Compare a trajectory of 16 steps, and the cost of each further step."""
    n_scans = 100
    short, long = Sides(target, 16, n_scans, known), Sides(target, 64, n_scans, known)
    for side in (short, long):
        side.n_scans = 0
        side.run_sterna()
        side.n_scans = n_scans
    c_short, ours_short, c_long, ours_long = race([short.run_c, short.run_sterna, long.run_c, long.run_sterna], 60)
    trajectories = n_scans * (CHAINS - 1)
    case = f"normal d={target.dimension}{label}"
    whole = [1e9 * seconds / trajectories / 16 for seconds in (c_short, ours_short)]
    further = [1e9 * seconds / trajectories / 48 for seconds in (c_long - c_short, ours_long - ours_short)]
    return [
        Row(f"{case}, trajectory of 16", *whole, whole[1] / whole[0], None, short.same()),
        Row(f"{case}, each further step", *further, further[1] / further[0], limit, long.same()),
    ]


def effective_share(values: Any) -> float:
    """Return the effective fraction of draws, by Geyer's initial positive sequence."""
    centred = values - values.mean()
    padded = np.fft.rfft(centred, 2 * len(values))
    correlation = np.fft.irfft(padded * padded.conj())[: len(values)]
    correlation /= correlation[0]
    pairs = correlation[: len(values) // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = np.flatnonzero(pairs <= 0)
    return float(1.0 / (2.0 * pairs[: stop[0] if stop.size else None].sum() - 1.0))


def gradients_per_draw(explorer: Any, dimension: int, n_steps: int) -> tuple[float, float]:
    """Return gradients per independent draw of the energy, and of the slowest of ten coordinates, at beta = 1.

    Tuned over rounds of 2 to 256 scans, then watched at every step; the gradient where a scan begins is shared by all
    of its steps, and not counted. Ten at any dimension, as the slowest of more is slower by chance.
    """
    target = sterna.Target(log_likelihood, {"x": sterna.Normal(0, 1, shape=dimension)}, gradient=gradient)
    bound, rng = explorer.bind(target), np.random.default_rng(SEED)
    parameters = np.tile(bound.start(lambda n: rng.standard_normal((n, dimension))), (2, 1))
    copy, stream, schedule = new_copy(2, dimension), new_stream(), np.array([0.0, 1.0])
    copy.states[1] = rng.standard_normal(dimension) / np.sqrt(5.0)
    copy.log_densities[1, :2] = target.log_densities(copy.states[1])
    watched = np.linspace(0, dimension - 1, 10).astype(int)
    scan = 0
    for round_length in (2, 4, 8, 16, 32, 64, 128, 256, n_steps):
        if round_length == n_steps:
            parameters[:, Parameters.trajectories] = 1.0
        plan, statistics = make_plan(target, bound, schedule, parameters), np.zeros((2, bound.n_row))
        copy.log_densities[1, GRADIENTS] = 0.0
        draws = np.zeros((round_length, len(watched) + 1))
        for row in draws:
            scan += 1
            explore_scans(plan, copy, statistics, scan, scan, stream)
            row[:-1], row[-1] = copy.states[1, watched], copy.log_densities[1, 1]
        parameters = bound.tune(parameters, statistics[:, : bound.n_statistics])
    cost = copy.log_densities[1, GRADIENTS] / n_steps - 1.0
    return cost / effective_share(draws[:, -1]), cost / min(effective_share(column) for column in draws.T[:-1])


def show_growth(explorer: Any, limit: float) -> None:
    """Print the cost of an independent draw by dimension, and the exponent with which it grows."""
    dimensions = np.array([10, 100, 1000, 10_000])
    print(
        f"\n{explorer.name}: gradients per independent draw\n{'dimension':>10}{'energy':>10}{'slowest coordinate':>22}"
    )
    costs = []
    for dimension, n_steps in zip(dimensions, (20_000, 20_000, 20_000, 30_000), strict=True):
        costs.append(gradients_per_draw(explorer, int(dimension), n_steps))
        print(f"{dimension:>10}{costs[-1][0]:>10.1f}{costs[-1][1]:>22.1f}", flush=True)
    exponents = np.polyfit(np.log(dimensions), np.log(costs), 1)[0]
    verdict = "ok" if exponents.max() <= limit else "MISS"
    print(f"{'exponent':>10}{exponents[0]:>10.2f}{exponents[1]:>22.2f}   <= {limit:g}  {verdict}")


def main() -> None:
    """Run all cases."""
    model = sterna.models.normal(dim=100)
    rows = race_trajectories(model, 1.3, "")
    rows += race_trajectories(model, None, ", C knows N(0,1)", known=1)
    user = sterna.Target(log_likelihood, {"x": sterna.Normal(0, 1, shape=100)}, gradient=gradient)
    rows += race_trajectories(user, None, ", user's arrays")
    show("Hamiltonian Monte Carlo: nanoseconds per leapfrog step", "C", "sterna", rows)
    show_growth(AutoMALA(), 0.45)


if __name__ == "__main__":
    sys.exit(main())
