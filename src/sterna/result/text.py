"""Words that several texts for users share."""


def count(number: int, thing: str) -> str:
    """Return a number of things, in words."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
