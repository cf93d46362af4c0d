"""What a user gets when something given to sterna cannot work."""


class Error(Exception):
    """Base of all errors that sterna raises on purpose."""


class OptionError(Error, ValueError):
    """An option of a call or of the command line has a value that cannot work."""


class TargetError(Error, ValueError):
    """A target cannot be built: its likelihood, reference or data do not fit together."""


class EvaluationError(Error, RuntimeError):
    """The likelihood or the reference failed at a point; the message names the point."""


class InitialStateError(Error, RuntimeError):
    """No starting point with a positive likelihood was found."""


def describe(error: BaseException) -> str:
    """Return the type and the message of an exception, also of one whose message cannot be computed."""
    try:
        text = str(error).strip()
    except Exception as failure:
        text = f"(no message, because its __str__ raised {type(failure).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
