"""Results that are pickled and copied: they read the same where the model does not exist."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import shown_result
from pymc_models import change_point
from shown_result import shown

import sterna

OPTIONS = {"n_chains": 4, "n_rounds": 5, "n_copies": 2, "seed": 5, "explorer": "slice", "progress": False}

# a model's library, and the files with its functions, may be missing elsewhere
READER = """
import pickle, sys
from pathlib import Path

sys.path.append(sys.argv[3])
sys.modules |= dict.fromkeys(["pymc", "pytensor", "numpyro", "pymc_models", "test_sampled_target"])
from shown_result import shown

results = pickle.loads(Path(sys.argv[1]).read_bytes())
Path(sys.argv[2]).write_bytes(pickle.dumps({name: shown(result) for name, result in results.items()}))
"""


def gaussian(a, b):
    return -0.5 * (a - 1.0) ** 2 - 0.5 * (b - a) ** 2 / 0.01


class Uncompiled:
    """A prior transform that only Python can evaluate."""

    def __call__(self, u):
        return 10.0 * np.asarray(list(u)) - 5.0


def numpyro_model():
    with numpyro.plate("group", 3):
        mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    numpyro.deterministic("ratio", mu / scale)
    numpyro.sample("y", dist.Normal(mu, scale), obs=np.array([0.5, 1.0, -2.0]))


PLAIN = {"a": sterna.Normal(0, 3), "b": sterna.Normal(0, 3)}
REAL = {"a": sterna.Real(), "b": sterna.Real(lower=-3)}
RUNS = {
    "plain": lambda: sterna.sample(gaussian, PLAIN, **OPTIONS),
    "all chains": lambda: sterna.sample(gaussian, PLAIN, keep="all", keep_log_likelihoods=True, **OPTIONS),
    "pymc": lambda: sterna.sample(change_point(), keep="all", **OPTIONS),
    "numpyro": lambda: sterna.sample(sterna.from_numpyro(numpyro_model), keep="all", **OPTIONS),
    "prior transform": lambda: sterna.sample(gaussian, sterna.PriorTransform(Uncompiled(), ["a", "b"]), **OPTIONS),
    "fitted reference": lambda: sterna.sample(gaussian, sterna.FittedReference(REAL), **OPTIONS),
}


@pytest.fixture(scope="module")
def results():
    return {name: run() for name, run in RUNS.items()}


def test_pickled_results_read_the_same_in_another_process(results, tmp_path):
    (tmp_path / "results").write_bytes(pickle.dumps(results))
    command = [
        sys.executable,
        "-c",
        READER,
        str(tmp_path / "results"),
        str(tmp_path / "shown"),
        str(Path(shown_result.__file__).parent),
    ]
    subprocess.run(command, check=True)
    elsewhere = pickle.loads((tmp_path / "shown").read_bytes())
    for name, result in results.items():
        assert elsewhere[name] == shown(result), name


@pytest.mark.parametrize("name", RUNS)
def test_copies_read_the_same(results, name):
    result = results[name]
    shallow, deep = copy.copy(result), copy.deepcopy(result)
    assert shallow.records is result.records
    assert not np.shares_memory(deep.states, result.states)
    again = pickle.loads(pickle.dumps(deep))
    for one in (shallow, deep, again):
        assert shown(one) == shown(result)


def test_states_without_the_functions_of_the_target(results):
    """A target that is stored answers for its draws alone, unless its variables are the state itself."""
    plain, mapped = (pickle.loads(pickle.dumps(results[name])) for name in ("plain", "prior transform"))
    assert plain.target.values(np.array([0.25, 0.5])) == {"a": 0.25, "b": 0.5}
    for values in (mapped.target.values, mapped.target.space.values):
        with pytest.raises(sterna.TargetError, match="build the target again"):
            values(np.array([0.25, 0.5]))


def test_evaluations_are_not_needed_to_pickle():
    """A likelihood may take minutes: a result is pickled without calling it."""
    calls = []

    def counted(x):
        calls.append(x)
        return -(float(x) ** 2)

    result = sterna.sample(counted, {"x": sterna.Normal()}, n_chains=3, n_rounds=4, explorer="slice", progress=False)
    before = len(calls)
    pickle.dumps(result)
    result.to_arviz()
    assert len(calls) == before
