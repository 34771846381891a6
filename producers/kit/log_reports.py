"""The numbers of the log's reports: what a snapshot of the catalogue shows may be older than they are.

    1: a    2: b    | a look begins: 2 |    3: a    | its snapshot shows b, and nothing of a

The thread that reads the log counts; the thread that looks at the catalogue only reads, so no lock is needed.
"""

import threading
from collections.abc import Collection, Hashable
from typing import NamedTuple, Protocol


class SnapshotMoment(Protocol):
    """How old a snapshot of the catalogue is."""

    @property
    def begun(self) -> int:
        """How many reports the log had made when the look began."""
        ...

    @property
    def unsettled(self) -> Collection[Hashable]:
        """What a session was changing: what the snapshot shows of it may be older."""
        ...


class ReportMoment(NamedTuple):
    """How much was reported until a moment."""

    number: int = 0  # of the last report of the log, or snapshot that was taken
    news: int = 0  # how many of these are the log's


class LogReports:
    """The reports of one stream; a subject is whatever the source names a table by, or several tables."""

    def __init__(self) -> None:
        self.moment = ReportMoment()  # one value, because a look reads it at any time
        self.wakes = 0  # events that make a look worthwhile
        self._woken = threading.Event()
        self._last: dict[Hashable, int] = {}  # the number of a subject's last report

    def add(self, *subjects: Hashable) -> None:
        """Count a report of these."""
        number, news = self.count + 1, self.moment.news + 1
        for subject in subjects:
            self._last[subject] = number
        self.moment = ReportMoment(number, news)  # last, because a look reads it first, and then the subjects

    def take_snapshot(self) -> None:
        """Count a snapshot that is taken."""
        self.moment = self.moment._replace(number=self.count + 1)

    @property
    def count(self) -> int:
        """The number of the last report or snapshot."""
        return self.moment.number

    def wake(self) -> None:
        """Note that the catalogue may explain what the log reported."""
        self.wakes += 1
        self._woken.set()

    def wait_for_wake(self, wakes: int, seconds: float) -> None:
        """Return when there were more than `wakes`, or after so many seconds."""
        self._woken.clear()
        if self.wakes == wakes:
            self._woken.wait(seconds)

    def recent(self) -> Collection[Hashable]:
        """Name the subjects that the log reported since the last snapshot."""
        return tuple(self._last)

    def before(self, begun: int, *subjects: Hashable) -> bool:
        """Whether the last reports of all these came before a look that began at this count."""
        return all(self._last.get(subject, 0) <= begun for subject in subjects)

    def forget(self, snapshot: SnapshotMoment) -> None:
        """Forget the reports that this snapshot contains; later looks do not begin before it."""
        self._last = {
            subject: number
            for subject, number in self._last.items()
            if number > snapshot.begun or subject in snapshot.unsettled
        }
