"""What a target is, by the content of its functions and data: to tell whether a saved run goes on with the same one.

Each part has a name that a user knows and a short text that changes with its content. Functions and objects of
installed libraries are known by their names, and their arrays by their numbers; a run that goes on also compares
log-densities at its saved states.
"""

import functools
import hashlib
import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from sterna.ground.fingerprint import captured_values
from sterna.ground.user_function import Bridged
from sterna.target.prepared import PreparedTarget

# What is changed by a function itself is named so: a difference is a note, and log-densities tell whether it matters.
REMEMBERED = "what is remembered by"


def identity_of(target: PreparedTarget) -> dict[str, str]:
    """Return the parts of a target by name.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.Target(lambda mu, y: -(y - mu) ** 2, {"mu": sterna.Normal()}, {"y": 3.0}, name="squares")
    >>> list(identity_of(target.prepare()))
    ['variables', "the reference of 'mu'", "data['y']", 'log_likelihood']
    """
    found = {"variables": ", ".join(f"{v.name}{list(v.shape)}" for v in target.space.variables)}
    found |= _references(target)
    found |= {f"data[{name!r}]": digest(value) for name, value in target.data.items()}
    for one in target.given_functions:
        fixed, changing = digests(one.given)
        found |= {one.label: fixed} | ({f"{REMEMBERED} {one.label}": changing} if changing else {})
    return found


def _references(target: PreparedTarget) -> dict[str, str]:
    """Describe the reference of each variable by what the engine reads of it, except for addresses."""
    tables = {name: table for name, table in target.tables.items() if name != "family"}
    found = {}
    for v in target.space.variables:
        rows = slice(v.start, v.stop)
        own = [_rows(table, target.dimension)[rows] for table in tables.values() if len(table) % target.dimension == 0]
        found[f"the reference of {v.name!r}"] = digest((v.transform, v.value_type, v.affine, *own))
    return found


def _rows(table: Any, dimension: int) -> Any:
    return table.reshape(dimension, -1)


def digest(value: object) -> str:
    """Return a short text that changes with a value."""
    return _short(Content().of(value))


def digests(function: object) -> tuple[str, str]:
    """Return a text that changes with a function, and one with what it may change itself: a counter, a cache.

    The second is empty if there is nothing of that kind.
    """
    content = Content(changing=[])
    fixed = _short(content.of(function))
    return fixed, _short(content.changing) if content.changing else ""


def _short(content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


class Content:
    """What is known of values, as plain values whose repr is the same in every process.

    Each object is looked at once, because functions and objects may refer to one another in circles.
    """

    def __init__(self, changing: list[object] | None = None) -> None:
        self.changing = changing
        """Where the content of lists, dicts, sets and objects goes, if it shall be apart."""
        self.seen: dict[int, int] = {}
        self.alive: list[object] = []
        """Keeps objects, whose numbers could otherwise be given to others."""

    def of(self, value: Any) -> object:
        """Return what is known of a value."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return repr(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._of_array(np.asarray(value))
        # equal constants may be one object or several
        if isinstance(value, tuple):
            return [self.of(part) for part in value]
        if isinstance(value, frozenset):
            return sorted(repr(self.of(part)) for part in value)
        if id(value) in self.seen:
            return "again", self.seen[id(value)]
        self.seen[id(value)] = len(self.seen)
        self.alive.append(value)
        if isinstance(value, Mapping):
            return self._apart({str(name): self.of(part) for name, part in value.items()})
        if isinstance(value, list):
            return self._apart([self.of(part) for part in value])
        if isinstance(value, set):
            return self._apart(sorted(repr(self.of(part)) for part in value))
        if isinstance(value, functools.partial):
            return self.of((value.func, value.args, tuple(sorted(value.keywords.items()))))
        if isinstance(value, Bridged):
            # made of compiled functions of another library, whose addresses are others in every process
            return "bridged"
        if hasattr(value, "__wrapped__"):
            return type(value).__name__, self.of(value.__wrapped__)
        if inspect.ismethod(value):
            return self.of((value.__func__, value.__self__))
        plain = getattr(value, "py_func", value)
        if inspect.isfunction(plain):
            return self._of_function(plain)
        return self._of_object(value)

    def _apart(self, content: object) -> object:
        """Keep what may change apart, if that is asked for."""
        if self.changing is None:
            return content
        self.changing.append(content)
        return type(content).__name__

    def _of_array(self, value: Any) -> object:
        if value.dtype.hasobject:
            return value.dtype.str, [self.of(part) for part in value.reshape(-1)]
        return value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()

    def _of_function(self, function: Any) -> object:
        """Return the content of a user's function: its code, defaults, and what it reads from outside."""
        if is_installed(function):
            return function.__module__, function.__qualname__
        outside = {name: self.of(value) for name, value in sorted(captured_values(function).items())}
        given = self.of((function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))))
        return self._of_code(function.__code__), outside, given

    def _of_code(self, code: CodeType) -> object:
        """Return the content of code without its place in a file."""
        constants = [self._of_code(one) if inspect.iscode(one) else self.of(one) for one in code.co_consts]
        return code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars

    def _of_object(self, value: object) -> object:
        """Return the content of an object: its type, and if that is a user's, what it does and its attributes."""
        kind = type(value)
        if isinstance(value, type) and not is_installed(value):
            return value.__qualname__, self._of_class(value)
        if isinstance(value, type) or kind is ModuleType:
            return "named", getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__class__.__name__)
        if kind.__module__.startswith("sterna.") and is_dataclass(value):
            # an explorer or a distribution, which may hold functions of the user
            return kind.__qualname__, {one.name: self.of(getattr(value, one.name)) for one in fields(value)}
        if is_installed(kind):
            return kind.__module__, kind.__qualname__, self._of_numbers(value), self._of_plain(value)
        classes = [one for one in kind.__mro__ if not is_installed(one)]
        methods = [self._of_class(one) for one in classes]
        slots = [name for one in classes for name in _names(vars(one).get("__slots__", ()))]
        own = {name: getattr(value, name) for name in slots if hasattr(value, name)} | vars_of(value)
        return kind.__qualname__, methods, self._apart({name: self.of(part) for name, part in own.items()})

    def _of_class(self, kind: type) -> object:
        """Return what a user's class defines: methods, properties, and values that all its objects share."""
        found = {}
        for name, part in vars(kind).items():
            plain = getattr(part, "fget", None) or getattr(part, "__func__", None) or part
            if not (name.startswith("__") and not inspect.isfunction(plain)):
                found[name] = self.of(plain)
        return kind.__qualname__, found

    def _of_plain(self, value: object) -> object:
        """Return what an object of Python's own libraries shows of itself: a date, a fraction, a path, a namespace."""
        root = type(value).__module__.partition(".")[0]
        text = repr(value) if root in sys.stdlib_module_names else ""
        return text if " at 0x" not in text else None

    def _of_numbers(self, value: Any) -> object:
        """Return the numbers of a Series, a table or another array of a library; None if it has none."""
        if not hasattr(value, "__array__"):
            return None
        try:
            return self._of_array(np.asarray(value))
        except Exception:  # whatever another library raises
            return None


def vars_of(value: object) -> dict[str, Any]:
    """Return the attributes of an object."""
    return dict(getattr(value, "__dict__", {}))


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def is_installed(value: Any) -> bool:
    """Whether a function or class belongs to an installed library, which is known by its version."""
    module = sys.modules.get(str(getattr(value, "__module__", "")))
    path = getattr(module, "__file__", None)
    if module is None:
        return False
    if path is None:
        return module.__name__ in sys.builtin_module_names or module.__name__ == "builtins"
    root = module.__name__.partition(".")[0]
    return root == "sterna" or root in sys.stdlib_module_names or "-packages" in str(path)
