"""Barrier, schedule, evidence and rates: pure functions of recorded statistics."""
