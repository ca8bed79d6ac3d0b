"""What the library's failures are in Python: built-in exceptions that also carry the library's code."""

from __future__ import annotations

CODES = ("OK", "BAD_ARGUMENT", "BAD_DATA", "BAD_FILE", "NO_MEMORY", "NUMERIC", "UNSUPPORTED", "STOPPED", "MISSING_VALUE")


class Error(Exception):
    """A failure of the library: `code` is the name of its status, the text its sentence."""

    code = "OK"


class BadValue(Error, ValueError):
    """A setting, a size or data that the library refuses."""


class FileError(Error, OSError):
    """A file that cannot be read, written or believed."""


class OutOfMemory(Error, MemoryError):
    """More memory than there is, or than was allowed."""


class NumericalError(Error, ArithmeticError):
    """A matrix that should be positive definite is not, or a number is not finite."""


class NotSupported(Error, ValueError, NotImplementedError):
    """Well posed, but not offered; the sentence says why."""


class NotThere(NotSupported, AttributeError):
    """An attribute that estimators have, but not this one: hasattr says so."""


class Stopped(Error):
    """Whoever watches the work wanted it to stop."""


_CLASSES = {"BAD_FILE": FileError, "NO_MEMORY": OutOfMemory, "NUMERIC": NumericalError, "UNSUPPORTED": NotSupported,
            "STOPPED": Stopped}


def error(status: int, sentence: str) -> Error:
    """The exception of a status; called by the extension."""
    code = CODES[status] if 0 <= status < len(CODES) else "BAD_ARGUMENT"
    e = _CLASSES.get(code, BadValue)(sentence)
    e.code = code
    return e


def refuse(sentence: str) -> Error:
    """A call that is wrong before the library sees it."""
    return error(CODES.index("BAD_ARGUMENT"), sentence)
