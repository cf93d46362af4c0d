"""Attributes that an object does not have: the error names what sterna has instead."""

from collections.abc import Callable, Mapping
from typing import NoReturn, TypeVar

Class = TypeVar("Class", bound=type)


def by_name(*hints: tuple[str, str]) -> dict[str, str]:
    """Return hints by name, given as pairs of names and the hint that they share.

    >>> by_name(("mean std", "read summary"))
    {'mean': 'read summary', 'std': 'read summary'}
    """
    return {name: hint for names, hint in hints for name in names.split()}


def explains_attributes(name: str, hints: Mapping[str, str], item: str = "") -> Callable[[Class], Class]:
    """Let the objects of a class answer unknown attributes by hints, still with an AttributeError.

    `item` is the hint for square brackets. Neither method is written in the class, where type checkers would take every
    attribute for one that exists.
    """

    def explain(self: object, attribute: str) -> NoReturn:
        if hasattr(type(self), attribute):
            # a property has failed itself: its own error is raised again
            object.__getattribute__(self, attribute)
        message = f"{name} has no attribute {attribute!r}"
        if attribute.lower() in hints:
            raise AttributeError(f"{message}: {hints[attribute.lower()]}.")
        # with its object, Python suggests a similar name
        raise AttributeError(message, name=attribute, obj=self)

    def refuse_item(self: object, key: object) -> NoReturn:
        raise TypeError(f"{name} has no items, such as {key!r}: {item}.")

    def decorate(cls: Class) -> Class:
        cls.__getattr__ = explain  # type: ignore[attr-defined]
        if item:
            cls.__getitem__ = refuse_item  # type: ignore[index]
            # or Python would try to iterate by items
            cls.__iter__ = None  # type: ignore[attr-defined]
        return cls

    return decorate
