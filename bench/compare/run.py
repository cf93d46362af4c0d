"""Run all packages on all problems, one process at a time: `make compare`, or `python bench/compare/run.py --quick`.

Every finished run is a line of `runs.jsonl`. What is there is not run again, so an interrupted comparison continues
where it was.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
import table
from catalogue import ORDER, PACKAGES, QUICK, skipped
from problem import BEGAN, ENDED

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "compare"
QUICK_LIMIT = 20.0
MEMORY = 4 * 2**30
# Seconds between two looks at a run.
LOOK = 0.1
# Imports and exact answers may take this long, and so may the measures of a run that is done in time.
SPARE = 120.0
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}


@dataclass(frozen=True)
class Key:
    """What is run; the same key is run once."""

    problem: str
    package: str
    seed: int
    quick: bool


def plan(seeds: int, quick: bool, problems: list[str], packages: list[str]) -> Iterator[Key]:
    """Yield runs, interleaved: all packages of a problem, all problems, and then the next seed."""
    for seed in range(1, seeds + 1):
        for problem in problems:
            for package in packages:
                if skipped(problem, package) is None:
                    yield Key(problem, package, seed, quick)


def done(file: Path, limit: float) -> set[Key]:
    """Return what need not be run; a run that was ended counts if it would be ended as early again."""
    found = set()
    for row in table.read(file):
        if row["status"] != "ended" or row["limit"] >= limit:
            found.add(Key(row["problem"], row["package"], row["seed"], row["quick"]))
    return found


def used(process: psutil.Process, cpu: bool, began: float) -> tuple[float, int]:
    """Return the seconds and the memory that a process and its children have taken."""
    seconds, memory = 0.0, 0
    for one in [process, *process.children(recursive=True)]:
        try:
            times = one.cpu_times()
            seconds += times.user + times.system
            memory += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return seconds if cpu else time.perf_counter() - began, memory


def watch(process: subprocess.Popen, folder: Path, limit: float, cpu: bool) -> str | None:
    """Wait for a run; return why it was ended, if it was."""
    began, seen, before = time.perf_counter(), psutil.Process(process.pid), None
    while process.poll() is None:
        try:
            seconds, memory = used(seen, cpu, began)
        except psutil.NoSuchProcess:
            continue
        if before is None and (folder / BEGAN).exists():
            before = seconds
        late = seconds > SPARE if before is None else seconds > before + limit and not (folder / ENDED).exists()
        why = "memory" if memory > MEMORY else "time" if late or seconds > limit + 2 * SPARE else None
        if why:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return why
        time.sleep(LOOK)
    return None


def run(key: Key, limit: float, cpu: bool, planted: float) -> dict[str, object]:
    """Run in its own process, whatever happens there."""
    command = [sys.executable, str(HERE / "one.py"), key.problem, key.package, str(key.seed), f"--limit={limit}"]
    command += [f"--planted={planted}"] + ["--quick"] * key.quick
    environment = os.environ | ONE_THREAD | {"COMPARE_CLOCK": "cpu" if cpu else "wall"}
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "out"), "w+") as out:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env=environment, start_new_session=True
        )
        try:
            why = watch(process, Path(folder), limit, cpu)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        said = out.read().strip().splitlines()
    row = asdict(key) | {"limit": limit, "clock": "cpu" if cpu else "wall", "elapsed": time.perf_counter() - began}
    if why:
        return row | {"status": "ended", "why": why}
    if process.returncode != 0:
        return row | {"status": "failed", "why": said[-1][:300] if said else f"exit status {process.returncode}"}
    found = json.loads(said[-1])
    if found["seconds"] + found["compile"] > limit:
        return row | {"status": "ended", "why": "time"}
    return row | {"status": "done"} | found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two problems, the smallest settings, 20 s per run")
    parser.add_argument("--seeds", type=int, help="how many; by default 3, and 1 with --quick")
    parser.add_argument("--limit", type=float, help="seconds per run; by default 300, and 20 with --quick")
    parser.add_argument("--hours", type=float, default=8.0, help="begin no run after this time")
    parser.add_argument("--only", nargs="+", choices=list(PACKAGES), default=list(PACKAGES), help="packages")
    parser.add_argument("--problems", nargs="+", choices=list(ORDER))
    parser.add_argument("--cpu", action="store_true", help="measure and limit CPU time, on a machine that is not idle")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--planted", type=float, default=0.0, help="add this to the exact log Z")
    return parser.parse_args()


def main() -> None:
    given = parse()
    # ends the run that is under way, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    limit = given.limit or (QUICK_LIMIT if given.quick else 300.0)
    seeds = given.seeds or (1 if given.quick else 3)
    out = given.out / "quick" if given.quick else given.out
    out.mkdir(parents=True, exist_ok=True)
    file, end = out / "runs.jsonl", time.monotonic() + 3600.0 * given.hours
    problems = given.problems or list(QUICK if given.quick else ORDER)
    keys = [key for key in plan(seeds, given.quick, problems, given.only) if key not in done(file, limit)]
    for number, key in enumerate(keys, 1):
        if time.monotonic() > end:
            missing = len(keys) - number + 1
            print(f"{given.hours:g} hours are over, {missing} runs are missing; the same command continues.")
            break
        row = run(key, limit, given.cpu, given.planted)
        with file.open("a") as lines:
            lines.write(json.dumps(row) + "\n")
        print(f"{number}/{len(keys)} {key.problem}, {key.package}, seed {key.seed}: {table.in_short(row)}", flush=True)
    table.write(file, out)


if __name__ == "__main__":
    main()
