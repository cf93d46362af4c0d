"""What everything compiled stands on: compilation, random streams, kinds of values."""
