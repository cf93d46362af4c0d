"""Errors of a user's functions, raised again with the point at which they happened, and where in the run."""

from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

import numpy as np

from sterna.engine import callback
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, ImpossibleDraw, NotANumber
from sterna.engine.round import REPLICA, SCAN, Copy
from sterna.engine.running_energies import Mismatch
from sterna.errors import Error, EvaluationError, describe
from sterna.target.checks.running import raise_mismatch
from sterna.target.mixture_target import MixtureTarget
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray

REFERENCE_LABEL = "the reference's log_density"


@dataclass(frozen=True)
class Place:
    """Where in a run replicas are evaluated, for messages."""

    when: str = ""
    """Such as "while looking for starting points"; empty if nothing is known."""
    copy_number: int | None = None
    """The copy, if its replicas are those of the run."""
    schedule: FloatArray | None = None
    """Betas of its chains."""
    explores: bool = False
    """Whether replicas are explored, scan by scan: then each has a state of before, except for that of chain 0."""
    of_mixture: bool = False
    """Whether the path begins at a mixture: log-densities of replicas are then those of the mixture, and ratios."""

    def text(self, copy: Copy) -> str:
        """Return when this is, with the scan, the copy, the chain and its beta of the replica at work."""
        if self.schedule is None:
            return self.when
        chain = int(copy.chain_of[copy.at_work[REPLICA]])
        scan = f", scan {copy.at_work[SCAN]}" if self.explores else ""
        return f"{self.when}{scan} (copy {self.copy_number}, chain {chain}, beta={self.schedule[chain]:.6g})"

    def before(self, copy: Copy) -> tuple[float, float] | None:
        """Return the log-densities of the replica's last state of positive density, if it has one."""
        replica = copy.at_work[REPLICA]
        if not self.explores or self.of_mixture or copy.chain_of[replica] == 0:
            return None
        row = copy.log_densities[replica]
        return float(row[LOG_REFERENCE]), float(row[LOG_LIKELIHOOD])


NOWHERE = Place()


@dataclass(frozen=True)
class errors_at_point:  # noqa: N801 (used like a function)
    """Turn an exception or NaN of a target into an error that names the point: the state of the replica at work.

    A class, because a `contextlib.contextmanager` would raise a StopIteration of the user's function as it is.
    """

    target: PreparedTarget
    copy: Copy
    place: Place = NOWHERE

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if isinstance(error, Exception):
            raise_at_point(self.target, self.copy, self.place, error)


def raise_at_point(target: PreparedTarget, copy: Copy, place: Place, error: Exception) -> NoReturn:
    """Raise an error again, with the point, where that was in the run, and the user's function that failed."""
    state = copy.states[copy.at_work[REPLICA]].copy()
    where, when = f" at {_point(target, state)}", place.text(copy)
    happened = f" This happened {when}." if when else ""
    if isinstance(error, ImpossibleDraw):
        rejected = ' A log_density that fails has density zero, because of on_error="reject".' if target.rejects else ""
        raise EvaluationError(
            f"The reference drew an impossible state{where}: draws must lie inside the declared space and have a "
            f"positive density. Check that draw and log_density describe the same distribution.{rejected}{happened}"
        ) from None
    if isinstance(error, NotANumber):
        zero = "density" if "reference" in str(error) else "likelihood"
        sign = f" Check its sign: it is the logarithm of the {zero}, not minus that." if "+inf" in str(error) else ""
        raise EvaluationError(
            f"The {error}{where}. A log-density must be a number below +inf: return -inf where the {zero} is zero."
            f"{sign}{happened}{_log_densities(target, copy, place, state, _of_not_a_number(str(error)))}"
            f"{target.odd_data}"
        ) from None
    if isinstance(error, Mismatch):
        raise_mismatch(target, state, str(error))
    label, explained = target.failure(state, error)
    if label == "the reference's draw":
        # the state is that of before the draw
        where = ""
    densities = _log_densities(target, copy, place, state, _of_exception(label)) if where else ""
    if isinstance(error, Error):
        # errors of workers and moves name no point
        parts = ", ".join(part for part in (where.strip(), when) if part)
        happened = f" This happened {parts}." if parts else ""
        raise type(error)(f"{explained}{happened}{densities}{target.remark(label)}") from error.__cause__
    raise EvaluationError(
        f"{label[0].upper() if label.startswith('the ') else label[0]}{label[1:]} raised {describe(explained)}{where}. "
        f"{_advice(error, label)}{happened}{densities}{target.remark(label)}{target.odd_data}"
    ) from error


@dataclass(frozen=True)
class _Known:
    """What an error says of the log-densities at its point: a text for the one that failed."""

    reference: str = ""
    likelihood: str = ""


def _of_not_a_number(message: str) -> _Known | None:
    """Read which log-density is no number; None if that is a change or a conditional distribution."""
    value = "+inf" if message.endswith("+inf") else "NaN"
    if message.startswith("log-likelihood is") and message.endswith(value):
        return _Known(likelihood=value)
    if message.startswith("reference's log-density is"):
        return _Known(value, "not evaluated")
    return None


def _of_exception(label: str) -> _Known | None:
    if label == "log_likelihood":
        return _Known(likelihood="not known")
    return _Known("not known", "not evaluated") if label == REFERENCE_LABEL else None


def _log_densities(target: PreparedTarget, copy: Copy, place: Place, state: FloatArray, known: _Known | None) -> str:
    """Say what the log-densities are at the point that failed, and at the replica's last state before it."""
    before, texts = place.before(copy), []
    if known is not None and place.when:
        reference = known.reference or _reference_at(target, state)
        texts.append(f"At this point log_reference is {reference} and log_likelihood is {known.likelihood}.")
    if before is not None:
        texts.append(
            f"At the replica's last state before, log_reference was {before[0]:.10g} and log_likelihood "
            f"{before[1]:.10g}."
        )
    return "".join(f" {text}" for text in texts)


def _reference_at(target: PreparedTarget, state: FloatArray) -> str:
    """Return the log-density of the user's reference, evaluated by this thread and not by workers, as a text."""
    own = target.prior if isinstance(target, MixtureTarget) else target
    with suppress(Exception), callback.override({}), np.errstate(all="ignore"):
        return f"{own.log_reference(state):.10g}"
    return "not known"


def _point(target: PreparedTarget, state: FloatArray) -> str:
    """Name a point by its variables, or by its coordinates if the variables cannot be computed."""
    try:
        return target.describe_point(state)
    except Exception:
        return f"the state {state}"


def _advice(error: Exception, label: str) -> str:
    if label == "the reference's draw":
        return "Fix the function: it must return a draw whenever it is called."
    if label not in ("log_likelihood", REFERENCE_LABEL):
        return "Fix the function: it must not fail at any state that a chain can reach."
    if isinstance(error, ValueError) and "read-only" in str(error):
        return "Data and variables cannot be changed, because every chain uses them: change a copy, such as y.copy()."
    if isinstance(error, (ArithmeticError, ValueError)):
        zero = "likelihood" if label == "log_likelihood" else "density"
        return f"Return -inf where the {zero} is zero; at any other point, fix the function."
    return "Fix the function: it must return a number at every draw from the reference."
