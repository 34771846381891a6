"""Looks for changes on the boards that a worker follows, and posts notices of them.

    follow_all, each second --> rules --> the last 100 notices of a pipeline --> its thread --> POST

A notice is sent until it is accepted, after longer and longer waits; only the newest are kept.  A thread
lives while its pipeline has notices.  A failure is reported the first time, with the host alone: an address
may be a secret.
"""

from collections import deque
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread
from typing import Final
from urllib.parse import urlsplit

from wrackline.control.runtime.lineage.sending import NotTakenError, Send, http_sender
from wrackline.control.runtime.notices.notice_bodies import FORMS, signature
from wrackline.control.runtime.notices.notice_rules import NoticeRules, conditions
from wrackline.control.runtime.notices.notice_settings import NoticeSettings
from wrackline.control.runtime.slo.slo_report import SloReport
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.kafka.board_records import Half, HalfBoard

KEPT: Final = 100
_FIRST_S, _LONGEST_S = 1.0, 300.0  # between two tries

NOT_SENT = define(
    "notify.not_sent",
    Transient,
    "a notice of {pipeline} is not accepted by {host}: {why}",
    hint="it is kept and sent again; correct notify.url if it is wrong: wrackline settings notify.url",
)
Tell = Callable[[str, WracklineError], None]


class Notifier:
    """The pipelines that somebody wants to be told of; only one thread may call `look` and `forget`."""

    def __init__(self, may_send: Callable[[], bool], tell: Tell, first_wait: float = _FIRST_S) -> None:
        """Take whether this worker is the one that sends, and what gets a failure."""
        self._may_send, self._tell, self._first_wait = may_send, tell, first_wait
        self._of_pipelines: dict[str, tuple[NoticeSettings, NoticeRules, _Outgoing]] = {}

    def look(
        self,
        name: str,
        settings: NoticeSettings | None,
        halves: Mapping[Half, HalfBoard],
        at_ms: int,
        slo: SloReport | None = None,
    ) -> None:
        """Offer the notices that are due; whoever begins to send begins with what stands."""
        if settings is None or not self._may_send():
            self.forget(name)
            return
        known = self._of_pipelines.get(name)
        if known is None or known[0] != settings:
            self.forget(name)
            rules = NoticeRules(name, settings.wanted, settings.again_ms)
            known = self._of_pipelines[name] = settings, rules, self._outgoing(name, settings)
        _, rules, outgoing = known
        for notice in rules.changes(conditions(name, halves, at_ms, slo), at_ms):
            outgoing.offer(FORMS[settings.form](notice))

    def forget(self, name: str) -> None:
        """End what is sent of a pipeline."""
        known = self._of_pipelines.pop(name, None)
        if known is not None:
            known[2].ending.set()

    def close(self) -> None:
        """End all; what waits is dropped, and the next worker that sends begins with what stands then."""
        for name in list(self._of_pipelines):
            self.forget(name)

    def _outgoing(self, name: str, settings: NoticeSettings) -> "_Outgoing":
        url = settings.url.reveal()

        def tell(why: str) -> None:
            self._tell(name, NOT_SENT(pipeline=name, host=urlsplit(url).hostname, why=why))

        return _Outgoing(http_sender(url, None, signature(settings.secret)), tell, self._first_wait)


class _Outgoing:
    """The notices of one pipeline that wait, and the thread that sends them."""

    def __init__(self, send: Send, tell: Callable[[str], None], first_wait: float) -> None:
        self.ending = Event()
        self._send, self._tell, self._first_wait = send, tell, first_wait
        self._waiting: deque[bytes] = deque(maxlen=KEPT)
        self._lock, self._runs = Lock(), False

    def offer(self, body: bytes) -> None:
        """Send it some time; it never waits."""
        with self._lock:
            self._waiting.append(body)
            starts, self._runs = not self._runs, True
        if starts:
            Thread(target=self._run, name="notices", daemon=True).start()

    def _run(self) -> None:
        wait = self._first_wait
        while (body := self._next()) is not None:
            try:
                self._send(body)
            except NotTakenError as error:
                if wait == self._first_wait:
                    self._tell(str(error))
                self.ending.wait(wait)
                wait = min(2 * wait, _LONGEST_S)
            else:
                wait = self._first_wait
                with self._lock:
                    if self._waiting and self._waiting[0] is body:  # else newer ones have its place
                        self._waiting.popleft()

    def _next(self) -> bytes | None:
        with self._lock:
            if not self._waiting or self.ending.is_set():
                self._runs = False
                return None
            return self._waiting[0]
