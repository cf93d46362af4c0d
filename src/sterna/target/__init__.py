"""From a user's functions to a program that the engine runs."""
