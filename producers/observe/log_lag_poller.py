"""Looks at each log from outside, on a connection of its own, in threads of its own: none waits for another.

every second        a moment, and then the log's end: published_through.py says why in this order; less often
                    where one question is about all logs, and the source says so
every third time    how far behind it is, and how long it is kept
half a minute       after an answer that only an operator can change, such as a refused password, because many
                    log-ins with one lock the account on some servers

Where one answer is about several logs, it is asked for once: a question about each of two hundred quiet logs
a second would cost more than to read them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from threading import Event, Thread
from typing import Final, Protocol

from wrackline.producers.contract.optional_parts import Attended, LogEnding, LogState, LogSurvey
from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.source_plugin import Source
from wrackline.producers.contract.steps import Position
from wrackline.producers.task.background import Crew
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.tables.table import SourcePartition

EVERY: Final = 1.0  # seconds
_LEAVE_S: Final = 3.0
_LOG_STATES: Final = 3  # a look at what is kept costs some servers more
_REFUSED_S: Final = 30.0  # without a look after an answer that only an operator can change
_ALL: Final = "all logs"

Subject = SourcePartition | str


class LogWatcher(Protocol):
    """Takes what is seen, and knows what Kafka has; on the threads that look, each log on one at a time."""

    def confirmed(self, partition: SourcePartition) -> Position | None:
        """Return what Kafka has of a log, if known."""
        ...

    def log_state(self, partition: SourcePartition, log: LogState | None) -> None:
        """Take how the server sees a log."""
        ...

    def log_end(self, partition: SourcePartition, at_ms: int, end: Mark) -> None:
        """Take a moment, and where a log ended after it."""
        ...


@contextmanager
def poll_logs(
    source: Source, watcher: LogWatcher, now_ms: Callable[[], int], every: float = EVERY
) -> Iterator[None]:
    """Look until the block is left; what a source does not offer is skipped."""
    stopping, looks = Event(), _LogLooks(source, watcher, now_ms)
    partitions = source.partitions()
    crew = Crew(looks.look, "log watch")

    def run() -> None:
        for turn in count():
            turns = _turns(source) if len(partitions) > 1 else None
            if turns is None:
                for partition in partitions:
                    crew.begin(partition)
            elif turn % turns == 0:
                crew.begin(_ALL)
            if stopping.wait(every):
                return

    thread = Thread(target=run, name="log watches", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(_LEAVE_S)
        crew.close(_LEAVE_S)


class _LogLooks:
    """What is asked about a log, or about all; a subject is asked about by one thread at a time."""

    def __init__(self, source: Source, watcher: LogWatcher, now_ms: Callable[[], int]) -> None:
        self._source, self._watcher, self._now_ms = source, watcher, now_ms
        self._times: Counter[Subject] = Counter()
        self._left_out: Counter[Subject] = Counter()

    def look(self, subject: Subject) -> None:
        """Look at the end each time, and at what is kept each third time."""
        if self._left_out[subject]:
            self._left_out[subject] -= 1
            return
        try:
            at_ms = self._now_ms()
            for partition, end in self._ends(subject).items():
                self._watcher.log_end(partition, at_ms, end)
        except OperatorNeeded:  # the task itself reports what is wrong with the server
            self._left_out[subject] = self._refused(subject)
        except WracklineError:
            pass
        if self._times[subject] % _LOG_STATES == 0:
            for partition, state in self._states(subject).items():
                self._watcher.log_state(partition, state)
        self._times[subject] += 1

    def _refused(self, subject: Subject) -> int:
        """Return how many looks to leave out; none about all logs if each is asked about by itself now."""
        turns = _turns(self._source) if isinstance(subject, str) else 1
        return 0 if turns is None else round(_REFUSED_S / EVERY / turns)

    def _ends(self, subject: Subject) -> Mapping[SourcePartition, Mark]:
        source = self._source
        if isinstance(subject, str):
            return source.log_ends() if isinstance(source, LogSurvey) else {}
        return {subject: source.log_end(subject)} if isinstance(source, LogEnding) else {}

    def _states(self, subject: Subject) -> Mapping[SourcePartition, LogState | None]:
        source = self._source
        try:
            if isinstance(subject, str):
                return source.log_states() if isinstance(source, LogSurvey) else {}
            if isinstance(source, Attended):
                return {subject: source.log_state(subject, self._watcher.confirmed(subject))}
        except WracklineError:
            return dict.fromkeys(source.partitions() if isinstance(subject, str) else (subject,))
        return {}


def _turns(source: Source) -> int | None:
    """Return how many looks at one log are between two questions about all; None: there are none now."""
    survey_s = source.survey_s if isinstance(source, LogSurvey) else None
    return None if survey_s is None else max(1, round(survey_s / EVERY))
