"""Optima of a target, their mass, and whether the draws of a run account for it."""
