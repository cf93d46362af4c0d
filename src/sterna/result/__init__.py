"""What a run gives back, and whether to believe it."""
