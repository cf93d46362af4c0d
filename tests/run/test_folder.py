"""Runs in folders: killed anywhere they go on with the same bits; damaged, changed or in use, they say so."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import xarray
from disk_faults import Crash, contents, faulty_disk
from interruptions import pause_after

import sterna
from sterna.run import blocks, folder
from sterna.run.display import Display
from sterna.run.folder import RunFolder
from sterna.run.options import Options
from sterna.run.running import begin_run, continue_run
from sterna.storage import growing
from sterna.storage.tensors import read_tensors, write_tensors

OPTIONS = {"n_chains": 4, "n_rounds": 6, "n_copies": 2, "explorer": "slice", "seed": 3, "progress": False}


def log_likelihood(x, y):
    return -0.5 * np.sum((y - abs(x)) ** 2)


REFERENCE = {"x": sterna.Normal(0, 5)}
DATA = {"y": np.array([3.0, 4.0])}


def target(y=DATA["y"], reference=REFERENCE, function=log_likelihood):
    return sterna.Target(function, reference, {"y": y})


def sample(root, **options):
    return sterna.sample(target(), **OPTIONS | {"folder": root} | options)


def resume(root, **options):
    return sterna.resume(root, options.pop("target", None) or target(), progress=False, **options)


def fingerprint(result):
    """Return a checksum of draws, index process and evidence."""
    parts = [array for record in result.records for array in (record.draws, record.positions, record.log_likelihood)]
    parts += [one.index_process for one in result.rounds] + [result.schedule]
    parts.append(np.array([result.log_evidence.value, result.log_evidence.error]))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


@pytest.fixture(scope="module")
def whole():
    """The run that nothing interrupts."""
    return fingerprint(sterna.sample(target(), **OPTIONS))


class Says(Display):
    """Keeps what must be said at once."""

    def __init__(self):
        super().__init__()
        self.said = []

    def warn(self, text):
        self.said.append(text)


class StoppedHereError(Exception):
    pass


def stopped_run(root, block_ends, monkeypatch, small=True, **options):
    """Run into a folder in blocks of one scan, with a checkpoint at each end of a block, until it stops there."""
    if small:
        monkeypatch.setattr(blocks, "BLOCK_SECONDS", 0.0)
    # so that short rounds have full chunks, too
    monkeypatch.setattr(growing, "LEAST_CHUNK_BYTES", 256)
    monkeypatch.setattr(growing, "CHUNK_BYTES", 256)
    monkeypatch.setattr(RunFolder, "is_due", property(lambda self: True))
    monkeypatch.setattr(RunFolder, "is_cheap", property(lambda self: True))
    left = [block_ends]

    class Stops(Display):
        def advance(self, copy, scans):
            left[0] -= 1
            if left[0] <= 0:
                raise StoppedHereError

    with pytest.raises(StoppedHereError):
        sample(root, progress=Stops(), workers=1, **options)
    monkeypatch.undo()


# -- what a folder holds --------------------------------------------------------------------------------------------


def test_a_folder_changes_no_bit(tmp_path, whole):
    result = sample(tmp_path / "run")
    assert fingerprint(result) == whole
    assert (result.folder, result.not_saved, result.warnings) == (str(tmp_path / "run"), "", [])


def test_load_gives_the_result_back(tmp_path):
    result = sample(tmp_path / "run", keep="all", keep_log_likelihoods=True)
    again = sterna.load(tmp_path / "run")
    assert fingerprint(again) == fingerprint(result)
    assert again.to_dict() == result.to_dict()
    assert str(again) == str(result)
    assert again.posterior.identical(result.posterior)
    assert again.summary == result.summary
    assert (again.log_likelihoods == result.log_likelihoods).all()
    assert again.modes == result.modes
    assert again.settings == result.settings
    arviz = pytest.importorskip("arviz")
    assert isinstance(again.to_arviz(), arviz.InferenceData)


def test_results_without_a_folder_are_saved_by_name(tmp_path):
    result = sterna.sample(target(), **OPTIONS)
    result.save(tmp_path / "saved")
    again = sterna.load(tmp_path / "saved")
    assert str(again) == str(result)
    # in its place, also of a loaded result
    again.save(tmp_path / "saved")
    assert fingerprint(sterna.load(tmp_path / "saved")) == fingerprint(result)


def test_save_overwrites_nothing_else(tmp_path):
    result = sterna.sample(target(), **OPTIONS)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("precious")
    with pytest.raises(sterna.StorageError, match="exists and is no saved result"):
        result.save(tmp_path / "thesis")
    sample(tmp_path / "run")
    with pytest.raises(sterna.StorageError, match="holds a run"):
        result.save(tmp_path / "run")


def test_other_tools_read_the_draws(tmp_path):
    result = sample(tmp_path / "run")
    draws = [
        xarray.open_zarr(
            tmp_path / "run" / "scans" / "sampling-after-6-rounds" / "main" / f"copy-{k}", consolidated=False
        )
        for k in range(2)
    ]
    for one, record in zip(draws, result.records, strict=True):
        assert (one["draws"].values == record.draws).all()
        assert one["draws"].dims == ("draw", "chain", "coordinate")
        assert (one["positions"].values == record.positions).all()
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert manifest["origin"]["versions"]["sterna"] == sterna.__version__
    assert manifest["ended by"] == "scans"
    for name, checksum in manifest["checkpoints"].items():
        assert checksum in (tmp_path / "run" / name).read_bytes().decode("latin-1")
    numbers = json.loads((tmp_path / "run" / "result.json").read_text())
    assert numbers.items() <= result.to_dict().items()
    assert numbers["log_evidence"] == result.log_evidence.to_dict()


def test_what_is_not_needed_is_removed(tmp_path, monkeypatch):
    stopped_run(tmp_path / "run", 200, monkeypatch)
    found = {path.name for path in (tmp_path / "run" / "scans").iterdir() if path.is_dir()}
    assert 1 <= len(found) <= 2
    assert len(list((tmp_path / "run").glob("checkpoint-*"))) == 2
    assert not list((tmp_path / "run").rglob("*.part"))


# -- going on -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block_ends", [2, 61, 127, 251])
def test_a_run_that_stopped_goes_on_with_the_same_bits(tmp_path, monkeypatch, whole, block_ends):
    stopped_run(tmp_path / "run", block_ends, monkeypatch)
    with pytest.raises(
        sterna.StorageError, match=r"has no result yet, only \d+ scans? of (tuning round \d of 6|sampling)"
    ):
        sterna.load(tmp_path / "run")
    assert fingerprint(resume(tmp_path / "run", workers=2)) == whole
    assert fingerprint(sterna.load(tmp_path / "run")) == whole
    # once more changes nothing
    assert fingerprint(resume(tmp_path / "run")) == whole


def test_the_same_script_started_again_goes_on(tmp_path, monkeypatch, whole):
    stopped_run(tmp_path / "run", 40, monkeypatch)
    assert fingerprint(sample(tmp_path / "run", resume=True)) == whole
    assert fingerprint(sample(tmp_path / "other", resume=True)) == whole


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path):
    sample(tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(sterna.StorageError, match=r"holds a run already: sterna.resume"):
        sample(tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_more_scans_are_those_of_a_longer_run(tmp_path):
    sample(tmp_path / "run", n_scans=100)
    assert fingerprint(resume(tmp_path / "run", more_scans=33)) == fingerprint(
        sterna.sample(target(), **OPTIONS, n_scans=133)
    )


def test_more_rounds_are_those_of_a_run_with_more(tmp_path):
    sample(tmp_path / "run")
    longer = sterna.sample(target(), **OPTIONS | {"n_rounds": 8})
    assert fingerprint(resume(tmp_path / "run", more_rounds=2)) == fingerprint(longer)
    assert fingerprint(sterna.load(tmp_path / "run")) == fingerprint(longer)


def test_new_goals(tmp_path):
    first = sample(tmp_path / "run", n_scans=50)
    result = resume(tmp_path / "run", until={"log_evidence": first.log_evidence.error / 2})
    assert result.ended_by == "goal"
    assert result.log_evidence.error <= first.log_evidence.error / 2
    n = 50
    assert (result.states[:, :n] == first.states[:, :n]).all()


def test_along_both_paths(tmp_path, monkeypatch):
    """The path from a mixture, with the one from the prior beside it, also goes on with the same bits."""
    options = {"path": "fitted", "n_rounds": 7, "n_chains": "auto", "n_copies": 1}
    whole = fingerprint(sterna.sample(target(), **OPTIONS | options))
    for stop in (150, 300):
        stopped_run(tmp_path / str(stop), stop, monkeypatch, **options)
        assert fingerprint(resume(tmp_path / str(stop))) == whole
        assert sterna.load(tmp_path / str(stop)).other_path is not None


def test_a_run_ended_by_the_time_is_the_beginning_of_a_longer_one(tmp_path):
    short = sample(tmp_path / "run", n_scans=10**7, thin=5, max_seconds=1.5)
    assert short.ended_by == "seconds"
    n = short.states.shape[1] if short.is_sampled else 0
    long = resume(tmp_path / "run", until={"restarts": 1}, max_seconds=2.0)
    assert long.states.shape[1] >= n
    assert (long.states[:, :n] == short.states[:, :n]).all()


KILLED = """
import sys
sys.path[:0] = sys.argv[2:4]
import test_folder
test_folder.sample(sys.argv[1], n_rounds=int(sys.argv[4]), n_scans=int(sys.argv[5]))
"""


def test_a_killed_process(tmp_path):
    """SIGKILL at some moment of a run with a checkpoint at each round: bench/kills.py tries hundreds."""
    root, options = tmp_path / "run", ("8", "60000")
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tools")]
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(root), *folders, *options])
    while not list(root.glob("checkpoint-*")):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    result = resume(root)
    assert fingerprint(result) == fingerprint(sterna.sample(target(), **OPTIONS | {"n_rounds": 8, "n_scans": 60_000}))


def test_two_processes_on_one_folder(tmp_path, monkeypatch):
    stopped_run(tmp_path / "run", 20, monkeypatch)
    with folder_in_use(tmp_path / "run"), pytest.raises(sterna.StorageError, match="in use by another run"):
        resume(tmp_path / "run")


def folder_in_use(root):
    from sterna.storage.lock import locked

    return locked(root)


def test_an_interrupted_run_says_how_to_go_on(tmp_path, whole):
    class Interrupts(Display):
        def begin_round(self, state):
            if state.round_number == 5:
                os.kill(os.getpid(), signal.SIGTERM)

    result = sample(tmp_path / "run", progress=Interrupts())
    assert (result.ended_by, result.is_sampled) == ("interrupt", False)
    assert f"sterna.resume({str(tmp_path / 'run')!r}, target)" in result.warnings[0]
    assert sterna.load(tmp_path / "run").ended_by == "interrupt"
    assert fingerprint(resume(tmp_path / "run")) == whole
    assert sterna.load(tmp_path / "run").is_sampled


# -- another run ------------------------------------------------------------------------------------------------------


def other_likelihood(x, y):
    return -0.5 * np.sum((y - x) ** 2)


CHANGES = {
    r"data\['y'\] has changed": lambda: target(y=np.array([3.0, 4.5])),
    "log_likelihood has changed": lambda: target(function=other_likelihood),
    "the reference of 'x' has changed": lambda: target(reference={"x": sterna.Normal(0, 6)}),
    "variables has changed": lambda: target(reference={"x": sterna.Normal(0, 5, shape=2)}),
}


@pytest.mark.parametrize("message", CHANGES)
def test_another_target_is_refused(tmp_path, monkeypatch, message):
    stopped_run(tmp_path / "run", 20, monkeypatch)
    before = contents(tmp_path / "run")
    with pytest.raises(sterna.StorageError, match=message):
        resume(tmp_path / "run", target=CHANGES[message]())
    assert contents(tmp_path / "run") == before


def test_other_options_are_refused(tmp_path, monkeypatch):
    stopped_run(tmp_path / "run", 20, monkeypatch)
    with pytest.raises(sterna.StorageError, match=r"n_chains was 4 and is 5; seed was 3 and is 4"):
        sample(tmp_path / "run", resume=True, n_chains=5, seed=4)
    with pytest.raises(sterna.StorageError, match="the explorer was 'slice' and is 'metropolis'"):
        resume(tmp_path / "run", explorer="metropolis")


def test_another_version_is_refused(tmp_path, monkeypatch):
    stopped_run(tmp_path / "run", 20, monkeypatch)
    monkeypatch.setattr("sterna.run.origin.__version__", "9.9.0")
    with pytest.raises(sterna.StorageError, match=f"begun with sterna {sterna.__version__}, and this is 9.9.0"):
        resume(tmp_path / "run")


def test_other_libraries_are_a_note(tmp_path, monkeypatch):
    stopped_run(tmp_path / "run", 20, monkeypatch)
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    assert any("machine abacus instead of" in note for note in resume(tmp_path / "run").notes)


def test_densities_that_differ_although_no_content_does(tmp_path, monkeypatch):
    """What a function reads from a file is not part of its content."""
    setting = tmp_path / "setting"
    setting.write_text("1.0")

    class Reads:
        def __call__(self, x, y):
            return -float(setting.read_text()) * x * x

    build = target

    def changing():
        return build(function=Reads())

    monkeypatch.setitem(globals(), "target", changing)
    stopped_run(tmp_path / "run", 20, monkeypatch)
    setting.write_text("1.1")
    with pytest.raises(sterna.StorageError, match="its target has changed: at the saved state of replica"):
        sterna.resume(tmp_path / "run", changing(), progress=False)
    setting.write_text("1.0")
    sterna.resume(tmp_path / "run", changing(), progress=False)


def test_an_explorer_that_no_file_can_hold_is_asked_for(tmp_path):
    options = OPTIONS | {"explorer": sterna.Slice(passes=2), "n_scans": 40}
    first = sterna.sample(target(), **options, folder=tmp_path / "run")
    with pytest.raises(sterna.OptionError, match="begun with explorer=Slice"):
        resume(tmp_path / "run")
    with pytest.raises(sterna.StorageError, match="the explorer was Slice"):
        resume(tmp_path / "run", explorer=sterna.Slice(passes=3))
    assert fingerprint(resume(tmp_path / "run", explorer=sterna.Slice(passes=2))) == fingerprint(first)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"more_scans": 0}, "more_scans=0"),
        ({"more_rounds": 1.5}, "more_rounds=1.5"),
        ({"more_rounds": 90}, "at most"),
        ({"more_scans": 5, "until": {"ess": 10}}, "not both"),
        ({"max_seconds": -1}, "max_seconds"),
    ],
)
def test_bad_options(tmp_path, options, message):
    sample(tmp_path / "run")
    with pytest.raises(sterna.OptionError, match=message):
        resume(tmp_path / "run", **options)


def test_folders_that_are_none(tmp_path):
    with pytest.raises(sterna.StorageError, match="is not there"):
        resume(tmp_path / "none")
    with pytest.raises(sterna.StorageError, match="is not there"):
        sterna.load(tmp_path / "none")
    with pytest.raises(sterna.StorageError, match="holds no run"):
        sterna.load(tmp_path)
    with pytest.raises(sterna.StorageError, match="holds no"):
        resume(tmp_path)
    with pytest.raises(sterna.OptionError, match="resume=True needs folder="):
        sterna.sample(target(), **OPTIONS, resume=True)
    (tmp_path / "file").touch()
    with pytest.raises(sterna.StorageError, match="cannot be made"):
        sample(tmp_path / "file" / "run")


# -- what goes wrong ------------------------------------------------------------------------------------------------


def two_checkpoints(root, monkeypatch):
    stopped_run(root, 60, monkeypatch)
    _, newest = sorted(root.glob("checkpoint-*"))
    return newest


@pytest.mark.parametrize("fault", ["cut", "flip"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, monkeypatch, fault):
    """At 100 random places each; the run then goes on to the same end (once)."""
    newest = two_checkpoints(tmp_path / "run", monkeypatch)
    content, rng = newest.read_bytes(), np.random.default_rng(7)
    for place in rng.integers(0, len(content), 100):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        newest.write_bytes(content[:place] if fault == "cut" else damaged)
        _, problems = RunFolder(tmp_path / "run", {}).read()
        assert len(problems) == 1
        assert newest.name in problems[0]
    display = Says()
    result = sterna.resume(tmp_path / "run", target(), progress=display)
    assert fingerprint(result) == fingerprint(sterna.sample(target(), **OPTIONS))
    assert len(display.said) == 1
    assert "goes on from the checkpoint before" in display.said[0]


def test_no_checkpoint_that_can_be_read(tmp_path, monkeypatch):
    two_checkpoints(tmp_path / "run", monkeypatch)
    for path in (tmp_path / "run").glob("checkpoint-*"):
        path.write_bytes(b"")
    with pytest.raises(sterna.StorageError, match="no checkpoint that can be read"):
        resume(tmp_path / "run")


def small_run(root, display):
    """A run with few calls of the disk: no checkpoint inside of rounds."""
    options = Options(n_chains=3, n_rounds=3, seed=2, workers=1)
    place = RunFolder(root, {}, say=display.warn)
    return begin_run(target(), options, explorer="slice", display=display, folder=place)


# Quick forms try some of the calls; `make laws` tries all.
SOME_CALLS = pytest.mark.parametrize("step", [19, pytest.param(1, marks=pytest.mark.laws)])


@SOME_CALLS
def test_a_disk_that_fails_once_at_any_call(tmp_path, step):
    """The run goes on, says so at most once, and can be read at the end."""
    (tmp_path / "count").mkdir()
    with faulty_disk() as disk:
        expected = fingerprint(small_run(tmp_path / "count", Says()))
    assert len(disk.calls) > 100
    for at in range(0, len(disk.calls), step):
        root, display = tmp_path / str(at), Says()
        root.mkdir()
        with faulty_disk(at=at, error=OSError(errno.ENOSPC, "No space left on device")):
            result = small_run(root, display)
        assert fingerprint(result) == expected
        assert len(display.said) <= 1
        if result.not_saved:
            assert "No space left on device" in result.not_saved
            assert result.not_saved in result.warnings[0]
        else:
            assert fingerprint(sterna.load(root)) == expected
        assert not list(root.rglob("*.part"))


@SOME_CALLS
def test_a_disk_that_stays_full(tmp_path, step):
    """Every call from some one on fails: what was written before can be read, or nothing was."""
    (tmp_path / "count").mkdir()
    with faulty_disk() as disk:
        expected = fingerprint(small_run(tmp_path / "count", Says()))
    for at in range(3, len(disk.calls), step):
        root, display = tmp_path / str(at), Says()
        root.mkdir()
        with faulty_disk(at=at, error=OSError(errno.ENOSPC, "No space left on device"), lasting=True):
            result = small_run(root, display)
        assert fingerprint(result) == expected
        assert len(display.said) == 1
        assert "The run goes on" in display.said[0] or "The result could not be written" in display.said[0]
        assert "This result is whole, but only here" in result.warnings[0]
        assert_readable(root, expected)


@SOME_CALLS
def test_a_process_that_ends_at_any_call(tmp_path, step):
    (tmp_path / "count").mkdir()
    with faulty_disk() as disk:
        expected = fingerprint(small_run(tmp_path / "count", Says()))
    for at in range(7, len(disk.calls), step):
        root = tmp_path / str(at)
        root.mkdir()
        with faulty_disk(at=at, error=Crash()), pytest.raises(Crash):
            small_run(root, Says())
        assert_readable(root, expected)


def assert_readable(root, expected):
    """Check that a run goes on from what is in its folder, if a checkpoint is, and ends the same."""
    if not list(root.glob("checkpoint-*.safetensors")):
        return
    place = RunFolder(root, {})
    state, problems = place.read()
    assert problems == []
    result = continue_run(target(), state, explorer="slice", workers=1, folder=place)
    assert fingerprint(result) == expected


def test_writing_inside_of_a_round_depends_on_time_alone(tmp_path, monkeypatch):
    """With the default interval of 30 seconds a short run writes at rounds only, and rarely if writing is slow."""
    written = []
    monkeypatch.setattr(RunFolder, "save", lambda self, state: written.append(state.round_number))
    monkeypatch.setattr(RunFolder, "finish", lambda self, state, result: "")
    sample(tmp_path / "run")
    assert set(written) <= set(range(1, 8))
    monkeypatch.setattr(folder, "SECONDS_BETWEEN", 0.0)
    few = len(written)
    sample(tmp_path / "other", n_scans=3_000)
    assert len(written) > 2 * few


def test_pauses_of_others_still_pause(tmp_path):
    place = RunFolder(tmp_path, {})
    state = begin_run(target(), Options(n_chains=3, n_rounds=4), explorer="slice", folder=place, pause=pause_after(2))
    assert not state.ended_by


# -- what users do ----------------------------------------------------------------------------------------------------


def test_files_of_the_user_are_never_touched(tmp_path, monkeypatch):
    """Not in a folder that is refused, and not beside a run in its own."""
    for path in ("scans/patient/session/mri.dat", "rounds/mine.safetensors", "download.part", "notes.txt"):
        (tmp_path / "own" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / path).write_text("precious")
    with pytest.raises(sterna.StorageError, match="is not empty: give the name of a new folder"):
        sample(tmp_path / "own", resume=True)
    stopped_run(tmp_path / "run", 60, monkeypatch)
    for path in ("scans/patient/session/mri.dat", "rounds/mine.safetensors", "notes.txt", "mine/download.part"):
        (tmp_path / "run" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / path).write_text("precious")
    resume(tmp_path / "run")
    for root in ("own", "run"):
        kept = [path for path in (tmp_path / root).rglob("*") if path.is_file() and path.read_bytes() == b"precious"]
        assert len(kept) == 4


def test_a_link_is_not_followed(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere" / "sampling-after-1-rounds" / "main"
    elsewhere.mkdir(parents=True)
    stopped_run(tmp_path / "run", 10, monkeypatch)
    (tmp_path / "run" / "scans" / "round-01-of-1").mkdir(parents=True)
    (tmp_path / "run" / "scans" / "round-01-of-1" / "main").symlink_to(elsewhere)
    resume(tmp_path / "run")
    assert elsewhere.is_dir()


def test_a_killed_save_leaves_the_old_result(tmp_path, monkeypatch):
    first, second = (sterna.sample(target(), **OPTIONS | {"seed": seed}) for seed in (1, 2))
    first.save(tmp_path / "saved")
    at, crashed = 0, True
    while crashed:
        with faulty_disk(at=at, error=Crash()) as disk, suppress(Crash):
            second.save(tmp_path / "saved")
        at, crashed = at + 1, disk.crashed
        assert fingerprint(sterna.load(tmp_path / "saved")) in (fingerprint(first), fingerprint(second))
    assert at > 10
    assert fingerprint(sterna.load(tmp_path / "saved")) == fingerprint(second)
    assert len(list((tmp_path / "saved").glob("samples-*"))) == 1


def test_goals_that_are_given_again_count(tmp_path):
    sample(tmp_path / "run", n_scans=60, until={"ess": 5})
    with pytest.raises(sterna.OptionError, match="has no variable of this name; it has x"):
        resume(tmp_path / "run", until={"ess": {"typo": 400}})
    assert sample(tmp_path / "run", n_scans=60, until={"ess": 300}, resume=True).settings.n_scans > 60


def test_options_are_the_same_however_they_are_given(tmp_path):
    first = sample(tmp_path / "run")
    again = sample(tmp_path / "run", resume=True, n_rounds=6.0, seed=np.int64(3), n_chains=np.float64(4))
    assert fingerprint(again) == fingerprint(first)


def test_more_rounds_after_a_goal_in_seconds(tmp_path):
    sample(tmp_path / "run", n_scans=20, until={"seconds": 0.2})
    assert resume(tmp_path / "run", more_rounds=1).is_sampled


def test_what_a_function_counts_is_a_note(tmp_path, monkeypatch):
    calls = {"n": 0}

    class Counts:
        def __init__(self):
            self.cache = []

        def __call__(self, x, y):
            calls["n"] += 1
            self.cache = [x]
            return -x * x

    function, build = Counts(), target
    monkeypatch.setitem(globals(), "target", lambda: build(function=function))
    stopped_run(tmp_path / "run", 20, monkeypatch)
    result = sterna.resume(tmp_path / "run", build(function=function), progress=False)
    assert any("what is remembered by log_likelihood" in note for note in result.notes)


def test_folders_are_where_they_were_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()

    class Moves:
        def __call__(self, x, y):
            os.chdir(tmp_path / "other")
            return -x * x

    sterna.sample(target(function=Moves()), **OPTIONS | {"folder": "run", "n_copies": 1})
    assert (tmp_path / "run" / "result.json").exists()
    assert list((tmp_path / "other").iterdir()) == []
    with pytest.raises(sterna.OptionError, match="3 is no path"):
        sample(3)


@pytest.mark.parametrize("field", ["chain_of", "replica_of"])
def test_a_checkpoint_with_impossible_numbers_is_refused(tmp_path, monkeypatch, field):
    """Compiled code would read beyond its arrays."""
    newest = two_checkpoints(tmp_path / "run", monkeypatch)
    document, arrays = read_tensors(newest)
    arrays[f"state.copies.1.{field}"][0] = 10**9
    write_tensors(newest, document, arrays)
    with pytest.raises(sterna.StorageError, match="its arrays do not fit together"):
        resume(tmp_path / "run")


def test_labels_that_are_dates_are_kept_as_texts(tmp_path):
    pymc = pytest.importorskip("pymc")
    import datetime

    with pymc.Model(coords={"day": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]}) as model:
        mu = pymc.Normal("mu", 0, 5, dims="day")
        pymc.Normal("y", mu, 1, observed=[1.0, 2.0])
    options = {"n_chains": 4, "n_rounds": 4, "explorer": "slice", "progress": False}
    result = sterna.sample(model, folder=tmp_path / "run", **options)
    assert list(sterna.load(tmp_path / "run").posterior["day"].values) == ["2020-01-01", "2020-01-02"]
    # the same model again, compiled again
    again = sterna.sample(model, folder=tmp_path / "run", resume=True, **options)
    assert fingerprint(again) == fingerprint(result)
