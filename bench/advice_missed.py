"""Sick runs that miss mass, and the same posteriors under references that know where it is."""

import math

import numpy as np
from advice_case import Case, of_battery
from honesty_healthy import mixture
from honesty_modes import spike_likelihood, unequal_widths, value_likelihood

import sterna


def draw_nearby(rng, places, wides, half_side):
    """Return a draw from the box, or from around one of some places, with equal probabilities."""
    k = int((len(places) + 1) * rng.random())
    if k == len(places):
        return rng.uniform(-half_side, half_side, places.shape[1])
    return places[k] + wides[k] * rng.standard_normal(places.shape[1])


def log_density_nearby(x, places, wides, half_side):
    """Return the log-density of `draw_nearby`."""
    found = -x.size * math.log(2 * half_side)
    for k in range(len(places)):
        square = 0.0
        for i in range(x.size):
            square += (x[i] - places[k, i]) ** 2
        around = -0.5 * square / wides[k] ** 2 - x.size * (math.log(wides[k]) + 0.5 * math.log(2 * math.pi))
        found = np.logaddexp(found, around)
    return found - math.log(len(places) + 1.0)


def likelihood_nearby(x, centres, log_weights, widths, places, wides, half_side):
    """Return the logarithm of likelihood and box over the new reference."""
    change = -x.size * math.log(2 * half_side) - log_density_nearby(x, places, wides, half_side)
    return mixture(x, centres, log_weights, widths) + change


NEARBY = "reference nearby"


def modes_nearby(dimension, ratio, *places):
    """Two modes of different widths, and a reference that knows some of them."""
    centres = np.outer([-1.0, 1.0], np.full(dimension, 5.0 * dimension**-0.5))
    widths = np.array([1.0, 1.0 / ratio]) * 0.7
    data = {"centres": centres, "log_weights": np.log([0.5, 0.5]), "widths": widths}
    data |= {"places": centres[list(places)], "wides": 1.5 * widths[list(places)], "half_side": 10.0}
    space = {"x": sterna.Real(lower=-10, upper=10, shape=dimension)}
    return sterna.Target(likelihood_nearby, sterna.Reference(draw_nearby, log_density_nearby, space), data)


def missed_modes():
    """Two modes, of which the narrow one is missed, and both added to the reference."""
    cases = []
    for dimension, ratio in ((8, 2), (10, 3), (12, 5)):
        case = of_battery("missed_mass", unequal_widths, f"1 : {ratio}, d={dimension}")
        case.others[NEARBY] = lambda d=dimension, r=ratio: modes_nearby(d, r, 0, 1)
        cases.append(case)
    return cases


def claimed_modes():
    """Two modes, of which only the narrow one is added to the reference: the other is rarely met along the path."""
    return [
        Case(
            "evidence_too_large",
            f"narrow mode nearby: 1 : {ratio}, d={dimension}",
            lambda d=dimension, r=ratio: modes_nearby(d, r, 1),
            others={NEARBY: lambda d=dimension, r=ratio: modes_nearby(d, r, 0, 1)},
        )
        for dimension, ratio in ((10, 3), (11, 4), (12, 5))
    ]


def draw_slab_and_spike(rng, sd, dimension):
    """Half of the draws are from the slab, half around the spike."""
    return rng.standard_normal(dimension) * (1.0 if rng.random() < 0.5 else sd)


def log_density_slab_and_spike(x, sd):
    """Return the log-density of `draw_slab_and_spike`."""
    square = 0.0
    for i in range(x.size):
        square += x[i] * x[i]
    around = -0.5 * square / sd**2 - x.size * math.log(sd)
    return np.logaddexp(around, -0.5 * square) - math.log(2.0) - 0.5 * x.size * math.log(2 * math.pi)


def spike_nearby(x, log_weight, spike, slab, sd, dimension):
    """Return the logarithm of spike and slab over the new reference."""
    square = 0.0
    for i in range(x.size):
        square += x[i] * x[i]
    old = -0.5 * square - 0.5 * x.size * math.log(2 * math.pi)
    return spike_likelihood(x, log_weight, spike, slab) + old - log_density_slab_and_spike(x, sd)


def missed_spikes():
    """A spike on a slab, and a reference to which it is added."""
    found = []
    for dimension, spike, weight in ((20, 0.1, 100.0), (10, 0.1, 100.0), (30, 0.2, 30.0)):
        data = {"log_weight": math.log(weight), "spike": spike, "slab": 1.0}
        reference = sterna.Reference(
            draw_slab_and_spike, log_density_slab_and_spike, {"x": sterna.Real(shape=dimension)}
        )
        other = data | {"sd": 2 * spike, "dimension": dimension}
        found.append(
            Case(
                "missed_mass",
                f"spike: {spike:g} on 1, d={dimension}",
                lambda d=dimension, data=data: sterna.Target(
                    spike_likelihood, {"x": sterna.Normal(0, 1, shape=d)}, data
                ),
                others={NEARBY: lambda r=reference, d=other: sterna.Target(spike_nearby, r, d)},
            )
        )
    return found


def draw_value_nearby(rng, wide):
    """Half of the draws have the value that was never visited."""
    if rng.random() < 0.5:
        return float(rng.integers(0, 3)), rng.uniform(-10.0, 10.0, 4)
    return 2.0, 0.5 + wide * rng.standard_normal(4)


def log_density_value_nearby(kind, x, wide):
    """Return the log-density of `draw_value_nearby`."""
    found = -math.log(3.0) - x.size * math.log(20.0)
    if kind == 2:
        square = 0.0
        for i in range(x.size):
            square += (x[i] - 0.5) ** 2
        around = -0.5 * square / wide**2 - x.size * (math.log(wide) + 0.5 * math.log(2 * math.pi))
        found = np.logaddexp(found, around)
    return found - math.log(2.0)


def value_likelihood_nearby(kind, x, centres, widths, log_weights, wide):
    """Return the logarithm of likelihood and old reference over the new one."""
    change = -math.log(3.0) - x.size * math.log(20.0) - log_density_value_nearby(kind, x, wide)
    return value_likelihood(kind, x, centres, widths, log_weights) + change


def missed_value():
    """A categorical value that is never visited."""
    weights = np.array([0.5, 0.383, 0.117])
    data = {"centres": np.array([-3.0, 3.0, 0.5]), "widths": np.array([1.0, 1.0, 0.02])}
    data["log_weights"] = np.log(3.0 * weights)
    reference = {"kind": sterna.Categorical(np.full(3, 1 / 3)), "x": sterna.Uniform(-10, 10, shape=4)}
    space = {"kind": sterna.Integer(0, 2), "x": sterna.Real(lower=-10, upper=10, shape=4)}
    nearby = sterna.Reference(draw_value_nearby, log_density_value_nearby, space)
    return Case(
        "missed_mass",
        "unvisited value: d=4",
        lambda: sterna.Target(value_likelihood, reference, data),
        others={NEARBY: lambda: sterna.Target(value_likelihood_nearby, nearby, data | {"wide": 0.04})},
    )
