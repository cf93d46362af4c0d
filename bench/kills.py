"""Runs that are killed (SIGKILL) at random moments and resumed: each must end as if it had never been killed.

    python bench/kills.py [count] [seed]

A kill falls into tuning or sampling, along one path or two, at a moment drawn uniformly from the time of the whole run,
and every third run is killed a second time after it was resumed. Checkpoints are written every 0.05 s, not 30, so
that many kills meet one that is being written. Prints how many runs went on, how many have the draws, index process and
evidence of the run that was not killed (by SHA-256), and the longest time that a kill lost.

Processes are forks of one that has loaded the engine, because a start takes longer than a run.
"""

import hashlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import sterna
from sterna.run import folder as run_folder
from sterna.run.folder import RunFolder

SECONDS_BETWEEN = 0.05


def log_likelihood(x, y):
    return -0.5 * np.sum((y - np.abs(x)) ** 2)


def target():
    return sterna.Target(log_likelihood, {"x": sterna.Normal(0, 5, shape=2)}, {"y": np.array([3.0, 4.0])})


CASES = {
    "one path": {"n_chains": 5, "n_rounds": 10, "n_scans": 30_000, "n_copies": 2, "explorer": "slice"},
    "two paths": {"n_rounds": 9, "path": "fitted", "explorer": "slice", "n_scans": 8000},
    "kept chains": {
        "n_chains": 4,
        "n_rounds": 8,
        "keep": "all",
        "thin": 3,
        "n_scans": 40_000,
        "explorer": "metropolis",
    },
}


def checksum(result):
    """Return the SHA-256 of draws, index process and evidence."""
    parts = [array for record in result.records for array in (record.draws, record.positions)]
    parts += [one.index_process for one in result.rounds] + [result.schedule]
    parts.append(np.array([result.log_evidence.value, result.log_evidence.error]))
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def run(case, root, seed):
    """Begin a run in a folder, or go on with the one that is there."""
    return sterna.sample(target(), **CASES[case], seed=seed, folder=root, resume=True, workers=1, progress=False)


def in_child(action, after=None):
    """Run something in a fork; kill it after some time, if one is given. Return whether it ended by itself."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return False
    assert status == 0, "the run failed"
    return True


def scans_of(root):
    """Return how far the newest checkpoint is, in scans of all rounds."""
    try:
        state, _ = RunFolder(root, {}).read()
    except sterna.StorageError:
        return 0
    return 2**state.round_number - 2 + int(state.scans_done.max())


def one(case, seed, rng, root):
    """Kill a run, once or twice, and resume it; return whether it was killed, and whether it has the same bits."""
    began = time.perf_counter()
    whole = checksum(sterna.sample(target(), **CASES[case], seed=seed, workers=1, progress=False))
    seconds = time.perf_counter() - began
    killed = 0
    for _ in range(2 if seed % 3 == 0 else 1):
        if not in_child(lambda: run(case, root, seed), after=rng.uniform(0.0, 1.3 * seconds)):
            killed += 1
    left = scans_of(root)
    assert in_child(lambda: run(case, root, seed))
    return killed, left, checksum(sterna.load(root)) == whole


def main(count, seed):
    rng, killed, same, began = np.random.default_rng(seed), 0, 0, 0
    run_folder.SECONDS_BETWEEN = SECONDS_BETWEEN
    for case in CASES:
        sterna.sample(target(), **CASES[case], workers=1, progress=False)
    n, tries = 0, 0
    while n < count:
        tries += 1
        case = list(CASES)[tries % len(CASES)]
        with tempfile.TemporaryDirectory() as folder:
            kills, left, is_same = one(case, tries, rng, Path(folder) / "run")
        if not kills:
            continue
        n += 1
        killed += kills
        same += is_same
        began += left > 0
        if not is_same:
            print(f"{case}, seed {tries}: other bits", flush=True)
    print(f"{killed} kills in {n} runs, {began} with a checkpoint: {n} went on, {same} have the same bits")
    return same == n


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    sys.exit(0 if main(*numbers, *(200, 1)[len(numbers) :]) else 1)
