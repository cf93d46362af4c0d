"""Wording that several texts for users share."""

# What stands for the signs of reports and displays where an encoding lacks them.
_PLAIN = {"±": "+-", "━": "=", "╌": "-", "…": "..."}


def count(number: int, thing: str) -> str:
    """Return a number of things with the noun in the singular or plural."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def encodable(text: str, encoding: str) -> str:
    """Return the text with what the encoding lacks written differently, so that printing it cannot fail.

    >>> encodable("-3.2 ± 0.1", "ascii")
    '-3.2 +- 0.1'
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = "".join(_PLAIN.get(sign, sign) for sign in text)
        return text.encode(encoding, "backslashreplace").decode(encoding)
    return text
