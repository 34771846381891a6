"""Looks for changes on the boards that a worker follows, and hands notices of them to their addresses.

    follow_all, each second --> rules --> the address (receivers.py) --> POST

A pipeline's failure is reported the first time, with only the host: an address may be a secret.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from wrackline.control.runtime.lineage.sending import http_sender
from wrackline.control.runtime.notices.notice_bodies import as_json, as_pagerduty, as_slack, signature
from wrackline.control.runtime.notices.notice_rules import Notice, NoticeRules, conditions, recoveries
from wrackline.control.runtime.notices.notice_settings import NoticeSettings
from wrackline.control.runtime.notices.receivers import REFUSALS, Body, Receiver
from wrackline.control.runtime.slo.slo_report import SloReport
from wrackline.schemas.errors import Definite, Transient, WracklineError, define
from wrackline.schemas.kafka.board_records import Half, HalfBoard

_DIGITS: Final = 12  # of an installation's digest
_FIRST_S: Final = 1.0  # before the second try

NOT_SENT = define(
    "notify.not_sent",
    Transient,
    "a notice of {pipeline} is not accepted by {host}: {why}",
    hint="it is kept and sent again; correct notify.url if it is wrong: wrackline settings notify.url",
)
DROPPED = define(
    "notify.dropped",
    Definite,
    "a notice of {pipeline} was dropped, because {host} refused it {times} times: {why}",
    hint="correct notify.url or notify.routing.key: wrackline settings notify.url; what still needs you is"
    " sent again after notify.again.ms",
)
Tell = Callable[[str, WracklineError], None]


class Notifier:
    """The pipelines that somebody wants to be told of; only one thread may call `look` and `forget`."""

    def __init__(
        self,
        may_send: Callable[[], bool],
        tell: Tell,
        origin: Callable[[str], str],
        first_wait: float = _FIRST_S,
    ) -> None:
        """Take whether this worker is the one that sends, what gets a failure, and where a pipeline is.

        `origin` distinguishes pipelines of the same name, such as those of staging and production.
        """
        self._may_send, self._tell, self._origin, self._first_wait = may_send, tell, origin, first_wait
        self._of_pipelines: dict[str, tuple[NoticeSettings, NoticeRules]] = {}
        self._receivers: dict[str, Receiver] = {}  # by their addresses

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
        known, now = self._of_pipelines.get(name), conditions(name, halves, at_ms, slo)
        begins = known is None or known[0] != settings
        if known is None or begins:
            self.forget(name)
            known = self._begin(name, settings)
        self._offer(settings, known[1].changes(now, at_ms))
        if begins and settings.form == "pagerduty":  # an incident may be open whose end was not noticed
            over = recoveries(name, now, at_ms)
            self._offer(settings, [one for one in over if {one.kind, one.over} <= settings.wanted])

    def forget(self, name: str) -> None:
        """End what is sent of a pipeline."""
        known = self._of_pipelines.pop(name, None)
        if known is not None:
            url = known[0].url.reveal()
            if self._receivers[url].leave(name):
                del self._receivers[url]

    def close(self) -> None:
        """End all; what waits is dropped, and the next worker that sends begins with what stands then."""
        for name in list(self._of_pipelines):
            self.forget(name)

    def _begin(self, name: str, settings: NoticeSettings) -> tuple[NoticeSettings, NoticeRules]:
        url = settings.url.reveal()
        host = urlsplit(url).hostname

        def tell(pipeline: str, why: str, drops: bool) -> None:  # noqa: FBT001 - as `Tell` has it
            dropped, not_sent = partial(DROPPED, times=REFUSALS), NOT_SENT
            self._tell(pipeline, (dropped if drops else not_sent)(pipeline=pipeline, host=host, why=why))

        receiver = self._receivers.setdefault(url, Receiver(tell, self._first_wait))
        receiver.enter(name, http_sender(url, None, signature(settings.secret)))
        rules = NoticeRules(name, settings.wanted, settings.again_ms)
        self._of_pipelines[name] = settings, rules
        return settings, rules

    def _offer(self, settings: NoticeSettings, notices: list[Notice]) -> None:
        for notice in notices:
            if (body := self._body(settings, notice)) is not None:
                self._receivers[settings.url.reveal()].offer(notice.pipeline, body)

    def _body(self, settings: NoticeSettings, notice: Notice) -> Body | None:
        """Return what is posted of a notice; None: nothing."""
        if settings.form == "pagerduty" and settings.routing_key is not None:
            origin = hashlib.sha256(self._origin(notice.pipeline).encode()).hexdigest()[:_DIGITS]
            event = as_pagerduty(notice, settings.routing_key, origin)
            return None if event is None else Body(*event)
        return Body((as_slack if settings.form == "slack" else as_json)(notice))
