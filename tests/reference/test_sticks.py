"""Sticks: a simplex stored by fractions."""

import itertools
import math

import numpy as np
import pytest

from sterna.reference.sticks import break_stick, join_stick, stick, stick_log_jacobian


@pytest.mark.parametrize("size", [1, 2, 7])
def test_compiled_stick_has_the_bits_of_the_other(size):
    for fractions in np.random.default_rng(size).random((50, size)):
        assert np.array_equal(stick(fractions), join_stick(fractions))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_jacobian_of_the_stick_is_its_determinant(size):
    """Central differences of all parts but the last; the determinant is exact to their error."""
    step = 1e-6
    for fractions in np.random.default_rng(size).uniform(0.1, 0.9, (20, size)):
        columns = []
        for k in range(size):
            move = step * np.eye(size)[k]
            columns.append((stick(fractions + move) - stick(fractions - move))[:-1] / (2 * step))
        exact = math.log(abs(np.linalg.det(np.array(columns))))
        assert stick_log_jacobian(fractions) == pytest.approx(exact, abs=1e-8)
    # planted fault: one factor too few
    assert size == 1 or stick_log_jacobian(fractions[1:]) != pytest.approx(exact, abs=1e-8)


def test_breaking_a_stick_undoes_joining_it():
    for size in (1, 2, 9):
        for fractions in np.random.default_rng(size).uniform(0.01, 0.99, (50, size)):
            found = np.empty(size)
            break_stick(stick(fractions), found)
            assert np.allclose(found, fractions, rtol=1e-9)


@pytest.mark.parametrize("parts", list(itertools.permutations([1.0, 0.0, 0.0])))
def test_corners_of_the_simplex_break_into_fractions_inside(parts):
    fractions = np.empty(2)
    break_stick(np.array(parts), fractions)
    assert ((fractions > 0) & (fractions < 1)).all()
    assert np.allclose(stick(fractions), parts, atol=1e-15)
