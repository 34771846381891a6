"""The users that may log in, with their roles: a file for people, which is read again as soon as it changes.

    [users.ann]
    role = "admin"                             # viewer, operator or admin
    data = true                                # may see values of rows; false if it is left out
    password = "scrypt-14-8-5:…"               # wrackline rest password

    [users.deploy]
    role = "operator"
    tokens = [{ sha256 = "…", until = 2027-01-31 }]    # wrackline rest token; until may be left out

In: the file.  Out: users by name and by token.  A file that can't be read lets nobody in, because its content
before may have let in a user that was just removed.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from wrackline.control.runtime.rest.access import passwords, private_file
from wrackline.control.runtime.rest.access.roles import Role
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.redaction import shown_name

_NAME: Final = re.compile(r"[A-Za-z0-9._@-]{1,64}")  # no colon: it ends a name in a request
_MOST: Final = 1000  # users, and tokens of one
_ROLES: Final = {role.name.lower(): role for role in Role if role is not Role.OPEN}
_PASSWORDS: Final = 'password = "<what this prints>": wrackline rest password'
_TOKENS: Final = 'tokens = [{ sha256 = "<what this prints>" }]: wrackline rest token'

BAD_USERS = define(
    "rest.bad_users",
    OperatorNeeded,
    "{file} does not say who may log in: {why}",
    hint="correct it: {remedy}; until then no user can log in",
)


@dataclass(frozen=True, slots=True)
class User:
    """A person or a program that may log in."""

    name: str
    role: Role
    password: str | None = field(default=None, repr=False)
    data: bool = False  # may see values of rows


@dataclass(frozen=True, slots=True)
class Token:
    """What a user may also log in with; valid through its last day, by UTC."""

    user: User
    until: date | None


@dataclass(frozen=True, slots=True)
class Users:
    """All of a file."""

    named: Mapping[str, User]
    tokens: Mapping[str, Token]  # by digest


class UsersFile:
    """The users as the file lists them now."""

    def __init__(self, path: Path) -> None:
        """Read it; `current` raises the file's faults at once."""
        self._path = path
        self._mark = private_file.GONE
        self._users = Users({}, {})
        self._fault: WracklineError | None = None
        self.current()

    def current(self) -> Users:
        """Return them: look at the file once, and read it if it has changed."""
        if private_file.mark(self._path) != self._mark or self._mark == private_file.GONE:
            self._fault = None
            try:
                content, self._mark = private_file.read(self._path)
                self._users = parse(self._path, content)
            except WracklineError as error:
                self._users, self._fault = Users({}, {}), error
                self._mark = private_file.mark(self._path)
        if self._fault is not None:
            raise self._fault.with_traceback(None)
        return self._users


def parse(path: Path, content: bytes) -> Users:
    """Read a users' file; errors contain only names and places of what it holds."""
    try:
        read = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise _bad(path, "it is not TOML", "[users.<name>] with role and password") from None
    found = read.get("users")
    if read.keys() != {"users"} or not isinstance(found, dict) or not 0 < len(found) <= _MOST:
        raise _bad(path, f"it must hold 1 to {_MOST} tables [users.<name>], and nothing else", _PASSWORDS)
    named: dict[str, User] = {}
    tokens: dict[str, Token] = {}
    for name, given in found.items():
        named[name] = user = _user(path, name, given)
        for one in _tokens(path, name, given):
            digest, until = _token(path, name, one)
            if digest in tokens:
                raise _bad(path, f"{name} has a token twice, or another user's", _TOKENS)
            tokens[digest] = Token(user, until)
    return Users(named, tokens)


def _user(path: Path, name: str, given: Any) -> User:  # noqa: ANN401 - as TOML has it
    if _NAME.fullmatch(name) is None:
        raise _bad(path, f"{shown_name(name)} is not a name of a user", "1 to 64 letters, digits or . _ @ -")
    if not isinstance(given, dict) or not given.keys() <= {"role", "password", "tokens", "data"}:
        raise _bad(path, f"{name} has more than role, password, tokens and data", "take the rest out")
    role = given.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise _bad(path, f"{name} has no role that there is", f"role = one of {', '.join(_ROLES)}")
    password = given.get("password")
    if password is not None and not (isinstance(password, str) and passwords.is_hashed_password(password)):
        raise _bad(path, f"{name}'s password is not as it is kept", _PASSWORDS)
    data = given.get("data", False)
    if not isinstance(data, bool):
        raise _bad(path, f"data of {name} is neither true nor false", "data = true, or leave it out")
    if password is None and not given.get("tokens"):
        raise _bad(path, f"{name} has neither password nor token", _PASSWORDS)
    return User(name, _ROLES[role], password, data)


def _tokens(path: Path, name: str, given: Mapping[str, Any]) -> list[Any]:
    found = given.get("tokens", [])
    if not isinstance(found, list) or len(found) > _MOST:
        raise _bad(path, f"{name}'s tokens are no list of at most {_MOST}", _TOKENS)
    return found


def _token(path: Path, name: str, given: Any) -> tuple[str, date | None]:  # noqa: ANN401 - as TOML has it
    whole = isinstance(given, dict) and given.keys() <= {"sha256", "until"}
    digest = given.get("sha256") if whole else None
    if not isinstance(digest, str) or not passwords.is_digest(digest):
        raise _bad(path, f"a token of {name} is not as it is kept", _TOKENS)
    until = given.get("until")
    if until is not None and type(until) is not date:  # in Python, a datetime is a date too
        raise _bad(
            path, f"a token of {name} has an end that is not a day", "until = 2027-01-31, without quotes"
        )
    return digest, until


def _bad(path: Path, why: str, remedy: str) -> WracklineError:
    return BAD_USERS(file=path, why=why, remedy=remedy)
