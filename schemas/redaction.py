"""Secrets that can be carried but not shown.

    Secret("hunter2")         every way to print, format or serialise it yields ***
    Secret("hunter2").reveal()  the only way to its value, at the driver's call
    Redactor([secret, ...])   removes secrets' values from texts that others wrote

Why a string whose content is `***`: code that treats it as a string (JSON writers in C, loggers, `"".join`,
an f-string) finds nothing else to show.  If `reveal()` is forgotten, the log-in fails and nothing leaks.
"""

import json
import re
from collections.abc import Iterable
from typing import NoReturn, Self
from urllib.parse import quote, quote_plus

MASK = "***"
LONGEST_NAME = 120
SHORTEST_BLIND = 4  # a shorter value is replaced only as a word, or the stars would spell it out
SECRET_NAME = re.compile(  # of a setting or a property whose value is never shown, whoever declares it
    r"secret|pass?w|passphrase|pwd|token|credential|jaas|authorization|[._-]pw$|[.]sas[.]|key[._-]?pem"
    r"|(?:access|api|private|account|keystore)[._-]?key",
    re.IGNORECASE,
)

# each expression takes time in proportion to the text: texts of strangers come here, of any length
_WORD = re.compile(r"\S+")
_URL_USER = re.compile(r"(?<=[a-z0-9+.-])://[^\s:/@]*:", re.IGNORECASE)
_NAMED_VALUE = re.compile(
    r"(?P<head>\b(?:password|passwd|pwd|secret|token|api[_.-]?key|sasl\.password)\b[\"']?\s*[=:]\s*)"
    r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\{[^}]*(?:\}|\Z)|[^\s;,&'\"]+)",
    re.IGNORECASE,
)
_SALT = re.compile(r"(?P<head>with\.salt\.).*", re.IGNORECASE | re.DOTALL)


class Secret(str):
    """A string that shows only stars; equal to another secret of the same value."""

    __slots__ = ("_value",)
    _value: str

    def __new__(cls, value: str) -> Self:
        """Hide `value` behind the stars."""
        made = super().__new__(cls, MASK)
        made._value = value
        return made

    def reveal(self) -> str:
        """Return the value; call it only where a driver needs it."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret is never pickled")


class Redactor:
    """Takes known secrets, and whatever looks like one, out of a text before it is shown."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        spellings = {s for secret in secrets for s in _spellings(secret.reveal())}
        longest_first = sorted(spellings, key=lambda s: (-len(s), s))
        self._known = re.compile("|".join(map(_pattern, longest_first))) if longest_first else None

    def __repr__(self) -> str:
        return "Redactor()"

    def clean(self, text: str) -> str:
        """Return the text without secrets: by value first, then by look."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        return redact_by_look(text)


def redact_by_look(text: str) -> str:
    """Take out passwords in URLs and in `password=...` of connection strings."""
    if "://" in text:
        text = _WORD.sub(_without_password, text)
    return _NAMED_VALUE.sub(rf"\g<head>{MASK}", text)


def _without_password(found: re.Match[str]) -> str:
    """Mask what lies between the user of a URL and the word's last @ with a host behind it."""
    word = found[0]
    user, at = _URL_USER.search(word), word.rstrip("@").rfind("@")
    return word if user is None or at < user.end() else f"{word[: user.end()]}{MASK}{word[at:]}"


def shown_name(name: str) -> str:
    """Return a setting's name as it may be shown: printable, short, and without a salt or a password.

    The salt of `column.mask.hash.<algorithm>.with.salt.<salt>` is in the name itself; a password is, if a
    user wrote a whole line, or an address, as the name.
    """
    printable = "".join(c if c.isprintable() else "?" for c in name[:LONGEST_NAME])
    tail = "..." if len(name) > LONGEST_NAME else ""
    return redact_by_look(_SALT.sub(rf"\g<head>{MASK}", printable)) + tail


def _spellings(value: str) -> set[str]:
    """The ways in which a driver may print a value back: bare, or quoted for a URL, JSON, Python or SQL."""
    if not value.strip():
        return set()
    return {
        value,
        quote(value, safe=""),
        quote_plus(value),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        value.replace("'", "''"),
    }


def _pattern(spelling: str) -> str:
    escaped = re.escape(spelling)
    return escaped if len(spelling) >= SHORTEST_BLIND else rf"(?<!\w){escaped}(?!\w)"
