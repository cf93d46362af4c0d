"""What runs along the path from a mixture in this process, and what an evaluation costs there."""

import math
from dataclasses import replace

from sterna.engine.interrupts import interruptible
from sterna.explorers.base import Bound
from sterna.explorers.composition import compose_in_turn
from sterna.explorers.cost import seconds_at
from sterna.explorers.default import default_explorer
from sterna.explorers.leaps import Leaps
from sterna.run.runtime import Runtime
from sterna.search.mixture import Mixture
from sterna.target.mixture_target import MixtureTarget

# Seconds that an explorer spends on an evaluation besides.
OVERHEAD = 1e-7


def along(runtime: Runtime, mixture: Mixture | None) -> Runtime:
    """Return what runs along the path from a mixture, or from the prior if there is none."""
    if mixture is None:
        return runtime
    if not runtime.fitted:
        with runtime.display.working("compiling the path from the fitted mixture"):
            runtime.fitted.append(interruptible(_fitted_runtime, runtime, mixture))
    found = runtime.fitted[0]
    assert isinstance(found.target, MixtureTarget)
    found.target.set_mixture(mixture)
    return found


def _fitted_runtime(runtime: Runtime, mixture: Mixture) -> Runtime:
    target = MixtureTarget(runtime.target)
    target.set_mixture(mixture)
    explorer = default_explorer(target) if runtime.explorer_is_default else runtime.explorer
    bound = _with_leaps(explorer.bind(target), target)
    return Runtime(
        target,
        explorer,
        bound,
        runtime.teams,
        runtime.display,
        runtime.one_thread,
        explorer_is_default=runtime.explorer_is_default,
        prior=runtime,
    )


def _with_leaps(explorer: Bound, target: MixtureTarget) -> Bound:
    """Let every scan also leap between the components."""
    both = compose_in_turn([explorer, Leaps().bind(target)])
    # the composition's own parameter is its number of parts
    return replace(both, chosen=lambda parameters: explorer.chosen(parameters[:, 1 : 1 + explorer.n_parameters]))


def price_of(fitted: Runtime, prior: Runtime) -> float:
    """Return what an evaluation costs along the path from a mixture, relative to that from the prior.

    Rounded to a power of two, so that it rarely differs between two runs.
    """
    # at the same state: a likelihood may be cheap where it is zero, as at many draws of the prior
    state = fitted.draw_reference(0, 1)[0]
    own, other = (seconds_at(one.target, state) for one in (fitted, prior))
    ratio = (own + OVERHEAD) / (other + OVERHEAD)
    return float(2.0 ** round(math.log2(max(ratio, 1.0))))
