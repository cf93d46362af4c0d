"""Which explorers are on trial for a target whose user names none."""

import math

import numpy as np
import pytest
from ways import AsPython

import sterna
from sterna.explorers.cost import EXPENSIVE, Cost
from sterna.explorers.default import default_explorer


def square(x):
    return -0.5 * np.sum(x * x)


def slope(x):
    return -x


def target(reference, seconds=0.0, function=square, gradient=None):
    return sterna.Target(function, reference, gradient=gradient).prepare(Cost(seconds))


CASES = {
    "slices alone": (target({"x": sterna.Uniform(0, 1, shape=3)}), "slice"),
    "ellipses": (target({"x": sterna.Normal(0, 1, shape=3)}), "best(slice, elliptical)"),
    "gradient": (target({"x": sterna.Uniform(0, 1, shape=3)}, gradient=slope), "best(slice, hmc, automala)"),
    "expensive": (
        target({"x": sterna.Uniform(0, 1, shape=3)}, 2 * EXPENSIVE),
        "best(slice, metropolis, cycle(evolution, fitted))",
    ),
    "expensive, many coordinates": (
        target({"x": sterna.Uniform(0, 1, shape=300)}, 2 * EXPENSIVE),
        "best(slice, metropolis)",
    ),
    "all": (
        target({"x": sterna.Normal(0, 1, shape=3)}, 2 * EXPENSIVE, gradient=slope),
        "best(slice, hmc, automala, elliptical, metropolis, cycle(evolution, fitted))",
    ),
    "discrete": (target({"x": sterna.Poisson(3, shape=2)}, 2 * EXPENSIVE), "slice"),
    "mixed": (
        target({"z": sterna.Bernoulli(0.5), "x": sterna.Normal(0, 1)}, function=lambda z, x: -z * x * x),
        "best(slice, elliptical and slice)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_who_is_on_trial(name):
    chosen, expected = CASES[name]
    assert default_explorer(chosen).name == expected


def test_a_target_with_an_explorer_of_its_own_keeps_it():
    model = sterna.models.ising(3)
    assert default_explorer(model) is model.explorer


def test_mixed_variables_are_all_explored():
    """Evidence of a mixed target: the real variable integrated, the binary and the integer summed."""

    def terms(z, x, k):
        return 1.5 * z * x - 0.5 * (x - 1.0) ** 2 - 0.1 * k

    reference = {"z": sterna.Bernoulli(0.3), "x": sterna.Normal(0, 2), "k": sterna.Poisson(4)}
    made = sterna.Target(terms, reference, gradient=lambda z, x, k: 1.5 * z - (x - 1.0))
    result = sterna.sample(made, n_chains=5, n_rounds=10, progress=False)
    centres = (1.0 + 1.5 * np.arange(2)) / 1.25
    sums = np.log([0.7, 0.3]) + 0.5 * 1.25 * centres**2 - 0.5 - 0.5 * math.log(4 * 1.25)
    exact = np.logaddexp(*sums) + 4 * math.expm1(-0.1)
    # a false alarm of 6e-5
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error
    assert result.explorer in ("slice", "hmc and slice", "automala and slice", "elliptical and slice")


def test_costs_are_measured():
    cheap = sterna.Target(square, {"x": sterna.Normal(0, 1, shape=3)})
    assert cheap.cost.seconds < EXPENSIVE
    calls = []

    def slow(x):
        calls.append(1)
        return sum(math.sqrt(k) for k in range(1_000_000)) - 0.5 * x[0] ** 2

    dear = sterna.Target(AsPython(slow), {"x": sterna.Normal(0, 1, shape=3)})
    before = len(calls)
    assert dear.cost.seconds > EXPENSIVE
    # the first may load code, the second is timed, and more would cost the user
    assert len(calls) - before == 2


def test_a_gradient_costs_a_power_of_two():
    found = sterna.models.normal(20).cost.gradient
    assert 1 <= found <= 64
    assert math.log2(found).is_integer()


def test_what_fails_while_it_is_timed_is_left_for_the_run():
    def fails(x):
        raise ValueError("always")

    made = sterna.Target(AsPython(fails), {"x": sterna.Normal(0, 1)})
    assert made.cost == Cost()
    with pytest.raises(sterna.EvaluationError, match="always"):
        sterna.sample(made, progress=False)
