"""Checks of a user's functions before the first round: each compares two ways to the same numbers."""
