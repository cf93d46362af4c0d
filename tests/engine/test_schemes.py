"""The table of swap schemes against the rules that compiled code follows."""

import numpy as np
import pytest

from sterna import OptionError
from sterna.engine.schemes import SCHEMES, find_scheme, next_direction, parity_of
from sterna.ground.streams import scan_key


def stream(number):
    return np.random.default_rng(number).integers(2**64, size=5, dtype=np.uint64)


def key(scan):
    """Return the key of a scan as compiled code has it."""
    return tuple(np.uint64(lane) for lane in scan_key(1, 0, 1, scan))


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.name)
def test_persistence_is_that_of_the_rule(scheme):
    """Shares of 4000 draws within 5 standard errors: a false alarm of 6e-7 for each of four cases."""
    for up in (0, 1):
        for accepted in (0, 1):
            ahead = up if accepted else 1 - up
            goes = np.mean([next_direction(scheme.code, up, accepted, stream(n)) == ahead for n in range(4000)])
            assert abs(goes - scheme.persistence) <= 5 * np.sqrt(scheme.persistence * (1 - scheme.persistence) / 4000)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.name)
def test_parity_changes_as_often_as_directions_persist(scheme):
    """A replica that is swapped goes on only if the next scan proposes the other parity."""
    parities = np.array([parity_of(scheme.code, scan, key(scan)) for scan in range(1, 4001)])
    changes = np.mean(parities[1:] != parities[:-1])
    assert abs(changes - scheme.persistence) <= 5 * np.sqrt(scheme.persistence * (1 - scheme.persistence) / 4000)


def test_codes_differ_and_names_are_keys():
    assert len({scheme.code for scheme in SCHEMES.values()}) == len(SCHEMES)
    assert all(find_scheme(name).name == name for name in SCHEMES)


@pytest.mark.parametrize("name", ["neo", None, 0])
def test_unknown_name_is_told_those_that_are_known(name):
    with pytest.raises(OptionError, match='is not known: give "deo" \\(non-reversible\\) or "seo" \\(reversible\\)'):
        find_scheme(name)
