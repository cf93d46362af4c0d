"""Measure the cost of PyMC models in sterna: an evaluation, a gradient, a draw from the prior, and the start-up.

Run `python bench/pymc_cost.py` in an environment with pymc and nutpie. An evaluation is that of prior and
likelihood from compiled code, as in explorers; for PyMC it is its own compiled function of one flat vector, called
from Python; for nutpie, its compiled function of log-density and gradient, called from compiled code.
"""

import ctypes
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import numpy as np
import nutpie
import pymc as pm
import threadpoolctl
from numba import types
from report import Row, clock, race, show

import sterna
from sterna.bridges.pytensor_numba import machine_mode
from sterna.engine.evaluation import gradient_often
from sterna.engine.program import N_LOG_DENSITIES, refresh, view
from sterna.engine.round import draw_states
from sterna.ground.compilation import as_pointer
from sterna.ground.streams import new_stream

# with several BLAS threads, times would depend on the load of the machine; the run itself uses one as well
threadpoolctl.threadpool_limits(limits=1, user_api="blas")
TOOLS = str(Path(__file__).parents[1] / "tests" / "tools")
EVALUATIONS = 3000
START = """
import sys, time, warnings
warnings.filterwarnings("ignore")
sys.path.insert(0, {tools!r})
from pymc_models import CASES
import sterna
model = CASES[{name!r}].model()
began = time.perf_counter()
target = sterna.from_pymc(model)
made = time.perf_counter() - began
result = sterna.sample(target, n_chains=4, n_rounds=1, progress=False)
print(made, result.timing["compile"])
"""


@numba.njit
def evaluate_both(block, x, log_densities, times):
    program = view(block)
    for _ in range(times):
        refresh(program, as_pointer(x.ctypes.data, types.float64), as_pointer(log_densities.ctypes.data, types.float64))


def nutpie_gradient(model):
    """A compiled loop around nutpie's function, called by address as in its sampler."""
    made = nutpie.compile_pymc_model(model)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)
    function, data = kind(made.compiled_logp_func.address), made.user_data.ctypes.data

    @numba.njit
    def often(x, out, value, times):
        for _ in range(times):
            function(x.size, x.ctypes, out.ctypes, value.ctypes, data)

    often(np.zeros(made.n_dim), np.zeros(made.n_dim), np.zeros(1), 1)
    return often, made


def large_mixture():
    y = np.random.default_rng(1).normal(np.repeat([-2.0, 2.0], 75), 1.0)
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(2))
        mu = pm.Normal("mu", 0, 5, shape=2)
        sigma = pm.HalfNormal("sigma", 2, shape=2)
        pm.NormalMixture("y", w=w, mu=mu, sigma=sigma, observed=y)
    return model


def figures(name, model):
    """Return microseconds per evaluation in sterna and PyMC, per gradient in sterna and nutpie, and per draw."""
    target = sterna.from_pymc(model)
    x = np.zeros((1, target.dimension))
    stream = new_stream()
    draw_states(target.block, 1, x, np.zeros(1, dtype=np.int64), stream)
    x, log_densities, slope, scratch = (
        x[0],
        np.zeros(N_LOG_DENSITIES),
        np.zeros(target.dimension),
        np.zeros(target.dimension),
    )
    graphs = target.view.graphs
    own = graphs.compile([sum(graphs.log_densities())], machine_mode())
    evaluate_both(target.block, x, log_densities, 1)
    contestants = [
        lambda: clock(lambda: evaluate_both(target.block, x, log_densities, EVALUATIONS)),
        lambda: clock(lambda: [own(x) for _ in range(EVALUATIONS)]),
    ]
    many = np.zeros((300, target.dimension))
    contestants.append(
        lambda: clock(lambda: draw_states(target.block, 1, many, np.zeros(1, dtype=np.int64), stream)) * 10
    )
    if target.has_gradient and not model.discrete_value_vars:
        target.prepare_gradient()
        often, made = nutpie_gradient(model)
        out, value = np.zeros(made.n_dim), np.zeros(1)
        contestants += [
            lambda: clock(lambda: gradient_often(target.block, x, log_densities, slope, scratch, EVALUATIONS)),
            lambda: clock(lambda: often(x, out, value, EVALUATIONS)),
        ]
    found = [seconds / EVALUATIONS * 1e6 for seconds in race(contestants)]
    result = sterna.sample(target, n_rounds=9, progress=False)
    scans = sum(one.n_scans for one in result.rounds)
    scan = (result.timing["tuning"] + result.timing["sampling"]) / scans * 1e6
    return found, f"{name}: {found[2]:.0f} of {scan:.0f} us, {100 * found[2] / scan:.0f} %"


def start(name):
    """Return the seconds until the first scan, in a new process."""
    code = START.format(tools=TOOLS, name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main():
    warnings.filterwarnings("ignore")
    sys.path.insert(0, TOOLS)
    from pymc_models import CASES

    models = {name: case.model() for name, case in CASES.items()}
    models["mixture of 150"] = large_mixture()
    evaluations, gradients, draws = [], [], []
    for name, model in models.items():
        found, draw = figures(name, model)
        limit = 0.7 if found[0] < 10 else None
        evaluations.append(Row(name, found[1], found[0], found[0] / found[1], limit))
        draws.append(draw)
        if len(found) > 3:
            gradients.append(Row(name, found[4], found[3], found[3] / found[4], 1.2))
    show("microseconds an evaluation", "PyMC", "sterna", evaluations)
    show("microseconds a gradient", "nutpie", "sterna", gradients)
    print("\na draw from the prior and a scan that contains one")
    print("\n".join(draws))
    print("\nseconds to create a target, and from sterna.sample to the first scan, in a new process")
    for name in ("mixture", "eight_schools", "gaussian_process"):
        print(f"{name}: {' '.join(f'{seconds:.1f}' for seconds in start(name))}")


if __name__ == "__main__":
    main()
