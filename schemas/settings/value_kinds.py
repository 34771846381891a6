"""From a setting's text to its typed value, and the rules for that value.

A text comes in (Kafka Connect's configurations are maps of strings), a frozen value goes out, or a
`ValueError` whose text says what was expected.  That text never repeats the value: a password pasted into the
wrong line must not be printed.
"""

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

from wrackline.schemas.redaction import Secret

_HTTP: Final = re.compile(
    r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?(?:/[!-\"$-?A-~]*)?"
)

Value = bool | int | float | str | Secret | tuple[str, ...] | None
Validator = Callable[[Value], str | None]  # the reason against a value, or None

_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_CLASS = re.compile(r"[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)*")
_SPLIT = re.compile(r"(?<!\\),")


class SettingKind(Enum):
    """The type of a setting, with Kafka Connect's name for it."""

    BOOLEAN = "BOOLEAN"
    INT = "INT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    LIST = "LIST"
    PASSWORD = "PASSWORD"  # noqa: S105 - Connect's name of a type, not a password
    CLASS = "CLASS"


def parse_value(kind: SettingKind, text: str) -> Value:
    """Read one value, or raise ValueError with what was expected."""
    return _PARSERS[kind](text)


def split_list(text: str) -> tuple[str, ...]:
    r"""Split at commas, trimmed; `\,` is a comma inside an item, as regular expressions need it."""
    items = (item.strip().replace("\\,", ",") for item in _SPLIT.split(text))
    return tuple(item for item in items if item)


def join_list(items: tuple[str, ...]) -> str:
    """Write a list so that `split_list` reads the same items."""
    return ",".join(item.replace(",", "\\,") for item in items)


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise ValueError("expected true or false")
    return word == "true"


def _integer(kind: SettingKind) -> Callable[[str], int]:
    bound = 2**31 if kind is SettingKind.INT else 2**63

    def parse(text: str) -> int:
        if not _INTEGER.fullmatch(text.strip()):
            raise ValueError("expected a whole number, without unit or spaces")
        number = int(text)
        if not -bound <= number < bound:
            raise ValueError(f"expected a whole number from {-bound} to {bound - 1}")
        return number

    return parse


def _double(text: str) -> float:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError("expected a number, without unit or spaces")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("expected a finite number")
    return number


def _string(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without a NUL character")
    return text.strip()


def _password(text: str) -> Secret:
    if "\0" in text:
        raise ValueError("expected text without a NUL character")
    return Secret(text)


def _class(text: str) -> str:
    if not _CLASS.fullmatch(text.strip()):
        raise ValueError("expected a kind or a class name: letters, digits, _ and dots")
    return text.strip()


_PARSERS: dict[SettingKind, Callable[[str], Value]] = {
    SettingKind.BOOLEAN: _boolean,
    SettingKind.INT: _integer(SettingKind.INT),
    SettingKind.LONG: _integer(SettingKind.LONG),
    SettingKind.DOUBLE: _double,
    SettingKind.STRING: _string,
    SettingKind.LIST: lambda text: split_list(_string(text)),
    SettingKind.PASSWORD: _password,
    SettingKind.CLASS: _class,
}


def between(low: int, high: int) -> Validator:
    """The number lies between two bounds, both allowed."""

    def check(value: Value) -> str | None:
        fits = isinstance(value, int | float) and low <= value <= high
        return None if fits else f"expected a number from {low} to {high}"

    return check


def at_least(low: int) -> Validator:
    """The number is not below a bound."""

    def check(value: Value) -> str | None:
        return None if isinstance(value, int | float) and value >= low else f"expected {low} or more"

    return check


@dataclass(frozen=True, slots=True)
class OneOf:
    """The text is one of these words; for a near miss, the error names the word that was probably meant."""

    words: tuple[str, ...]

    def __call__(self, value: Value) -> str | None:
        """Return what was expected."""
        if value in self.words:
            return None
        near = get_close_matches(str(value).lower(), self.words, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        return f"expected one of {', '.join(self.words)}{meant}"


def one_of(*words: str) -> OneOf:
    """Accept only these words."""
    return OneOf(words)


@dataclass(frozen=True, slots=True)
class Each:
    """Every item of a list passes, and there are at least this many."""

    item: Validator
    least: int

    def __call__(self, value: Value) -> str | None:
        """Return what was expected."""
        items = value if isinstance(value, tuple) else ()
        if len(items) < self.least:
            return f"expected at least {self.least} of them"
        return next((reason for one in items if (reason := self.item(one))), None)


def each(item: Validator, *, least: int = 0) -> Each:
    """Require that every item of a list passes, and that there are `least` of them."""
    return Each(item, least)


def words_of(validator: Validator | None) -> tuple[str, ...]:
    """Return the words that a text, or an item of a list, may be; none if it may be any other."""
    match validator:
        case OneOf(words):
            return words
        case Each(item):
            return words_of(item)
        case _:
            return ()


def matching(pattern: str, expected: str) -> Validator:
    """The whole text matches a pattern; `expected` says it in words."""
    compiled = re.compile(pattern)

    def check(value: Value) -> str | None:
        return None if compiled.fullmatch(str(value)) else f"expected {expected}"

    return check


def http_address(expected: str) -> Validator:
    """An address that can be posted to, without a log-in; `expected` says it in words."""

    def check(value: Value) -> str | None:
        text = value.reveal() if isinstance(value, Secret) else str(value)
        try:
            parts = urlsplit(text)
            fits = _HTTP.fullmatch(text) and parts.port != 0  # a port above 65,535 raises
            (parts.hostname or "").encode("idna")  # as the system's look-up does; it raises for `a..b`
        except ValueError:
            fits = None
        return None if fits else f"expected {expected}"

    return check


def in_bytes(most: int, expected: str) -> Validator:
    """The text has 1 to this many bytes as UTF-8, because a server cuts what is longer."""

    def check(value: Value) -> str | None:
        return None if 0 < len(str(value).encode("utf-8", "replace")) <= most else f"expected {expected}"

    return check


def not_empty(value: Value) -> str | None:
    """The value is not empty; of a secret, its text is checked, not its stars."""
    text = value.reveal() if isinstance(value, Secret) else value
    return None if text not in ("", (), None) else "expected a value, but it is empty"


def regular_expression(value: Value) -> str | None:
    """The text is a regular expression (Java's common ground with Python's).

    Java takes sets of sets and quoted parts.  Python would read them as something else, and a pattern that
    leaves out or masks would match nothing.
    """
    if r"\Q" in str(value):
        return r"expected a regular expression without \Q...\E; write a \ before each character instead"
    try:
        with warnings.catch_warnings(action="error", category=FutureWarning):
            re.compile(str(value))
    except FutureWarning:
        return "expected a regular expression without && or brackets inside of brackets; list the characters"
    except (re.error, OverflowError, RecursionError):
        return "expected a regular expression; put \\ before a dot or bracket that is meant literally"
    return None
