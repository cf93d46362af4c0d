"""Sick runs for each kind of warning, and what its advice means for them if it is more than an option."""

import math

import numpy as np
from advice_case import Case, normal, of_battery
from advice_missed import claimed_modes, missed_modes, missed_spikes, missed_value
from honesty_geometry import funnels, heavy_tails, rosenbrock
from honesty_healthy import equal_widths, label_switching, many_wells
from honesty_modes import spike_likelihood, ten_modes, unequal_widths

import sterna

# ------------------------------------------------------------------------------------------ zero or constant likelihood


def needle_likelihood(x, width):
    """Positive only near 0.5."""
    for i in range(x.size):
        if abs(x[i] - 0.5) > 0.5 * width:
            return -math.inf
    return -0.5 * (x[0] - 0.5) ** 2 / (0.1 * width) ** 2


def needles():
    """A likelihood that is zero at all draws of the reference but one in 4 000."""
    cases = []
    for dimension in (1, 2, 3):
        width = 2.5e-4 ** (1 / dimension)

        def build(half, dimension=dimension, width=width):
            reference = {"x": sterna.Uniform(0.5 - half, 0.5 + half, shape=dimension)}
            return sterna.Target(needle_likelihood, reference, {"width": width})

        narrower = {"narrower reference": lambda build=build, width=width: build(2 * width)}
        cases.append(
            Case("unknown_evidence", f"needle: d={dimension}", lambda build=build: build(0.5), others=narrower)
        )
    return cases


def spike_in(sd, log_weight, spike, dimension):
    """The spike of the battery under a normal reference of another width; the slab has an sd of 1."""
    data = {"log_weight": log_weight, "spike": spike, "slab": 1.0, "sd": sd}
    return sterna.Target(spike_under, {"x": sterna.Normal(0, sd, shape=dimension)}, data)


def spike_under(x, log_weight, spike, slab, sd):
    """Return the logarithm of spike and slab over the reference."""
    square = 0.0
    for i in range(x.size):
        square += x[i] * x[i]
    correction = 0.5 * square * (sd**-2 - slab**-2) + x.size * math.log(sd / slab)
    return spike_likelihood(x, log_weight, spike, slab) + correction


def constants():
    """A likelihood that varies only where the reference has no draw."""
    return [
        Case(
            "constant_likelihood",
            f"spike: {spike:g} on 1, d={dimension}",
            lambda spike=spike, d=dimension: spike_in(1.0, math.log(10.0), spike, d),
            others={"narrower reference": lambda spike=spike, d=dimension: spike_in(0.2, math.log(10.0), spike, d)},
        )
        for spike, dimension in ((0.01, 6), (0.005, 8), (0.01, 10))
    ]


def cliff(x, centre, width, floor):
    """Hugely negative where the likelihood should be zero."""
    return floor if x > 0.1 else -0.5 * ((x - centre) / width) ** 2


def cliffs():
    """A floor in place of zero."""

    def build(floor, width, high):
        data = {"centre": 0.05, "width": width, "floor": floor}
        return sterna.Target(cliff, {"x": sterna.Uniform(0, high)}, data)

    return [
        Case(
            "too_few_chains",
            f"cliff: width {width:g}",
            lambda width=width: build(-1e6, width, 1.0),
            {"n_chains": 10, "n_rounds": 0, "n_scans": 3000},
            {
                "-inf": lambda width=width: build(-math.inf, width, 1.0),
                "narrower reference": lambda width=width: build(-1e6, width, 0.12),
            },
        )
        for width in (0.001, 0.003, 0.01)
    ]


# --------------------------------------------------------------------------------------------------------------- tails


def heavy_under_cauchy(x, freedom, log_norm, scale):
    """Student's density over that of a Cauchy reference."""
    total = 0.0
    for i in range(x.size):
        total += log_norm - 0.5 * (freedom + 1.0) * math.log1p(x[i] * x[i] / freedom)
        total += math.log(math.pi * scale) + math.log1p((x[i] / scale) ** 2)
    return total


def tails(warning, names):
    """Student's distributions under normal references, and under Cauchy ones."""
    cases = []
    for name, dimension, freedom in names:
        log_norm = math.lgamma(0.5 * freedom + 0.5) - math.lgamma(0.5 * freedom) - 0.5 * math.log(freedom * math.pi)
        data = {"freedom": freedom, "log_norm": log_norm, "scale": 2.0}
        case = of_battery(warning, heavy_tails, name)
        case.others["Cauchy reference"] = lambda d=dimension, data=data: sterna.Target(
            heavy_under_cauchy, {"x": sterna.Cauchy(0, 2, shape=d)}, data
        )
        cases.append(case)
    return cases


def flat(x, sd):
    """The reference's normal density divided out: a target without a finite integral."""
    total = 0.0
    for i in range(x.size):
        total += 0.5 * (x[i] / sd) ** 2
    return total


def proper(x, sd, prior):
    """The same with a proper prior."""
    return flat(x, sd) - 0.5 * (x @ x) / prior**2


def improper():
    """Flat targets, and the same with proper priors."""
    return [
        Case(
            "draws_outside_the_reference",
            f"flat: sd {sd:g}, d={dimension}",
            lambda sd=sd, d=dimension: sterna.Target(flat, {"x": sterna.Normal(0, sd, shape=d)}, {"sd": sd}),
            {"explorer": "slice"},
            {
                "proper prior": lambda sd=sd, d=dimension: sterna.Target(
                    proper, {"x": sterna.Normal(0, sd, shape=d)}, {"sd": sd, "prior": 3 * sd}
                )
            },
        )
        for sd, dimension in ((1.0, 1), (1.0, 3), (10.0, 2))
    ]


# -------------------------------------------------------------------------------------------------------- divergences


def funnel_log(x, sd):
    """Neal's funnel over a normal reference; x[0] is v."""
    v, square = x[0], 0.0
    for i in range(1, x.size):
        square += x[i] * x[i]
    total = -v * v / 18.0 - 0.5 * square * math.exp(-v) - 0.5 * (x.size - 1) * v
    return total + 0.5 * (v * v + square) / sd**2


def funnel_gradient(x, sd):
    """Return its gradient."""
    v, square = x[0], 0.0
    out = np.empty(x.size)
    for i in range(1, x.size):
        square += x[i] * x[i]
        out[i] = -x[i] * math.exp(-v) + x[i] / sd**2
    out[0] = -v / 9.0 + 0.5 * square * math.exp(-v) - 0.5 * (x.size - 1) + v / sd**2
    return out


def diverging():
    """HMC in funnels."""
    return [
        Case(
            "diverging_trajectories",
            f"funnel with HMC: d={dimension}",
            lambda d=dimension: sterna.Target(
                funnel_log, {"x": sterna.Normal(0, 5, shape=d)}, {"sd": 5.0}, gradient=funnel_gradient
            ),
            {"explorer": "hmc", "n_rounds": 9},
        )
        for dimension in (2, 5, 10)
    ]


def cases() -> list[Case]:
    """Return at least three sick runs for each kind of warning."""
    slow = {"explorer": sterna.Slice(passes=0.05), "explorations": 1}
    return [
        *needles(),
        of_battery("unknown_evidence", many_wells, "d=16", n_rounds=5),
        of_battery("unknown_evidence", rosenbrock, "d=14", n_rounds=5),
        normal("unknown_evidence", 100, 100.0, n_rounds=4),
        *constants(),
        *cliffs(),
        normal("too_few_chains", 20, 20.0, n_chains=4, n_rounds=8),
        normal("too_few_chains", 100, 100.0, n_rounds=2),
        of_battery("too_few_chains", rosenbrock, "d=10", n_chains=5),
        of_battery("few_restarts", many_wells, "d=16", n_rounds=8),
        of_battery("few_restarts", rosenbrock, "d=10", n_rounds=8),
        normal("few_restarts", 60, 10.0, n_rounds=6),
        normal("slow_exploration", 20, 20.0, n_chains=12, n_rounds=12, **slow),
        normal("slow_exploration", 40, 40.0, n_chains=16, n_rounds=12, **slow),
        of_battery("slow_exploration", many_wells, "d=16", n_rounds=12, **slow),
        *diverging(),
        normal("disagreeing_estimators", 20, 20.0, n_chains=12, n_rounds=0, n_scans=500, **slow),
        normal("disagreeing_estimators", 60, 10.0, n_chains=15, n_rounds=0, n_scans=500, **slow),
        of_battery("disagreeing_estimators", unequal_widths, "1 : 5, d=5"),
        of_battery("few_journeys", funnels, "d=10"),
        of_battery("few_journeys", funnels, "d=20"),
        of_battery("few_journeys", rosenbrock, "d=14"),
        of_battery("few_journeys", ten_modes, "d=4, 4"),
        of_battery("disagreeing_copies", many_wells, "d=16"),
        of_battery("disagreeing_copies", unequal_widths, "1 : 50, d=2"),
        of_battery("disagreeing_copies", ten_modes, "d=4, 5"),
        of_battery("few_effective_draws", rosenbrock, "d=10"),
        of_battery("few_effective_draws", unequal_widths, "1 : 2, d=5"),
        of_battery("few_effective_draws", many_wells, "d=8"),
        *improper(),
        *tails("draws_outside_the_reference", [("Cauchy, reference sd 1, d=1", 1, 1.0)]),
        *missed_modes(),
        *missed_spikes(),
        missed_value(),
        *claimed_modes(),
        *tails(
            "light_tails",
            [
                ("Cauchy, reference sd 1, d=1", 1, 1.0),
                ("Cauchy, reference sd 2, d=5", 5, 1.0),
                ("Student 2, reference sd 1, d=2", 2, 2.0),
            ],
        ),
    ]


def short_runs() -> list[Case]:
    """Return healthy problems with too few rounds."""
    return [
        normal("", 5, 5.0, n_rounds=3),
        normal("", 60, 10.0, n_rounds=6),
        of_battery("", many_wells, "d=8", n_rounds=8),
        of_battery("", many_wells, "d=16", n_rounds=10),
        of_battery("", label_switching, "12 data, 6 apart", n_rounds=5),
        of_battery("", equal_widths, "8, d=10", n_rounds=8),
        Case("", "Ising: 10 x 10", lambda: sterna.models.ising(10), {"n_rounds": 5}),
    ]
