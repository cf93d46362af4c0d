"""Heat baths: fractions of a pass, and draws from the von Mises distribution."""

import math
from dataclasses import replace

import numpy as np
import pytest
from annealed import law
from invariance import chi_square
from kernels import apply_bound
from scipy import stats

from sterna.models.kernels.heat_bath import draw_von_mises

LEVEL = 1e-6
DRAWS = 60_000


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", ["lattice", "open_lattice"])
def test_a_quarter_of_a_pass(name, beta):
    """Chi-square over all 16 states at 1e-6."""
    chosen = law(name)
    states = chosen.draw(beta, DRAWS, np.random.default_rng(1))
    bound = replace(chosen.target.explorer, passes=0.25).bind(chosen.target)
    after, _, _ = apply_bound(chosen.target, bound, states, beta)
    assert chi_square(*chosen.cells(beta, after)[0]) > LEVEL


@pytest.mark.parametrize("concentration", [0.0, 1e-6, 1e-3, 0.5, 3.0, 200.0])
def test_von_mises_draws(concentration):
    """Kolmogorov-Smirnov at 1e-6 against SciPy's distribution function."""
    import numba
    from numba import types

    from sterna.ground.compilation import as_pointer
    from sterna.ground.streams import new_stream, scan_key, start_stream

    @numba.njit
    def many(concentration, stream, out):
        words = as_pointer(stream.ctypes.data, types.uint64)
        start_stream(words, scan_key(9, 0, 0, 0), 0)
        for k in range(out.size):
            out[k] = draw_von_mises(concentration, words)

    draws = np.zeros(DRAWS)
    many(concentration, new_stream(), draws)
    exact = stats.vonmises(concentration) if concentration > 0 else stats.uniform(-math.pi, 2 * math.pi)
    assert stats.kstest(draws, exact.cdf).pvalue > LEVEL
    other = stats.vonmises(1.3 * concentration + 0.1)
    assert stats.kstest(draws, other.cdf).pvalue < LEVEL
