"""The C programs that speed is compared with do the same work: states, sums and records agree to the last bit."""

import shutil
import sys
from pathlib import Path

import pytest

import sterna

# at the end, because tests/tools has modules of the same names
sys.path.append(str(Path(__file__).parents[2] / "bench"))

pytestmark = [pytest.mark.laws, pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")]


def test_the_normal_model_agrees_with_c():
    from normal_case import race_scans, race_slices, tuned_case

    case = tuned_case(3, 6)
    assert race_slices(case, sterna.models.normal(dim=3), 300, None, "").note.startswith("same bits")
    assert race_scans(case, 300, 1.5).note.startswith("same bits")


def test_spins_agree_with_c():
    from spin_case import race_spins

    assert race_spins(5, 4, 100, 1.5).note == "same bits"


def test_trajectories_agree_with_c():
    from gradients import race_trajectories

    rows = race_trajectories(sterna.models.normal(dim=3), None, "")
    assert {row.note for row in rows} <= {"same bits", "same within 1e-9"}
