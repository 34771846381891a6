"""Errors whose type says who acts, and whose code, sentence and hint say how.

    Transient        we try again, with a limit
    OperatorNeeded   the table or pipeline waits for the operator
    Definite         data is gone, or trying again can never succeed

A code is defined once, where it is raised, and is then called to make the error:

    SLOT_LOST = define(
        "pg.slot_lost",
        Definite,
        "replication slot {slot} was invalidated",
        hint="raise max_slot_wal_keep_size, then: wrackline snapshot start <pipeline.toml> '{table}'",
    )
    raise SLOT_LOST(slot=name, table=table) from exc

The placeholders are names of things, never values of rows and never secrets.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from traceback import extract_tb
from types import MappingProxyType

from wrackline.schemas.message_texts import fill_in, for_database


class WracklineError(Exception):
    """The base class; raise one of its three kinds, through a code."""

    def __init__(self, code: str, sentence: str, hint: str) -> None:
        if type(self) is WracklineError:
            raise TypeError("raise Transient, OperatorNeeded or Definite through a code, not their base")
        super().__init__(code, sentence, hint)
        self.code = code
        self.sentence = sentence
        self.hint = hint

    def document(self) -> dict[str, str]:
        """Return it as plain values, for JSON."""
        kind = type(self).__name__
        return {"code": self.code, "kind": kind, "sentence": self.sentence, "hint": self.hint}

    def __str__(self) -> str:
        return error_text(self.document())


def fault_text(fault: BaseException) -> str:
    """Name an unforeseen error by its place: its message may contain a value."""
    last = extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__} at {last.filename.rpartition('/')[2]}:{last.lineno}"


def error_text(document: Mapping[str, object]) -> str:
    """Return the text of an error's document, as the error itself has it."""
    hint = f"\n  hint: {document['hint']}" if document["hint"] else ""
    return f"[{document['code']}] {document['sentence']}{hint}"


class Transient(WracklineError):
    """A later try may succeed; the worker tries again, with back-off and a limit."""


class OperatorNeeded(WracklineError):
    """The operator must do what the hint says; the table or pipeline waits and keeps its position."""


class Definite(WracklineError):
    """Trying again can never succeed: data is gone, or the request is impossible."""


_KINDS = {kind.__name__: kind for kind in (Transient, OperatorNeeded, Definite)}


def error_of(document: Mapping[str, str]) -> WracklineError:
    """Return an error that came as plain values."""
    kind = _KINDS.get(document["kind"], Transient)
    return kind(document["code"], document["sentence"], document["hint"])


def of_database(error: WracklineError, database: str) -> WracklineError:
    """Return the error of one of several databases: what its hint starts over is that one alone."""
    return type(error)(error.code, error.sentence, for_database(error.hint, database))


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A registered code; a call with the placeholders' values makes the error."""

    code: str
    kind: type[WracklineError]
    sentence: str
    hint: str
    placeholders: frozenset[str] = field(default_factory=frozenset)
    connects: bool = False  # whether it says that a server can't be reached, or lets nobody of ours in

    def __call__(self, **names: object) -> WracklineError:
        """Make the error; a name missing or over is a fault of the caller's code."""
        if names.keys() != self.placeholders:
            raise TypeError(f"{self.code} takes {sorted(self.placeholders)}, not {sorted(names)}")
        return self.kind(self.code, self.sentence.format_map(names), fill_in(self.hint, names))

    def fill(self, names: Mapping[str, object]) -> WracklineError:
        """Make the error, with the names among these that it takes."""
        return self(**{name: names[name] for name in self.placeholders})


_REGISTERED: dict[str, ErrorCode] = {}


def define(
    code: str, kind: type[WracklineError], sentence: str, *, hint: str, connects: bool = False
) -> ErrorCode:
    """Register a code; a second definition of the same code stops the program at import."""
    if code in _REGISTERED:
        raise ValueError(f"error code {code} is defined twice")
    placeholders = frozenset(
        name for text in (sentence, hint) for _, name, _, _ in string.Formatter().parse(text) if name
    )
    made = ErrorCode(code, kind, sentence, hint, placeholders, connects)
    _REGISTERED[code] = made
    return made


def connects(code: str) -> bool:
    """Whether a code says that a server can't be reached, or lets nobody of ours in."""
    return code in _REGISTERED and _REGISTERED[code].connects


def all_codes() -> Mapping[str, ErrorCode]:
    """Every code of the modules imported so far, for docs/errors.md."""
    return MappingProxyType(_REGISTERED)
