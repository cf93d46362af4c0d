"""Which of many similar cases are in `make test`."""

import pytest


def first(n, cases):
    """Return all cases: the first `n` are in `make test`, and the others in `make laws`, because they are slow."""
    cases = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=[pytest.mark.laws] if k >= n else []) for k, case in enumerate(cases)]
