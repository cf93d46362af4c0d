"""Ctrl-C at random moments: every run must end as KeyboardInterrupt, soon, and leave nothing behind.

    python bench/interrupts.py [interrupts per kind] [kind ...]

Each kind of target runs in its own process, so that a crash is counted, and in its own group of processes, to which
SIGINT is sent as by a terminal: to workers too. Half of the runs are endless, the others are short ones in a row, so
that every phase is hit; copies are one and two in turn; delays are log-uniform from 1 ms to 1 s. A new process is
started after every 50 interrupts, since the first run of a process loads code, and its last run must have the bits of a
process without interrupts. Targets are kept until their run was interrupted, and freed before the next one, because JAX
runs Python code when one is freed, and Python ignores what is raised there. Prints for each kind the number of
interrupts, how many ended as KeyboardInterrupt, how many of these more than a second after the signal, the slowest, the
most CPU time that one took (which tells more on a busy machine), what was left behind (processes, threads), and
everything else that happened. For a run that did not end as it should, standard error gets what its process wrote
there, and where its threads were.
"""

import faulthandler
import gc
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import chain

import numpy as np

INTERRUPTS_PER_PROCESS = 50
SHORTEST, LONGEST = 1e-3, 1.0
# Later is late; afterwards a signal counts as lost.
SOON, PATIENCE = 1.0, 30.0
# Words in standard error that no user should see; a display may write there.
NOISE = ("Traceback", "Exception ignored", "Error", "Warning", "Fatal")


def log_likelihood(mu, sigma, y):
    return -y.size * np.log(sigma) - 0.5 * np.sum((y - abs(mu)) ** 2) / sigma**2


def black_box(mu, sigma, y):
    return sum(map(float, [log_likelihood(mu, sigma, y)]))


def many_points(mu, sigma, y):
    return -y.size * np.log(sigma) - 0.5 * np.sum((y - np.abs(mu)[:, None]) ** 2, axis=1) / sigma**2


def jax_likelihood(mu, sigma, y):
    import jax.numpy as jnp

    return -y.size * jnp.log(sigma) - 0.5 * jnp.sum((y - jnp.abs(mu)) ** 2) / sigma**2


def python_move(x, log_density, rng):
    proposal = x + 0.5 * rng.standard_normal(x.size)
    if np.log(rng.random()) < log_density(proposal) - log_density(x):
        x[:] = proposal
    list(map(float, x))


def targets(kind):
    """Return a function that builds the target of a kind, and the options of its runs."""
    import sterna

    reference = {"mu": sterna.Normal(0, 5), "sigma": sterna.HalfNormal(3)}
    data = {"y": np.array([1.2, -0.7, 3.1, 0.4])}
    if kind == "jax":
        # before the first run, as users do; an import is not interrupted
        import jax  # noqa: F401

        return lambda: sterna.JaxTarget(jax_likelihood, reference, data), {"explorer": "slice"}
    functions = {"compiled": log_likelihood, "move": log_likelihood, "vectorised": many_points}
    function, vectorized = functions.get(kind, black_box), kind == "vectorised"
    explorer = sterna.Cycle(sterna.Slice(), python_move) if kind == "move" else "slice"
    workers = {"workers": 2} if kind == "process" else {}
    return lambda: sterna.Target(function, reference, data, vectorized=vectorized), {"explorer": explorer, **workers}


KINDS = ("compiled", "python", "vectorised", "jax", "process", "move")


def serve(kind, first, count):
    """Run until interrupted, again and again; say when a run begins and what ended it. In a separate process."""
    import sterna
    from sterna.run.live_display import LiveDisplay

    # a shell lets processes in the background ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.register(signal.SIGUSR1)
    build, options = targets(kind)
    for number in range(first, first + count):
        endless, n_copies, live = number % 2 == 0, 1 + number // 2 % 2, number // 4 % 2 == 0
        outcome, kept = "nothing", []
        gc.collect()
        try:
            print("ready", flush=True)
            while True:
                kept.append(build())
                sterna.sample(
                    kept[-1], n_chains=6, n_rounds=22 if endless else 3, n_scans=1, n_copies=n_copies, seed=number,
                    progress=LiveDisplay() if live else False, **options,
                )  # fmt: skip
        except BaseException as error:
            ended, cpu = time.perf_counter(), time.process_time()
            outcome = type(error).__name__ if type(error) is KeyboardInterrupt else f"{type(error).__name__}: {error}"
        print(json.dumps([outcome, ended, cpu, children(), left_threads()]), flush=True)
    result = sterna.sample(build(), n_chains=6, n_rounds=5, n_copies=2, seed=1, progress=False, **options)
    print(hashlib.sha256(result.posterior["mu"].values.tobytes()).hexdigest(), flush=True)


def children():
    """Return how many processes this one has started and not ended."""
    found = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                found += int(file.read().rpartition(")")[2].split()[1]) == os.getpid()
        except OSError:
            pass
    return found


def left_threads():
    """Return the names of threads that a run has left; rich does not wait for the end of its own."""
    ended = time.monotonic() + 1.0
    while threading.active_count() > 1 and time.monotonic() < ended:
        time.sleep(0.05)
    return [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]


def cpu_seconds(process):
    """Return the CPU time of another process, all threads together."""
    with open(f"/proc/{process}/stat") as file:
        ticks = file.read().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


class Served:
    """A process that runs and is interrupted."""

    def __init__(self, kind, first, count):
        command = [sys.executable, __file__, "--serve", kind, str(first), str(count)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.noise, self.lines = [], queue.Queue()
        self.readers = [
            threading.Thread(target=lambda: self.noise.extend(self.process.stderr)),
            threading.Thread(target=lambda: [self.lines.put(line) for line in chain(self.process.stdout, [""])]),
        ]
        for reader in self.readers:
            reader.start()

    def line(self, seconds=300.0):
        """Return the next line of the process; empty if it has died or says nothing."""
        try:
            return self.lines.get(timeout=seconds).strip()
        except queue.Empty:
            return ""

    def interrupt(self, delay):
        """Interrupt the next run after a delay; return what happened, how long that took, and its CPU time."""
        if self.line() != "ready":
            return f"the process ended with status {self.process.wait()}", 0.0, 0.0, 0, []
        time.sleep(delay)
        cpu_before, sent = cpu_seconds(self.process.pid), time.perf_counter()
        os.killpg(self.process.pid, signal.SIGINT)
        answer = self.line(PATIENCE)
        if not answer:
            alive = self.process.poll() is None
            return "signal lost" if alive else f"crash, status {self.process.wait()}", PATIENCE, 0.0, 0, []
        outcome, ended, cpu, processes, threads = json.loads(answer)
        return outcome, ended - sent, cpu - cpu_before, processes, threads

    def explain(self, what):
        """Print what the process wrote to standard error, and where its threads are if it still runs."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(1.0)
        print(f"--- {what}", *map(str.rstrip, self.noise[-100:]), sep="\n", file=sys.stderr, flush=True)

    def close(self):
        """End what is left of the process group; return whether there was anything but the process, and the noise."""
        ended = self.process.poll() is not None or self.wait()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
            orphans = int(ended)
        except ProcessLookupError:
            orphans = 0
        self.process.wait()
        for reader in self.readers:
            reader.join()
        return orphans, [line.strip() for line in self.noise if any(word in line for word in NOISE)]

    def wait(self):
        """Return whether the process ends by itself."""
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            return False
        return True


def measure(kind, interrupts, rng):
    """Interrupt a kind so many times; return its row of the table and what else happened."""
    clean = Served(kind, 0, 0)
    bits = clean.line()
    clean.close()
    slowest, most, left, others, done, good, late = 0.0, 0.0, Counter(), Counter(), 0, 0, 0
    while done < interrupts:
        count = min(INTERRUPTS_PER_PROCESS, interrupts - done)
        served = Served(kind, done, count)
        for _ in range(count):
            delay = SHORTEST * (LONGEST / SHORTEST) ** rng.random()
            outcome, seconds, cpu, processes, threads = served.interrupt(delay)
            good += outcome == "KeyboardInterrupt"
            late += outcome == "KeyboardInterrupt" and seconds > SOON
            done += 1
            left += Counter({"processes": processes, "threads": len(threads)})
            others += Counter(f"left the thread {name}" for name in threads)
            if outcome != "KeyboardInterrupt":
                others[outcome] += 1
                served.explain(f"{kind}, run {done - 1}, after {delay:.4f} s: {outcome}")
                if not outcome.startswith(("SystemError", "TypeError")):
                    break
            slowest, most = max(slowest, seconds), max(most, cpu)
        else:
            others["other bits afterwards"] += served.line() != bits
        orphans, noise = served.close()
        left["processes"] += orphans
        others += Counter(noise)
    counts = f"{kind:12} {done:10} {good:17} {done - good:6} {late:5}"
    return f"{counts} {slowest:8.2f} s {most:8.2f} s {left['processes']:9} {left['threads']:7}", +others


def main(interrupts=20, *kinds):
    counts = f"{'kind':12} {'interrupts':>10} {'KeyboardInterrupt':>17} {'other':>6} {'late':>5}"
    print(f"{counts} {'slowest':>10} {'CPU time':>10} processes threads", flush=True)
    rng = np.random.default_rng()
    for kind in kinds or KINDS:
        row, others = measure(kind, int(interrupts), rng)
        print(row, flush=True)
        for text, count in others.items():
            print(f"    {count} times: {text}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(*sys.argv[1:])
