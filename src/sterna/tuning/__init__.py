"""Barrier, schedule and evidence: pure functions of recorded statistics."""
