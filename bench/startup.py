"""Measure the time until text and results, and the memory of a run.

Run `python bench/startup.py`. Every figure is measured in a new process, with Python's own compiled files (.pyc) in
place, as on a machine on which sterna is installed; times of warm starts are the minimum of a few.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
# what the script says when it calls sterna, and what it says at the end
CALL, SHOW_COMPILE = 'print("calling sterna")\nresult = ', '\nprint("compile", result.timing["compile"])\n'
PYMC = """
import numpy as np
import pymc as pm
import sterna
with pm.Model() as model:
    mu = pm.Normal("mu", 0, 10)
    sigma = pm.HalfNormal("sigma", 5)
    pm.Normal("y", mu, sigma, observed=np.array([1.0, 2.0, 3.5]))
result = sterna.sample(model)
"""
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


@dataclass(frozen=True)
class Start:
    """One process: seconds in all, the longest time without a character after the call of sterna, and its text."""

    seconds: float
    silence: float
    text: str

    @property
    def compilation(self) -> float:
        """Seconds of compilation that the run itself states."""
        return float(self.text.rsplit("compile", 1)[1])


def run_python(arguments: Sequence[str], caches: Path) -> Start:
    """Run a new interpreter with all compilation caches in a folder, and watch when it writes."""
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "STERNA_CACHE_DIR": str(caches / "sterna"),
        "PYTENSOR_FLAGS": f"base_compiledir={caches / 'pytensor'}",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = last = time.perf_counter()
    silence, text = 0.0, b""
    with subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        while part := os.read(process.stdout.fileno(), 1 << 16):
            now = time.perf_counter()
            silence = max(silence, now - last) if b"calling" in text else 0.0
            last, text = now, text + part
    seconds = time.perf_counter() - began
    if process.returncode != 0:
        raise SystemExit(f"python {' '.join(arguments)} failed:\n{text.decode()}")
    return Start(seconds, silence, text.decode())


def line(case: str, figure: float, unit: str, limit: float) -> None:
    """Print one figure and whether it is within its limit."""
    verdict = "ok" if figure < limit else "MISS"
    print(f"{case:<58}{figure:>10.3g} {unit:<3}{'< ' + format(limit, 'g'):>9}  {verdict}", flush=True)


def starts(case: str, script: str, limit: float, limit_of_compilation: float) -> None:
    """Show first and second start of a script, with empty caches and with filled ones."""
    script = script.replace("result = ", CALL) + SHOW_COMPILE
    with tempfile.TemporaryDirectory() as folder:
        first = run_python(["-c", script], Path(folder))
        warm = [run_python(["-c", script], Path(folder)) for _ in range(3)]
    line(f"{case}, first start", first.seconds, "s", limit)
    line(f"{case}, first start, longest silence", first.silence, "s", 3.0)
    line(f"{case}, second start", min(start.seconds for start in warm), "s", 6.0)
    line(f"{case}, second start, compilation", min(start.compilation for start in warm), "s", limit_of_compilation)


def main() -> None:
    """Measure start-up, then memory."""
    found = re.search(r"## Ten lines\n\n```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    print(f"{'case':<58}{'figure':>10} {'':<3}{'limit':>9}")
    with tempfile.TemporaryDirectory() as folder:
        caches = Path(folder)
        first = run_python(COMMAND, caches).seconds
        line("import sterna", min(run_python(["-c", "import sterna"], caches).seconds for _ in range(5)), "s", 1.0)
        line("sterna run normal --json, first start", first, "s", 30.0)
        warm = min(run_python(COMMAND, caches).seconds for _ in range(5))
        line("sterna run normal --json, second start", warm, "s", 1.5)
    starts("README's ten lines", found[1], 12.0, 0.3)
    starts("small PyMC model", PYMC, 30.0, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        sampled, summarised = (int(word) for word in run_python(["-c", LONG_RUN], Path(folder)).text.split())
    line("peak memory, 10^6 scans of 30 chains, d=5", sampled * MAXRSS_UNIT / 1e9, "GB", 1.0)
    line("the same after result.to_dict()", summarised * MAXRSS_UNIT / 1e9, "GB", 1.0)


if __name__ == "__main__":
    main()
