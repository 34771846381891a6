"""What was streamed lately: the transactions that a SELECT may not show yet, and the marks that came back.

A commit stands in the log before other sessions see it, so a read is handed out with all transactions that
no reader has seen so far; a reader that came back has seen those it was given.  A mark may come back through
the log before its reader says that it set it: what could be one is remembered while a reader is under way.
"""

from collections import deque
from collections.abc import Sequence

from wrackline.producers.changes import (
    Begin,
    Commit,
    Message,
    Passing,
    Position,
    Progress,
    Signal,
)
from wrackline.producers.chunks import Mark


class Gate:
    """The streamed transactions, and the steps that a mark may be."""

    def __init__(self, run: str, most: int, streamed: Sequence[Commit]) -> None:
        self._run = run
        self._streamed: deque[Commit] = deque(streamed, maxlen=most)
        self._newest = len(self._streamed)  # how many there ever were
        self._place: Passing | None = None  # the newest step outside a transaction
        self._last: Passing | None = None
        self._said: list[Passing] = []
        self._open: Begin | None = None
        self._reached: Position | None = None  # in the open transaction, once it has touched a table of ours

    @property
    def inside(self) -> bool:
        """Whether the log is inside a transaction."""
        return self._open is not None

    def begin(self, step: Begin) -> None:
        """A transaction starts."""
        self._open, self._reached = step, None

    def touch(self, upto: Position) -> None:
        """The open transaction has changed a table of ours."""
        self._reached = upto

    def passing(self, step: Passing) -> None:
        """The log is at a place, or something was said in it."""
        self._last = step
        if isinstance(step, Commit):
            resumed = self._open is not None and self._open.first > 0  # it had changes before, perhaps ours
            if resumed or self._reached is not None:
                self._streamed.append(step)
                self._newest += 1
            self._open = None
        if isinstance(step, Commit | Progress):
            self._place = step
        elif self._is_ours(step):
            self._said.append(step)

    def streamed(self) -> tuple[tuple[Commit, ...], int]:
        """The transactions that must be visible to a read, and the number to say afterwards."""
        return tuple(self._streamed), self._newest

    def unproven(self) -> tuple[Commit, ...]:
        """As `streamed`, and with them the open transaction: a position may lie inside it."""
        begun, upto = self._open, self._reached
        if begun is None or upto is None:
            return tuple(self._streamed)
        return *self._streamed, Commit(begun.transaction, upto, begun.committed_ms)

    def seen(self, number: int) -> None:
        """A reader has seen all up to this number."""
        while self._streamed and self._newest - len(self._streamed) < number:
            self._streamed.popleft()

    def passed(self, mark: Mark) -> bool:
        """Whether the log has been at this mark already."""
        steps = [*self._said, self._place, self._last]
        return any(step is not None and mark.passed(step) for step in steps)

    def forget(self) -> None:
        """No reader is under way: what was said is no mark of theirs."""
        self._said.clear()

    def _is_ours(self, step: Passing) -> bool:
        """Whether the step names this start; marks of another one mean nothing."""
        if isinstance(step, Message):
            return self._run.encode() in step.content
        return isinstance(step, Signal) and self._run in step.id
