"""What was streamed lately: the transactions that a SELECT may not show yet, and the marks that came back.

A commit is in the log before others see it (long before, where it waits for a standby), so a read is
handed out with all transactions that no reader has seen so far.  Readers report what they saw: a reader that
passed the gate has seen all that it was given; a reader that did not pass, or that only looked, names what is
still hidden.  What is hidden is kept as long as it is hidden; of the transactions that no reader has looked
for yet, the newest are kept.

A mark may come back through the log before its reader says that it set it: a step that names a ticket is
remembered until the reader with that ticket is back.
"""

import re
from collections import deque
from collections.abc import Sequence
from itertools import islice

from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.steps import Begin, Commit, Message, Passing, Position, Progress, Signal
from wrackline.producers.snapshot.work_items import Ticket


class Gate:
    """The streamed transactions, and the steps that a mark may be."""

    def __init__(self, run: str, most: int, streamed: Sequence[Commit]) -> None:
        self._names, self._most = re.compile(rf"{re.escape(run)}/\d+"), most  # the name of a mark of ours
        self._hidden = {commit.transaction: commit for commit in streamed}  # from the last look
        self._streamed: deque[Commit] = deque(maxlen=most)  # since
        self._place: Passing | None = None  # the newest step outside a transaction
        self._last: Passing | None = None
        self._naming_steps: dict[str, list[Passing]] = {}  # by ticket under way: the steps that name it
        self._open: Begin | None = None
        self._reached: Position | None = None  # in the open transaction, once a row of it was handed out

    def __len__(self) -> int:
        """Return how many transactions no reader has seen."""
        return len(self._hidden) + len(self._streamed)

    @property
    def inside(self) -> bool:
        """Whether the log is inside a transaction."""
        return self._open is not None

    def begin(self, step: Begin) -> None:
        """Note that a transaction starts."""
        self._open, self._reached = step, None

    def touch(self, upto: Position) -> None:
        """Note that the open transaction has changed a row, or truncated a table."""
        self._reached = upto

    def passing(self, step: Passing) -> None:
        """Note that the log is at a place, or contains a message or signal."""
        self._last = step
        if isinstance(step, Commit):
            self._streamed.append(step)  # also of other tables: a table that is left out may be read later
            self._open = None
        if isinstance(step, Commit | Progress):
            self._place = step
        elif self._naming_steps and (name := self._named(step)) in self._naming_steps:
            self._naming_steps[name].append(step)

    def streamed(self) -> tuple[Commit, ...]:
        """Return the transactions that must be visible to a read."""
        return *self._hidden.values(), *self._streamed

    def unproven(self, most: int) -> Sequence[Commit]:
        """Return the same as `streamed` and the open transaction: a position may lie inside it.

        Of too many, return the oldest, which a reader may have seen to be hidden, and the newest.
        """
        found = self.streamed()
        if self._open is not None and self._reached is not None:
            found = *found, Commit(self._open.transaction, self._reached, self._open.committed_ms)
        return found if len(found) <= most else found[: most // 2] + found[most // 2 - most :]

    def seen(self, given: Sequence[Commit], hidden: Sequence[Commit] = ()) -> None:
        """Note that a reader looked for these, and saw all but the hidden ones."""
        names = {commit.transaction for commit in given}
        still = {commit.transaction: commit for commit in hidden}
        left = {name: commit for name, commit in self._hidden.items() if name not in names or name in still}
        self._hidden = dict(islice((left | still).items(), self._most))
        while self._streamed and self._streamed[0].transaction in names:
            self._streamed.popleft()

    def passed(self, mark: Mark) -> bool:
        """Return whether the log has been at this mark already."""
        said = (step for steps in self._naming_steps.values() for step in steps)
        return any(step is not None and mark.passed(step) for step in (*said, self._place, self._last))

    def out(self, ticket: Ticket) -> None:
        """Note that a reader is under way with this ticket: a step that names it may be its mark."""
        self._naming_steps[ticket] = []

    def back(self, ticket: Ticket) -> None:
        """Note that the reader is back, or has failed: its marks are known, if there are any."""
        self._naming_steps.pop(ticket, None)

    def _named(self, step: Passing) -> str:
        """Return the ticket of this start that the step names; marks of other starts mean nothing."""
        text = ""
        if isinstance(step, Message):
            text = step.content.decode(errors="replace")
        elif isinstance(step, Signal):
            text = step.id
        found = self._names.search(text)
        return "" if found is None else found[0]
