"""The look for news: how far each topic may be read, and now and then whether it soon drops what is unread.

In: answers of Kafka.  Out: the ends that the driver hands out, told to the figures on the way, and a warning,
once, for a table whose unread events are about to go: before the error that can't be mended any more.  That
there is no topic at all is a warning too, because the prefix may be wrong; tables may still come later.
"""

import time
from collections.abc import Callable

from wrackline.consumers.figures import Figures
from wrackline.consumers.retention import NEAR, SOON_GONE
from wrackline.consumers.topics import Ends
from wrackline.schemas.errors import Transient, WracklineError, define

NO_TOPICS = define(
    "consume.no_topics",
    Transient,
    "Kafka has no topic {server}.<database>.<schema>.<table>, so there is nothing to merge",
    hint="if topic.prefix is right, start the source's half: wrackline run <pipeline.toml>; the names of all"
    " topics: kcat -L -b <brokers>; if another program writes them, read them as docs/auto-cdc.md says",
)
_EVERY = 10.0  # seconds between two looks at where topics begin

Warn = Callable[[WracklineError], None]


class Looking:
    """Looks, each time it is called; on the driver's thread."""

    def __init__(
        self,
        ends: Callable[[], Ends],
        firsts: Callable[[Ends], Ends],
        server: str,
        figures: Figures,
        warn: Warn,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ends, self._firsts, self._figures, self._warn = ends, firsts, figures, warn
        self._clock, self._due = clock, clock()
        self._warned: set[str] = set()
        self._server = server
        self.nothing: WracklineError | None = None  # as the newest look found no topic

    def __call__(self) -> Ends:
        """Return how far each topic may be read."""
        ends = self._ends()
        self._figures.looked(ends)
        self._topics(ends)
        if self._clock() >= self._due:
            self._due = self._clock() + _EVERY
            self._beginnings(ends)
        return ends

    def _topics(self, ends: Ends) -> None:
        if ends:
            self.nothing = None
        elif self.nothing is None:
            self.nothing = NO_TOPICS(server=self._server)
            self._warn(self.nothing)

    def _beginnings(self, ends: Ends) -> None:
        try:
            firsts = self._firsts(ends)
        except Transient:  # the next look for news tells of it
            return
        for topic, threat in self._figures.kept(firsts).items():
            if threat.part >= NEAR:
                self._warned.discard(topic)
            elif topic not in self._warned:
                self._warned.add(topic)
                table = topic.partition(".")[2]
                self._warn(SOON_GONE(table=table, topic=topic, behind=threat.behind))
