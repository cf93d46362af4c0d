"""Measure the time until results and the memory of a run.

Run `python bench/startup.py`. Every figure is measured in a new process; times are the minimum of a few.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

LONG_RUN = """
import resource, sterna
result = sterna.sample(sterna.models.normal(dim=5), n_chains=30, n_rounds=10, n_scans=10**6, progress=False)
sampled = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result.to_dict()
print(sampled, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
# ru_maxrss is in kilobytes on Linux and in bytes on macOS.
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
COMMAND = ["-m", "sterna", "run", "normal", "--json"]


def run_python(arguments: Sequence[str], cache: Path) -> tuple[float, str]:
    """Return seconds and standard output of a new interpreter with its compilation cache in `cache`."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    began = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(f"python {' '.join(arguments)} failed:\n{done.stderr}")
    return seconds, done.stdout


def line(case: str, figure: float, unit: str, limit: float) -> None:
    """Print one figure and whether it is within its limit."""
    verdict = "ok" if figure < limit else "MISS"
    print(f"{case:<52}{figure:>10.3g} {unit:<3}{'< ' + format(limit, 'g'):>9}  {verdict}", flush=True)


def main() -> None:
    """Measure start-up, then memory."""
    print(f"{'case':<52}{'figure':>10} {'':<3}{'limit':>9}")
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        first = run_python(COMMAND, cache)[0]
        line("import sterna", min(run_python(["-c", "import sterna"], cache)[0] for _ in range(5)), "s", 1.0)
        line("sterna run normal --json, cache warm", min(run_python(COMMAND, cache)[0] for _ in range(3)), "s", 4.0)
        line("sterna run normal --json, cache empty", first, "s", 30.0)
        sampled, summarised = (int(word) for word in run_python(["-c", LONG_RUN], cache)[1].split())
    line("peak memory, 10^6 scans of 30 chains, d=5", sampled * MAXRSS_UNIT / 1e9, "GB", 1.0)
    line("the same after result.to_dict()", summarised * MAXRSS_UNIT / 1e9, "GB", 1.0)


if __name__ == "__main__":
    main()
