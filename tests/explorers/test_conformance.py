"""What every explorer must keep to, whatever it does: one walk over all of them, on all targets that they accept."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from annealed import conditional, law
from documented import example_explorer
from invariance import leaps, walk
from kernels import apply_bound, draws_of, logs_of
from numba.core.runtime import _nrt_python, rtsys

import sterna
from sterna.engine.program import EVALUATIONS, EXPLORE, GRADIENTS
from sterna.errors import OptionError
from sterna.explorers.base import Bound
from sterna.explorers.composition import Blocks
from sterna.explorers.default import default_explorer
from sterna.explorers.table import EXPLORERS
from sterna.ground.compilation import address_of
from sterna.ground.values import REAL

# A number that no kernel would write by chance.
GUARD = 1234.56789
# Near enough to the reference for its metric and widths, which explorers start with.
BETA = 0.1


def block_by_block(target):
    """A dict of explorers: one for the first variable, another for all others."""
    first, *others = target.space.names
    return Blocks({first: sterna.Slice()} | ({tuple(others): sterna.Metropolis()} if others else {}))


def own(target):
    if target.explorer is None:
        raise OptionError("has none")
    return target.explorer


def chosen_for(target):
    if target.explorer is not None:
        raise OptionError("has one of its own")
    return default_explorer(target)


def random_walk(target):
    if (target.program.value_type != REAL).any():
        raise OptionError("is for real variables")
    return sterna.Move(walk)


class LeapsAnywhere:
    """Leaps between components of as many dimensions as there are coordinates to explore."""

    def bind(self, target, coordinates=None):
        dimension = target.dimension if coordinates is None else len(coordinates)
        return leaps(dimension).bind(target, coordinates)


# Explorers by name, each as a function of the target; all that `sample` knows by name are among them.
SUBJECTS = {name: lambda target, make=make: make() for name, make in EXPLORERS.items()} | {
    "metropolis, diagonal": lambda target: sterna.Metropolis(covariance="diagonal"),
    "hmc, dense": lambda target: sterna.HMC(metric="dense"),
    "mala, dense": lambda target: sterna.MALA(metric="dense"),
    "automala, dense": lambda target: sterna.AutoMALA(metric="dense"),
    "gibbs, conditional": lambda target: sterna.Gibbs(conditional=conditional),
    "heat bath": own,
    "cycle": lambda target: sterna.Cycle(sterna.Slice(passes=0.5), sterna.Metropolis()),
    "mix": lambda target: sterna.Mix(sterna.Slice(), sterna.Metropolis(), weights=[0.3, 0.7]),
    "best": lambda target: sterna.Best(sterna.Slice(), sterna.Metropolis(), sterna.Independence()),
    "default": chosen_for,
    "leaps": lambda target: LeapsAnywhere(),
    "move": random_walk,
    "dict": block_by_block,
    "documented example": lambda target: example_explorer().Steps(),
}
LAWS = ("gaussian", "bounded", "simplex", "joint", "funnel", "cliff", "mixed", "few_values", "components")
MODELS = {
    "normal": lambda: sterna.models.normal(2),
    "ising": lambda: sterna.models.ising(3),
    "rotor": lambda: sterna.models.rotor(3),
    "spin_glass": lambda: sterna.models.spin_glass(3, 2),
}
# Targets whose likelihood itself needs no memory.
LEAN = ("cliff", "few_values", *MODELS)
WALK = pytest.mark.parametrize("name", SUBJECTS)


class Place(NamedTuple):
    """An explorer that has been bound to a target or to a block of it, and states of positive likelihood."""

    where: str
    target: Any
    block: Any
    bound: Any
    row: Any
    states: Any

    def run(self, *, beta=BETA, times=3, **options):
        parameters = options.pop("parameters", self.row)
        return apply_bound(self.target, self.bound, self.states, beta, parameters=parameters, times=times, **options)


@cache
def targets():
    return {name: law(name).target for name in LAWS} | {name: make() for name, make in MODELS.items()}


@cache
def states_of(where):
    """Draws from the reference whose likelihood is not zero."""
    target = targets()[where]
    states = draws_of(target)(60)
    return states[np.isfinite(logs_of(target, states)[:, 1])]


def blocks_of(target):
    """All coordinates, one, two that are not in their order, and those of each variable."""
    yield None
    last = target.dimension - 1
    tried = [(0,), (last, 0), *(tuple(range(v.start, v.stop)) for v in target.space.variables)]
    for block in dict.fromkeys(tried):
        if len(set(block)) == len(block) <= last:
            yield np.array(block)


@cache
def places(name):
    """Bind an explorer wherever it can be; it must be possible somewhere."""
    found = []
    for where, target in targets().items():
        for block in blocks_of(target):
            try:
                bound = SUBJECTS[name](target).bind(target, block)
            except (OptionError, sterna.TargetError):
                continue
            row = bound.start(draws_of(target))
            found.append(Place(f"{where} {block}", target, block, bound, row, states_of(where)))
    assert found, f"{name} can be bound to no target of this test: add one"
    return found


def test_models_own_explorers_are_walked():
    assert {place.where.split()[0] for place in places("heat bath")} == {"ising", "rotor", "spin_glass"}


def guarded(numbers, offset):
    """Numbers with guards before and behind them, and the whole array."""
    whole = np.full(len(numbers) + 64, GUARD)
    inner = whole[8 + offset : 8 + offset + len(numbers)]
    inner[:] = numbers
    return inner, whole


@WALK
def test_kernel_keeps_to_its_memory(name):
    """Nothing is written outside of the row of statistics, of the block and of log-densities; parameters are frozen."""
    for k, place in enumerate(places(name)):
        bound = place.bound
        assert isinstance(bound, Bound)
        assert address_of(bound.kernel, EXPLORE) != 0
        assert place.row.dtype == np.float64
        assert place.row.shape == (bound.n_parameters,)
        assert not np.isnan(place.row).any()
        statistics, around_statistics = guarded(np.zeros(bound.n_row), k % 8)
        parameters, around_parameters = guarded(place.row, k % 8)
        data = [array.copy() for array in bound.data]
        after, _, _ = place.run(statistics=statistics, parameters=parameters)
        inside = np.zeros(len(around_statistics), dtype=bool)
        inside[8 + k % 8 : 8 + k % 8 + bound.n_row] = True
        assert (around_statistics[~inside] == GUARD).all(), place.where
        assert np.array_equal(around_parameters, guarded(place.row, k % 8)[1]), place.where
        assert all(np.array_equal(*pair) for pair in zip(data, bound.data, strict=True)), place.where
        if place.block is not None:
            others = np.setdiff1d(np.arange(place.target.dimension), place.block)
            assert np.array_equal(after[:, others], place.states[:, others]), place.where
        assert (after != place.states).any(), place.where


@WALK
def test_bound_again_it_goes_on_from_saved_parameters(name):
    """Whatever was learned is in the parameters: another `Bound`, which was never started, gives the same bits."""
    for place in places(name):
        rows, statistics = np.tile(place.row, (3, 1)), np.tile(place.run()[2], (3, 1))
        again = place._replace(bound=SUBJECTS[name](place.target).bind(place.target, place.block))
        assert (again.bound.n_parameters, again.bound.n_row) == (place.bound.n_parameters, place.bound.n_row)
        tuned = [one.bound.tune(rows, one.bound.merge([statistics])) for one in (place, again)]
        assert np.array_equal(*tuned), place.where
        first, second = (one.run(parameters=np.ascontiguousarray(tuned[0][1])) for one in (place, again))
        assert all(np.array_equal(*pair) for pair in zip(first[:2], second[:2], strict=True)), place.where


@WALK
def test_tuning_keeps_shapes_and_numbers(name):
    """Also where a chain was never visited, or no chain was; what is infinite at the start may stay so."""
    for place in places(name):
        bound = place.bound
        rows = np.tile(place.row, (4, 1))
        visited = np.zeros((4, bound.n_statistics))
        visited[1:3] = place.run()[2]
        merged = bound.merge([visited, visited])
        assert merged.shape == visited.shape
        for statistics in (np.zeros_like(visited), visited, merged):
            given = rows.copy(), statistics.copy()
            tuned = bound.tune(rows, statistics)
            assert np.array_equal(rows, given[0]), place.where
            # the parts of a composition have their working memory there too
            assert np.array_equal(statistics, given[1], equal_nan=True), place.where
            assert tuned.shape == rows.shape, place.where
            assert np.array_equal(np.isfinite(tuned), np.isfinite(rows)), place.where
            carried = bound.carry(tuned, np.linspace(0, 1, 4), np.linspace(0, 1, 6) ** 2)
            assert carried.shape == (6, len(place.row)), place.where
            assert np.array_equal(np.isfinite(carried), np.tile(np.isfinite(place.row), (6, 1))), place.where
            again = place.run(parameters=np.ascontiguousarray(carried[4]))
            assert np.isfinite(again[1]).all(), place.where


@WALK
def test_same_bits_whatever_the_working_memory_holds(name):
    for place in places(name):
        # merging leaves out the working memory that the parts of a composition have among the statistics
        *first, sums = place.run()
        first.append(place.bound.merge([sums[None]]))
        for garbage in (0.0, np.nan, np.inf, -1e300, GUARD):
            statistics = np.zeros(place.bound.n_row)
            statistics[place.bound.n_statistics :] = garbage
            *again, sums = place.run(statistics=statistics)
            again.append(place.bound.merge([sums[None]]))
            assert all(np.array_equal(*pair) for pair in zip(first, again, strict=True)), (place.where, garbage)


@WALK
def test_log_densities_are_those_of_the_states(name):
    for place in places(name):
        after, log_densities, _ = place.run(times=10)
        assert np.allclose(log_densities[:, :2], logs_of(place.target, after)[:, :2], rtol=1e-9, atol=1e-9), place.where


@WALK
def test_evaluations_are_counted(name):
    """Heat baths have energies that run along, and evaluate nothing."""
    for place in places(name):
        counts = [place.run(times=times)[1][:, [EVALUATIONS, GRADIENTS]] for times in (1, 5)]
        assert (counts[0] >= 0).all(), place.where
        assert (counts[1] >= counts[0]).all(), place.where
        if name != "heat bath":
            assert counts[1][:, 0].sum() > counts[0][:, 0].sum() > 0, place.where


def resident():
    """Resident memory in bytes, where the system tells."""
    told = Path("/proc/self/statm")
    return 4096 * int(told.read_text().split()[1]) if told.exists() else 0


@pytest.fixture
def allocations():
    _nrt_python.memsys_enable_stats()
    yield rtsys.get_allocation_stats
    _nrt_python.memsys_disable_stats()


@WALK
def test_memory_does_not_grow(name, allocations):
    """What compiled code allocates it frees; and a kernel allocates nothing."""
    lean = [place for place in places(name) if place.where.split()[0] in LEAN]
    place = (lean or places(name))[0]
    place.run(times=100)
    before, memory = allocations(), resident()
    place.run(times=1000)
    after = allocations()
    assert (after.mi_alloc - before.mi_alloc) == (after.mi_free - before.mi_free)
    # a user's move may make arrays
    if lean and name != "move":
        assert after.alloc - before.alloc < 50
    assert resident() - memory < 2**20


def fenced(x, p, k):
    """Return zero likelihood around a small box, and in it for every second integer."""
    return -0.1 * x if abs(x) < 0.7 and 0.2 < p < 0.6 and k % 2 == 0 else -np.inf


def fenced_gradient(x, p, k):
    return -0.1, 0.0


FENCED = {"x": sterna.Normal(0, 1), "p": sterna.Beta(2, 2), "k": sterna.DiscreteUniform(0, 5)}


@cache
def fenced_target():
    return sterna.Target(fenced, FENCED, gradient=fenced_gradient)


# Those that have targets of their own, without states of likelihood zero; a user's move that ends at one is an error.
ON_THEIR_OWN = ("heat bath", "gibbs, conditional", "move")


@pytest.mark.parametrize("beta", [5e-324, 1e-300, 1e-3, 1.0])
@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in ON_THEIR_OWN])
def test_states_of_likelihood_zero_are_never_entered(name, beta):
    """However small beta is, if it is not 0."""
    target = fenced_target()
    states = draws_of(target)(4000)
    states = states[np.isfinite(logs_of(target, states)[:, 1])]
    found = 0
    for block in blocks_of(target):
        try:
            bound = SUBJECTS[name](target).bind(target, block)
        except OptionError:
            continue
        after, log_densities, _ = apply_bound(target, bound, states, beta, times=5)
        assert np.isfinite(log_densities[:, :2]).all()
        assert np.isfinite(logs_of(target, after)[:, :2]).all()
        assert (after != states).any()
        found += 1
    assert found > 0
