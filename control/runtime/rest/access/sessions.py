"""The sessions of people who logged in at the console's page: what a cookie holds, and until when it counts.

    <name>:<id>:<when it began>:<when it was last used>:<HMAC of all of it>

In: the users' file, and a secret of this worker or of its group.  Out: cookies, and the users that they stand
for.  Nothing of a session is kept here, so any worker with the same secret accepts it.  The key of the HMAC
is made from the secret and from what the file holds of the user, so a new password or role ends all sessions
of that user, and neither the file alone nor the secret alone can make one.  A log-out is remembered until the
session would have ended by itself: by this worker at once, by the others of its group when they read of it.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.requests import cookie_parser

from wrackline.control.runtime.rest.access.users_file import User, Users
from wrackline.control.runtime.rest.model.shared_sessions import SharedSessions

LONGEST_S: Final = 12 * 3600
IDLE_S: Final = 3600
_RENEW_S: Final = 300  # a cookie that is used is made anew so often
_EARLY_S: Final = 60  # by which another worker's clock may be ahead
_MOST_ENDED: Final = 10_000
_FORM: Final = re.compile(
    r"([A-Za-z0-9._@-]{1,64}):([0-9a-f]{32}):([0-9]{1,12}):([0-9]{1,12}):([0-9a-f]{64})"
)


@dataclass(frozen=True, slots=True)
class Session:
    """A session that counts now."""

    user: User
    id: str
    began: int  # seconds
    used: int


class Sessions:
    """Makes and reads cookies; one thread calls it."""

    def __init__(
        self,
        secret: Callable[[], bytes],
        *,
        secure: bool,
        now: Callable[[], float] = time.time,
        shared: SharedSessions | None = None,
    ) -> None:
        """Take the secret as it is now, and whether browsers reach this worker over TLS."""
        self._secret, self._now, self._shared = secret, now, shared
        self.cookie = "__Host-wrackline" if secure else "wrackline_session"
        self._attributes = "; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
        self._ended: dict[str, float] = {}

    def begin(self, user: User) -> str:
        """Return the header that begins a session."""
        now = int(self._now())
        return self._header(Session(user, secrets.token_hex(16), now, now))

    def read(self, sent: str, users: Users) -> Session | None:
        """Return the session of a request's cookies; None: there is none that counts."""
        # another program on this host may set cookies of any form, which come along
        parts = _FORM.fullmatch(cookie_parser(sent).get(self.cookie, ""))
        user = None if parts is None else users.named.get(parts[1])
        if parts is None or user is None or user.password is None:
            return None
        session = Session(user, parts[2], int(parts[3]), int(parts[4]))
        good = hmac.compare_digest(parts[5], self._mac(user, _text(session)))
        return session if good and self._counts(session) else None

    def renewed(self, session: Session) -> str | None:
        """Return the header that renews a session which is used; None: it is new enough."""
        now = int(self._now())
        if now < session.used + _RENEW_S:
            return None
        return self._header(Session(session.user, session.id, session.began, now))

    def end(self, session: Session) -> str:
        """End a session; return the header that takes the cookie away."""
        now = self._now()
        self._ended = {one: until for one, until in self._ended.items() if until > now}
        if len(self._ended) < _MOST_ENDED:
            self._ended[session.id] = session.began + LONGEST_S
        if self._shared is not None:
            self._shared.end_session(session.id, session.began + LONGEST_S)
        return f"{self.cookie}=; Max-Age=0{self._attributes}"

    def form_token(self, user: User, session: Session | None) -> str:
        """Return what a form of this session's pages must bring along."""
        return self._mac(user, f"form:{'' if session is None else session.id}")

    def _counts(self, session: Session) -> bool:
        now = self._now()
        return (
            session.id not in self._ended
            and not (self._shared is not None and self._shared.is_session_ended(session.id))
            and session.began <= session.used <= now + _EARLY_S
            and now < session.began + LONGEST_S
            and now < session.used + IDLE_S
        )

    def _header(self, session: Session) -> str:
        text = _text(session)
        left = session.began + LONGEST_S - session.used
        return f"{self.cookie}={text}:{self._mac(session.user, text)}; Max-Age={left}{self._attributes}"

    def _mac(self, user: User, text: str) -> str:
        entry = f"{user.name}\0{user.role.name}\0{user.data}\0{user.password}"
        key = hmac.digest(self._secret(), entry.encode(), hashlib.sha256)
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _text(session: Session) -> str:
    return f"{session.user.name}:{session.id}:{session.began}:{session.used}"
