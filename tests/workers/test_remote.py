"""Evaluations by executors and pools: the same bits, one delivery per worker, and errors that name the point."""

import os
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from black_box import OPTIONS, REFERENCE, BlackBox, DiesAlways, executors, run
from quick import first
from ways import AsPython

import sterna
from sterna.workers import remote


def test_a_closure_and_a_lambda_can_be_sent():
    shift = BlackBox()

    def closure(mu, k, y):
        return shift(mu, k, y)

    assert run(closure, workers=2)[1] == run()[1]


@pytest.mark.parametrize("name", first(2, executors()))
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
    """Hundreds of evaluations by two workers; the function and its data are sent once, not hundreds of times."""
    sent = []

    class Counting(ThreadPoolExecutor):
        def submit(self, function, key, pickled, arguments):
            sent.append(pickled)
            return super().submit(function, key, pickled, arguments)

    with Counting(2) as workers:
        result, _ = run(workers=workers)
    deliveries = [pickled for pickled in sent if pickled is not None]
    assert len(sent) > 300
    assert result.evaluations <= len(sent)
    # threads share the functions that have arrived, and all chains ask before the first delivery
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


@pytest.mark.parametrize("workers", first(2, [2, *executors()]))
def test_what_a_worker_raises_comes_back_with_the_point_and_its_traceback(workers):
    if workers == 2:
        caught = failure(2)
    else:
        with executors()[workers]() as pool:
            caught = failure(pool)
    assert "log_likelihood raised ValueError: too large in a worker. This happened at mu=" in str(caught)
    assert "in __call__" in str(caught.__cause__)
    assert 'raise ValueError("too large")' in str(caught.__cause__)


def failure(workers):
    with pytest.raises(sterna.EvaluationError) as caught:
        run(Breaks(), workers=workers)
    return caught.value


def test_an_executor_that_breaks_is_named():
    """It may break while a chain waits for it, or before it is asked: which of them happens varies."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as workers:
        for _ in range(2):
            with pytest.raises(sterna.EvaluationError, match=r"ProcessPoolExecutor.* broke down.*such as workers=4"):
                run(DiesAlways(), workers=workers)


def test_an_executor_that_was_shut_down_is_named():
    workers = ThreadPoolExecutor(1)
    workers.shutdown()
    with pytest.raises(sterna.EvaluationError, match=r"ThreadPoolExecutor.* takes no more work: cannot schedule"):
        run(workers=workers)


@pytest.mark.parametrize("n_copies", [1, 2])
def test_an_error_does_not_wait_for_the_other_chains(n_copies):
    """When one chain fails, the others only finish the evaluation they are waiting for, of the hundreds in a scan."""

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


def test_what_no_worker_has_begun_is_cancelled():
    """An executor that never begins, and a chain that waits for it when the run ends."""

    class Never(Executor):
        given = Future()

        def submit(self, function, /, *arguments):
            return self.given

    evaluator = remote.ExecutorEvaluator(Never(), {})
    with ThreadPoolExecutor(1) as chain:
        asked = chain.submit(evaluator._submit, ("key", None, None))
        while not evaluator.waiting:
            time.sleep(0.001)
        evaluator.end()
        with pytest.raises(sterna.EvaluationError, match="The run has ended"):
            asked.result(timeout=60)
    assert Never.given.cancelled()


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


def test_a_function_that_is_sent_again_has_another_key():
    captured = [1.0]

    def function():
        return captured[0]

    shared = remote.RemoteFunction(function)
    jobs = [shared.job(())[0]]
    captured[0] = 2.0
    shared.send_again()
    jobs.append(shared.job(())[0])
    assert jobs[0] != jobs[1]
    assert remote.evaluate(*shared.job((), with_function=True)) == (remote.DONE, 2.0)
