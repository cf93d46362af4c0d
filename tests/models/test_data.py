"""Where the models' data come from."""

import pytest

import sterna
from sterna.models.data import data_file, say_simulated


def test_no_folder_means_simulation(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)
    assert data_file("any", "file.csv") is None


def test_a_file_of_the_folder_is_found(monkeypatch, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "file.csv").write_text("1\n")
    monkeypatch.setenv("STERNA_DATA", str(tmp_path))
    assert data_file("model", "file.csv").read_text() == "1\n"


def test_a_missing_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("STERNA_DATA", str(tmp_path))
    with pytest.raises(sterna.OptionError, match=r"model/file\.csv"):
        data_file("model", "file.csv")


def test_simulated_data_are_said_to_be():
    target = say_simulated(sterna.models.normal(2))
    assert any("simulated" in note for note in target.notes)
