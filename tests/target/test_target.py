"""Targets: what a likelihood receives, that compiled and Python targets are one, and what is said of errors."""

import gc
import math

import numpy as np
import pytest
from scipy import stats
from signals import python_calls_on_freeing
from ways import WAYS, AsPython, compiled

import sterna
from sterna.engine import callback
from sterna.target.target import OTHER_NAMES


def zero():
    return 0.0


# ------------------------------------------------------------------------------------- what a likelihood receives

REFERENCE = {
    "mu": sterna.Normal(),
    "counts": sterna.Poisson(2.0, shape=3),
    "matrix": sterna.Normal(shape=(2, 3)),
    "k": sterna.Categorical([0.2, 0.3, 0.5]),
    "flags": sterna.Bernoulli(0.5, shape=(2, 2)),
}
STATE = np.concatenate([[0.5], [1, 2, 3], np.arange(6.0), [2], [0, 1, 1, 0]])


def by_name(mu, counts, matrix, k, flags):
    return mu + counts[k] + 10.0 * matrix[1, 2] + 100.0 * flags[1, 0] + 1000.0 * (counts[2] // 2) + matrix.shape[0]


def by_flat_vector(x):
    return x[0] + x[1 + int(x[10])] + 10.0 * x[9] + 100.0 * x[13] + 1000.0 * (int(x[3]) // 2) + 2


EXPECTED = 0.5 + 3 + 50 + 100 + 1000 + 2


@WAYS
@pytest.mark.parametrize("function", [by_name, by_flat_vector])
def test_variables_arrive_by_name_or_in_one_vector(way, function):
    target = sterna.Target(way(function), REFERENCE)
    assert target.compiled == (way is compiled)
    assert target.log_densities(STATE)[1] == EXPECTED


def test_names_of_other_libraries_are_explained():
    target = sterna.Target(lambda mu: -mu * mu, {"mu": sterna.Normal()})
    with pytest.raises(AttributeError, match=r"'sample': sterna.sample\(target\) samples it"):
        target.sample()
    assert not set(OTHER_NAMES) & set(dir(target))


def test_variables_given_by_name_are_the_flat_state():
    target = sterna.Target(by_name, REFERENCE)
    values = target.space.values(STATE)
    assert target.log_densities(**values) == target.log_densities(STATE)
    plain = {"mu": 0.5, "counts": [1, 2, 3], "matrix": [[0, 1, 2], [3, 4, 5]], "k": 2, "flags": [[0, 1], [1, 0]]}
    assert target.log_densities(**plain)[1] == EXPECTED


def test_integers_arrive_as_integers():
    seen = {}

    def log_likelihood(mu, counts, k, flags):
        seen.update(mu=mu, counts=counts, k=k, flags=flags)
        return 0.0

    sterna.Target(AsPython(log_likelihood), REFERENCE).log_densities(STATE)
    assert type(seen["mu"]) is float
    assert type(seen["k"]) is int
    assert seen["counts"].dtype == np.int64
    assert seen["flags"].dtype == np.int64
    assert seen["flags"].tolist() == [[0, 1], [1, 0]]


def test_compiled_integers_divide_as_integers():
    def log_likelihood(k):
        return 7 // k + 0.5 * (7 % k)

    target = sterna.Target(log_likelihood, {"k": sterna.DiscreteUniform(1, 9)})
    assert target.compiled
    assert target.log_densities(k=2)[1] == 3.5


def sum_of_parts(x):
    total = 0.0
    for k in range(x.size):
        total = 2.0 * total + x[k]
    return total


@WAYS
def test_flat_vector_holds_variables_in_their_own_coordinates(way):
    reference = {
        "share": sterna.Dirichlet([1.0, 2.0, 3.0]),
        "k": sterna.Poisson(2.0),
        "v": sterna.MultivariateNormal([1.0, 2.0], [[4.0, 1.0], [1.0, 2.0]]),
        "a": sterna.Normal(),
    }
    target = sterna.Target(way(sum_of_parts), reference)
    state = np.array([0.5, 0.25, 3.0, 0.1, 0.2, -1.0])
    vector = np.concatenate([np.ravel(part) for part in target.space.values(state).values()])
    assert vector[:4].tolist() == [0.5, 0.125, 0.375, 3.0]
    assert target.log_densities(state)[1] == sum_of_parts(vector)


@WAYS
def test_simplex_and_normal_vector_arrive_in_their_own_coordinates(way):
    def log_likelihood(v, share):
        return share[0] + 10.0 * share[2] + 100.0 * v[1]

    reference = {"share": sterna.Dirichlet([1, 1, 1]), "v": sterna.MultivariateNormal([1.0, 2.0], [[4, 0], [0, 9]])}
    target = sterna.Target(way(log_likelihood), reference)
    assert target.log_densities(np.array([0.5, 0.5, 0.0, 1.0]))[1] == 0.5 + 2.5 + 500.0


def test_reference_density_is_the_sum_over_variables():
    target = sterna.Target(zero, REFERENCE)
    exact = stats.norm.logpdf(0.5) + stats.poisson(2).logpmf([1, 2, 3]).sum()
    exact += stats.norm.logpdf(np.arange(6.0)).sum() + math.log(0.5) + 4 * math.log(0.5)
    assert target.log_densities(STATE)[0] == pytest.approx(exact, rel=1e-13)


# ---------------------------------------------------------------------------------- compiled and Python are one


def two_numbers(mu, k):
    return -(mu - 1.0) * (mu - 1.0) + 0.3 * k


def quadratic(v):
    total = 0.0
    for i in range(v.size):
        total -= (i + 1) * v[i] * v[i]
    return total


def arrays(m, b, y):
    total = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            total -= (m[i, j] - b[i] - y[i, j]) ** 2
    return total


MODELS = {
    "number and count": (two_numbers, {"mu": sterna.Normal(), "k": sterna.Poisson(3.0)}, None),
    "simplex": (quadratic, {"v": sterna.Dirichlet([1.0, 2.0, 3.0, 4.0])}, None),
    "normal vector": (quadratic, {"v": sterna.MultivariateNormal([1.0, 2.0, 3.0, 4.0], np.eye(4) + 0.5)}, None),
    "arrays": (
        arrays,
        {"m": sterna.Poisson(2.0, shape=(2, 3)), "b": sterna.Bernoulli(0.3, shape=2)},
        {"y": np.arange(6.0).reshape(3, 2).T},
    ),
    "flat vector of all kinds": (
        sum_of_parts,
        {"a": sterna.Uniform(-2, 0, shape=2), "p": sterna.Dirichlet([1.0, 1.0]), "s": sterna.Spin(0.2)},
        None,
    ),
}


def sampled(function, reference, data, **options):
    options = {
        "n_chains": 4,
        "n_rounds": 4,
        "n_copies": 2,
        "keep": "all",
        "seed": 3,
        "explorer": "slice",
        "progress": False,
        **options,
    }
    return sterna.sample(function, reference, data, **options)


@pytest.mark.parametrize("name", MODELS)
def test_compiled_and_python_targets_give_the_same_bits(name):
    function, reference, data = MODELS[name]
    fast, slow = (sampled(way(function), reference, data) for way in (compiled, AsPython))
    assert fast.target.compiled
    assert not slow.target.compiled
    for one, other in zip(fast.records, slow.records, strict=True):
        assert np.array_equal(one.draws, other.draws)
        assert np.array_equal(one.log_likelihood, other.log_likelihood)
        assert np.array_equal(one.positions, other.positions)
    # the error of so short a run may be unknown
    numbers = [(one.log_evidence.value, one.log_evidence.error) for one in (fast, slow)]
    assert np.array_equal(*numbers, equal_nan=True)
    assert fast.evaluations == slow.evaluations


def test_comparison_of_bits_catches_a_change_in_the_last_digit():
    function, reference, data = MODELS["number and count"]

    def slightly_off(mu, k):
        return two_numbers(mu, k) * (1.0 + 2.0**-52)

    fast, other = sampled(function, reference, data), sampled(AsPython(slightly_off), reference, data)
    assert not np.array_equal(fast.records[0].log_likelihood, other.records[0].log_likelihood)


def test_target_can_be_sampled_again():
    target = sterna.Target(two_numbers, MODELS["number and count"][1])
    first, second = (sterna.sample(target, n_chains=3, n_rounds=4, progress=False) for _ in range(2))
    assert np.array_equal(first.records[0].draws, second.records[0].draws)


def test_two_python_targets_side_by_side_do_not_mix():
    targets = [sterna.Target(AsPython(lambda mu, c=c: c * mu), {"mu": sterna.Normal()}) for c in (1.0, 2.0, 3.0)]
    assert [target.log_densities(mu=1.0)[1] for target in targets] == [1.0, 2.0, 3.0]


def test_python_functions_are_forgotten_with_their_target():
    gc.collect()
    before = len(callback._functions)
    target = sterna.Target(AsPython(two_numbers), MODELS["number and count"][1])
    assert len(callback._functions) == before + 1
    del target
    gc.collect()
    assert len(callback._functions) == before


def test_no_python_code_runs_when_a_target_is_freed():
    """It would handle signals, and Python ignores what a handler raises there: Ctrl-C between two runs was lost."""
    target = sterna.Target(AsPython(two_numbers), MODELS["number and count"][1])
    objects = [target, sterna.sample(target, n_chains=3, n_rounds=2, explorer="slice", progress=False)]
    del target
    assert python_calls_on_freeing(objects) == []


# ------------------------------------------------------------------------------------------------- local changes

COUPLINGS = np.array([[0, 2, -1], [2, 0, 3], [-1, 3, 0]])


def pair_energy(x, couplings):
    total = 0.0
    for i in range(3):
        for j in range(i):
            total += couplings[i, j] * x[i] * x[j]
    return total


def pair_change(x, i, new, couplings):
    field = 0.0
    for j in range(3):
        field += couplings[i, j] * x[j]
    return (new - x[i]) * field


def pair_target(way=compiled, change=pair_change):
    change = None if change is None else way(change)
    reference, data = {"s": sterna.Spin(0.3, shape=3)}, {"couplings": COUPLINGS}
    return sterna.Target(way(pair_energy), reference, data, local_change=change)


def sampled_pairs(target):
    return sterna.sample(target, n_chains=4, n_rounds=5, progress=False)


@WAYS
def test_local_change_gives_the_same_bits_as_the_whole_likelihood(way):
    """Energies are integers here, so that running sums are exact."""
    local, whole = (sampled_pairs(pair_target(way, change)) for change in (pair_change, None))
    assert local.target.compiled == (way is compiled)
    assert np.array_equal(local.records[0].draws, whole.records[0].draws)
    assert np.array_equal(local.records[0].log_likelihood, whole.records[0].log_likelihood)


def test_a_local_change_of_half_the_size_is_refused():
    def half(x, i, new, couplings):
        return 0.5 * pair_change(x, i, new, couplings)

    with pytest.raises(sterna.TargetError, match=r"local_change returned .* where coordinate"):
        sampled_pairs(pair_target(AsPython, half))


def test_local_change_takes_its_first_three_arguments_by_position():
    def change(state, place, value):
        return 0.0

    target = sterna.Target(zero, {"mu": sterna.Normal()}, local_change=change)
    assert target.compiled
    assert target.program.likelihood_change != 0


def test_local_change_that_writes_into_the_state_gets_a_copy():
    def change(x, i, new, couplings):
        field = 0.0
        for j in range(3):
            field += couplings[i, j] * x[j]
        change = (new - x[i]) * field
        x[:] = 7.0
        return change

    writing, plain = sampled_pairs(pair_target(compiled, change)), sampled_pairs(pair_target())
    assert np.array_equal(writing.records[0].draws, plain.records[0].draws)


# -------------------------------------------------------------------------------------------- what a target tells


def test_target_describes_itself():
    target = sterna.Target(two_numbers, MODELS["number and count"][1])
    assert target.name == "two_numbers"
    assert target.dimension == 2
    assert target.compiled
    assert target.notes == []
    assert target.build_seconds > 0
    assert target.explorer is None
    named = sterna.Target(AsPython(two_numbers), MODELS["number and count"][1], name="mine", explorer=sterna.Slice(2))
    assert named.name == "mine"
    assert named.explorer == sterna.Slice(2)


def test_object_without_a_name_is_called_after_its_class():
    class Likelihood:
        def __call__(self, mu):
            return mu

    assert sterna.Target(Likelihood(), {"mu": sterna.Normal()}).name == "Likelihood"


def test_notes_tell_of_every_part_that_runs_as_python():
    reference = sterna.Reference(AsPython(lambda rng: (0.5,)), AsPython(lambda a: 0.0), {"a": sterna.Real()})
    target = sterna.Target(AsPython(lambda a: 0.0), reference, local_change=AsPython(lambda x, i, new: 0.0))
    starts = [note.split(" runs as Python")[0] for note in target.notes]
    assert starts == ["log_likelihood", "local_change", "the reference's log_density", "the reference's draw"]


def test_point_is_described_by_names_and_values():
    target = sterna.Target(zero, REFERENCE)
    text = target.describe_point(STATE)
    assert "mu=0.5" in text
    assert "counts=[1 2 3]" in text
    assert "k=2" in text
    third = target.describe_point(np.full(15, 1 / 3))
    assert "mu=0.3333333333333333" in third


def test_description_of_a_large_point_is_short():
    target = sterna.Target(zero, {"x": sterna.Normal(shape=1000)})
    assert len(target.describe_point(np.linspace(0, 1, 1000))) < 300


# ---------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("function", [None, 3.0, "text"])
def test_likelihood_must_be_a_function(function):
    with pytest.raises(sterna.TargetError, match=f"log_likelihood={function!r} is not a function"):
        sterna.Target(function, {"mu": sterna.Normal()})


def test_unknown_parameters_are_named():
    with pytest.raises(sterna.TargetError, match="log_likelihood has a parameter 'sigma'"):
        sterna.Target(lambda mu, sigma: 0.0, {"mu": sterna.Normal()})
    with pytest.raises(sterna.TargetError, match="local_change has a parameter 'sigma'"):
        sterna.Target(zero, {"mu": sterna.Normal()}, local_change=lambda x, i, new, sigma: 0.0)


@pytest.mark.parametrize("change", [lambda x: 0.0, 3.0], ids=["one parameter", "number"])
def test_local_change_that_cannot_be_called_so_is_refused(change):
    with pytest.raises(sterna.TargetError, match="local_change"):
        sterna.Target(zero, {"mu": sterna.Normal()}, local_change=change)


@pytest.mark.parametrize("state", [np.zeros(1), np.zeros(3), np.zeros((1, 2)), 0.0])
def test_state_of_another_size_is_refused(state):
    target = sterna.Target(zero, {"x": sterna.Normal(shape=2)})
    with pytest.raises(sterna.TargetError, match="A state of zero has 2 coordinates"):
        target.log_densities(state)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "a"),
        ({"a": 1.0}, "b"),
        ({"a": 1.0, "b": [1.0, 2.0], "c": 3.0}, "c"),
        ({"a": [1.0, 2.0], "b": 1.0}, r"shape|coordinates"),
        ({"a": 1.0, "b": [1.0, 2.0, 3.0]}, r"shape|coordinates"),
    ],
)
def test_values_by_name_are_checked(values, message):
    target = sterna.Target(zero, {"a": sterna.Normal(), "b": sterna.Normal(shape=2)})
    with pytest.raises(sterna.TargetError, match=message):
        target.log_densities(**values)


@pytest.mark.parametrize("distribution", [sterna.Dirichlet([1, 1]), sterna.MultivariateNormal([1, 2], np.eye(2))])
def test_values_by_name_in_other_coordinates_are_refused(distribution):
    """A simplex or a normal vector is stored in other coordinates: its own would be taken for those."""
    target = sterna.Target(zero, {"v": distribution})
    with pytest.raises(sterna.TargetError, match="v"):
        target.log_densities(v=[0.5, 0.5])


@WAYS
@pytest.mark.parametrize(("value", "text"), [(math.nan, "NaN"), (math.inf, r"\+inf")])
def test_value_that_is_no_log_density_is_named_with_its_point(way, value, text):
    def log_likelihood(mu, value):
        return mu * value

    target = sterna.Target(way(log_likelihood), {"mu": sterna.Normal()}, {"value": value})
    with pytest.raises(sterna.EvaluationError, match=rf"log-likelihood is {text} at mu=0\.25"):
        target.log_densities(mu=0.25)


def test_likelihood_of_zero_is_fine():
    def log_likelihood(mu):
        return -math.inf

    assert sterna.Target(log_likelihood, {"mu": sterna.Normal()}).log_densities(mu=0.0)[1] == -math.inf
