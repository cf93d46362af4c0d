import math
import pickle

import numpy as np
import pytest
from targets import two_modes

import sterna

NORMAL = sterna.models.normal(3)
EXACT = -1.5 * math.log(5)


def smc(target=NORMAL, **options):
    if not {"n_rounds", "schedule", "frozen"} & set(options):
        options = {"threshold": 0.9, **options}
    return sterna.smc(target, **{"n_particles": 100, "progress": False, **options})


def same(first, second):
    """Whether two results have the same bits."""
    names = ("schedule", "log_weights", "weighted_states", "states", "parameters", "ess", "families", "log_ratios")
    pairs = [(getattr(first, name), getattr(second, name)) for name in names]
    return all(np.array_equal(one, other) for one, other in pairs) and first.log_evidence == second.log_evidence


def test_bits_do_not_depend_on_threads():
    slow = sterna.models.normal(60)
    one = smc(slow, workers=1, n_particles=300)
    assert same(one, smc(slow, workers=1, n_particles=300))
    for workers in (2, 3, 7):
        assert same(one, smc(slow, workers=workers, n_particles=300))
    assert not same(one, smc(slow, workers=1, n_particles=300, seed=2))


def squares(x):
    return -0.5 * float(np.sum((x - 1.0) ** 2))


def test_bits_do_not_depend_on_who_evaluates():
    reference = {"x": sterna.Normal(0, 1, shape=2)}
    targets = [sterna.Target(squares, reference, compile=compiled) for compiled in (True, False)]
    options = {"explorer": "metropolis", "n_particles": 40}
    compiled = smc(targets[0], **options)
    python = smc(targets[1], **options)
    assert same(compiled, python)
    assert same(python, smc(targets[1], workers=2, **options))
    assert compiled.notes == []
    assert len(python.notes) == 1


def test_vectorised_targets():
    def many(x):
        return -2.0 * np.sum(x**2, axis=-1)

    target = sterna.Target(many, {"x": sterna.Normal(0, 1, shape=3)}, vectorized=True)
    result = smc(target, n_particles=200, explorer="metropolis")
    # a false-alarm rate of 6e-5
    assert abs(result.log_evidence.value - EXACT) <= 4 * result.log_evidence.error


@pytest.mark.parametrize("way", [{}, {"n_rounds": 6}, {"schedule": np.linspace(0, 1, 30)}])
@pytest.mark.parametrize("method", [sterna.smc, sterna.ais])
def test_every_way_to_betas(method, way):
    result = method(NORMAL, n_particles=500, threshold=0.99, progress=False, **way) if not way else method(
        NORMAL, n_particles=500, progress=False, **way
    )  # fmt: skip
    # 95 % intervals would miss by more than this once in 16 000
    assert abs(result.log_evidence.value - EXACT) <= 4 * result.log_evidence.error
    assert result.schedule[0] == 0
    assert result.schedule[-1] == 1
    assert (np.diff(result.schedule) > 0).all()
    assert len(result.schedule) == result.n_steps + 1 == len(result.ess) + 1 == len(result.parameters)
    assert result.evidence_curve[-1] == pytest.approx(result.log_evidence.value)
    assert result.frozen == ("schedule" not in way)
    assert result.warnings == []
    variance = result.posterior["x"].values.var()
    # of 1500 numbers, by 4 standard errors
    assert variance == pytest.approx(0.2, abs=4 * 0.2 * math.sqrt(2 / 1500))


def test_conditional_ess_is_the_threshold():
    result = smc(n_particles=400, threshold=0.95, n_pilot=0)
    assert result.conditional_ess[:-1] == pytest.approx(np.full(result.n_steps - 1, 0.95), abs=6e-4)
    assert result.conditional_ess[-1] >= 0.9499


def test_rounds_take_a_known_number_of_steps_of_equal_length():
    result = smc(n_rounds=7, n_particles=500)
    assert [one.n_steps for one in result.rounds] == [2, 4, 8, 16, 32, 64, 128]
    assert result.n_steps == 254
    lengths = np.sqrt(-np.log(result.conditional_ess))
    # a step's length scatters by 1 / sqrt(2 n), 3 %; those of an untuned schedule differ by a factor of 5
    assert lengths.std() / lengths.mean() < 0.15
    # the integral of the standard deviation of the log-likelihood: sqrt(3 / 2) log(5)
    assert result.path_length == pytest.approx(math.sqrt(1.5) * math.log(5), rel=0.05)
    assert smc(n_rounds=3, n_steps=5).n_steps == 5


def test_frozen_runs_adapt_nothing():
    first = smc()
    again = smc(frozen=first, seed=2)
    assert again.frozen
    assert np.array_equal(again.parameters, first.parameters)
    assert np.array_equal(again.schedule, first.schedule)
    # with the same seed, too, the numbers are others than those of all populations before, also those of rounds
    for before in (first, smc(n_pilot=0), smc(n_rounds=2), again):
        next_one = smc(frozen=before, seed=before.settings.seed)
        assert next_one.population == before.population + 1
        # a planted repeat of the earlier numbers has the same draws
        assert not np.isin(next_one.weighted_states, before.weighted_states).any()
    assert smc(n_rounds=2).population == 3


def test_runs_that_tune_nothing_are_frozen():
    """An explorer without parameters that follows given betas adapts nothing."""
    target = sterna.models.ising(size=3)
    assert smc(target, schedule=[0, 0.5, 1], explorer="gibbs").frozen
    assert not smc(schedule=[0, 0.5, 1], explorer="slice").frozen


def test_resampling_happens_below_the_threshold():
    result = smc(n_particles=200, threshold=0.7, resample_below=0.6)
    assert np.array_equal(result.resampled, result.ess < 0.6)
    assert result.resampled.any()
    assert not sterna.ais(NORMAL, n_particles=200, threshold=0.7, progress=False).resampled.any()


def test_both_modes_have_their_weights():
    """The rare mode's share, 0.1, within 4 of the stated errors; a false-alarm rate of 6e-5."""
    target = sterna.Target(two_modes, {"x": sterna.Normal(0, 10, shape=2)})
    result = smc(target, n_particles=2000, threshold=0.98)
    share = result.mean(lambda posterior: posterior["x"].sum("x_dim_0") > 0)
    assert abs(share.value - 0.1) <= 4 * share.error
    weighted = result.weights[result.weighted_states.sum(axis=1) > 0].sum()
    assert weighted == pytest.approx(share.value, abs=0.02)


def test_particles_that_rest_on_one_draw_are_a_warning():
    result = sterna.ais(sterna.models.normal(20, precision=1e4), n_particles=50, schedule=[0, 0.5, 1], progress=False)
    assert math.isnan(result.log_evidence.error)
    (warning,) = result.warnings
    assert warning.startswith("At the target the weights rest on 1.")
    assert "unknown" in warning
    with_resampling = smc(sterna.models.normal(20, precision=1e4), n_particles=50, schedule=[0, 0.5, 1])
    assert "All particles descend from 1." in with_resampling.warnings[0]


def test_heavy_tails_of_weights_are_a_warning():
    """Two steps to a density of which rare draws hold most: a draw's weight has no variance."""

    def log_likelihood(x):
        return 0.9 * x

    target = sterna.Target(log_likelihood, {"x": sterna.Exponential(1.0)})
    result = sterna.ais(target, n_particles=2000, schedule=[0, 1], progress=False)
    assert result.tail_shape > 0.5
    assert "heavy tail" in result.warnings[0]


def test_likelihood_zero_almost_everywhere():
    target = sterna.Target(lambda x: 0.0 if x < 0.1 else -np.inf, {"x": sterna.Uniform(0, 1)})
    result = smc(target, n_particles=1000)
    assert result.zero_share == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / 1000))
    assert result.log_evidence.value == pytest.approx(math.log1p(-result.zero_share))
    assert result.log_evidence.error == pytest.approx(math.sqrt(9 / 1000), rel=0.2)
    assert result.states.shape == (1, 1000, 1)
    assert (result.states < 0.1).all()


def test_messages_name_the_function_and_the_option():
    with pytest.raises(sterna.TargetError, match=r"smc\(\) got .* without a reference"):
        sterna.smc(squares)
    with pytest.raises(sterna.TargetError, match=r"ais\(\) got the int 3"):
        sterna.ais(3)
    with pytest.raises(sterna.OptionError, match="n_particles=1000000000000"):
        smc(n_particles=10**12)


def test_errors_name_the_cause():
    def everywhere(value):
        return sterna.Target(lambda x: value + 0.0 * x, {"x": sterna.Normal(0, 1)})

    with pytest.raises(sterna.InitialStateError, match=r"likelihood is zero .* at all of 100 draws"):
        smc(everywhere(-np.inf))
    with pytest.raises(sterna.EvaluationError, match="log-likelihood is NaN at x="):
        smc(everywhere(np.nan))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_particles": 1}, "n_particles=1 .*at least 2 particles"),
        ({"threshold": 1}, "threshold=1 is not valid: give the relative effective sample size"),
        ({"resample_below": 2}, "resample_below=2 is not valid"),
        ({"n_rounds": 99}, "round r has 2\\*\\*r steps: give at most"),
        ({"n_steps": 5}, "n_steps=5 needs rounds"),
        ({"n_pilot": 1}, "n_pilot=1 is not valid"),
        ({"n_pilot": 101}, "n_pilot=101 is not valid with n_particles=100"),
        ({"n_pilot": 50, "n_rounds": 2}, "n_pilot=50 has no meaning beside n_rounds="),
        ({"threshold": 0.9, "n_rounds": 2}, "threshold=0.9 has no meaning beside n_rounds="),
        ({"threshold": 0.9, "schedule": [0, 1]}, "threshold=0.9 has no meaning beside schedule="),
        ({"schedule": [0, 2]}, "must increase strictly"),
        ({"schedule": [0, 1], "n_rounds": 2}, "give one of the two"),
        ({"frozen": 3}, "frozen=3 is not a result of sterna.smc"),
        ({"n_chains": 3}, "sterna.smc has no option n_chains="),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(sterna.Error, match=message):
        smc(**options)


def test_frozen_results_of_others_are_refused():
    result = smc()
    with pytest.raises(sterna.OptionError, match="give a result of the same target"):
        smc(sterna.models.normal(4), frozen=result)
    with pytest.raises(sterna.OptionError, match="give the same explorer"):
        smc(frozen=result, explorer="metropolis")
    with pytest.raises(sterna.OptionError, match="schedule= has no meaning"):
        smc(frozen=result, schedule=[0, 1])


def test_what_a_result_shows(capsys):
    result = sterna.smc(NORMAL, n_particles=500, threshold=0.98)
    shown = capsys.readouterr().err
    assert "normal, 3 coordinates, 500 particles, slice explorer, seed 1" in shown
    assert "done in" in shown
    assert str(result).startswith("normal, sequential Monte Carlo with 500 particles in ")
    assert repr(result).endswith("no warnings>")
    numbers = result.to_dict()
    assert numbers["n_particles"] == 500
    assert len(numbers["ess"]) == result.n_steps
    copy = pickle.loads(pickle.dumps(result))
    assert np.array_equal(copy.posterior["x"], result.posterior["x"])
    assert result.summary["x[0]"]["ess"] > 10


@pytest.mark.parametrize("n_particles", [2, 5, 8, 15])
def test_few_particles_are_a_warning(n_particles):
    result = smc(n_particles=n_particles)
    assert f"There are only {n_particles} particles" in result.warnings[0]
    assert ("unknown" in result.warnings[0]) == math.isnan(result.log_evidence.error)


def test_hundreds_of_resamplings_have_an_error_or_a_warning():
    result = smc(sterna.models.normal(1), n_particles=200, threshold=0.9999, resample_below=1)
    assert result.resampled.sum() > 100
    error = result.log_evidence.error
    # steps of length 0.01 along a path of length log(5) / sqrt(2) = 1.14 have an error of at least
    # sqrt(114) * 0.01 / sqrt(200) = 0.0075; a zero is what this looks for
    assert (math.isnan(error) and "unknown" in result.warnings[0]) or error > 0.002


def test_narrow_targets_in_few_steps():
    result = sterna.ais(sterna.models.normal(50, precision=1e4), n_rounds=5, n_particles=100, progress=False)
    assert math.isnan(result.log_evidence.error)
    assert result.warnings


def test_enormous_log_likelihoods():
    target = sterna.Target(lambda x: -1e300 * x, {"x": sterna.Uniform(0, 1)})
    assert smc(target, schedule=[0, 0.5, 1]).warnings


def test_a_notebook_and_arviz_show_particles():
    pytest.importorskip("arviz")
    result = smc(schedule=[0, 1], n_particles=200, explorer="slice")
    html = result._repr_html_()
    assert "200 particles in 1 step:" in html
    assert "Modes that no particle reached are not seen" in html
    assert "Modes that no particle reached are not seen" in str(result)
    assert "in 1 step, log evidence" in repr(result)
    tree = result.to_arviz()
    assert tree["posterior"]["x"].shape == (1, 200, 3)
    assert tree["posterior"].attrs["n_particles"] == 200
    assert np.array_equal(tree["sample_stats"]["log_likelihood_sum"], result.log_likelihood)


def test_a_drawn_seed_is_noted():
    result = smc(seed=None)
    assert f"seed={result.settings.seed}" in result.notes[-1]


def test_local_changes():
    """Running energies are compared with whole evaluations every 64 steps."""
    result = smc(sterna.models.ising(size=3), schedule=np.linspace(0, 1, 130), explorer="slice")
    target = sterna.models.ising(size=3)
    again = [target.log_densities(state)[1] for state in result.states[0, :10]]
    assert result.log_likelihood[0, :10] == pytest.approx(again)


@pytest.mark.parametrize("explorer", ["hmc", "evolution", "elliptical", "best"])
def test_other_explorers(explorer):
    """Log evidence within 4 errors: a false-alarm rate of 6e-5; adaptation of few particles adds little."""
    chosen = sterna.Best(sterna.Slice(), sterna.Metropolis()) if explorer == "best" else explorer
    result = smc(sterna.models.normal(3), explorer=chosen, n_particles=500, n_rounds=5)
    assert abs(result.log_evidence.value - EXACT) <= 4 * result.log_evidence.error
    again = smc(sterna.models.normal(3), explorer=chosen, frozen=result, seed=2)
    assert np.array_equal(again.parameters, result.parameters)
