"""Every public name has an example in its docstring, which runs as a doctest."""

import doctest

import pytest

import sterna

# what `sterna.theory` and `sterna.models` list is public, too
NAMES = [
    *(f"sterna.{name}" for name in sterna.__all__ if name != "__version__"),
    *(f"sterna.theory.{name}" for name in sterna.theory.__all__),
    *(f"sterna.models.{name}" for name in sterna.models.__all__),
]


def has_example(thing):
    """Return whether the thing's own docstring has an example that does more than import."""
    examples = doctest.DocTestParser().get_examples(thing.__doc__ or "")
    return any(not example.source.startswith(("import ", "from ")) for example in examples)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_an_example(name):
    thing = sterna
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    assert has_example(thing)


def test_missing_examples_are_seen():
    class Child(sterna.Normal):
        pass

    def imports_only():
        """Do nothing.

        >>> import sterna
        """

    assert has_example(sterna.Normal)
    assert not has_example(Child)
    assert not has_example(imports_only)
