"""The way of each column from its table into its copy, as it was at each time: both halves' maps joined.

In: the maps that the board has.  Out: periods in which nothing changed, and the ways of one column.  Pure.

A period begins where either half has another map; for some seconds after a change of shape the copy does not
have it yet, and that is a period of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

import orjson

from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.kafka.column_maps import ColumnMap, MapLog, StoredMap, read_map

_NOTHING: Final = ColumnMap("", ())


class ColumnPath(NamedTuple):
    """A column's way; empty names: it is not there, or a half has not reported it."""

    source: str
    type: str
    how: str
    field: str
    kind: str
    target: str

    @property
    def renamed(self) -> bool:
        """Whether the copy calls it by another name."""
        return bool(self.source and self.target) and self.source != self.target


@dataclass(frozen=True, slots=True)
class PathPeriod:
    """The columns of a table from one moment to another."""

    since_ms: int
    until_ms: int | None  # None: now
    table: str  # at the source
    copy: str
    paths: Sequence[ColumnPath]
    left_out: Sequence[str]


@dataclass(frozen=True, slots=True)
class ColumnSpan:
    """One column's way for as long as it was the same."""

    since_ms: int
    until_ms: int | None
    table: str
    copy: str
    path: ColumnPath


MapsOfTable = tuple[Sequence[StoredMap], Sequence[StoredMap]]  # of the source half, of the target half


def maps_of(known: Mapping[Half, MapLog], column: str = "", table: str = "") -> Mapping[str, MapsOfTable]:
    """Return the maps of all tables, of one, or of those that may have a column."""
    logs = known[Half.SOURCE], known[Half.TARGET]
    names = [table] if table else sorted({one for log in logs for one in log.tables()})
    found = {name: (logs[0].of(name), logs[1].of(name)) for name in names}
    splits = [(column[:at], column[at + 1 :]) for at, letter in enumerate(column) if letter == "."]
    return {
        name: maps for name, maps in found.items() if any(maps) and (not column or _names(name, maps, splits))
    }


def _names(name: str, maps: MapsOfTable, splits: Sequence[tuple[str, str]]) -> bool:
    """Whether a table may be meant, from the texts of its maps: few are, and reading all takes seconds."""
    values = [one.value for half in maps for one in half]
    return any(
        (table in {name, name.partition(".")[2]} or _any_has(values, orjson.dumps(table)[1:]))
        and _any_has(values, orjson.dumps(column))
        for table, column in splits
    )


def _any_has(values: Sequence[bytes], part: bytes) -> bool:
    return any(part in value for value in values)


def periods(maps: MapsOfTable) -> Sequence[PathPeriod]:
    """Join the maps of both halves, oldest first."""
    source, target = ({one.since_ms: read_map(one.value) for one in half} for half in maps)
    begins = sorted(source.keys() | target.keys())
    made, left, right = [], _NOTHING, _NOTHING
    for begin, end in zip_longest(begins, begins[1:]):
        left, right = source.get(begin, left), target.get(begin, right)
        made.append(PathPeriod(begin, end, left.place, right.place, _joined(left, right), left.left_out))
    return made


def since(history: Sequence[PathPeriod], path: ColumnPath) -> int:
    """Return since when a column of the newest period goes this way."""
    begin = history[-1].since_ms
    for period in reversed(history):
        if path not in period.paths:
            break
        begin = period.since_ms
    return begin


def spans_of(name: str, history: Sequence[PathPeriod], column: str) -> Sequence[ColumnSpan]:
    """Return the ways of the column that is meant: by its name at the source, in events, or in the copy.

    It is the name of a table, a dot, and that of a column; the database may be left out.
    """
    made: list[ColumnSpan] = []
    for period in history:
        full = {period.table, name}
        tables = {*full, *(one.partition(".")[2] for one in full), period.copy} - {""}
        ends = {column[len(one) + 1 :] for one in tables if column.startswith(f"{one}.")}
        for path in period.paths:
            if not ends.isdisjoint({path.source, path.field, path.target} - {""}):
                _prolong(made, ColumnSpan(period.since_ms, period.until_ms, period.table, period.copy, path))
    return made


def _prolong(made: list[ColumnSpan], now: ColumnSpan) -> None:
    for place, before in enumerate(made):
        same = (before.table, before.copy, before.path) == (now.table, now.copy, now.path)
        if same and before.until_ms == now.since_ms:
            made[place] = ColumnSpan(before.since_ms, now.until_ms, now.table, now.copy, now.path)
            return
    made.append(now)


def _joined(source: ColumnMap, target: ColumnMap) -> Sequence[ColumnPath]:
    merged = {step.before: step.after for step in target.columns}
    published = [
        ColumnPath(one.before, one.type, one.how, one.after, one.kind, merged.pop(one.after, ""))
        for one in source.columns
    ]
    kinds = {step.before: step.kind for step in target.columns}
    return [*published, *(ColumnPath("", "", "", field, kinds[field], to) for field, to in merged.items())]
