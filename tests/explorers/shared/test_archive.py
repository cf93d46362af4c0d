"""Archives are even over a round, whole over copies, and see clouds of points that are far apart."""

import numpy as np
import pytest
from kernels import apply_bound, draws_of

import sterna
from sterna.explorers.evolution import Evolution, Parameters
from sterna.explorers.shared.archive import Statistics, merge, new_archive, recorded
from sterna.ground.rows import columns, size_of
from sterna.tuning.clusters import centres_of


@pytest.mark.parametrize("room", [10, 11, 100])
@pytest.mark.parametrize("scans", [1, 9, 10, 11, 64, 1000])
def test_record_is_even(room, scans):
    """States are kept at equal distances, from the first on, and at least half of the room is used."""
    target = sterna.models.normal(2)
    bound = Evolution(moves=1, archive=room).bind(target)
    row = bound.start(draws_of(target))
    row[Parameters.moves] = 0.0
    states = np.arange(1.0, 2 * scans + 1).reshape(scans, 2)
    statistics = apply_bound(target, bound, states, 1.0, parameters=row, times=1)[2]
    every = int(statistics[Statistics.every])
    assert np.array_equal(recorded(statistics, 2), states[::every])
    assert min(scans, room // 2) <= statistics[Statistics.kept] <= room


def test_copies_merge_into_one_archive():
    rows = [np.zeros((2, size_of(Statistics, 20, 2))) for _ in range(3)]
    for number, row in enumerate(rows):
        row[1, Statistics.kept] = 8
        columns(row[1], Statistics.points, 16, 2)[:] = number
    merged = merge(2, rows)
    points = recorded(merged[1], 2)
    assert len(points) == 10
    assert set(points[:, 0]) == {0.0, 1.0, 2.0}
    assert merged[0, Statistics.kept] == 0


def test_few_points_are_made_up_for():
    """By those of the chains beside it first, then by the old archive."""
    seen = [np.zeros((0, 2)), np.full((2, 2), 1.0), np.full((3, 2), 2.0), np.full((9, 2), 3.0)]
    points = new_archive(seen, 1, np.full((30, 2), 9.0), 100)
    assert sorted(points[:, 0]) == [1] * 2 + [2] * 3 + [3] * 9
    points = new_archive(seen[:3], 1, np.full((30, 2), 9.0), 100)
    assert sorted(points[:, 0]) == [1] * 2 + [2] * 3 + [9] * 9


def test_centres_of_clouds():
    rng = np.random.default_rng(5)
    cloud = rng.standard_normal((90, 4))
    assert len(centres_of(cloud)) == 1
    far = np.concatenate([cloud, cloud[:30] + 30.0, cloud[:20] - [30.0, 0, 0, 30.0]])
    assert len(centres_of(far)) == 3
    assert len(centres_of(np.zeros((50, 4)))) == 1
