"""Barrier, schedule, evidence, number of chains and explorations: pure functions of what a round recorded."""
