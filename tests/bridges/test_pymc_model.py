"""PyMC models as targets: the split, the draws, whole runs, and what is refused."""

import math
import subprocess
import sys

import numpy as np
import pymc as pm
import pymc_models
import pytensor.tensor as pt
import pytest
from pymc_checks import check_draws, check_split, prior_states
from pymc_models import CASES, check_case
from pytensor.compile.ops import wrap_py
from quick import first
from scipy import stats
from scipy.special import ndtr

import sterna
from sterna.bridges import pymc_prior
from sterna.bridges.pymc_model import Graphs
from sterna.bridges.pymc_space import kinds_of
from sterna.bridges.pytensor_numba import array_mode
from sterna.command_line.commands import find_target
from sterna.ground.code_cache import CodeCache
from sterna.reference.space import space_of
from sterna.target import code

REALS = [name for name in CASES if name not in ("mixture_with_indicators", "change_point", "potts")]
Y = np.array([1.0, 2.0, 0.5])


@pytest.fixture
def _nothing_compiled(monkeypatch):
    """Compile nothing: a graph can be checked without."""
    monkeypatch.setattr(pymc_prior, "machine_mode", array_mode)


def built(write):
    with pm.Model() as model:
        write()
    return model


@pytest.mark.usefixtures("_nothing_compiled")
@pytest.mark.parametrize("name", CASES)
def test_split_and_draws(name):
    """Both parts add up to PyMC's log-density, and draws follow the prior's: a false alarm of 6e-5 for each of 9."""
    model = CASES[name].model()
    states, graphs = prior_states(model, 600)
    check_split(model, states[:20], graphs)
    if name in REALS:
        # the prior of ordered cuts is restricted and not normalised
        check_draws(states, graphs, ndtr(2 / math.sqrt(8)) if name == "ordered_logistic" else 1.0)


def test_likelihood_is_what_is_observed():
    target = sterna.from_pymc(pymc_models.missing())
    known = pymc_models.GAPS[~np.isnan(pymc_models.GAPS)]
    reference, likelihood = target.log_densities(np.array([0.5, 1.0, -1.0]))
    assert likelihood == pytest.approx(stats.norm.logpdf(known, 0.5, 1.0).sum(), rel=1e-12)
    expected = stats.norm.logpdf(0.5, 0, 2) + stats.norm.logpdf([1.0, -1.0], 0.5, 1.0).sum()
    # PyMC takes the logarithm of an integer in single precision
    assert reference == pytest.approx(expected, rel=1e-8)


@pytest.mark.usefixtures("_nothing_compiled")
@pytest.mark.parametrize("fault", ["no jacobian", "potential twice", "prior twice", "prior in the likelihood alone"])
def test_faults_are_seen(fault, monkeypatch):
    def write():
        sigma = pm.Exponential("sigma", 1.0)
        pm.Normal("y", 0, sigma, observed=Y)
        pm.Potential("potential", -sigma)

    def faulty(self):
        own = self.model
        seen = [*own.observed_RVs, *own.potentials]
        prior, likelihood = own.logp(vars=own.free_RVs), own.logp(vars=seen)
        if fault == "no jacobian":
            prior = own.logp(vars=own.free_RVs, jacobian=False)
        elif fault == "potential twice":
            likelihood = likelihood + own.logp(vars=own.potentials)
        else:
            likelihood = own.logp()
            prior = prior if fault == "prior twice" else pt.zeros(())
        return self.of_state([prior, likelihood])

    model = built(write)
    states, graphs = prior_states(model, 600)

    def check():
        check_split(model, states[:20], graphs)
        check_draws(states, graphs)

    check()
    monkeypatch.setattr(Graphs, "log_densities", faulty)
    with pytest.raises(AssertionError):
        check()


@pytest.mark.parametrize("name", first(1, ["change_point", "zero_inflated", "gaussian_process"]))
def test_compiled_equals_plain(name):
    """Compiled densities equal PyTensor's in Python, and gradients, in one function or two, central differences."""
    model = CASES[name].model()
    target = sterna.from_pymc(model)
    assert target.notes == []
    states, graphs = prior_states(target.view.model, 10)
    plain = graphs.compile(graphs.log_densities(), array_mode())
    for state in states:
        np.testing.assert_allclose(target.log_densities(state), plain(state), rtol=1e-9)
    x, real = states[0], target.program.value_type == 0
    slope = target.gradient(x, 0.3)
    assert target.program.whole_gradient != 0
    for i in np.flatnonzero(real):
        step = np.zeros(len(x))
        step[i] = 1e-5
        ends = [reference + 0.3 * likelihood for reference, likelihood in both_sides(target, x, step)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6)
    assert (slope[~real] == 0).all()
    in_two = sterna.from_pymc(model)
    in_two._definition.gradients._whole = None
    np.testing.assert_allclose(in_two.gradient(x, 0.3), slope, rtol=1e-9)
    assert in_two.program.whole_gradient == 0


def test_code_around_pytensors_is_compiled_once_and_kept_on_disk():
    """Addresses of PyTensor's functions and data are not part of it: models of one form share it."""

    def model(data):
        def write():
            mu = pm.Normal("mu", 0, 2)
            pm.Normal("y", mu, 1, observed=pm.Data("data", data))

        return built(write)

    targets, states = [sterna.from_pymc(model(Y))], [np.array([0.3])]
    targets[0].gradient(states[0])
    before = code.compile_entry_once.cache_info().misses
    targets.append(sterna.from_pymc(model(3 * Y)))
    targets[1].gradient(states[0])
    assert code.compile_entry_once.cache_info().misses == before
    for target, data in zip(targets, (Y, 3 * Y), strict=True):
        assert target.notes == []
        assert target.log_densities(states[0])[1] == pytest.approx(stats.norm.logpdf(data, 0.3).sum(), rel=1e-12)
        assert target.gradient(states[0]) == pytest.approx(np.sum(data - 0.3) - 0.3 / 4, rel=1e-9)
        functions = [*target._definition.functions, *target._definition.gradients.entered()]
        assert [one.function.label for one in functions] == [
            "log_likelihood",
            "the reference's log_density",
            "the reference's draw",
            "gradient",
        ]
        assert all(isinstance(one.code._cache, CodeCache) for one in functions)


def both_sides(target, x, step):
    return [target.log_densities(x + side * step) for side in (1, -1)]


def test_a_run_with_a_discrete_switch():
    """Evidence and means within 4 standard errors of the exact ones: a false alarm of 6e-5 each."""
    check_case(CASES["change_point"], n_rounds=9, n_copies=1)


def test_same_bits_for_any_number_of_threads():
    target = sterna.from_pymc(CASES["change_point"].model())
    runs = [
        sterna.sample(target, explorer="slice", n_chains=4, n_rounds=5, n_copies=3, workers=w, progress=False)
        for w in (1, 2)
    ]
    assert runs[0].posterior.equals(runs[1].posterior)


def test_what_pytensor_cannot_compile_runs_as_python():
    """A user's function without a gradient, in a conjugate model; a false alarm of 6e-5."""

    @wrap_py(itypes=[pt.dscalar], otypes=[pt.dscalar])
    def double_it(mu):
        return np.asarray(2.0 * mu)

    model = built(lambda: pm.Normal("y", double_it(pm.Normal("mu")), 1.0, observed=3.0))
    target = sterna.from_pymc(model)
    assert not target.has_gradient
    result = sterna.sample(target, n_chains=4, n_rounds=9, progress=False)
    (note,) = result.notes
    assert "log_likelihood runs as Python" in note
    assert "double_it" in note
    found = result.log_evidence
    assert abs(found.value - stats.norm.logpdf(3.0, 0, math.sqrt(5.0))) < 4 * found.error


@pytest.mark.usefixtures("_nothing_compiled")
def test_integers_have_the_bounds_of_their_distributions():
    """By the step of `from_pymc` that finds them; the densities of so many families take half a minute to compile."""

    def write():
        a = pm.Binomial("a", 5, 0.5)
        b = pm.Geometric("b", 0.3)
        c = pm.Bernoulli("c", 0.4, shape=3)
        d = pm.Categorical("d", p=pm.math.softmax(pm.Normal("logits", shape=4)))
        e = pm.DiscreteUniform("e", [-1, 0], 2, shape=2)
        f = pm.DiscreteUniform("f", 0, a)
        pm.DiracDelta("g", 3)
        pm.Potential("all", (a + b + d + f) * 1.0 + c.sum() + e.sum())

    model = built(write)
    space = space_of(kinds_of(model, pymc_prior.PriorDraw(model).checked_example()))
    kinds = {v.name: (v.lower, v.upper, v.value_type) for v in space.variables}
    assert kinds["a"] == (0, 5, 1)
    assert kinds["b"] == (1, np.inf, 1)
    assert kinds["c"] == (0, 1, 2)
    assert kinds["d"] == (0, 3, 1)
    # PyMC stores it in eight bits, in which 259 is 3
    assert kinds["g"] == (-128, 127, 1)
    assert kinds["e"] == (-1, 2, 1)
    assert kinds["f"][:2] == (-np.inf, np.inf) or kinds["f"][:2] == (0, np.inf)


def test_unchecked_indices_are_not_compiled():
    def write():
        place = pm.Poisson("place", 1.0, shape=2)
        mu = pm.Normal("mu", shape=(3, 3))
        pm.Normal("y", mu[place, place], 1.0, observed=[0.0, 1.0])

    target = sterna.from_pymc(built(write))
    assert all("without an upper bound" in note for note in target.notes)
    with pytest.raises(IndexError):
        target.log_densities(np.array([0.0, 3.0, *np.zeros(9)]))


def test_data_are_those_of_the_time_of_making():
    with pm.Model() as model:
        y = pm.Data("y", [1.0, 2.0])
        mu = pm.Normal("mu")
        pm.Deterministic("shifted", mu + y.sum())
        pm.Normal("seen", mu, 1.0, observed=y)
    target = sterna.from_pymc(model)
    before = target.log_densities(np.zeros(1))
    pm.set_data({"y": [5.0, 6.0]}, model=model)
    assert target.log_densities(np.zeros(1)) == before
    assert target.values(np.zeros((1, 1)))["shifted"] == [3.0]


def test_free_variables_may_depend_on_observed_ones():
    """The prior of a variable that depends on an observation is drawn given the observation."""

    def write():
        y = pm.Normal("y", 0, 1, observed=10.0)
        z = pm.Normal("z", y, 0.1)
        pm.Normal("w", z, 1.0, observed=11.0)

    states, _ = prior_states(built(write), 50)
    assert abs(states.mean() - 10.0) < 0.1


def partly_missing():
    mu = pm.Normal("mu", shape=2)
    pm.MvNormal("y", mu, np.eye(2), observed=np.ma.masked_invalid([[1.0, np.nan], [2.0, 3.0]]))


def in_batches():
    batch = pm.Minibatch(np.arange(100.0), batch_size=10)
    pm.Normal("y", pm.Normal("mu"), 1.0, observed=batch, total_size=100)


def without_random():
    c = pm.CustomDist("c", 0.0, logp=lambda value, mu: -0.5 * (value - mu) ** 2)
    pm.Normal("y", c, 1.0, observed=Y)


def simulated():
    pm.Simulator("y", lambda rng, mu, size: rng.normal(mu, 1, size=size), pm.Normal("mu"), epsilon=1, observed=Y)


def summing_to_one():
    c = pm.Normal("c", shape=3, transform=pm.distributions.transforms.sum_to_1)
    pm.Normal("y", c, 1.0, observed=Y)


@pytest.mark.filterwarnings("ignore:Data in y contains missing values", "ignore:The sum_to_1 transform is deprecated")
@pytest.mark.usefixtures("_nothing_compiled")
@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda: pm.Normal("y", pm.Flat("mu"), 1, observed=Y), "'mu' has the improper prior Flat"),
        (lambda: pm.Normal("y", 0, pm.HalfFlat("s"), observed=Y), "'s' has the improper prior HalfFlat"),
        (lambda: pm.Normal("mu"), "neither an observed variable nor a potential"),
        (lambda: pm.Normal("y", observed=Y), "no free variable"),
        (in_batches, "draws random numbers"),
        (simulated, "'y' is a pm.Simulator"),
        (partly_missing, "'y_unobserved' are missing values within vectors"),
        (without_random, "needs random= or dist="),
        (summing_to_one, "The transform of 'c' turns the prior's draw"),
        (lambda: pm.Normal("y", pm.Gamma("c", 1e-3, 1e-3), 1, observed=Y), "The prior of 'c' draws numbers that round"),
        (lambda: pm.Normal("y", pm.Multinomial("n", 4, [0.2, 0.3, 0.5]), 1, observed=Y), "'n' is a vector of integers"),
    ],
)
def test_refusals_name_the_variable(write, words):
    with pytest.raises(sterna.TargetError, match=words.replace("(", r"\(")):
        sterna.from_pymc(built(write))


def test_models_take_no_reference():
    model = built(lambda: pm.Normal("y", pm.Normal("mu"), 1, observed=Y))
    with pytest.raises(sterna.OptionError, match="has its prior and data already"):
        sterna.sample(model, reference={"mu": sterna.Normal(0, 1)})


def test_sterna_alone_imports_none_of_them():
    code = "import sys, sterna; assert not {'pymc', 'pytensor', 'arviz'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.usefixtures("_nothing_compiled")
@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda: pm.Deterministic("draw", pm.Normal("x") * 2), "'draw' cannot name a variable"),
        (lambda: pm.Normal("x", dims="copy"), "'copy' cannot name a dimension"),
    ],
)
def test_names_that_results_need(write, words):
    with pm.Model(coords={"copy": ["a", "b"]}) as model:
        write()
        pm.Normal("y", model["x"], 1.0, observed=[1.0, 2.0])
    with pytest.raises(sterna.TargetError, match=words):
        sterna.from_pymc(model)


def test_initial_values_are_left_to_the_user():
    """With coordinates and initial values PyMC itself refuses to freeze a model."""
    with pm.Model(coords={"side": ["low", "high"]}) as model:
        mu = pm.Normal("mu", [0.0, 1.0], 3.0, dims="side", initval=[-1.0, 1.0])
        pm.Normal("y", mu, 1.0, observed=[-2.0, 2.0])
    result = sterna.sample(model, n_rounds=3, n_chains=3, explorer="slice", progress=False)
    assert list(result.summary) == ["mu[low]", "mu[high]"]
    assert list(model.rvs_to_initial_values[mu]) == [-1.0, 1.0]


def test_coordinates_that_repeat_hide_no_row_of_the_summary():
    with pm.Model(coords={"group": ["a", "a", "b"]}) as model:
        pm.Normal("y", pm.Normal("mu", dims="group"), 1.0, observed=[0.0, 1.0, 2.0])
    result = sterna.sample(model, n_rounds=3, n_chains=3, explorer="slice", progress=False)
    assert list(result.summary) == ["mu[0]", "mu[1]", "mu[2]"]


def test_a_dimension_with_the_name_of_a_variable():
    with pm.Model(coords={"group": ["a", "b"]}) as model:
        try:
            scale = pm.HalfNormal("group")
        except ValueError as error:
            if "conflicts with an existing dimension name" not in str(error):
                raise
            pytest.skip("this version of PyMC refuses such a model itself")
        pm.Normal("effect", 0.0, scale, dims="group")
        pm.Normal("y", model["effect"], 1.0, observed=[0.0, 1.0])
    result = sterna.sample(model, n_rounds=3, n_chains=3, explorer="slice", progress=False)
    assert result.posterior["effect"].dims == ("copy", "draw", "effect_dim_0")
    assert result.posterior["group"].dims == ("copy", "draw")
    assert result.to_arviz()["posterior"]["effect"].shape[2:] == (2,)


def test_what_is_added_to_a_model_later_is_not_in_its_result():
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Normal("y", x, 1.0, observed=1.0)
    result = sterna.sample(model, n_rounds=3, n_chains=3, explorer="slice", progress=False)
    with model:
        pm.Normal("w", x, 1.0, observed=[1.0, 2.0])
    assert list(result.to_arviz()["log_likelihood"].data_vars) == ["y"]


def test_the_command_line_takes_a_model(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import pymc as pm\nwith pm.Model() as model:\n    pm.Normal('y', pm.Normal('x'), observed=1.0)\n")
    with pytest.raises(sterna.OptionError, match="finished target"):
        find_target(f"{path}:model", {"a": "1"})
    assert find_target(f"{path}:model", {}).space.names == ["x"]
