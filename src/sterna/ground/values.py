"""Types of a coordinate's values, and bounds of floating-point numbers."""

import numpy as np

REAL, INTEGER, BINARY = 0, 1, 2

# The bound of a real coordinate that is unbounded.
HUGE = float(np.finfo(np.float64).max)

# All integers up to this one are exact as float64.
EXACT = 2.0**53
