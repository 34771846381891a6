"""Tables that are gone at the source: which copies may go, and when.  Pure.

    what the source half reports, wishes, the time   ->   Departures   ->   what is due

A departure begins when this half first knows of it, so an operator has the whole of `target.drop.after.ms`
after it was announced; an earlier process's beginning counts.  A table that is back ends its departure.  The
copy of a renamed table waits until the table of the new name is read and merged.  While nobody hears the
source half, nothing is due: the table may be back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from wrackline.consumers.contract.drop_rules import DropBehaviour, DropRules

SETTLED_MS: Final = 5_000  # a table that is replaced is gone for a moment


class GoneTable(NamedTuple):
    """A table that the source half reports as gone: dropped, or captured under another name."""

    renamed_to: str | None = None
    follows: bool = True  # of a renamed one: the rows of the table of the new name are read
    renamed: bool = False  # even if the table of the new name is gone, too


class SourceNews(NamedTuple):
    """What the source half reports."""

    gone: Mapping[str, GoneTable]
    runs: bool  # it is heard now


@dataclass(frozen=True, slots=True)
class Departure:
    """One table's departure."""

    since_ms: int
    behaviour: DropBehaviour
    due_ms: int | None  # None: the copy stays
    gone: GoneTable
    stays: bool = False  # an operator wishes so
    became: str | None = None  # what has become of the copy

    def document(self) -> dict[str, object]:
        """Return it as plain values, for the board."""
        return {
            "since_ms": self.since_ms,
            "due_ms": self.due_ms,
            "behavior": self.behaviour.value,
            "renamed_to": self.gone.renamed_to,
            "kept": self.stays,
            "became": self.became,
        }


class Departures:
    """The departures of one pipeline, by the tables' names; only on the driver's thread."""

    def __init__(
        self, rules: DropRules, news: Callable[[], SourceNews | None], now_ms: Callable[[], int]
    ) -> None:
        """Take what the source half reports now; None: nobody knows yet."""
        self._rules, self._news, self._now_ms = rules, news, now_ms
        self._earlier: Mapping[str, tuple[int, str]] = {}
        self._runs = False
        self.known: dict[str, Departure] = {}

    def remember(self, announced: Mapping[str, tuple[int, str]]) -> None:
        """Take when an earlier process has announced departures, and what was to become; on any thread."""
        self._earlier = dict(announced)

    def look(self, staying: frozenset[str] | None) -> frozenset[str]:
        """Take what is reported, and wished if that is known; return the tables of which this is news."""
        news = self._news() if self._rules.acts else None
        if news is None or staying is None:
            self._runs = False
            return frozenset()
        before, self._runs = self.known, news.runs
        self._earlier = {name: since for name, since in self._earlier.items() if name in news.gone}
        self.known = {
            name: self._departure(name, gone, before.get(name), stays=name in staying)
            for name, gone in news.gone.items()
        }
        return frozenset(
            name for name in before.keys() | self.known.keys() if before.get(name) != self.known.get(name)
        )

    def due(self, name: str) -> Departure | None:
        """Return a departure whose copy may go now."""
        found = self.known.get(name)
        if found is None or found.due_ms is None or found.became is not None or not self._runs:
            return None
        return found if self._now_ms() >= found.due_ms and found.gone.follows else None

    def ends(self, name: str) -> bool:
        """Whether a copy that is not there is not to be made again."""
        found = self.known.get(name)
        return found is not None and found.due_ms is not None

    def left(self, name: str, became: str) -> None:
        """Take what has become of a copy."""
        if name in self.known:
            self.known[name] = replace(self.known[name], became=became)

    def _departure(self, name: str, gone: GoneTable, before: Departure | None, *, stays: bool) -> Departure:
        behaviour = self._rules.of_table(name, renamed=gone.renamed)
        since = self._now_ms() if before is None else before.since_ms
        begun, announced = self._earlier.get(name, (since, None))
        if announced == behaviour.value:  # who sets another behaviour has the whole delay to see it
            since = min(since, begun)
        waits = {DropBehaviour.RENAME: SETTLED_MS, DropBehaviour.DROP: max(SETTLED_MS, self._rules.after_ms)}
        wait = None if stays else waits.get(behaviour)
        due = None if wait is None else since + wait
        became = None if before is None or due is None else before.became
        return Departure(since, behaviour, due, gone, stays, became)
