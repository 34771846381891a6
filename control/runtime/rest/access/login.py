"""The log-in: only a name with its password, or a token, of the users' file is let in.

    Authorization: Basic …      as clients of Kafka Connect send it
    Authorization: Bearer …     a token
    Cookie                      a session, for the console's pages alone: a page of another site can make a
                                browser send it, and only these pages' forms bring a token along

In: an application.  Out: the same, behind the log-in; each request that it gets has its user.  Trying a
password is slow on purpose.  So few are tried at once, few wait for it, and one that was right is remembered
(as a keyed digest together with what the file keeps, so a password that is changed is forgotten).  A
stranger gets the same answer, after the same time, whether or not a name is in the file.
"""

import asyncio
import hashlib
import hmac
import secrets
import time
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wrackline.control.runtime.rest.access import passwords
from wrackline.control.runtime.rest.access.failed_logins import SECONDS, FailedLogins, Who
from wrackline.control.runtime.rest.access.roles import ROLES, Role, route_of
from wrackline.control.runtime.rest.access.sessions import Session, Sessions
from wrackline.control.runtime.rest.access.users_file import User, Users, UsersFile
from wrackline.control.runtime.rest.model.answer import Answer, error_response
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define

_AT_ONCE: Final = 2  # passwords that are tried
_WAITING: Final = 32  # requests that wait for it
_REMEMBERED: Final = 256  # passwords that were right
PAGES: Final = "/console"
LOGIN_PAGE: Final = f"{PAGES}/login"
_CHALLENGES: Final = (
    (b"www-authenticate", b'Basic realm="wrackline", charset="UTF-8"'),
    (b"www-authenticate", b'Bearer realm="wrackline"'),
)

NEEDED = define(
    "rest.login_needed",
    Definite,
    "this address answers only a user who logs in",
    hint="curl --user <name> <url>; or with a token: -H 'Authorization: Bearer <token>'",
)
WRONG = define(
    "rest.login_wrong",
    Definite,
    "{what} is not right",
    hint="a new password is made by: wrackline rest password; a new token by: wrackline rest token",
)
TOO_OFTEN = define(
    "rest.login_too_often",
    Transient,
    "too many log-ins have failed; wait a minute",
    hint="find out which client sends a wrong password; the worker's output names its address",
)
BUSY = define(
    "rest.login_busy",
    Transient,
    "too many passwords are being tried; wait a second",
    hint="let programs log in with a token: wrackline rest token",
)
CLOSED = define(
    "rest.login_closed",
    OperatorNeeded,
    "no user can log in: the users' file has a fault",
    hint="the worker's output says which; correct the file, and ask again",
)
FAILED = define(
    "rest.login_failed",
    OperatorNeeded,
    "a log-in from {address} as {user} failed",
    hint="if it is not one of your clients, block that address; passwords and tokens: wrackline rest --help",
)
_STATUS: Final = {NEEDED.code: 401, WRONG.code: 401, TOO_OFTEN.code: 429, BUSY.code: 503, CLOSED.code: 503}
_RETRY_S: Final = {TOO_OFTEN.code: f"{SECONDS:.0f}", BUSY.code: "1"}

Tell = Callable[[WracklineError], None]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What came in the header: a name with its password, or a token without a name."""

    name: str | None
    secret: str = field(repr=False)


class Login:
    """The application, for users that are known."""

    def __init__(self, app: ASGIApp, users: UsersFile, tell: Tell, sessions: Sessions) -> None:
        """Take the users, and what gets each log-in that failed and each fault of the users' file."""
        self._app, self._users, self._tell, self.sessions = app, users, tell, sessions
        self._attempts = FailedLogins(time.monotonic)
        self._right = _RightPasswords()
        self._trying = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._fault = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "websocket":  # the application has none
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["login"] = self
        if not _is_open(scope["method"], scope["path"]):
            try:
                scope["user"] = await self._identify(scope)
            except WracklineError as error:
                refused = (
                    _to_login(scope) if error.code == NEEDED.code and is_page(scope) else _refusal(error)
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, self._renewing(scope, send))

    async def log_in(self, scope: Scope, name: str, password: str) -> User:
        """Return the user of a name and a password that came in a form; raise WRONG, TOO_OFTEN or BUSY."""
        return await self._by_password(self._file(), name, password, _address(scope))

    async def _identify(self, scope: Scope) -> User:
        users, headers = self._file(), Headers(scope=scope)
        given = read_credentials(headers)
        if given is None:
            session = self.sessions.read(headers.get("cookie", ""), users) if is_page(scope) else None
            if session is None:
                needed = NEEDED()
                raise needed
            scope["session"] = session
            return session.user
        if given.name is None:
            return self._by_token(users, given.secret, _address(scope))
        return await self._by_password(users, given.name, given.secret, _address(scope))

    def _renewing(self, scope: Scope, send: Send) -> Send:
        """Return what sends an answer; a page that somebody asks for keeps the session from getting idle."""
        session: Session | None = scope.get("session")
        by_itself = b"hx-request" in dict(scope["headers"])  # an open page asks every two seconds
        renewed = None if session is None or by_itself else self.sessions.renewed(session)
        if renewed is None:
            return send

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"]]
                if not any(name == b"set-cookie" for name, _ in headers):  # a log-out takes it away
                    headers.append((b"set-cookie", renewed.encode()))
                message = {**message, "headers": headers}
            await send(message)

        return with_cookie

    def _file(self) -> Users:
        try:
            users = self._users.current()
        except WracklineError as error:
            if self._fault != str(error):
                self._fault = str(error)
                self._tell(error)
            closed = CLOSED()
            raise closed from error
        self._fault = ""
        return users

    def _by_token(self, users: Users, token: str, address: str) -> User:
        # by digest: the duration of the search depends only on the digest, which nobody can choose
        found = users.tokens.get(passwords.digest(token))
        if found is not None and (found.until is None or datetime.now(UTC).date() <= found.until):
            return found.user
        who = (address, "")
        self._refuse_tired(who)
        self._failed(who, "somebody with a token")
        raise WRONG(what="the token")

    async def _by_password(self, users: Users, name: str, password: str, address: str) -> User:
        user = users.named.get(name)
        kept = user.password if user is not None else None
        if user is None or kept is None:
            user, kept = None, passwords.NOBODYS
        if user is not None and self._right.knows(kept, password):
            return user
        who = (address, name[:64])
        self._refuse_tired(who)
        if await self._is_right(kept, password, who) and user is not None:
            return user
        self._failed(who, "somebody unknown" if user is None else user.name)
        raise WRONG(what="the name or the password")

    async def _is_right(self, kept: str, password: str, who: Who) -> bool:
        if self._waiting >= _WAITING:
            busy = BUSY()
            raise busy
        self._waiting += 1
        try:
            async with self._trying:
                if self._right.knows(kept, password):  # a page asks several things at once
                    return True
                self._refuse_tired(who)
                right = await run_in_threadpool(passwords.is_password, password, kept)
        finally:
            self._waiting -= 1
        if right:
            self._right.remember(kept, password)
        return right

    def _refuse_tired(self, who: Who) -> None:
        if self._attempts.tired(who):
            often = TOO_OFTEN()
            raise often

    def _failed(self, who: Who, user: str) -> None:
        self._attempts.failed(who)
        self._tell(FAILED(address=who[0], user=user))


class _RightPasswords:
    """Passwords that were right for what the file keeps of them; the one least recently used is forgotten."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._digests: OrderedDict[bytes, None] = OrderedDict()

    def knows(self, kept: str, password: str) -> bool:
        digest = self._digest(kept, password)
        if digest not in self._digests:
            return False
        self._digests.move_to_end(digest)
        return True

    def remember(self, kept: str, password: str) -> None:
        self._digests[self._digest(kept, password)] = None
        if len(self._digests) > _REMEMBERED:
            self._digests.popitem(last=False)

    def _digest(self, kept: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{kept}\0{password}".encode(), hashlib.sha256)


def read_credentials(headers: Headers) -> Credentials | None:
    """Read the one header with the credentials; None if it is missing, sent twice, or of another form."""
    said = headers.getlist("authorization")
    scheme, _, rest = said[0].partition(" ") if len(said) == 1 else ("", "", "")
    secret = rest.strip(" ")
    if len(secret) > passwords.LONGEST:
        return None
    match scheme.lower():
        case "bearer" if secret:
            return Credentials(None, secret)
        case "basic":
            return _basic(secret)
        case _:
            return None


def _basic(text: str) -> Credentials | None:
    try:
        sent = b64decode(text, validate=True)
    except ValueError:  # binascii.Error is one, and so is the error for text that is not ASCII
        return None
    try:
        name, colon, password = sent.decode().partition(":")
    except UnicodeDecodeError:  # many clients, those of Connect among them, encode it in this way
        name, colon, password = sent.decode("latin-1").partition(":")
    return Credentials(name, password) if colon else None


def status_of(error: WracklineError) -> int:
    """Return the status of a log-in that was refused."""
    return _STATUS[error.code]


def _is_open(method: str, path: str) -> bool:
    route = route_of(method, path)
    return route is not None and ROLES[route] is Role.OPEN


def is_page(scope: Scope) -> bool:
    """Whether a request is for a page of the console, so somebody at a browser reads the answer."""
    path: str = scope["path"]
    return path == PAGES or path.startswith(f"{PAGES}/")


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "an unknown address"


def _to_login(scope: Scope) -> RedirectResponse:
    """Send a browser to the log-in, and from there back to the page that it asked for."""
    path, query = (scope[part].decode("latin-1") for part in ("raw_path", "query_string"))
    asked = f"{path}?{query}" if query else path
    back = f"?next={quote(asked, safe='')}" if scope["method"] == "GET" else ""
    return RedirectResponse(LOGIN_PAGE + back, 303, {"cache-control": "no-store"})


def _refusal(error: WracklineError) -> Answer:
    status = status_of(error)
    answer = error_response(status, error.sentence, error.code, error.hint)
    if status == 401:
        answer.raw_headers.extend(_CHALLENGES)
    if error.code in _RETRY_S:
        answer.headers["retry-after"] = _RETRY_S[error.code]
    return answer
