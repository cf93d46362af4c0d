"""Types of a coordinate's values, and the numbers that bound them."""

import numpy as np

REAL, INTEGER, BINARY = 0, 1, 2

# The bound of a real coordinate that has none.
HUGE = float(np.finfo(np.float64).max)

# Largest integer below which all are exact as float64.
EXACT = 2.0**53
