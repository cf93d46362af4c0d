"""Plots: each function draws plain arrays on the given `Axes` of matplotlib, which it returns."""
