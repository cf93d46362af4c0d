"""Exploration kernels: each leaves the annealed distribution of its chain unchanged."""
