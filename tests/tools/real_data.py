"""Location of the real data, if they are on this machine; they are not part of the project."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("STERNA_DATA") or Path(__file__).parents[3] / "shared" / "data")

needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason="the real data are not on this machine")


@pytest.fixture
def real_data(monkeypatch):
    """Let models read the real data."""
    monkeypatch.setenv("STERNA_DATA", str(FOLDER))
