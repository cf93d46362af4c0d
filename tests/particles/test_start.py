import math

import numpy as np
import pytest

import sterna
from sterna.particles.start import nearest_steps, states_for_chains


def test_chains_take_states_of_their_nearest_steps():
    betas = np.array([0.1, 0.5, 1.0])
    schedule = np.array([0.0, 0.2, 0.4, 0.9, 1.0])
    assert nearest_steps(betas, schedule).tolist() == [0, 0, 1, 2, 2]
    kept = np.arange(12.0).reshape(3, 4, 1)
    states = states_for_chains(kept, betas, schedule, 2)[..., 0]
    assert states.shape == (2, 5)
    assert (states // 4 == [0, 0, 1, 2, 2]).all()
    # copies, and neighbours of one step, begin at different states
    assert len(set(states.ravel())) == 10


def run(**options):
    return sterna.sample(sterna.models.normal(5), explorer="slice", n_chains=5, n_rounds=6, progress=False, **options)


def test_evidence_is_the_same_from_both_starts():
    """Within 4 errors of the exact value: a false-alarm rate of 6e-5 each."""
    for start in ("reference", "smc"):
        result = run(start=start, n_scans=500)
        assert result.settings.start == start
        assert abs(result.log_evidence.value + 2.5 * math.log(5)) <= 4 * result.log_evidence.error


def test_particles_bring_the_first_round_close_to_stationarity():
    """Chains begin with energies of their own distributions: the target chain's first draw is no draw of the prior."""
    target = sterna.models.normal(10, precision=1000.0)
    options = {"explorer": "metropolis", "n_chains": 3, "n_rounds": 0, "n_scans": 1, "progress": False, "workers": 1}
    far, near = (
        np.mean([sterna.sample(target, start=start, seed=seed, **options).log_likelihood[0, 0] for seed in (1, 2)])
        for start in ("reference", "smc")
    )
    # the mean is about -5 at the target, with a deviation of 2, and -5000 at the reference
    assert near > -40
    assert far < -500


def test_the_default_has_the_same_bits_and_the_start_counts_its_evaluations():
    plain, given = run(), run(start="reference")
    assert np.array_equal(plain.states, given.states)
    assert run(start="smc").evaluations > plain.evaluations


def test_particles_count_as_tuning():
    options = {"n_chains": 3, "n_rounds": 0, "n_scans": 1, "progress": False}
    target = sterna.models.normal(2)
    assert sterna.sample(target, start="smc", **options).timing["tuning"] > 0.0
    assert sterna.sample(target, **options).timing["tuning"] == 0.0


def test_without_a_living_particle_replicas_begin_at_the_reference():
    """Chance leaves all of 50 particles without likelihood with probability 0.93; either way there is a run."""
    target = sterna.Target(lambda x: 0.0 if x > 0.9985 else -math.inf, {"x": sterna.Uniform(0, 1)})
    options = {"n_chains": 16, "n_rounds": 2, "explorer": "slice", "progress": False, "start": "smc", "workers": 1}
    notes = [sterna.sample(target, seed=seed, **options).notes for seed in range(1, 6)]
    # all five have a living particle with probability 2e-6
    assert any("replicas began at draws from the reference" in note for one in notes for note in one)


@pytest.mark.parametrize("start", ["prior", 3])
def test_unknown_starts_are_refused(start):
    with pytest.raises(sterna.OptionError, match='begin at draws from the "reference", or with "smc"'):
        run(start=start)


def test_a_search_that_is_not_made_is_a_note():
    """Beside the start, because both are options that a run may have no use for."""
    options = {"explorer": "slice", "n_chains": 3, "n_rounds": 2, "progress": False, "path": "prior"}
    found = [sterna.sample(sterna.models.normal(2), search=search, **options).notes for search in (1.0, None)]
    assert ["search=1 has no effect" in " ".join(notes) for notes in found] == [True, False]
