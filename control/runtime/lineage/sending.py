"""Sends lineage events to an address or into a file, beside the pipeline and without delaying it.

    any thread --offer--> a queue with a bound --> one thread --> POST, or one write per line

Only that one thread waits for the other side, for a bounded time.  An event that can't be sent is dropped,
counted, and reported the first time and at the end: a map of the data is worth less than the data.
A redirect counts as a refusal: a user that may set an address must not make this machine send requests to
another address that the user can't reach.
"""

import http.client
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Full, Queue
from threading import Event, Lock, Thread
from urllib.parse import urlsplit

import orjson

from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.redaction import Secret

MOST_WAITING = 1000  # events
LAST_WORD = 5.0  # seconds in which waiting events may still be sent at the end
_TRIES = 3
_PATIENCE = 5.0  # seconds for a connection, and for each answer's next bytes
_WAIT = 1.0  # seconds before another try
_TAKEN = range(200, 300)
_LATER = frozenset({408, 429, *range(500, 600)})  # another try may succeed

NOT_SENT = define(
    "lineage.not_sent",
    Transient,
    "lineage events do not arrive at {where}: {why}",
    hint="the pipeline continues, and its next start reports all datasets again; correct"
    " lineage.url, lineage.api.key or lineage.file: wrackline settings lineage.url",
)
LOST = define(
    "lineage.lost",
    Transient,
    "{count} lineage events were dropped",
    hint="the next start reports all datasets again",
)


class NotTakenError(Exception):
    """The other side did not take an event; `later` says whether another try may help."""

    def __init__(self, why: str, *, later: bool) -> None:
        super().__init__(why)
        self.later = later


Sign = Callable[[bytes], Mapping[str, str]]
Send = Callable[[bytes], None]  # raises NotTakenError


def http_sender(url: str, key: Secret | None, sign: Sign = lambda _: {}) -> Send:
    """Return what posts to an address; each event has its own connection, because there are few.

    `sign` returns more headers for a body.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise ValueError("the setting allows no other address")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    path = parts.path + (f"?{parts.query}" if parts.query else "") or "/"
    host, port = parts.hostname, parts.port
    log_in = {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}

    def send(event: bytes) -> None:
        connection = kind(host, port, timeout=_PATIENCE)
        try:
            connection.request(
                "POST", path, event, {"Content-Type": "application/json", **log_in, **sign(event)}
            )
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException, UnicodeError) as exc:  # a name that can't be a host's
            raise NotTakenError(type(exc).__name__, later=True) from exc
        finally:
            connection.close()
        if status not in _TAKEN:
            raise NotTakenError(f"it answers {status}", later=status in _LATER)

    return send


def file_sender(path: Path) -> Send:
    """Return what appends to a file; one write per line, so that lines of several processes stay whole."""
    torn = False  # a line had no room for its end

    def send(event: bytes) -> None:
        nonlocal torn
        line = (b"\n" if torn else b"") + event + b"\n"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
            try:
                written = os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as exc:
            raise NotTakenError(exc.strerror or "the system refuses", later=False) from exc
        torn = written != len(line)
        if torn:
            raise NotTakenError("it is full", later=False)

    return send


class Outbox:
    """What waits to be sent, and the thread that sends it."""

    def __init__(self, send: Send, where: str, tell: Callable[[WracklineError], None]) -> None:
        """Take what sends an event, where it goes, and what gets a failure; any of them on any thread."""
        self._send, self._where, self._tell = send, where, tell
        self._queue: Queue[bytes | None] = Queue(MOST_WAITING)
        self._lock, self._ending, self._lost = Lock(), Event(), 0
        self._thread = Thread(target=self._run, name="lineage", daemon=True)
        self._thread.start()

    def offer(self, event: object) -> None:
        """Send an event some time, or drop it; it never waits, and any thread may call it."""
        try:
            self._queue.put_nowait(orjson.dumps(event))
        except Full:
            self._let_go("too many wait")
        except TypeError:  # a name that is not text
            self._let_go("an event can't be written as JSON")

    def close(self) -> None:
        """Send what waits for a while, then end; what is left then is dropped with this process."""
        self._ending.set()
        with suppress(Full):  # then the thread is awake, and sees `_ending` after the last event
            self._queue.put_nowait(None)
        self._thread.join(LAST_WORD)
        left = sum(event is not None for event in tuple(self._queue.queue))
        left += self._thread.is_alive()  # the event that it is sending
        if self._lost + left:
            lost = LOST(count=self._lost + left)
            self._tell(lost)

    def _run(self) -> None:
        while (event := self._queue.get()) is not None:
            self._try(event)
            if self._ending.is_set() and self._queue.empty():
                return

    def _try(self, event: bytes) -> None:
        for tries in range(1, _TRIES + 1):
            try:
                self._send(event)
            except NotTakenError as exc:
                if not exc.later or tries == _TRIES or self._ending.wait(_WAIT):
                    self._let_go(str(exc))
                    return
            else:
                return

    def _let_go(self, why: str) -> None:
        with self._lock:
            self._lost += 1
            first = self._lost == 1
        if first:
            self._tell(NOT_SENT(where=self._where, why=why))
