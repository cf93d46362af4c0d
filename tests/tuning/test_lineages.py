"""Replicas that are copies of one state, from index processes of rounds and changes of the number of chains."""

from types import SimpleNamespace

import numpy as np
from targets import two_modes

import sterna
from sterna.tuning.lineages import ancestors_of, next_ancestors

# Three replicas in two scans: the first visits the reference and ends at chain 1; the others end at chains 0 and 2.
POSITIONS = np.array([[0, 1, 2], [1, 0, 2]], dtype=np.int16)


def test_visitors_of_the_reference_have_no_ancestor_in_common():
    found = next_ancestors(np.array([4, 4, 4]), POSITIONS, None)
    assert found[2] == 4
    assert len(set(found.tolist())) == 3


def test_new_chains_descend_from_those_whose_states_they_take():
    """Chains 1 and 2 are taken from chain 1, held by the first replica; chains 3 and 4 from chain 2, the last one's."""
    found = next_ancestors(np.array([0, 1, 2]), POSITIONS, np.array([0, 1, 1, 2, 2]))
    assert found[1] == found[2]
    assert found[3] == found[4] == 2
    assert len(set(found.tolist())) == 3


def test_before_the_first_round_all_replicas_are_reference_draws():
    assert ancestors_of([], np.array([0.0, 1.0])) is None


def test_ancestors_of_a_run_have_the_same_states():
    """After one round, of 2 scans, the chains double: replicas of one ancestor begin round 2 at the same state."""
    one = SimpleNamespace(
        n_chains=3,
        schedule=np.array([0.0, 0.5, 1.0]),
        positions=[POSITIONS, POSITIONS],
        placement_barrier=SimpleNamespace(smooth=lambda beta: beta),
    )
    found = ancestors_of([one], np.array([0.0, 0.2, 0.6, 0.9, 1.0]))
    assert found[0].tolist() == found[1].tolist()
    # 0.2 and 0.6 are nearest to 0.5, which the first replica holds
    assert found[0][1] == found[0][2]
    assert found[0][3] == found[0][4] == 2


def test_a_run_without_restarts_has_no_more_journeys_than_first_replicas():
    """Modes so narrow that no replica arrives: the journeys descend from the 8 of the first round or the reference."""
    target = sterna.Target(two_modes, {"x": sterna.Uniform(-20, 20, shape=20)})
    result = sterna.sample(target, n_rounds=5, progress=False)
    assert result.settings.n_chains > 8
    ancestors = ancestors_of(result.rounds[:-1], result.last.schedule)[0]
    visitors = (np.concatenate([one.positions[0].min(axis=0) for one in result.rounds[:-1]]) == 0).sum()
    assert len(np.unique(ancestors)) <= 8 + visitors
    assert len(np.unique(ancestors)) < result.settings.n_chains
