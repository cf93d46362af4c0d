"""Wording that several texts for users share."""


def count(number: int, thing: str) -> str:
    """Return a number of things with the noun in the singular or plural."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
