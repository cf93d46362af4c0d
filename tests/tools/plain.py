"""Run the engine's own source as plain Python, with symbolic random numbers and optionally a planted fault.

The compiled engine cannot report the probability of a branch, but its source can: run as plain Python, with every
uniform random number replaced by a symbol, a comparison `u < p` becomes a fork with probabilities p and 1 - p.
Following all forks gives the exact transition matrix of the code.
"""

import sys
import types
from pathlib import Path

import sterna

SOURCE = Path(sterna.__file__).parent


def load(path, faults=(), compiled=False, **names):
    """Execute a source file of sterna, uncompiled or compiled separately.

    `faults` are (old, new) texts planted in it, `names` override its globals.
    """
    text = (SOURCE / path).read_text()
    for old, new in faults:
        assert old in text, f"{path} no longer contains {old!r}: the planted fault must be adapted"
        text = text.replace(old, new)
    if not compiled:
        for name in ("compiled_with_memory", "compiled", "inlined"):
            text = text.replace(f"@{name}\n", "")
    module = types.ModuleType(path)
    # dataclasses look up the module of a class by name
    sys.modules[path] = module
    try:
        exec(compile(text, path, "exec"), module.__dict__)
    finally:
        del sys.modules[path]
    module.__dict__.update(names)
    return module


def load_families(path, faults=(), **names):
    """Execute the engine's densities, uncompiled, for the families of one source file of distributions.

    Return the module, and the numbers by which it knows the families by the name of their distribution.
    """
    source = load(path, faults, **names)
    families = {name: getattr(source, name).family for name in source.__all__}
    distinct = list(dict.fromkeys(families.values()))
    module = load("engine/densities.py")
    written = [module.family_functions(family) for family in distinct]
    # instead of an address, and of one of the functions at it, numbers; 0 is the compiled normal family
    module.int_pointer = lambda number: [(number, place) for place in range(4)]
    for name in ("call_log_density", "call_slope", "call_draw", "call_draw_with_numpy"):
        setattr(module, name, lambda chosen, arguments: written[chosen[0] - 1][chosen[1]](*arguments))
    return module, {name: 1 + distinct.index(family) for name, family in families.items()}


class Forks:
    """Depth-first search over all outcomes of code that forks at comparisons with symbols."""

    def __init__(self):
        self.path = []

    def outcomes(self, run):
        """Yield (probability, result) of every path through `run()`."""
        pending = [[]]
        while pending:
            self.path, self.place, self.probability = pending.pop(), 0, 1.0
            self.pending = pending
            result = run()
            if self.probability > 0:
                yield self.probability, result

    def choose(self, probability):
        """Take the next fork: the branch on the path, or a new one; the other is visited later."""
        if self.place == len(self.path):
            self.pending.append([*self.path, False])
            self.path = [*self.path, True]
        taken = self.path[self.place]
        self.place += 1
        self.probability *= probability if taken else 1.0 - probability
        return taken


class Symbol:
    """A uniform random number times a factor; a comparison forks."""

    def __init__(self, forks, factor=1.0):
        self.forks, self.factor = forks, factor

    def __mul__(self, factor):
        return Symbol(self.forks, self.factor * factor)

    def __sub__(self, number):
        """Subtract a number that was found not to be larger: what remains is uniform again."""
        return Symbol(self.forks, self.factor - number)

    def __lt__(self, bound):
        return self.forks.choose(min(1.0, max(0.0, bound / self.factor)))

    def __floor__(self):
        """Take one of the integers below the factor, which must be an integer."""
        size = int(self.factor)
        assert size == self.factor
        for value in range(size - 1):
            if self.forks.choose(1.0 / (size - value)):
                return value
        return size - 1

    __int__ = __floor__
