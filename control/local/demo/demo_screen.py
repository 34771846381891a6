"""What the demo shows: a live picture on a terminal, plain lines elsewhere.

In: numbers a few times a second, and what happens as sentences.  Out: 80 columns and 24 rows at most.
"""

import time
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from wrackline.control.runtime.ground.number_text import count_text

_SENTENCES = 9  # that fit below the numbers in 24 rows
_EVERY = 3.0  # seconds between two plain lines of numbers


@dataclass(frozen=True, slots=True)
class DemoNumbers:
    """The state of everything at one moment."""

    now: str  # what happens now
    source_rows: int
    changes: int  # committed in the source
    events: int  # committed in Kafka
    doubled: int
    lake_rows: int
    unmerged: int  # offsets of Kafka that the warehouse has not applied
    worker: int | None  # the process number

    @property
    def unpublished(self) -> int:
        """How many changes are not events yet."""
        return max(0, self.changes - self.events)


class DemoScreen:
    """Shows a demo; leaving the block leaves the last picture."""

    def __init__(self, console: Console, source: str, target: str) -> None:
        self._console, self._source, self._target = console, source, target
        self._began = time.monotonic()
        self._sentences: deque[Text] = deque(maxlen=_SENTENCES)
        self._live: Live | None = None
        self._next_line = 0.0
        self._before: tuple[float, int] = (self._began, 0)
        self._pace = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.freeze()

    def say(self, sentence: str, style: str = "") -> None:
        """Report what happens."""
        line = Text.assemble((self._clock(), "dim"), " ", (sentence, style))
        self._sentences.append(line)
        if self._live is None:
            self._console.print(line, soft_wrap=not self._console.is_terminal)

    def show(self, numbers: DemoNumbers) -> None:
        """Show the state of everything."""
        self._measure(numbers)
        if self._console.is_terminal:
            if self._live is None:
                self._sentences.clear()  # it is above the picture
                self._live = Live(console=self._console, auto_refresh=False)
                self._live.start()
            self._live.update(self._picture(numbers), refresh=True)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _EVERY
            line = _line(numbers, self._target)
            self._console.print(f"{self._clock()} {line}", soft_wrap=True, highlight=False)

    def freeze(self) -> None:
        """End the live picture; what follows is printed below it."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def seconds(self) -> float:
        """How long the demo has run."""
        return time.monotonic() - self._began

    def _clock(self) -> str:
        minutes, seconds = divmod(int(self.seconds()), 60)
        return f"{minutes:02}:{seconds:02}"

    def _measure(self, numbers: DemoNumbers) -> None:
        at, changes = self._before
        passed = time.monotonic() - at
        if passed >= 1:
            self._pace = (numbers.changes - changes) / passed
            self._before = time.monotonic(), numbers.changes

    def _picture(self, numbers: DemoNumbers) -> Group:
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(style="bold", width=13)
        table.add_column(justify="right", width=11)
        table.add_column(width=6)
        table.add_column(ratio=1)  # only it gives way, so the numbers stay where they are
        table.add_row(
            self._source,
            f"{numbers.source_rows:,}",
            "rows",
            f"{count_text(numbers.changes, 'change', 'changes')}, {self._pace:,.0f} a second",
        )
        worker = f"pid {numbers.worker}" if numbers.worker else Text("not running", style="bold red")
        table.add_row("worker", "", "", worker)
        table.add_row(
            "Kafka topic",
            f"{numbers.events:,}",
            "events",
            _lag(
                numbers.unpublished,
                ("change behind", "changes behind"),
                f", {count_text(numbers.doubled, 'duplicate', 'duplicates')}",
            ),
        )
        table.add_row(
            self._target,
            f"{numbers.lake_rows:,}",
            "rows",
            _lag(numbers.unmerged, ("offset behind", "offsets behind")),
        )
        title = f"wrackline demo  {self._clock()}"
        what = Text.assemble(("now            ", "bold"), (numbers.now, "cyan"))
        panel = Panel(Group(table, Text(), what), title=title)
        if not self._sentences:
            return Group(panel)
        said = Group(*(_cut(line, self._console.width - 4) for line in self._sentences))
        return Group(panel, Panel(said, title="what happened"))


def _lag(behind: int, units: tuple[str, str], note: str = "") -> Text:
    return Text.assemble((count_text(behind, *units), "yellow" if behind else "green"), note)


def _cut(line: Text, width: int) -> Text:
    cut = line.copy()
    cut.truncate(width, overflow="ellipsis")
    return cut


def _line(numbers: DemoNumbers, target: str) -> str:
    source, lake = (count_text(rows, "row", "rows") for rows in (numbers.source_rows, numbers.lake_rows))
    changes = count_text(numbers.changes, "change", "changes")
    events = count_text(numbers.events, "event", "events")
    doubled = count_text(numbers.doubled, "duplicate", "duplicates")
    unmerged = count_text(numbers.unmerged, "offset", "offsets")
    return (
        f"{numbers.now}: source {source}, {changes};"
        f" Kafka {events} ({numbers.unpublished:,} behind, {doubled}); {target} {lake} ({unmerged} behind)"
    )
