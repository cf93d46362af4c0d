"""What a user gets when something given to sterna cannot work."""


class Error(Exception):
    """Base of all errors that sterna raises on purpose.

    Examples
    --------
    >>> import sterna
    >>> try:
    ...     sterna.Normal(0, -1)
    ... except sterna.Error as error:
    ...     print(error)
    Normal(mu=0, sigma=-1): sigma must be positive.
    """


class OptionError(Error, ValueError):
    """An option of a call or of the command line has a value that cannot work.

    Examples
    --------
    >>> import sterna
    >>> sterna.sample(sterna.models.normal(), n_chains=1)
    Traceback (most recent call last):
        ...
    sterna.errors.OptionError: n_chains=1 ...
    """


class TargetError(Error, ValueError):
    """A target cannot be built: its likelihood, reference or data do not fit together.

    Examples
    --------
    >>> import sterna
    >>> sterna.Target(lambda height, weight: -height * weight, {"height": sterna.Normal(170, 10)})
    Traceback (most recent call last):
        ...
    sterna.errors.TargetError: log_likelihood has a parameter 'weight', ...
    """


class EvaluationError(Error, RuntimeError):
    """The likelihood or the reference failed at a point; the message names the point.

    Examples
    --------
    >>> import math, sterna
    >>> target = sterna.Target(lambda x: math.log(x), {"x": sterna.Normal(0, 1)}, compile=False)
    >>> sterna.sample(target, explorer="slice", progress=False)
    Traceback (most recent call last):
        ...
    sterna.errors.EvaluationError: ...math domain error...
    """


class InitialStateError(Error, RuntimeError):
    """No starting point with a positive likelihood was found.

    Examples
    --------
    >>> import math, sterna
    >>> target = sterna.Target(lambda x: -math.inf, {"x": sterna.Normal(0, 1)}, compile=False)
    >>> sterna.sample(target, explorer="slice", progress=False)
    Traceback (most recent call last):
        ...
    sterna.errors.InitialStateError: The likelihood is zero ...
    """


class MissingLibraryError(Error, ModuleNotFoundError):
    """An optional library is needed and not installed; the message says how to install it.

    Examples
    --------
    >>> import sterna
    >>> def saved(result):
    ...     try:
    ...         return result.to_arviz()
    ...     except sterna.MissingLibraryError as error:
    ...         print(error)  # says: pip install 'sterna[arviz]'
    """


class StorageError(Error, OSError):
    """A folder or file of a run cannot be read or written, is damaged, or belongs to another run.

    Examples
    --------
    >>> import sterna
    >>> sterna.load("no such folder")
    Traceback (most recent call last):
        ...
    sterna.errors.StorageError: ...no such folder is not there...
    """


def describe(error: BaseException) -> str:
    """Return the type and the message of an exception, also of one whose message cannot be computed."""
    try:
        text = str(error).strip()
    except Exception as failure:
        text = f"(no message, because its __str__ raised {type(failure).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
