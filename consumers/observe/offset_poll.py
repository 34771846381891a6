"""The look for news: how far each topic may be read, and now and then what may soon be late or lost.

In: answers of Kafka.  Out: the ends that the driver hands out, passed to the figures on the way, and a
warning, once, for a table whose unread events are about to go: before the error that can't be repaired any
more.  It warns if there is no topic at all, because the prefix may be wrong; tables may still come later.
It also warns when records wait behind an open transaction, because the ends do not show them.

What the source half has published is read before the ends: a table that reaches these ends has all of it.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from wrackline.consumers.kafka.retention import NEAR, SOON_GONE
from wrackline.consumers.kafka.topic_offsets import Ends
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.schemas.errors import Transient, WracklineError, define

NO_TOPICS = define(
    "consume.no_topics",
    Transient,
    "Kafka has no topic {sought}, so there is nothing to merge",
    hint="if topic.prefix is right, start the source's half: wrackline run <pipeline.toml>; the names of all"
    " topics: kcat -b <brokers> -L; if another program writes them, read them as docs/auto-cdc.md says",
)
HELD = define(
    "consume.held",
    Transient,
    "{count} offsets of {topic} can't be read: a producer has a Kafka transaction open there, and we wait"
    " until it ends",
    hint="whose it is: kafka-transactions.sh --bootstrap-server <brokers> find-hanging --broker-id <id>, or"
    " describe-producers --topic {topic} --partition <n>, which shows where it starts; to end it:"
    " kafka-transactions.sh --bootstrap-server <brokers> abort --topic {topic} --partition <n>"
    " --start-offset <offset>",
)
_EVERY = 10.0  # seconds between two looks at where topics begin, and how far they are written

Warn = Callable[[WracklineError], None]


class OffsetQuestions(NamedTuple):
    """What is asked: how far topics may be read, begin, and are written; and how far the source half is."""

    ends: Callable[[], Ends]
    firsts: Callable[[Ends], Ends]
    written: Callable[[Ends], Ends]
    source: Callable[[], SourceProgress | None] = lambda: None


class OffsetPoll:
    """Looks, each time it is called; on the driver's thread."""

    def __init__(
        self,
        ask: OffsetQuestions,
        sought: str,
        figures: ConsumerFigures,
        warn: Warn,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take also what the topics that are looked for are called, for people."""
        self._ask, self._published_ms = ask, 0
        self._figures, self._warn = figures, warn
        self._clock, self._due = clock, clock()
        self._warned: set[str] = set()
        self._held: set[str] = set()  # topics that have had a warning
        self._sought = sought
        self.nothing: WracklineError | None = None  # as the newest look found no topic

    def __call__(self) -> Ends:
        """Return how far each topic may be read."""
        source = self._ask.source()
        ends = self._ask.ends()
        self._figures.take_ends(ends)
        self._topics(ends)
        is_due = self._clock() >= self._due
        is_news = source is not None and source.at_ms != self._published_ms
        written = self._written_now(ends) if is_due or is_news else None
        if source is not None and is_news and written is not None:
            self._published_ms = source.at_ms
            self._figures.published(source, written)
        if is_due:
            self._due = self._clock() + _EVERY
            self._beginnings(ends)
            if written is not None:
                self._waiting(written)
        return ends

    def _topics(self, ends: Ends) -> None:
        if ends:
            self.nothing = None
        elif self.nothing is None:
            self.nothing = NO_TOPICS(sought=self._sought)
            self._warn(self.nothing)

    def _written_now(self, ends: Ends) -> Ends | None:
        try:
            return self._ask.written(ends)
        except Transient:  # the next look for news reports it
            return None

    def _waiting(self, written: Ends) -> None:
        held = self._figures.waiting_offsets(written)
        for topic in held.keys() - self._held:
            self._warn(HELD(topic=topic, count=held[topic]))
        self._held = set(held)

    def _beginnings(self, ends: Ends) -> None:
        try:
            firsts = self._ask.firsts(ends)
        except Transient:  # the next look for news reports it
            return
        for topic, threat in self._figures.retention_risks(firsts).items():
            if threat.part >= NEAR:
                self._warned.discard(topic)
            elif topic not in self._warned:
                self._warned.add(topic)
                table = topic.partition(".")[2]
                self._warn(SOON_GONE(table=table, topic=topic, behind=threat.behind))
