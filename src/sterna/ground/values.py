"""Types of a coordinate's values, and bounds of floating-point numbers."""

import numpy as np

REAL, INTEGER, BINARY = 0, 1, 2

# The bound of a real coordinate that is unbounded.
HUGE = float(np.finfo(np.float64).max)

# All integers up to this one are exact as float64.
EXACT = 2.0**53

# Where the log-density of the reference is lower, it is the target's density only up to factors exp(0.002) and worse:
# if the likelihood is a ratio of densities, it is as large, and their sum is rounding error. Such states would be kept
# for their errors, so their density counts as zero. No reference draws them: a normal one is 4e6 deviations away.
MIN_LOG_REFERENCE = -1e13
