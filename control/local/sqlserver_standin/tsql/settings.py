"""SET: the options of a session that change what a reader sees, and those that change nothing here."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from wrackline.control.local.sqlserver_standin.wire.server_error import unknown_statement

ALL_OF_IT = 0x7FFFFFFF
_LEVELS = {"READ COMMITTED", "SNAPSHOT"}
_WITHOUT_EFFECT = frozenset(
    {
        *("NOCOUNT", "ARITHABORT", "ANSI_NULLS", "ANSI_PADDING", "ANSI_WARNINGS", "ANSI_DEFAULTS"),
        *("ANSI_NULL_DFLT_ON", "ANSI_NULL_DFLT_OFF", "QUOTED_IDENTIFIER", "CONCAT_NULL_YIELDS_NULL"),
        *("CURSOR_CLOSE_ON_COMMIT", "DEADLOCK_PRIORITY", "LANGUAGE", "DATEFORMAT", "DATEFIRST"),
        *("ROWCOUNT", "NUMERIC_ROUNDABORT", "FMTONLY", "NO_BROWSETABLE", "ARITHIGNORE"),
    }
)


@dataclass(slots=True)
class Settings:
    """The options of a session."""

    isolation: str = "READ COMMITTED"
    lock_timeout: dt.timedelta | None = None
    aborts: bool = False
    """XACT_ABORT: any error rolls the transaction back."""
    implicit: bool = False
    """IMPLICIT_TRANSACTIONS: a statement that touches a table begins one."""
    text_size: int = ALL_OF_IT
    """How many bytes of a long value are shown; the server's own default is 4096, ODBC's all of it."""
    no_count: bool = False


def change(settings: Settings, words: Sequence[str]) -> None:
    """Set an option; one that is not known is refused."""
    first, last = words[0], words[-1]
    if tuple(words[:3]) == ("TRANSACTION", "ISOLATION", "LEVEL"):
        level = " ".join(words[3:])
        if level not in _LEVELS:
            raise unknown_statement("SET " + " ".join(words), "the model has READ COMMITTED and SNAPSHOT")
        settings.isolation = level
    elif first == "LOCK_TIMEOUT":
        milliseconds = int("".join(words[1:]))
        settings.lock_timeout = None if milliseconds < 0 else dt.timedelta(milliseconds=milliseconds)
    elif first == "XACT_ABORT":
        settings.aborts = last == "ON"
    elif first == "IMPLICIT_TRANSACTIONS":
        settings.implicit = last == "ON"
    elif first == "TEXTSIZE":
        settings.text_size = int("".join(words[1:]))
    elif first not in _WITHOUT_EFFECT:
        raise unknown_statement("SET " + " ".join(words), "it is not an option of the stand-in")
    if first == "NOCOUNT":
        settings.no_count = last == "ON"
