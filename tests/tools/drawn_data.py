"""The data that a figure shows: lines, bars, histograms and boxes of all its panels."""

import numpy as np


def lines_of(figure):
    """Return the x and y of every line."""
    return [
        (np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float))
        for axes in figure.axes
        for line in axes.get_lines()
    ]


def shows_line(figure, x, y):
    """Whether a line has exactly this data; NaN equals NaN."""
    wanted = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return any(
        all(a.shape == b.shape and np.array_equal(a, b, equal_nan=True) for a, b in zip(line, wanted, strict=True))
        for line in lines_of(figure)
    )


def bars_of(axes):
    """Return the left end, height (or width) of every bar of a panel."""
    return [(patch.get_x(), patch.get_width(), patch.get_height()) for patch in axes.patches]
