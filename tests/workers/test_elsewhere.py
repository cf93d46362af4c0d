"""Evaluations in processes, executors and pools: the same bits, one delivery a worker, errors and deaths reported."""

import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from ways import AsPython

import sterna
from sterna.workers import processes, remote

OPTIONS = {"n_chains": 5, "n_rounds": 4, "seed": 3, "progress": False, "explorer": "slice"}
REFERENCE = {"mu": sterna.Normal(0, 10), "k": sterna.Poisson(3, shape=2)}


class BlackBox:
    """A function that Numba cannot compile, with an array inside."""

    def __init__(self):
        self.inside = np.arange(1000.0)

    def __call__(self, mu, k, y):
        return -0.5 * (abs(mu) - 5.0) ** 2 + 0.1 * float(np.sum(k)) + float(y @ y) + 1e-9 * self.inside[3]


def run(function=None, workers=None, **options):
    target = sterna.Target(function or BlackBox(), REFERENCE, {"y": np.array([0.5, 0.25])})
    result = sterna.sample(target, workers=workers, **OPTIONS | options)
    return result, result.index_process.tobytes() + result.posterior["mu"].values.tobytes()


def test_processes_give_the_same_bits():
    first = run()[1]
    assert run(workers=2)[1] == first
    assert run(workers=3, n_copies=2)[1] == run(n_copies=2)[1]


def test_a_closure_and_a_lambda_can_be_sent():
    shift = BlackBox()

    def closure(mu, k, y):
        return shift(mu, k, y)

    assert run(closure, workers=2)[1] == run()[1]


def executors():
    spawn = get_context("spawn")
    return {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, mp_context=spawn),
        "pool": lambda: spawn.Pool(2),
    }


@pytest.mark.parametrize("name", executors())
def test_executors_and_pools_give_the_same_bits(name):
    with executors()[name]() as workers:
        assert run(workers=workers)[1] == run()[1]


def test_gradients_and_local_changes_go_with_the_likelihood():
    def log_likelihood(x):
        return float(-0.5 * np.sum((np.abs(x) - 2.0) ** 2))

    def gradient(x):
        return -(np.abs(x) - 2.0) * np.sign(x)

    def local_change(x, i, new):
        return -0.5 * (abs(new) - 2.0) ** 2 + 0.5 * (abs(x[i]) - 2.0) ** 2

    def bits(workers, explorer, **functions):
        functions = {name: AsPython(function) for name, function in functions.items()}
        target = sterna.Target(AsPython(log_likelihood), {"x": sterna.Normal(0, 3, shape=3)}, **functions)
        result = sterna.sample(target, workers=workers, **OPTIONS | {"explorer": explorer})
        prepared = target.prepare()
        if prepared.has_gradient:
            prepared.prepare_gradient()
        assert len(prepared.movable) == 2
        return result.posterior["x"].values.tobytes()

    for explorer, functions in (("hmc", {"gradient": gradient}), ("slice", {"local_change": local_change})):
        assert bits(2, explorer, **functions) == bits(None, explorer, **functions)


def test_the_function_is_delivered_once_to_every_worker(monkeypatch):
    """A thousand evaluations by two workers, in which a kilobyte of data goes along twice, not a thousand times."""
    sent = []

    class Counting(ThreadPoolExecutor):
        def submit(self, function, key, blob, arguments):
            sent.append(blob)
            return super().submit(function, key, blob, arguments)

    with Counting(2) as workers:
        result, _ = run(workers=workers)
    deliveries = [blob for blob in sent if blob is not None]
    assert len(sent) > 300
    assert result.evaluations <= len(sent)
    # threads share the functions that have arrived; all chains ask before the first delivery
    assert len(deliveries) == 1
    assert len(deliveries[0]) > 8000


def test_a_pool_that_misses_the_function_gets_it():
    class Pool:
        """A pool of one worker that forgets."""

        def map(self, function, jobs):
            remote._functions.clear()
            return [function(job) for job in jobs]

    assert run(workers=Pool())[1] == run()[1]


class Breaks:
    def __call__(self, mu, k, y):
        if mu > 5.0:
            raise ValueError("too large")
        return -mu * mu


@pytest.mark.parametrize("workers", [2, *executors()])
def test_what_a_worker_raises_comes_back_with_the_point_and_its_traceback(workers):
    if workers == 2:
        caught = failure(2)
    else:
        with executors()[workers]() as pool:
            caught = failure(pool)
    assert "The target raised ValueError: too large in a worker. This happened at mu=" in str(caught)
    assert "in __call__" in str(caught.__cause__)
    assert 'raise ValueError("too large")' in str(caught.__cause__)


def failure(workers):
    with pytest.raises(sterna.EvaluationError) as caught:
        run(Breaks(), workers=workers)
    return caught.value


class DiesOnce:
    """A function that ends its process the first time that it is called with a file in place."""

    def __init__(self, path):
        self.path = path

    def __call__(self, mu, k, y):
        if os.path.exists(self.path):
            os.remove(self.path)
            os._exit(7)
        return BlackBox()(mu, k, y)


def test_a_worker_that_dies_is_replaced_and_reported(tmp_path):
    path = tmp_path / "die"
    path.touch()
    result, bits = run(DiesOnce(str(path)), workers=2)
    assert bits == run()[1]
    assert any("A worker process died (exit status 7) and a new one took its place" in note for note in result.notes)


class DiesAlways:
    def __call__(self, mu, k, y):
        os._exit(9)


@pytest.mark.laws
def test_a_point_that_kills_every_worker_is_named():
    with pytest.raises(sterna.EvaluationError, match=r"3 worker processes in a row died.* at mu="):
        run(DiesAlways(), workers=2)


def test_an_executor_that_breaks_is_named():
    """Whether it breaks while a chain waits for it, or broke before it is asked: that is a matter of luck."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as workers:
        for _ in range(2):
            with pytest.raises(sterna.EvaluationError, match=r"ProcessPoolExecutor.* broke down.*number of workers"):
                run(DiesAlways(), workers=workers)


def test_an_executor_that_was_shut_down_is_named():
    workers = ThreadPoolExecutor(1)
    workers.shutdown()
    with pytest.raises(sterna.EvaluationError, match=r"ThreadPoolExecutor.* takes no more work: cannot schedule"):
        run(workers=workers)


def test_processes_that_cannot_start_are_an_error_at_once(monkeypatch):
    monkeypatch.setattr(processes.sys, "executable", "/nowhere/python")
    with pytest.raises(OSError, match="nowhere"):
        run(workers=2)


def test_what_breaks_in_a_serving_thread_reaches_the_caller(monkeypatch):
    """Else whoever asked would wait for ever."""
    with processes.Processes(1) as workers:
        monkeypatch.setattr(processes.Process, "call", lambda self, message: b"no pickle")
        with pytest.raises(pickle.UnpicklingError):
            workers.submit(remote.evaluate, "key", None, ()).result(timeout=20)


@pytest.mark.parametrize("n_copies", [1, 2])
def test_an_error_does_not_wait_for_the_other_chains(n_copies):
    """One chain fails; others make no more than the evaluations under way, of the hundreds that a scan has."""

    class Counts:
        calls = 0

        def __call__(self, mu, k, y):
            Counts.calls += 1
            if Counts.calls >= 40:
                raise ValueError("enough")
            time.sleep(0.02)
            return -mu * mu

    with ThreadPoolExecutor(2) as workers, pytest.raises(sterna.EvaluationError, match="enough"):
        sterna.sample(
            Counts(), REFERENCE, {"y": np.zeros(2)}, workers=workers, **OPTIONS | {"n_chains": 12, "n_copies": n_copies}
        )
    assert Counts.calls < 40 + 2 * 12


def test_what_no_worker_has_begun_is_taken_back():
    """An executor that never begins, and a chain that waits for it when the run ends."""

    class Never(Executor):
        given = Future()

        def submit(self, function, /, *arguments):
            return self.given

    elsewhere = remote.ExecutorEvaluator(Never(), {})
    with ThreadPoolExecutor(1) as chain:
        asked = chain.submit(elsewhere._submit, ("key", None, None))
        while not elsewhere.waiting:
            time.sleep(0.001)
        elsewhere.end()
        with pytest.raises(sterna.EvaluationError, match="The run has ended"):
            asked.result(timeout=60)
    assert Never.given.cancelled()


@pytest.mark.parametrize("n_copies", [2, "auto"])
def test_without_workers_one_thread_calls_the_function(n_copies):
    """A simulator that keeps a buffer must not be entered twice."""

    class Alone:
        inside = 0
        most = 0

        def __call__(self, mu, k, y):
            Alone.inside += 1
            Alone.most = max(Alone.most, Alone.inside)
            time.sleep(1e-5)
            Alone.inside -= 1
            return -mu * mu

    run(Alone(), n_copies=n_copies)
    assert Alone.most == 1


@pytest.mark.parametrize("n_copies", [2, "auto"])
@pytest.mark.parametrize("which", ["draw", "move"])
def test_without_workers_one_thread_calls_a_draw_or_a_move(which, n_copies):
    """The same beside a compiled likelihood."""
    inside = most = 0

    def enter():
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(1e-5)
        inside -= 1

    def draw(rng):
        enter()
        return rng.standard_normal(1)

    def move(x, log_density, rng):
        enter()

    normal = sterna.Reference(draw, lambda x: -0.5 * x[0] ** 2, {"x": sterna.Real(shape=1)})
    result = sterna.sample(
        lambda x: -(x[0] ** 2),
        normal if which == "draw" else {"x": sterna.Normal(shape=1)},
        **OPTIONS
        | {"n_copies": n_copies, "explorer": sterna.Cycle(sterna.Slice(), move) if which == "move" else "slice"},
    )
    assert most == 1
    assert len(result.records) == (1 if n_copies == "auto" else 2)


def test_what_a_worker_prints_does_not_spoil_its_answers(capfd):
    class Prints:
        def __call__(self, mu, k, y):
            print("hello")
            return BlackBox()(mu, k, y)

    assert run(Prints(), workers=2)[1] == run()[1]
    assert "hello" in capfd.readouterr().err


def test_a_compiled_target_says_that_it_needs_no_executor():
    def compiled(mu):
        return -mu * mu

    with ThreadPoolExecutor(1) as workers:
        result = sterna.sample(compiled, {"mu": sterna.Normal()}, workers=workers, **OPTIONS)
    assert any("is not used: the target is compiled, and this process evaluates it" in note for note in result.notes)


def test_a_script_needs_no_guard(tmp_path):
    """Workers do not run the user's script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sterna\n"
        "print('started')\n"
        "def log_likelihood(mu):\n"
        "    os.getpid()\n"
        "    return -mu * mu\n"
        "result = sterna.sample(log_likelihood, {'mu': sterna.Normal()}, n_chains=3, n_rounds=2, workers=2,"
        " explorer='slice', progress=False)\n"
        "print(result.evaluations > 0)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["started", "True"]


def test_processes_end_with_the_run():
    with processes.Processes(2) as workers:
        assert workers.submit(remote.evaluate, "key", None, ()).result() == (remote.MISSING, None)
        threads = workers.threads
    assert not any(thread.is_alive() for thread in threads)


def test_mpi_gives_the_same_bits(tmp_path):
    """MPI's own executor, three ranks of which two evaluate."""
    pytest.importorskip("mpi4py")
    script = tmp_path / "script.py"
    script.write_text(
        "import hashlib, os, sterna\n"
        "from mpi4py.futures import MPIPoolExecutor\n"
        "def log_likelihood(mu):\n"
        "    os.getpid()\n"
        "    return -mu * mu\n"
        "def bits(workers):\n"
        "    result = sterna.sample(log_likelihood, {'mu': sterna.Normal()}, n_chains=3, n_rounds=3, workers=workers,\n"
        "        explorer='slice', progress=False)\n"
        "    assert not result.target.compiled\n"
        "    return hashlib.sha256(result.posterior['mu'].values.tobytes()).hexdigest()\n"
        "if __name__ == '__main__':\n"
        "    with MPIPoolExecutor() as workers:\n"
        "        print(bits(workers) == bits(None))\n"
    )
    command = [os.path.join(os.path.dirname(sys.executable), "mpiexec"), "-n", "3", sys.executable, "-m"]
    done = subprocess.run([*command, "mpi4py.futures", str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["True"], done.stderr


@pytest.mark.laws
def test_dask_gives_the_same_bits():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert run(workers=client.get_executor(), n_rounds=2)[1] == run(n_rounds=2)[1]


def test_a_function_that_cannot_be_sent(tmp_path):
    with open(tmp_path / "log", "w") as file:

        def log_likelihood(mu):
            file.fileno()
            return -(mu**2)

        with pytest.raises(sterna.OptionError, match=r"cannot be sent to a worker .*open file"):
            sterna.sample(log_likelihood, {"mu": sterna.Normal()}, workers=2, progress=False)
