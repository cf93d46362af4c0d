"""Why a function is not compiled, in words for its author: Numba's messages name its own types and temporary names."""

import re

# Messages, or parts of them, and what they mean; the first that is found counts.
_MEANINGS = (
    (r"Unknown attribute '(\w+)' of type Module\(<module '([\w.]+)'.*", r"it uses \2.\1, which cannot be compiled"),
    (r"Unknown attribute '(\w+)' of type (.+)", r"it uses the attribute \1 of \2, which cannot be compiled"),
    (
        r"Untyped global name '(\w+)': Cannot determine Numba type of <class '(?:[\w.<>]*\.)?(\w+)'>",
        r"it uses \1, a \2, which cannot be compiled; numbers and arrays can be, and can be given as data",
    ),
    (r"Untyped global name '(\w+)'.*", r"it uses \1, which cannot be compiled"),
    (r"Cannot determine Numba type of <class '(?:[\w.<>]*\.)?(\w+)'>", r"it uses a \1, which cannot be compiled"),
    (
        r"No implementation of function (?:Function\()?<\w+(?:-in)? (?:function )?([\w.]+).*",
        r"it uses \1 in a way that cannot be compiled",
    ),
    (
        r"Use of unsupported NumPy function '([\w.]+)' or unsupported use of the function",
        r"it uses \1, which cannot be compiled, or not as it is used here",
    ),
    (
        r"Exception object cannot be stored into variable \((\w+)\)",
        r"it uses except ... as \1, which cannot be compiled",
    ),
    (r"The '?(.+?)'? construct is not supported", r"it uses \1, which cannot be compiled"),
    (
        r"Cannot unify (.+) and (.+) for '.+?'(?:, defined at .* \((\d+)\))?",
        r"it has a variable or a result that is \1 in one place and \2 in another",
    ),
)

_TYPES = (
    (r"OptionalType\((\w+)\)", r"\1 or None"),
    (r"Literal\[(\w+)\]\([^)]*\)", r"\1"),
    (r"\bunicode_type\b", "str"),
    (r"\bnone\b", "None"),
    (r"\barray\((\w+), (\d+)d, \w\)", r"array of \1"),
    (r"\breflected list\((.+?)\)<\w+>", r"list of \1"),
)


def in_plain_words(reason: str) -> str:
    """Return a message of Numba as its reader would say it; other messages stay as they are.

    Examples
    --------
    >>> in_plain_words("Use of unsupported NumPy function 'numpy.einsum' or unsupported use of the function")
    'it uses numpy.einsum, which cannot be compiled, or not as it is used here'
    >>> in_plain_words("it returns OptionalType(float64), not a number")
    'it returns float64 or None, not a number'
    """
    reason = re.sub(r"\.* ?Raised from .*", "", reason)
    for pattern, meaning in _MEANINGS:
        if re.search(pattern, reason):
            reason = re.sub(f".*?{pattern}.*", meaning, reason)
            break
    for pattern, name in _TYPES:
        reason = re.sub(pattern, name, reason)
    return reason
