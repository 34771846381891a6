"""What one worker says and does of its group's records, whatever else stands among them."""

from wrackline.control.group import records, reports
from wrackline.control.group.hands import Hands
from wrackline.control.group.records import Change, Connector
from wrackline.control.group.reports import Report
from wrackline.control.logs.lines import log_through
from wrackline.control.rest.shapes import Standing
from wrackline.control.worker_telling import Telling
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.supervision import State, Wish
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.topics import internal_topics

TOPICS = internal_topics("g")
SHOP = Connector("shop", {}, 7, Wish.RUN, 5)


class Heard:
    """A worker `b` that has the task `shop`, what it has reported, and what it has said."""

    def __init__(self) -> None:
        self.reported: list[Change] = []
        self.said: list[WracklineError] = []
        telling = Telling(lambda *_: None, log_through(lambda _: None), str)
        supervisor = Supervisor({}, telling, for_somebody=lambda _: False, asked=lambda: True)
        self.hands = Hands(TOPICS, supervisor, _never, self.reported.append, self.said.append)
        self.hands.begin("b")
        self.hands.owns(frozenset([SHOP.slot]))
        for key, value in records.put(SHOP):
            self.hears(TOPICS.configs, key, value)

    def hears(self, topic: str, key: bytes, value: bytes | None) -> None:
        self.hands.hears(topic, 0, key, value)

    def hears_of_task(self, report: Report) -> list[Change]:
        """Hear a report; return what is reported for that."""
        before = len(self.reported)
        self.hears(TOPICS.status, *reports.of_task("shop", report))
        return self.reported[before:]


def _never(connector: Connector) -> Begin:
    def begin(*_: object) -> object:
        raise AssertionError(connector)

    return begin  # type: ignore[return-value]  # it is never called


def test_who_has_a_task_repeats_its_word_once_somebody_late_has_spoken() -> None:
    worker = Heard()
    worker.hands.stands("shop", Standing(State.RUNNING))
    own = Report(State.RUNNING, "b", 1, 7)
    assert worker.hears_of_task(own) == []
    assert worker.hears_of_task(Report(State.FAILED, "a", 0, 7)) == [reports.of_task("shop", own)]


def test_who_was_late_does_not_repeat_it_for_ever() -> None:
    worker = Heard()
    worker.hands.stands("shop", Standing(State.RUNNING))
    assert worker.hears_of_task(Report(State.RUNNING, "c", 2, 7)) == []
    assert worker.hears_of_task(Report(State.RUNNING, "b", 1, 7)) == [], "its own late word, heard again"
