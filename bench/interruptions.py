"""Runs of `bits.py` paused at random block ends, taken apart into arrays and JSON, continued in a fresh process.

    python bench/interruptions.py [count]

Prints one line for each: the case, where it paused, and whether draws, index process and evidence have the same bits as
those of a run that was never interrupted.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tools"))

from bits import CASES, OPTIONS, fingerprint
from interruptions import load, pause_after, save

from sterna.run import blocks
from sterna.run.options import Options
from sterna.run.running import begin_run, continue_run
from sterna.run.state import RunState

# Long models are left to `bits.py`; their kernels are paused in shorter ones.
LONG = ("model copy_number", "model phylo_cancer")

RUN = {name: value for name, value in OPTIONS.items() if name != "progress"}


def count_block_ends(name):
    """Run a case whole in blocks of one scan; return its fingerprint and how many blocks there were."""
    build, explorer, options = CASES[name]
    ends = [0]

    def pause(scans_done):
        ends[0] += 1
        return False

    result = begin_run(build(), Options(**{**RUN, **options}), explorer=explorer, pause=pause)
    return fingerprint(result), ends[0]


def continue_in_this_process(name, folder):
    """Continue a saved run; called in the fresh process."""
    build, explorer, options = CASES[name]
    workers = options.get("workers")
    print(fingerprint(continue_run(build(), load(folder), explorer=explorer, workers=workers)))


def main(count):
    rng = np.random.default_rng(1)
    names = [name for name in CASES if name not in LONG]
    # every case once, and then again from the first
    good = 0
    for number in range(count):
        name = names[number % len(names)]
        build, explorer, options = CASES[name]
        whole, n_ends = count_block_ends(name)
        end = int(rng.integers(1, n_ends))
        # half of the runs have two threads for their copies, the others one
        threads = {} if "workers" in options else {"workers": 1 + number % 2}
        chosen = Options(**{**RUN, **options, **threads})
        state = begin_run(build(), chosen, explorer=explorer, pause=pause_after(end))
        assert isinstance(state, RunState)
        with tempfile.TemporaryDirectory() as folder:
            save(state, Path(folder))
            command = [sys.executable, __file__, "--continue", name, folder]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        same = done.stdout.strip() == whole
        good += same
        print(f"{name:32} round {state.round_number:2} scans {state.scans_done} {'same bits' if same else 'DIFFERS'}")
    print(f"{good} of {count} have the same bits")
    return good == count


if __name__ == "__main__":
    blocks.BLOCK_SECONDS = 1e-12
    if sys.argv[1:2] == ["--continue"]:
        continue_in_this_process(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
