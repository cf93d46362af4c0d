"""What a user reads when a call of `sterna.sample` cannot work: the option or the point, its value, and what to do."""

import dataclasses
import inspect
import math
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from ways import WAYS, AsPython

import sterna

REFERENCE = {"mu": sterna.Normal(), "k": sterna.Poisson(3.0, shape=2)}
# One copy runs in the calling thread, two run in threads of their own.
COPIES = pytest.mark.parametrize("n_copies", [1, 2])


def likelihood(mu):
    return -mu * mu


def sample(function=likelihood, reference=REFERENCE, **options):
    options = {"n_chains": 4, "n_rounds": 4, "progress": False, **options}
    return sterna.sample(function, reference, **options)


# --------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_chains": 1}, 'n_chains=1 must be from 2 to 32767: give a number of chains, both ends included, or "auto"'),
        ({"n_chains": 0}, "n_chains=0 must be"),
        ({"n_chains": -3}, "n_chains=-3 must be"),
        ({"n_chains": 32768}, "n_chains=32768 must be"),
        ({"n_chains": 5.5}, "n_chains=5.5 is not a whole number"),
        ({"n_chains": "5"}, "n_chains='5' is not a whole number"),
        ({"n_chains": None}, "n_chains=None is not a whole number"),
        ({"n_chains": True}, "n_chains=True is not a whole number"),
        ({"n_chains": "auto", "n_rounds": 0, "n_scans": 5}, "learns the number of chains during tuning"),
        ({"n_copies": "many"}, "n_copies='many' is not a whole number"),
        ({"n_copies": 0}, "n_copies=0 must be at least 1"),
        ({"n_copies": 1.5}, "n_copies=1.5 is not a whole number"),
        ({"n_rounds": -1}, "n_rounds=-1 must be from 0 to 40"),
        ({"n_rounds": 41}, "n_rounds=41 must be from 0 to 40"),
        ({"n_rounds": 2.5}, "n_rounds=2.5 is not a whole number"),
        ({"n_rounds": 0}, "n_rounds=0 leaves nothing from which n_scans could follow: give n_scans"),
        ({"n_scans": 0}, "n_scans=0 must be at least 1"),
        ({"n_scans": 10.5}, "n_scans=10.5 is not a whole number"),
        ({"scheme": "dfo"}, "scheme='dfo' is not known"),
        ({"scheme": None}, "scheme=None is not known"),
        ({"scheme": ["deo"]}, r"scheme=\['deo'\]"),
        ({"keep": "some"}, "keep='some' is not known"),
        ({"keep": None}, "keep=None is not known"),
        ({"thin": 0}, "thin=0 must be at least 1"),
        ({"thin": 0.5}, "thin=0.5 is not a whole number"),
        ({"thin": 31}, "thin=31 is more than the 30 sampling scans: no draw would be kept"),
        ({"thin": 8, "n_scans": 7}, "thin=8 is more than the 7 sampling scans"),
        ({"seed": -1}, "seed=-1 must be from 0"),
        ({"seed": 2**63}, "seed=9223372036854775808 must be from 0"),
        ({"seed": 1.5}, "seed=1.5 is not a whole number"),
        ({"workers": 0}, "workers=0 must be at least 1"),
        ({"workers": "all"}, "workers='all' is not a whole number"),
        ({"explorer": "slcie"}, "explorer='slcie' is not known; did you mean \"slice\"\\? For this target without a"),
        ({"explorer": "hmc"}, "gradient"),
        ({"explorer": 3}, "explorer=3: give an explorer such as sterna.Slice"),
        ({"explorer": sterna.Slice}, "explorer=.*Slice"),
        ({"schedule": [], "n_chains": "auto"}, r"schedule=\[\] is not a list of betas; give one for each chain"),
        ({"schedule": 0.5, "n_chains": "auto"}, r"schedule=0.5 is not a list of betas"),
        ({"schedule": [[0, 1], [0, 1]], "n_chains": "auto"}, r"schedule=.* is not a list of betas"),
        ({"schedule": [0, None, 1], "n_chains": "auto"}, r"schedule=\[0, None, 1\] is not numeric"),
        ({"keep": ["target"]}, r"keep=\['target'\] is not known"),
        ({"keep_log_likelihoods": "no"}, "keep_log_likelihoods='no': give True or False"),
        ({"progress": "no"}, "progress='no': give True or False"),
        ({"workers": ThreadPoolExecutor}, "workers=.*is not a whole number"),
        ({"explorer": "nuts"}, "for this target without a gradient there are: elliptical, evolution, .*slice.$"),
        ({"explorer": "mh"}, 'did you mean "metropolis"'),
        ({"explorer": [sterna.Slice()]}, r"explorer=\[Slice\(\)\]: give several explorers as sterna.Cycle"),
        ({"prior": REFERENCE}, "reference= and prior= are two names for the same thing"),
        ({"schedule": [0.0, 1.0]}, r"schedule has shape \(2,\); with n_chains=4 give 4 numbers"),
        ({"schedule": "steep"}, "schedule='steep' is not numeric; give a list of numbers"),
        ({"schedule": [0.0, 0.7, 0.3, 1.0]}, "schedule=.*must increase strictly from exactly 0 to exactly 1"),
        ({"schedule": [0.0, 0.3, 0.3, 1.0]}, "schedule=.*must increase strictly"),
        ({"schedule": [0.1, 0.3, 0.6, 1.0]}, "schedule=.*from exactly 0"),
        ({"schedule": [0.0, 0.3, 0.6, 0.9]}, "schedule=.*to exactly 1"),
        ({"schedule": [0.0, 0.3, np.nan, 1.0]}, "schedule=.*must increase strictly"),
    ],
    ids=lambda part: re.sub(r"<[^>]*>", "", str(part))[:40],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(sterna.OptionError, match=message):
        sample(**options)


@pytest.mark.parametrize("passes", [-1.0, math.nan, math.inf])
def test_bad_passes_are_named(passes):
    with pytest.raises(sterna.OptionError, match=rf"Slice\(passes={passes}\)"):
        sterna.Slice(passes=passes)


def test_explorers_of_the_target_are_offered():
    with pytest.raises(sterna.OptionError, match=r"for this target without a gradient there are: .*heat_bath.*slice"):
        sterna.sample(sterna.models.ising(2), explorer="hcm", progress=False)


def test_smallest_options_work():
    result = sample(n_chains=2, n_rounds=0, n_scans=1, seed=0, workers=1)
    assert result.posterior["mu"].shape == (1, 1)
    assert sample(n_chains=np.int64(2), n_rounds=1, schedule=[0, 1], explorer="slice", scheme="seo").last.n_scans == 2


def test_explorers_that_follow_a_gradient_are_offered_if_there_is_one():
    with pytest.raises(sterna.OptionError, match=r'did you mean "hmc"\? For this target there are: automala.*hmc'):
        sterna.sample(sterna.models.normal(2), explorer="nuts", progress=False)


def test_whole_floats_are_whole_numbers():
    whole = {"n_scans": 10.0, "n_chains": np.float64(4), "seed": np.int64(3), "thin": 2.0, "workers": 1.0}
    settings = sample(**whole, n_rounds=np.float32(2), n_copies=1.0, explorations=1.0).settings
    assert settings == sample(n_scans=10, seed=3, thin=2, workers=1, n_rounds=2, explorations=1).settings
    assert all(type(value) in (int, str, bool, type(None)) for value in dataclasses.asdict(settings).values())


def test_a_seed_is_drawn_and_reported_on_request():
    first, second = (sample(seed=None, n_rounds=2) for _ in range(2))
    assert first.settings.seed != second.settings.seed  # false-alarm rate: 2**-32
    assert f"The seed {first.settings.seed} was drawn" in str(first)
    assert first.to_dict()["seed"] == first.settings.seed
    again = sample(seed=first.settings.seed, n_rounds=2)
    assert np.array_equal(again.states, first.states)


def test_the_reference_may_be_called_prior():
    by_name = sterna.sample(likelihood, prior=REFERENCE, n_chains=4, n_rounds=2, progress=False)
    assert np.array_equal(by_name.states, sample(n_rounds=2).states)
    assert sterna.Target(likelihood, prior=REFERENCE).space.names == ["mu", "k"]
    with pytest.raises(sterna.OptionError, match=r"leave out reference= \(or prior=\)"):
        sterna.sample(sterna.Target(likelihood, REFERENCE), prior=REFERENCE)


def test_options_are_errors_of_sterna_and_of_value():
    assert issubclass(sterna.OptionError, sterna.Error)
    assert issubclass(sterna.OptionError, ValueError)
    assert issubclass(sterna.TargetError, ValueError)
    assert issubclass(sterna.EvaluationError, RuntimeError)
    assert issubclass(sterna.InitialStateError, RuntimeError)


# ------------------------------------------------------------------------------------------ target and reference


def test_reference_must_be_given():
    with pytest.raises(sterna.TargetError, match=r"without a reference.*reference=\{\"mu\": sterna.Normal"):
        sample(reference=None)


def test_reference_without_draws_is_refused():
    with pytest.raises(sterna.TargetError, match=r"draw is None.*give draw\(rng\) and log_density"):
        sample(reference=sterna.Reference(None, likelihood))
    with pytest.raises(sterna.TargetError, match=r"neither a dict of distributions nor a sterna\.Reference"):
        sample(reference=likelihood)


@pytest.mark.parametrize("target", [None, 3, "ising", {"mu": sterna.Normal()}])
def test_target_must_be_a_function_or_a_target(target):
    with pytest.raises(sterna.TargetError, match=r"^sample\(.*give a log-likelihood function"):
        sterna.sample(target, progress=False)


def test_reference_and_data_belong_to_functions_only():
    target = sterna.Target(likelihood, REFERENCE)
    for extra in ({"reference": REFERENCE}, {"data": {"y": 1.0}}):
        with pytest.raises(sterna.OptionError, match="has its reference and data already"):
            sterna.sample(target, **extra, progress=False)


# ------------------------------------------------------------------------------------------------- likelihoods


def point_of(text):
    """The values of mu and k that a message names."""
    found = re.search(r"mu=(\S+), k=\[(\d+) (\d+)\]", text)
    assert found, f"no point in {text!r}"
    return float(found[1]), (int(found[2]), int(found[3]))


def raised(kind, function, n_copies=1, reference=REFERENCE):
    with pytest.raises(kind) as caught:
        sample(function, reference, n_copies=n_copies)
    return caught.value


@WAYS
@COPIES
@pytest.mark.parametrize(("value", "text"), [(math.nan, "NaN"), (math.inf, r"+inf")], ids=["NaN", "inf"])
def test_value_that_is_no_log_density_is_named_with_its_point(way, value, text, n_copies):
    def log_likelihood(mu, k):
        return value if mu > 0.5 else 0.1 * k[0]

    error = raised(sterna.EvaluationError, way(log_likelihood), n_copies)
    assert f"The log-likelihood is {text} at mu=" in str(error)
    assert "return -inf where the likelihood is zero" in str(error)
    mu, _ = point_of(str(error))
    assert mu > 0.5


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1.0, math.nan], r"log-likelihood is NaN at mu=.* Note that data\['y'\] contains NaN\."),
        (
            [1.0, None],
            r"raised TypeError.* Fix the function.* Note that data\['y'\] is of type list, not an array of numb",
        ),
    ],
)
def test_data_that_may_be_the_reason_are_named(y, words):
    with pytest.raises(sterna.EvaluationError, match=words):
        sterna.sample(lambda mu, y: mu - (y[1] - 1.0) ** 2, {"mu": sterna.Normal()}, {"y": y}, progress=False)


def test_shapes_that_do_not_fit_are_named_though_compiled():
    """Numba says only that it is unable to broadcast."""
    reference = {"a": sterna.Normal(shape=3), "b": sterna.Normal(shape=2)}
    target = sterna.Target(lambda a, b: np.sum(a + b), reference)
    with pytest.raises(
        sterna.EvaluationError, match=r"raised ValueError: operands .* shapes \(3,\) \(2,\) at a="
    ) as caught:
        sterna.sample(target, progress=False)
    assert "\n" not in str(caught.value)
    assert target.compiled


def test_a_target_shows_what_it_is():
    target = sterna.models.normal(2)
    assert repr(target) == "<sterna.Target normal of x: dimension 2, compiled>"


def test_explorers_may_be_named_like_their_classes():
    small = sterna.sample(sterna.models.normal(2), explorer="Slice", n_chains=2, n_rounds=2, progress=False)
    assert small.explorer == "slice"


def test_point_is_named_to_the_last_digit():
    """Whoever calls the function at the point named meets the same error."""
    seen = []

    def log_likelihood(mu, k):
        if mu > 0.5:
            seen.append((mu, tuple(k)))
            return math.nan
        return 0.0

    error = raised(sterna.EvaluationError, AsPython(log_likelihood))
    assert point_of(str(error)) == seen[-1]


@WAYS
@COPIES
def test_error_of_the_likelihood_is_named_with_its_point(way, n_copies):
    def log_likelihood(mu, k):
        if mu > 0.5:
            raise ValueError("mu is too large")
        return 0.1 * k[0]

    error = raised(sterna.EvaluationError, way(log_likelihood), n_copies)
    assert "log_likelihood raised ValueError: mu is too large at mu=" in str(error)
    assert point_of(str(error))[0] > 0.5
    assert isinstance(error.__cause__, ValueError)


def test_error_only_python_can_raise_is_named_with_its_point():
    class OwnError(Exception):
        pass

    def log_likelihood(mu, k):
        raise OwnError(f"at {mu}")

    error = raised(sterna.EvaluationError, log_likelihood)
    assert "log_likelihood raised OwnError: at " in str(error)
    assert point_of(str(error))
    assert isinstance(error.__cause__, OwnError)


@WAYS
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda mu, k: k * mu, r"log_likelihood returned an array of shape \(2,\).*did you forget a sum"),
        (lambda mu, k: (mu, mu), "log_likelihood returned a tuple of 2; it must return one number"),
        (lambda mu, k: None, "log_likelihood returned None; it must return one number"),
        (lambda mu, k: "text", "log_likelihood returned 'text'; it must return one number"),
    ],
    ids=["array", "tuple", "None", "text"],
)
def test_return_that_is_no_number_is_named_with_its_point(way, function, message):
    error = raised(sterna.TargetError, way(function))
    assert re.search(message, str(error))
    assert point_of(str(error))


@pytest.mark.parametrize("function", [lambda theta: -theta, lambda theta: -math.exp(theta), lambda x: -x])
def test_a_parameter_that_receives_the_flat_vector_is_named_as_a_possible_reason(function):
    with pytest.raises((sterna.TargetError, sterna.EvaluationError)) as caught:
        sterna.sample(function, {"mu": sterna.Normal()}, n_rounds=2, progress=False)
    (name,) = inspect.signature(function).parameters
    assert f"{name} is not a variable, so it receives the vector of all variables, which is mu" in str(caught.value)
    assert f"call the parameter mu to receive a number, or write {name}[0]" in str(caught.value)


def test_array_of_one_number_is_no_number():
    error = raised(sterna.TargetError, lambda mu, k: np.array([mu]))
    assert "log_likelihood returned an array of shape (1,)" in str(error)


@WAYS
@COPIES
def test_likelihood_that_is_zero_everywhere_has_no_start(way, n_copies):
    error = raised(sterna.InitialStateError, way(lambda mu, k: -math.inf), n_copies)
    assert f"The likelihood is zero (log_likelihood = -inf) at all of {4000 * n_copies} draws" in str(error)
    assert "use a narrower reference" in str(error)


@WAYS
def test_likelihood_that_is_zero_nearly_everywhere_starts(way):
    """False-alarm rate: below 1e-35, the probability that 4000 draws all miss a share of 2 %."""
    result = sample(way(lambda mu, k: 0.0 if mu > 2.0 else -math.inf))
    assert (result.posterior["mu"] > 2.0).all()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@COPIES
@pytest.mark.parametrize("after", [0, 3, 200], ids=["at the start", "while starting", "while sampling"])
def test_interrupts_pass_through_unchanged(interrupt, n_copies, after):
    calls = []
    mine = interrupt("mine")

    def log_likelihood(mu, k):
        calls.append(mu)
        if len(calls) > after:
            raise mine
        return -mu * mu

    error = raised(interrupt, AsPython(log_likelihood), n_copies)
    assert type(error) is interrupt
    assert error.args == ("mine",)


def test_sampling_works_after_an_interrupt():
    def interrupted(mu, k):
        raise KeyboardInterrupt

    raised(KeyboardInterrupt, AsPython(interrupted))
    assert sample().posterior["mu"].size == 30


# ----------------------------------------------------------------------------------------- references of one's own


def draw_two(rng):
    return rng.normal(), rng.poisson(3.0, 2)


def own_reference(draw=draw_two, log_density=lambda mu, k: -0.5 * mu * mu):
    return sterna.Reference(draw, log_density, {"mu": sterna.Real(), "k": sterna.Integer(0, shape=2)})


@WAYS
@pytest.mark.parametrize(("value", "text"), [(math.nan, "NaN"), (math.inf, "+inf")])
def test_density_of_the_reference_that_is_none_is_named_with_its_point(way, value, text):
    reference = own_reference(log_density=way(lambda mu, k: value))
    error = raised(sterna.EvaluationError, likelihood, reference=reference)
    assert f"reference's log-density is {text} at mu=" in str(error)
    assert point_of(str(error))


def test_error_of_the_reference_is_named():
    def log_density(mu, k):
        if mu > 0.5:
            raise ValueError("no density here")
        return 0.0

    error = raised(sterna.EvaluationError, likelihood, reference=own_reference(log_density=log_density))
    assert "The reference's log_density raised ValueError: no density here" in str(error)
    assert point_of(str(error))[0] > 0.5


def test_error_of_a_draw_is_named():
    draws = iter(range(10**6))

    def draw(rng):
        if next(draws) > 3:
            raise ValueError("out of draws")
        return 0.1, np.array([1, 2])

    error = raised(sterna.EvaluationError, likelihood, reference=own_reference(draw=AsPython(draw)))
    assert "The reference's draw raised ValueError: out of draws. Fix the function" in str(error)


def test_local_change_that_is_none_is_named_with_its_point():
    target = sterna.Target(likelihood, REFERENCE, local_change=lambda x, i, new: math.nan)
    with pytest.raises(sterna.EvaluationError, match="local change of the log-likelihood is NaN") as caught:
        sterna.sample(target, n_chains=4, n_rounds=4, progress=False)
    assert point_of(str(caught.value))


def test_a_reference_whose_functions_do_not_belong_together():
    def draw(rng):
        return rng.normal()

    def log_density(x):
        return -x[0] if x[0] > 0 else -np.inf

    def flat(x):
        return 0.0

    with pytest.raises(sterna.EvaluationError, match=r"impossible state at x="):
        sterna.sample(flat, sterna.Reference(draw, log_density), n_chains=3, n_rounds=4, progress=False)


def test_a_lattice_explorer_for_another_lattice():
    with pytest.raises(sterna.OptionError, match="made for another model"):
        sterna.sample(sterna.models.ising(size=4), explorer=sterna.models.ising(size=5).explorer, progress=False)


def test_a_lattice_explorer_of_another_coupling():
    """It would sample another law than the one its energies are recorded for."""
    other = dataclasses.replace(sterna.models.ising(size=4).explorer, coupling=0.2)
    with pytest.raises(sterna.OptionError, match="made for another model"):
        sterna.sample(sterna.models.ising(size=4), explorer=other, progress=False)
    more = dataclasses.replace(sterna.models.ising(size=4).explorer, passes=3)
    assert sterna.sample(sterna.models.ising(size=4), explorer=more, n_rounds=3, progress=False).explorer == "heat_bath"


@pytest.mark.parametrize(("kind", "scale"), [(sterna.Real(0, 2), 3.0), (sterna.Integer(0, 4), 1.0)])
def test_compiled_draws_outside_the_declared_space(kind, scale):
    def draw(rng):
        return (scale * rng.random() * (1.0 if scale > 1 else 0.5) if rng.random() < 0.01 else 1.0,)

    def log_density(v):
        return 0.0

    def flat(v):
        return 0.0

    target = sterna.Target(flat, sterna.Reference(draw, log_density, {"v": kind}))
    assert target.compiled
    with pytest.raises(sterna.EvaluationError, match=r"impossible state at v="):
        sterna.sample(target, n_chains=3, n_rounds=11, progress=False)


def test_targets_are_not_pickled():
    import copy
    import pickle

    target = sterna.models.discrete()
    with pytest.raises(sterna.TargetError, match="build it again"):
        pickle.dumps(target)
    assert copy.deepcopy(target) is target


def test_an_error_of_a_draw_is_not_taken_for_the_likelihoods():
    """Which fails in the same way at the state that was never drawn."""
    calls = 0

    def draw(rng):
        nonlocal calls
        calls += 1
        if calls > 3:
            raise ValueError("my draw is broken")
        return np.ones(1)

    def log_likelihood(x):
        if x[0] == 0.0:
            raise ValueError("the likelihood is broken")
        return 0.0

    reference = sterna.Reference(draw, lambda x: 0.0, {"x": sterna.Real(shape=1)})
    with pytest.raises(sterna.EvaluationError, match="my draw is broken"):
        sterna.sample(log_likelihood, reference, n_chains=4, n_rounds=2, progress=False)
