"""A run of the engine with exactly independent exploration, and its exact rejections."""

import exact
import numpy as np

import sterna
from sterna.engine.index_process import Trips

COORDINATES, GAIN = 10, 2.0


def gain(z):
    """Independent binary coordinates, which one pass of the heat bath draws from the annealed distribution."""
    total = 0.0
    for value in z:
        total += GAIN * value
    return total


def engine_rates(n_chains, scheme, n_rounds, n_scans, n_copies):
    """Return the restarts per scan of every copy, and the exact rejections of the tuned schedule.

    Trips that started during tuning continue into sampling, so that no restart is lost at the start.
    """
    target = sterna.Target(gain, {"z": sterna.Bernoulli(0.5, shape=COORDINATES)})
    result = sterna.sample(
        target, n_chains=n_chains, n_rounds=n_rounds, n_scans=n_scans, n_copies=n_copies, scheme=scheme, progress=False
    )
    rates = np.array([record.trips[Trips.restarts] for record in result.records]) / n_scans
    return rates, exact.level_rejections(result.schedule, *exact.binomial_levels(COORDINATES, 0.5, GAIN))


def expected_time(rates, n_chains):
    """Return E[T] = (N + 1) / rate with its standard error over copies."""
    time = n_chains / rates.mean()
    return time, time * rates.std(ddof=1) / np.sqrt(len(rates)) / rates.mean()
