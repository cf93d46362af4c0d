"""The two ways in which a function can run: compiled, and as Python."""

import functools

import pytest


class AsPython:
    """A callable that Numba does not recognise as a function, so that it runs as Python."""

    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, *arguments, **keywords):
        return self.__wrapped__(*arguments, **keywords)


def compiled(function):
    return function


WAYS = pytest.mark.parametrize("way", [compiled, AsPython], ids=["compiled", "Python"])
