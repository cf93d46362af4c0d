"""The check of a run on disk finds planted faults, and none in right runs.

All statistical checks of a folder together raise a false alarm with a probability of about 1e-4.
"""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from plain import load

import sterna
from sterna.result.check_report import NOTE, OK, PROBLEM
from sterna.run import blocks
from sterna.run.check.run_on_disk import check_run

OPTIONS = {"explorer": "metropolis", "explorations": 1, "n_chains": 6, "path": "prior", "progress": False}


def target():
    return sterna.models.normal(dim=3, precision=100.0)


@pytest.fixture(scope="module")
def right_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "right"
    sterna.sample(target(), folder=folder, n_rounds=8, n_scans=4000, **OPTIONS)
    return folder


@pytest.fixture
def run(right_run, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(right_run, tmp_path / "run")


def test_a_right_run_has_no_problem(right_run):
    report = sterna.check(right_run)
    assert report.ok, report
    assert {row.outcome for row in report} == {OK}, report
    assert str(right_run) in str(report)
    assert sterna.check(str(right_run)).to_dict()["ok"] is True


def test_a_saved_result_has_no_problem(right_run, tmp_path):
    sterna.load(right_run).save(tmp_path / "saved")
    report = sterna.check(tmp_path / "saved")
    assert {row.outcome for row in report} == {OK}, report
    assert "by the means of the rejections" in report["swaps"].text
    # nothing was written
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        "result.json", "result.safetensors", "samples-0"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "pattern",
    ["checkpoint-*", "rounds/*", "result.safetensors", "scans/*/main/copy-0/energies/0.0", "scans/*/*/*/positions/0.0"],
)
def test_a_flipped_bit_is_found(run, pattern):
    path = sorted(run.glob(pattern))[-1]
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 4
    path.write_bytes(content)
    row = sterna.check(run)["files"]
    assert row.outcome == PROBLEM
    assert "is damaged" in row.text


def test_a_missing_file_is_found(run):
    next(run.glob("rounds/*")).unlink()
    assert "cannot be read" in sterna.check(run)["files"].text


def tampered(run, tmp_path, change):
    """Return a folder with the result of a run whose index process was changed, with the checksums of that."""
    result = sterna.load(run)
    record = result.records[0]
    positions = record.positions.copy()
    change(positions)
    folder = tmp_path / "tampered"
    replace(result, records=[record._replace(positions=positions)]).save(folder)
    return sterna.check(folder)


def test_two_replicas_at_one_chain_are_found(right_run, tmp_path):
    def change(positions):
        positions[1000, 2] = positions[1000, 3]

    row = tampered(right_run, tmp_path, change)["index process"]
    assert (row.outcome, "after scan 1001 the replicas are not at different chains" in row.text) == (PROBLEM, True)


def test_an_exchange_that_no_swap_explains_is_found(right_run, tmp_path):
    def change(positions):
        positions[1000:] = positions[1000:][:, [1, 0, 2, 3, 4, 5]]

    row = tampered(right_run, tmp_path, change)["index process"]
    assert (row.outcome, "moved replicas otherwise than by swaps" in row.text) == (PROBLEM, True)


def test_replicas_that_never_move_are_found(right_run, tmp_path):
    def change(positions):
        positions[:] = np.arange(6)

    assert tampered(right_run, tmp_path, change)["swaps"].outcome == PROBLEM


def test_a_run_whose_swaps_always_accept_is_found(monkeypatch, tmp_path):
    """Both by the number of swaps and by the log-likelihoods, which no longer are those of their betas."""
    swap = load(
        "engine/communication.py", [("swap_uniform(key, pair) < accepted[pair]", "pair >= 0")], compiled=True
    ).swap
    engine = load("engine/round.py", compiled=True, swap=swap)
    monkeypatch.setattr(blocks, "run_scans", engine.run_scans)
    sterna.sample(target(), folder=tmp_path / "run", n_rounds=8, n_scans=4000, workers=1, **OPTIONS)
    report = sterna.check(tmp_path / "run")
    assert report["files"].outcome == report["index process"].outcome == OK
    assert report["swaps"].outcome == PROBLEM
    assert "swaps were not decided by their acceptance probabilities" in report["swaps"].text
    assert report["log-likelihoods"].outcome == PROBLEM, report


def test_a_run_under_way_has_no_result_yet(run):
    for name in ("result.safetensors", "result.json"):
        (run / name).unlink()
    row = sterna.check(run)["files"]
    assert (row.outcome, "no result yet" in row.text) == (NOTE, True)


def test_the_newest_whole_checkpoint_is_looked_at(run):
    newest, _ = sorted(run.glob("checkpoint-*"), reverse=True)
    newest.write_bytes(newest.read_bytes()[:100])
    report = sterna.check(run)
    assert report["files"].outcome == PROBLEM
    assert "resume goes on from the newest checkpoint that is whole" in report["files"].text


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(sterna.StorageError, match="holds no run of sterna"):
        sterna.check(tmp_path)
    with pytest.raises(sterna.StorageError, match="is not there: give the folder"):
        sterna.check(tmp_path / "nowhere")


@pytest.mark.laws
@pytest.mark.parametrize("model", ["normal", "ising", "rotor", "change_point", "elliptic"])
def test_right_runs_raise_no_alarm(model, tmp_path):
    """With 40 runs of each of 5 models, a false-alarm rate of 1e-4 each: 2 % that one of them has any."""
    for seed in range(40):
        folder = tmp_path / str(seed)
        scheme = "seo" if seed % 4 == 3 else "deo"
        sterna.sample(
            getattr(sterna.models, model)(), n_rounds=9, seed=seed, n_copies=1 + seed % 2, scheme=scheme, folder=folder,
            progress=False,
        )  # fmt: skip
        report = check_run(folder)
        assert report.ok, report
        shutil.rmtree(folder)
