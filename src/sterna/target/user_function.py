"""A user's function: what it is called with, whether it is compiled or runs as Python, and where it enters the engine.

There are six kinds (density, change, gradient, draw, move, conditional), each in a file of its name that says how such
a function is called. All else is the same for all of them.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sterna.engine import callback
from sterna.engine.callback import Entry
from sterna.errors import TargetError
from sterna.ground.compilation import address_of
from sterna.ground.user_function import CannotCompile
from sterna.target.arguments import Argument
from sterna.target.data import Inputs

PythonForm = Callable[..., Any]
"""A function of a state, with the other arguments of the engine's callback."""


@dataclass(frozen=True, eq=False)
class EntryPoint:
    """Where a kind of function enters the engine."""

    signature: object
    """Of the compiled entry."""
    callback: object
    """The compiled function that stands in for one that runs as Python, and calls it by its handle."""
    field: str = ""
    """The field of `Program` for its address; none if an explorer keeps the address and the handle."""
    slot: int = -1
    """Where the data block holds the handle of a function that runs as Python."""
    movable: bool = False
    """Whether workers may evaluate it. It may be expensive; a prior and draws from it are evaluated by the run."""
    guard: object = None
    """Of a log-density: what calls the compiled function without raising (`sterna.target.guarded`)."""
    guarded_slot: int = -1
    """Where the data block holds the address of the compiled function that the guard calls."""


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A user's function with its arguments matched, not yet ready for the engine."""

    label: str
    """Its name in messages."""
    entry_point: EntryPoint
    compile: Callable[[Inputs], object]
    """Return the compiled entry, or raise `CannotCompile`."""
    python_form: Callable[[Inputs], PythonForm]
    """Return what the callback calls. It must not refer to the target, or neither would ever be freed."""
    notes: tuple[str, ...] = ()
    """Remarks on its parameters."""
    given: object = None
    """What the user gave, by which compiled code that raises is recognised."""
    arguments: tuple[Argument, ...] = ()
    """What it takes, besides what the engine passes to every function of its kind."""
    remark: str = ""
    """What its errors add, because it may be the reason: that a parameter receives the flat vector."""


@dataclass(frozen=True, eq=False)
class EnteredFunction:
    """A user's function that the engine can call, for as long as this object lives."""

    function: UserFunction
    entry: Entry
    code: object
    """The compiled function at the entry's address, which must stay alive."""
    python_form: PythonForm | None = None
    """What the engine calls back; None if the function is compiled."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What reports say about the function."""
        return self.function.notes + self.entry.notes

    def with_inputs(self, inputs: Inputs) -> "EnteredFunction":
        """Return the function for inputs in other memory: compiled code serves them all."""
        if self.python_form is None:
            return self
        return reentered(self, self.function.python_form(inputs))


def enter_compiled(function: UserFunction, inputs: Inputs) -> EnteredFunction:
    """Compile a function, or raise `CannotCompile`."""
    code = function.compile(inputs)
    return EnteredFunction(function, Entry(address_of(code, function.entry_point.signature), 0, ()), code)


def enter(function: UserFunction, inputs: Inputs, compile: bool = True) -> EnteredFunction:
    """Compile a function, or make it ready to be called back if it cannot be compiled."""
    try:
        if not compile:
            raise CannotCompile("compile=False")
        return enter_compiled(function, inputs)
    except CannotCompile as reason:
        point, form = function.entry_point, function.python_form(inputs)
        notes = (f"{function.label} runs as Python, not compiled: {reason}.",) if str(reason) else ()
        entry = Entry(address_of(point.callback, point.signature), callback.register(form), notes)
        return _owning(EnteredFunction(function, entry, point.callback, form))


def reentered(entered: EnteredFunction, form: PythonForm) -> EnteredFunction:
    """Return a function that runs as Python with another form, under a handle of its own."""
    entry = entered.entry._replace(handle=callback.register(form))
    return _owning(replace(entered, entry=entry, python_form=form))


def _owning(entered: EnteredFunction) -> EnteredFunction:
    """Let the handle end with the object, unless an explorer keeps it."""
    if entered.function.entry_point.slot >= 0:
        callback.forget_with(entered, entered.entry.handle)
    return entered


def check_callable(function: object, label: str) -> None:
    """Refuse what is not a function that can return a value."""
    if not callable(function):
        raise TargetError(f"{label}={function!r} is not a function.")
    name = getattr(function, "__name__", type(function).__name__)
    if isinstance(function, type):
        raise TargetError(
            f"{label} is the class {name}: give a function, or an object of the class that can be called."
        )
    plain = getattr(function, "py_func", function)
    if inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain):
        raise TargetError(
            f"{label}: {name} is an async function, which returns no value when called: write def {name}."
        )
    if inspect.isgeneratorfunction(plain):
        raise TargetError(f"{label}: {name} is a generator, because it contains yield: write return instead.")
