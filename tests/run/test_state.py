"""A run is data: paused at the end of a block, taken apart, rebuilt and continued, it gives the same bits."""

import dataclasses
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from interruptions import load, pause_after, save

import sterna
from sterna.result.result import Result
from sterna.result.rounds import Rounds
from sterna.result.sampled_target import AbsentMap, StoredView
from sterna.result.settings import Settings
from sterna.run import blocks
from sterna.run.options import Options
from sterna.run.running import begin_run, continue_run
from sterna.run.serialization import CLASSES, put_together, take_apart
from sterna.run.state import RunState, Seconds, Tuned
from sterna.tuning.rounds import Round

# Parts of saved results alone: a list of rounds, and what stands for functions that are not there.
ONLY_IN_RESULTS = (Rounds, StoredView, AbsentMap)

TOOLS = Path(__file__).parents[1] / "tools"


def bimodal(x, z):
    return -0.5 * (abs(x) - 4.0) ** 2 + 0.3 * z


class InPython:
    """The same function in a form that Numba cannot compile."""

    def __call__(self, x, z):
        return bimodal(x, z)


def log_posterior(mu, sigma):
    return -0.5 * (mu - 3.0) ** 2 / sigma**2 - np.log(sigma) - sigma


def one(x):
    return -x * x


REFERENCE = {"x": sterna.Normal(0, 5), "z": sterna.Poisson(3)}
TARGETS = {
    "compiled": lambda: sterna.Target(bimodal, REFERENCE),
    "python": lambda: sterna.Target(InPython(), REFERENCE),
    "fitted": lambda: sterna.Target(
        log_posterior, sterna.FittedReference({"mu": sterna.Real(), "sigma": sterna.Real(lower=0)})
    ),
}
OPTIONS = {"n_rounds": 6, "n_copies": 3, "seed": 5}
SLICE = sterna.Slice()


def bits(result):
    """Return all that a run measured, as bytes."""
    assert isinstance(result, Result)
    parts = [record.draws for record in result.records] + [record.positions for record in result.records]
    parts += [one.index_process for one in result.rounds] + [result.schedule, result.rejection]
    trips = [number for one in result.rounds for number in (one.restarts, one.round_trips)]
    estimates = [number for e in result.evidence.values() for number in (e.value, e.error)]
    parts.append(np.array([*estimates, result.evaluations, *trips]))
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Let every block have one scan, so that a pause may come after any scan."""
    monkeypatch.setattr(blocks, "BLOCK_SECONDS", 1e-12)


@pytest.mark.parametrize(
    ("name", "workers"),
    [*((name, None) for name in TARGETS), ("compiled", 2), pytest.param("python", 2, marks=pytest.mark.laws)],
)
def test_a_paused_run_gives_the_same_bits(name, workers, tiny_blocks, tmp_path):
    # processes start again for every run, so those of a Python function pause once, in a shorter run
    processes = name == "python" and workers is not None
    target, options = TARGETS[name](), {**OPTIONS, "workers": workers, "n_rounds": 4 if processes else 6}
    whole = bits(sterna.sample(target, explorer=SLICE, progress=False, **options))
    # in the first round, in the middle of tuning and in the sampling phase; each continued run pauses again
    state = begin_run(target, Options(**options), explorer=SLICE, pause=pause_after(4))
    for block_ends in () if processes else (40, 250):
        save(state, tmp_path)
        state = continue_run(
            TARGETS[name](), load(tmp_path), explorer=SLICE, workers=workers, pause=pause_after(block_ends)
        )
        assert isinstance(state, RunState)
    save(state, tmp_path)
    assert bits(continue_run(TARGETS[name](), load(tmp_path), explorer=SLICE, workers=workers)) == whole


def test_a_state_goes_on_in_another_process(tiny_blocks, tmp_path):
    whole = bits(sterna.sample(TARGETS["fitted"](), explorer=SLICE, progress=False, **OPTIONS))
    save(begin_run(TARGETS["fitted"](), Options(**OPTIONS), explorer=SLICE, pause=pause_after(100)), tmp_path)
    script = (
        f"import sys; from pathlib import Path; sys.path[:0] = [{str(TOOLS)!r}, {str(Path(__file__).parent)!r}]\n"
        "import test_state as t\n"
        f"result = t.continue_run(t.TARGETS['fitted'](), t.load(Path({str(tmp_path)!r})), explorer=t.SLICE)\n"
        "sys.stdout.buffer.write(t.bits(result))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == whole


def test_a_lost_state_is_noticed(tiny_blocks, tmp_path):
    """Planted faults: every array of the engine's matters, and the check above sees it if one is not carried over."""
    target = TARGETS["compiled"]()
    whole = bits(sterna.sample(target, explorer=SLICE, progress=False, **OPTIONS))

    def continued(change):
        save(begin_run(target, Options(**OPTIONS), explorer=SLICE, pause=pause_after(200)), tmp_path)
        return bits(continue_run(target, change(load(tmp_path)), explorer=SLICE))

    assert continued(lambda state: state) == whole
    faults = {
        "states": lambda s: s.copies[0].states.fill(0.1),
        "index process": lambda s: [np.subtract(1, copy.leg, out=copy.leg) for copy in s.copies],
        "widths": lambda s: s.tuned.parameters[:, 3:5].__imul__(1.5),
        "pivot": lambda s: s.tuned.pivot.__iadd__(0.1),
        "sums": lambda s: s.records[0].rejection.fill(0.0),
        "scans": lambda s: s.scans_done.__isub__(np.minimum(s.scans_done, 1)),
    }
    for name, fault in faults.items():

        def planted(state, fault=fault):
            fault(state)
            return state

        assert continued(planted) != whole, name


def test_measured_costs_are_never_measured_again(tmp_path, monkeypatch):
    """The choice of the best explorer depends on the cost of an evaluation; a continued run takes it from its state."""
    explorer = sterna.Best(sterna.Slice(), sterna.Metropolis())
    options = {"n_rounds": 7, "seed": 3}
    whole = bits(sterna.sample(TARGETS["compiled"](), explorer=explorer, progress=False, **options))
    save(begin_run(TARGETS["compiled"](), Options(**options), explorer=explorer, pause=pause_after(6)), tmp_path)
    state = load(tmp_path)
    assert state.cost is not None

    def refuse(target):
        raise AssertionError("measured again")

    monkeypatch.setattr("sterna.target.prepared.measured", refuse)
    assert bits(continue_run(TARGETS["compiled"](), state, explorer=explorer)) == whole


def test_states_are_json_and_arrays():
    state = begin_run(TARGETS["compiled"](), Options(**OPTIONS), explorer=SLICE, pause=pause_after(1))
    document, arrays = take_apart(state)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert all(array.dtype != object for array in arrays.values())
    again, others = take_apart(put_together(document, arrays))
    assert again == document
    assert all(others[name] is arrays[name] for name in arrays)


def test_what_a_state_must_not_contain_is_refused():
    with pytest.raises(TypeError, match=r"state\.compile is a Event"):
        take_apart(Seconds(compile=threading.Event()))
    with pytest.raises(sterna.StorageError, match="does not know"):
        put_together({"Unheard": {}}, {})


def test_a_state_of_another_run_is_refused():
    state = begin_run(TARGETS["compiled"](), Options(**OPTIONS), explorer=SLICE, pause=pause_after(1))
    with pytest.raises(sterna.OptionError, match="another explorer than metropolis"):
        continue_run(TARGETS["compiled"](), state, explorer=sterna.Metropolis())
    with pytest.raises(sterna.OptionError, match="2 coordinates, and one has 1"):
        continue_run(sterna.Target(one, {"x": sterna.Normal()}), state, explorer=SLICE)


def test_states_are_frozen():
    of_states = [found for found in CLASSES.values() if found not in ONLY_IN_RESULTS]
    assert {RunState, Tuned, Settings, Round} <= set(of_states)
    for found in of_states:
        assert hasattr(found, "_fields") or found.__dataclass_params__.frozen
    with pytest.raises(dataclasses.FrozenInstanceError):
        Seconds(1.0).compile = 2.0
