"""Posteriors in netCDF files: what is read is what was written, and files that cannot be written are refused early."""

import copy
import dataclasses
import importlib.util
import os

import numpy as np
import pytest
import xarray

import sterna
from sterna.errors import OptionError
from sterna.result import netcdf
from sterna.result.netcdf import check_file, choose_engine, names_in_file, save_posterior

ENGINES = ["scipy", "h5netcdf"]


def density(spins, counts, real, größe):
    return spins.sum() - counts.sum() - real * real - größe


@pytest.fixture(scope="module")
def result():
    reference = {
        "spins": sterna.Spin(shape=3),
        "counts": sterna.Poisson(3.0, shape=2),
        "real": sterna.Normal(),
        "größe": sterna.Exponential(1.0),
    }
    options = {"n_chains": 3, "n_rounds": 4, "n_copies": 2, "explorer": "slice", "progress": False}
    return sterna.sample(density, reference, **options)


def installed_only(monkeypatch, *names):
    """Let only these of the libraries that write netCDF be found."""
    found = importlib.util.find_spec
    absent = {"netCDF4", "h5netcdf", "h5py"} - set(names)
    monkeypatch.setattr(netcdf, "find_spec", lambda name: None if name in absent else found(name))


def saved(result, path):
    save_posterior(result, path)
    with xarray.open_dataset(path) as dataset:
        return dataset.load()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unknown_error_survives(engine, tmp_path, monkeypatch):
    """No replica travels along 8 chains in 6 scans, so that the error of the evidence is unknown."""
    installed_only(monkeypatch, *(["h5netcdf", "h5py"] if engine == "h5netcdf" else []))
    unknown = sterna.sample(sterna.models.ising(), n_chains=8, n_rounds=2, progress=False)
    attributes = saved(unknown, tmp_path / "posterior.nc").attrs
    assert attributes["log_evidence"] == unknown.log_evidence.value
    assert np.isnan(attributes["log_evidence_error"])


@pytest.mark.parametrize("engine", ENGINES)
def test_values_names_and_attributes_survive(engine, result, tmp_path, monkeypatch):
    installed_only(monkeypatch, *(["h5netcdf", "h5py"] if engine == "h5netcdf" else []))
    judged = copy.copy(result)
    judged.__dict__["warnings"] = ["Only 3 ± 1 restarts: bad", "worse"]
    found = saved(judged, tmp_path / "posterior.nc")
    assert found.equals(result.posterior)
    for name, variable in result.posterior.variables.items():
        assert found[name].dims == variable.dims
        assert found[name].dtype == variable.dtype or (engine == "scipy" and found[name].dtype == np.int32)
    attributes = found.attrs
    assert attributes["warnings"].splitlines() == ["Only 3 ± 1 restarts: bad", "worse"]
    assert attributes["notes"] == ""
    assert attributes["target"] == "density"
    assert attributes["seed"] == 1
    assert attributes["restarts"] == result.restarts
    assert attributes["log_evidence"] == result.log_evidence.value
    assert attributes["log_evidence_error"] == result.log_evidence.error
    for name in ("schedule", "rejection"):
        assert np.array_equal(attributes[name], getattr(result, name))


@pytest.mark.parametrize("engine", ENGINES)
def test_large_integers_and_seeds_survive(engine, result, tmp_path, monkeypatch):
    """Version 3 has no integers of 64 bits: counts become floating-point numbers, which they are in states, too."""
    installed_only(monkeypatch, *(["h5netcdf", "h5py"] if engine == "h5netcdf" else []))
    large = dataclasses.replace(result, settings=dataclasses.replace(result.settings, seed=2**60 + 1))
    large.__dict__["posterior"] = result.posterior.assign(counts=result.posterior["counts"] + 2**52)
    found = saved(large, tmp_path / "posterior.nc")
    assert np.array_equal(found["counts"].values.astype(np.int64), large.posterior["counts"])
    assert int(found.attrs["seed"]) == 2**60 + 1


def test_the_best_engine_that_can_hold_the_names_is_chosen(monkeypatch):
    installed_only(monkeypatch, "h5netcdf", "h5py")
    assert choose_engine(["a", "β"]) == "h5netcdf"
    assert choose_engine(["a", "a/b"]) == "scipy"
    with pytest.raises(OptionError, match="cannot hold a variable called 'β/d': rename it"):
        choose_engine(["a", "β/d"])
    installed_only(monkeypatch)
    assert choose_engine(["a", "größe"]) == "scipy"
    with pytest.raises(OptionError, match=r"called 'β': install h5netcdf"):
        choose_engine(["a", "β"])


def test_names_are_known_before_the_run(result):
    target = sterna.Target(density, {name: sterna.Normal() for name in ("spins", "counts", "real", "größe")})
    assert names_in_file(target.space, target.view) == ["spins", "counts", "real", "größe"]


def test_a_file_that_exists_is_replaced_when_the_new_one_is_complete(result, tmp_path, monkeypatch):
    path = tmp_path / "posterior.nc"
    path.write_text("old")

    def fail(*arguments, **options):
        (tmp_path / f".posterior.nc.{os.getpid()}.part").write_text("half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(xarray.Dataset, "to_netcdf", fail)
        with pytest.raises(OSError, match="No space left"):
            save_posterior(result, path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["posterior.nc"]
    assert saved(result, path).equals(result.posterior)


def test_files_that_cannot_be_written_are_refused(tmp_path, monkeypatch):
    check_file(tmp_path / "posterior.nc")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OptionError, match="there is no folder"):
        check_file(tmp_path / "nowhere" / "posterior.nc")
    with pytest.raises(OptionError, match="is a folder"):
        check_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OptionError, match="not an ordinary file"):
        check_file(tmp_path / "pipe")
    (tmp_path / "old.nc").write_text("old")
    # root may write everything, so permissions are refused here
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(OptionError, match="must not be overwritten"):
            check_file(tmp_path / "old.nc")

    def refuse(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(netcdf.tempfile, "NamedTemporaryFile", refuse)
    with pytest.raises(OptionError, match="Permission denied in"):
        check_file(tmp_path / "posterior.nc")
