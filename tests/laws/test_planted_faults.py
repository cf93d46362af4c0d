"""Kernels with a fault that changes the distribution fail the comparison that the kernels themselves pass.

Every explorer has at least two. An undetected fault would show that the comparison cannot detect faults of its kind.
"""

from collections import Counter
from functools import cache
from importlib import import_module
from typing import NamedTuple

import pytest
from invariance import CASES, LEVEL, p_values
from plain import load

import sterna

# Five faults are too small for the 4000 draws of the short form.
DRAWS = 20_000


class Fault(NamedTuple):
    """A fault of an explorer, the distribution on which it is detected, and the text to change."""

    explorer: str
    what: str
    law: str
    old: str
    new: str
    beta: float = 0.5
    path: str = ""
    """The file with the fault, if it is not the kernel's own."""


# The file of an explorer's kernel, if it has another name.
FILES = {
    "hmc": "explorers/hamiltonian",
    "mala": "explorers/hamiltonian",
    "heat bath": "models/kernels/heat_bath",
    "cycle": "explorers/composition",
    "mix": "explorers/composition",
    "dict": "explorers/composition",
}
# The kernel function, if the file has several.
FUNCTIONS = {
    "gibbs, conditional": "explore_by_conditional",
    "heat bath": "explore_spins",
    "heat bath, weighted": "explore_weighted_spins",
    "heat bath, rotors": "explore_rotors",
    "cycle": "explore_in_turn",
    "mix": "explore_by_chance",
    "dict": "explore_in_turn",
    "best": "explore_on_trial",
    "best, on trial": "explore_on_trial",
}
# Fewer degrees of freedom than usual, so that the difference between Student's t and normal draws is detectable.
OTHERS = {"fitted, heavy": sterna.Fitted(moves=2, freedom=2.0)}

LINE, LEAP, RUN_PART = "explorers/shared/line_moves", "explorers/shared/leapfrog", "explorers/shared/parts"
CIRCLES = "engine/circles"
ACCEPT = ("math.exp(min(after - before, 0.0))", "1.0")
LAST_KICK = ("    kick(line, point, beta, 0.5 * size)\n    return True", "    return True")
JACOBIAN = ("total += log_jacobian(", "total += 0.0 * log_jacobian(")
LINE_JACOBIAN = ("reference + read_line(", "reference + 0.0 * read_line(")
PART_BETA = ("(program, x, log_densities, beta, of_part,", "(program, x, log_densities, 1.0, of_part,")
PARTS = ("range(int(parameters[InTurn.parts])):", "range(int(parameters[InTurn.parts]) if x[0] > 0.5 else 1):")

# Terms of the acceptance of leaps that cancel if they are all there: of the components `old` and `new`, the
# log-volumes, the log-responsibilities without the mixture's density, and the probabilities of their choice.
LEAP_FACTOR = "return log_density +"
OLD, NEW = "component_of(words, old)", "component_of(words, new)"
CONSTANTS = f"({OLD}[Component.constant] - {NEW}[Component.constant]) + log_mixture(words, there, white)"
CHOICES = f"{NEW}[Component.weight] / {OLD}[Component.weight]"
VOLUMES = f"({NEW}[Component.constant] - {OLD}[Component.constant] - math.log({CHOICES}))"
DENSITY = f"{OLD}[Component.constant] - 0.5 * whiten(words, {OLD}, here, white)"


def drawn_part(weights):
    """Return the line that draws a part by weights, and a fault that lets the state decide."""
    return f"draw_part(field_pointer(parameters, {weights}), parts, stream)", "1 if x[0] > 0.5 else 0"


FAULTS = [
    Fault("slice", "no doubling test", "bimodal", "            or reachable(", "            or True or reachable("),
    Fault("slice", "level without the exponential", "bimodal", "- exponential(stream)", "- 1.0"),
    Fault("slice", "not annealed", "bimodal", "    here = x[i]\n", "    here, beta = x[i], 1.0\n"),
    Fault("slice", "doubled to one side", "bimodal", "if uniform(stream) < 0.5:", "if uniform(stream) < 2.0:", 0.1),
    Fault("slice", "wraps too far", "circle", "value - period *", "value - 0.9 * period *", path=CIRCLES),
    Fault("metropolis", "no Jacobian", "bounded", *LINE_JACOBIAN, path=LINE),
    Fault("metropolis", "not annealed", "bounded", "beta * (there - here)", "there - here", path=LINE),
    Fault("metropolis", "reference left out", "bounded", "reference + read_line", "read_line", path=LINE),
    Fault("metropolis", "all accepted", "bounded", "if uniform(stream) < prob", "if 0.0 < prob", path=LINE),
    Fault("metropolis", "steps by the state", "mixed", "here[k] + scale * total", "here[k] * (1.0 + scale * total)"),
    Fault(
        "metropolis",
        "likelihood left out",
        "mixed",
        "log_densities[LOG_LIKELIHOOD], likelihood)",
        "likelihood, likelihood)",
    ),
    Fault("evolution, snooker", "no factor", "bounded", "return (count - 1) * math.log(abs(stretch))", "return 0.0"),
    Fault("evolution, snooker", "one power too many", "bounded", "(count - 1) * math.log", "count * math.log"),
    Fault("evolution, plain", "differences in one order", "bounded", "size * difference", "size * abs(difference)"),
    Fault("evolution, radial", "no factor", "bounded", "return count * stretch", "return 0.0"),
    Fault(
        "evolution, snooker",
        "wraps around",
        "circle",
        "wraps = False\n            log_factor = through",
        "log_factor = through",
    ),
    Fault(
        "evolution, radial",
        "wraps around",
        "circle",
        "wraps = False\n            log_factor = from",
        "log_factor = from",
    ),
    Fault("evolution", "no Jacobian", "bounded", *LINE_JACOBIAN, path=LINE),
    Fault("evolution", "not annealed", "bounded", "beta * (there - here)", "there - here", path=LINE),
    Fault("independence", "not annealed", "mixed", "acceptance(beta, 0.0", "acceptance(1.0, 0.0"),
    Fault("independence", "reference counted twice", "mixed", "acceptance(beta, 0.0", "acceptance(beta, gain"),
    Fault("fitted", "no density of the place before", "bounded", "log_factor = log_", "log_factor = 0.0 * log_"),
    Fault(
        "fitted",
        "no weights",
        "bimodal",
        "component[Component.constant] -",
        "mixture.components[Component.constant] -",
        1.0,
    ),
    Fault("fitted", "wraps around", "circle", "log_factor, False, stream", "log_factor, True, stream"),
    Fault("fitted, heavy", "normal instead of Student draws", "gaussian", "total / narrow", "total"),
    Fault("leaps", "volume left out", "banana", LEAP_FACTOR, f"{LEAP_FACTOR} {VOLUMES} +"),
    Fault("leaps", "responsibility left out", "banana", LEAP_FACTOR, f"return {CONSTANTS} +"),
    Fault("leaps", "choice left out", "banana", "weight_of_others(words, old) / weight_of_others(words, new)", CHOICES),
    Fault("leaps", "responsibility at the new state alone", "banana", LEAP_FACTOR, f"return {DENSITY} +"),
    Fault(
        "leaps",
        "choice by weights that do not add up to one",
        "banana",
        "weight_of_others(words, old) / weight_of_others(words, new)",
        "1.0",
    ),
    Fault("leaps", "most responsible component", "banana", "uniform(stream) < math.exp(", "0.5 < math.exp("),
    Fault("leaps", "wraps around", "circle", "log_factor, False, stream", "log_factor, True, stream"),
    Fault("leaps, diagonal", "volume left out", "bounded", LEAP_FACTOR, f"{LEAP_FACTOR} {VOLUMES} +"),
    Fault("elliptical", "not annealed", "far_data", "annealed(0.0, beta,", "annealed(0.0, 1.0,"),
    Fault("elliptical", "directions of unit length", "far_data", "/= program.constants[4 * i + 1]", "/= 1.0"),
    Fault("elliptical", "ellipse around zero", "far_data", "mean = program.constants[4 * i]", "mean = 0.0"),
    Fault("elliptical", "level without the exponential", "far_data", "- exponential(stream)", "- 1.0"),
    Fault("elliptical", "bracket on one side", "bimodal_normal", "angle - 2.0 * math.pi, angle", "0.0, angle"),
    Fault("hmc", "all accepted", "bounded", *ACCEPT),
    Fault("hmc", "velocity too fast", "bounded", "return 0.5 * total", "return total", path=LEAP),
    Fault("hmc", "no Jacobian", "bounded", *JACOBIAN, path=LEAP),
    Fault("hmc", "last half step left out", "bounded", *LAST_KICK, path=LEAP),
    Fault("hmc", "steps by the state", "bounded", "steps = int(", "steps = 1 if x[0] > 0.3 else int("),
    Fault("hmc", "no velocity", "bounded", "before = density", "start.velocity[0] = 0.0\n        before = density"),
    Fault("hmc, dense", "all accepted", "bounded", *ACCEPT),
    Fault("hmc, dense", "last half step left out", "bounded", *LAST_KICK, path=LEAP),
    Fault("mala", "all accepted", "bounded", *ACCEPT),
    Fault("mala", "no Jacobian", "bounded", *JACOBIAN, path=LEAP),
    Fault("mala", "last half step left out", "bounded", *LAST_KICK, path=LEAP),
    Fault("mala, dense", "all accepted", "bounded", *ACCEPT),
    Fault("mala, dense", "no Jacobian", "bounded", *JACOBIAN, path=LEAP),
    Fault("automala", "no way back asked for", "bounded", "if same_way_back(", "if True or same_way_back("),
    Fault(
        "automala", "velocity not reversed", "bounded", "chosen.velocity[k] = -chosen", "chosen.velocity[k] = chosen"
    ),
    Fault("automala", "no Jacobian", "bounded", *JACOBIAN, path=LEAP),
    Fault("gibbs", "not annealed", "few_values", "= annealed(reference, beta, likelihood)", "= reference + likelihood"),
    Fault("gibbs", "values before the last forgotten", "few_values", "log_sum(total, last)", "max(total, last)"),
    Fault("gibbs", "reference left out", "few_values", "density = annealed(reference,", "density = annealed(0.0,"),
    Fault("gibbs", "old value left out", "few_values", "total, last = annealed(", "total, last = -1.0 + annealed("),
    Fault("gibbs, conditional", "values forgotten", "components", "log_sum(total, weight)", "weight"),
    Fault("gibbs, conditional", "not annealed", "components", "(as_address(x), k, beta, ", "(as_address(x), k, 1.0, "),
    Fault(
        "gibbs, conditional",
        "wrong coordinate",
        "components",
        "(as_address(x), k, beta, ",
        "(as_address(x), 0 * k, beta, ",
    ),
    Fault("heat bath", "spins not annealed", "lattice", "- beta * coupling * (k", "- coupling * (k"),
    Fault("heat bath", "field left out", "lattice", "2.0 * (field -", "2.0 * (0.0 * field -"),
    Fault("heat bath, weighted", "glass not annealed", "glass", "- beta * coupling * total", "- coupling * total"),
    Fault(
        "heat bath, weighted",
        "edges of the wrong sign",
        "glass",
        "(field - beta * coupling * total",
        "(field + beta * coupling * total",
    ),
    Fault("heat bath, rotors", "rotors not annealed", "rotors", "abs(beta * coupling) * pull", "abs(coupling) * pull"),
    Fault(
        "heat bath, rotors", "angles on one side", "rotors", "if uniform(stream) < 0.5 else -angle", "if True else 0.0"
    ),
    Fault("cycle", "not annealed", "banana", *PART_BETA, path=RUN_PART),
    Fault("cycle", "parts by the state", "banana", *PARTS),
    Fault("mix", "not annealed", "banana", *PART_BETA, path=RUN_PART),
    Fault("mix", "part by the state", "banana", *drawn_part("ByChance.weights, parts")),
    Fault("best, on trial", "part by the state", "banana", *drawn_part("Head.weights, 0, watched, parts")),
    Fault(
        "best, on trial",
        "not annealed",
        "banana",
        "log_densities, beta, parameters, s",
        "log_densities, 1.0, parameters, s",
    ),
    Fault("best", "not annealed", "banana", "log_densities, beta, parameters, s", "log_densities, 1.0, parameters, s"),
    Fault("best", "part by the state", "banana", "part = int(parameters[Head.chosen])", "part = int(x[0] > 0.5)"),
    Fault("dict", "not annealed", "mixed", *PART_BETA, path=RUN_PART),
    Fault("dict", "parts by the state", "banana", *PARTS),
]


@cache
def module(kernel, path, old, new):
    """Compile the file of a kernel again, with a fault in it or in another file whose functions it uses."""
    kernel_path, fault = f"{kernel}.py", [(old, new)]
    if not path:
        return load(kernel_path, fault, compiled=True)
    ours, theirs = (vars(import_module(f"sterna.{name.replace('/', '.')}")) for name in (kernel, path))
    faulty = vars(load(f"{path}.py", fault, compiled=True))
    used = {name: faulty[name] for name in ours if hasattr(ours[name], "py_func") and ours[name] is theirs.get(name)}
    return load(kernel_path, compiled=True, **used)


def kernel_of(fault):
    """Return the file and the function of a fault's kernel."""
    name = fault.explorer.split(",")[0]
    return FILES.get(name, f"explorers/{name}"), FUNCTIONS.get(fault.explorer, "explore")


def case_of(place):
    """The first fault of every kernel is in `make test`, the others in `make laws`, because they compile slowly."""
    fault = FAULTS[place]
    is_first = kernel_of(fault) not in map(kernel_of, FAULTS[:place])
    return pytest.param(fault, id=f"{fault.explorer}: {fault.what}", marks=[] if is_first else [pytest.mark.laws])


@pytest.mark.parametrize("fault", [case_of(place) for place in range(len(FAULTS))])
def test_fault_is_caught(fault):
    file, function = kernel_of(fault)
    kernel = getattr(module(file, fault.path, fault.old, fault.new), function)
    explorer = OTHERS.get(fault.explorer) or CASES[fault.explorer][fault.law]
    assert min(p_values(explorer, fault.law, fault.beta, DRAWS, kernel)) < LEVEL


def test_every_explorer_has_two():
    counts = Counter(fault.explorer.split(",")[0] for fault in FAULTS)
    # faults of moves are tested in tests/explorers/test_move.py
    assert min(counts[name.split(",")[0]] for name in CASES if not name.startswith("move")) >= 2
