"""The Ising model: heat bath, compared with C."""

import ctypes

import native
import numpy as np
from normal_case import SEED, explore_scans, make_plan
from report import Row, agreement, clock, race

import sterna
from sterna.engine.program import N_LOG_DENSITIES
from sterna.engine.round import new_copy
from sterna.ground.streams import new_stream


def race_spins(size: int, chains: int, n_scans: int, limit: float) -> Row:
    """Compare the heat bath at evenly spaced betas, per spin update."""
    target, sites = sterna.models.ising(size=size), size * size
    explorer, schedule = target.explorer, np.linspace(0.0, 1.0, chains)
    library = native.build("spins", SIZE=size)
    start = np.where(np.random.default_rng(SEED).random((chains, sites)) < 0.5, -1.0, 1.0)
    log_densities = np.zeros((chains, N_LOG_DENSITIES))
    log_densities[:, :2] = [target.log_densities(state) for state in start]
    parameters = np.tile(explorer.bind(target).start(lambda n: start), (chains, 1))
    plan = make_plan(target, explorer, schedule, parameters, n_scans)
    copy, stream, statistics = new_copy(chains, sites), new_stream(), np.zeros((chains, 9))
    spins, energies = start.astype(np.int8), log_densities[:, 1].copy()

    def run_c() -> float:
        spins[:], energies[:] = start, log_densities[:, 1]
        first, last, count, seed = (native.integer(number) for number in (1, n_scans, chains, SEED))
        arrays = native.address(schedule), ctypes.c_double(1.0), native.address(spins), native.address(energies)
        return clock(lambda: library.explore_scans(first, last, count, seed, *arrays))

    def run_sterna() -> float:
        copy.states[:], copy.log_densities[:] = start, log_densities
        return clock(lambda: explore_scans(plan, copy, statistics, 1, n_scans, stream))

    explore_scans(plan, copy, statistics, 1, 0, stream)
    c, ours = (1e9 * seconds / (n_scans * (chains - 1) * sites) for seconds in race([run_c, run_sterna]))
    same = agreement([copy.states, copy.log_densities[:, 1]], [spins.astype(float), energies])
    return Row(f"ising {size}x{size}, {chains} chains", c, ours, ours / c, limit, same)
