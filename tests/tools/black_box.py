"""A log-likelihood that only Python can evaluate, and runs of it with any workers."""

import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np

import sterna

OPTIONS = {"n_chains": 5, "n_rounds": 4, "seed": 3, "progress": False, "explorer": "slice"}
REFERENCE = {"mu": sterna.Normal(0, 10), "k": sterna.Poisson(3, shape=2)}


class BlackBox:
    """A function that Numba cannot compile, with an array that must be sent along."""

    def __init__(self):
        self.inside = np.arange(1000.0)

    def __call__(self, mu, k, y):
        return -0.5 * (abs(mu) - 5.0) ** 2 + 0.1 * float(np.sum(k)) + float(y @ y) + 1e-9 * self.inside[3]


class DiesAlways:
    """A function that ends every process that calls it."""

    def __call__(self, mu, k, y):
        os._exit(9)


def run(function=None, workers=None, **options):
    target = sterna.Target(function or BlackBox(), REFERENCE, {"y": np.array([0.5, 0.25])})
    result = sterna.sample(target, workers=workers, **OPTIONS | options)
    return result, result.index_process.tobytes() + result.posterior["mu"].values.tobytes()


def executors():
    spawn = get_context("spawn")
    return {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, mp_context=spawn),
        "pool": lambda: spawn.Pool(2),
    }
