"""A journal: an application appends one line of JSON for each transaction, and changes none.

    {"tx": "t1", "ms": 1700000000000, "changes": [
        {"table": "orders", "columns": [["id", "int32", false], ["label", "string", true]], "key": ["id"]},
        {"table": "orders", "op": "c", "after": {"id": 1, "label": "x"}}]}

`op` is c, u (`before` and `after`), d (`before`) or t, a truncate.  A change with `columns` makes a table or
gives it more columns at its end.  A line without its line break is not committed yet.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from wrackline.producers.contract.steps import Saved
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

UNREADABLE = define(
    "journal.unreadable",
    OperatorNeeded,
    "the journal {path} can't be read: {why}",
    hint="name it in journal.path; see that this user may read it: ls -l '{path}'",
)
BROKEN = define(
    "journal.broken",
    Definite,
    "the line at byte {at} of the journal {path} is not a transaction",
    hint="see it: tail -c +{at} '{path}' | head -1; what a line has to be is in the plug-in's journal.py",
)
SHORTER = define(
    "journal.shorter",
    Definite,
    "the journal {path} ends before byte {at}, which was read already: it is another file, or was cut",
    hint="restore the file; or read what is there: wrackline offsets reset <pipeline.toml>",
)
SCHEMA = "main"
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place between two changes: `done` changes of the line at byte `at` are behind it."""

    at: int
    done: int = 0

    def saved(self) -> Saved:
        """Return it as JSON."""
        return {"at": self.at, "done": self.done}

    @classmethod
    def parse(cls, saved: Saved) -> "Place":
        """Read it back."""
        return cls(cast("int", saved["at"]), cast("int", saved["done"]))

    @property
    def position(self) -> bytes:
        """The bytes that order events."""
        return self.at.to_bytes(8, "big")


@dataclass(frozen=True, slots=True)
class Line:
    """One transaction."""

    at: int
    end: int
    name: str
    committed_ms: int
    changes: tuple[Mapping[str, Any], ...]


@dataclass
class Tables:
    """What a journal has made of its tables, up to some change."""

    database: str
    shapes: dict[str, TableSchema] = field(default_factory=dict)
    rows: dict[str, dict[tuple[object, ...], Row]] = field(default_factory=dict)

    def follow(self, change: Mapping[str, Any]) -> None:
        """Apply one change."""
        name = change["table"]
        if "columns" in change:
            self.shapes[name] = self._shape(change)
            self.rows.setdefault(name, {})
        elif change["op"] == "t":
            self.rows[name].clear()
        else:
            if "before" in change:
                self.rows[name].pop(self._key(name, change["before"]), None)
            if "after" in change:
                self.rows[name][self._key(name, change["after"])] = change["after"]

    def _key(self, name: str, row: Row) -> tuple[object, ...]:
        return tuple(row[column] for column in self.shapes[name].key)

    def _shape(self, change: Mapping[str, Any]) -> TableSchema:
        columns = tuple(
            Column(name, number, ColumnType(Kind(kind), kind), nullable=nullable)
            for number, (name, kind, nullable) in enumerate(change["columns"], start=1)
        )
        table = TableId(self.database, SCHEMA, change["table"])
        return TableSchema(table, columns, tuple(change["key"]), KeyKind.PRIMARY)


class Journal:
    """The file."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self.path, self.database = path, path.stem

    def lines(self, at: int = 0) -> Iterator[Line]:
        """Return the transactions from a place on, as far as they are written."""
        try:
            with self.path.open("rb") as file:
                file.seek(at)
                for raw in file:
                    if not raw.endswith(b"\n"):
                        return
                    yield self._line(at, raw)
                    at += len(raw)
        except OSError as exc:
            raise UNREADABLE(path=self.path, why=exc.strerror) from exc

    def end(self) -> int:
        """Return the place behind the last transaction."""
        try:
            return self.path.read_bytes().rfind(b"\n") + 1
        except OSError as exc:
            raise UNREADABLE(path=self.path, why=exc.strerror) from exc

    def tables(self, before: Place | None = None) -> Tables:
        """Return what the changes make, all of them or those before a place."""
        made = Tables(self.database)
        for line in self.lines():
            for number, change in enumerate(line.changes):
                if before is not None and not Place(line.at, number) < before:
                    return made
                made.follow(change)
        return made

    def _line(self, at: int, raw: bytes) -> Line:
        try:
            found = json.loads(raw)
            return Line(at, at + len(raw), found["tx"], found["ms"], tuple(found["changes"]))
        except (ValueError, KeyError, TypeError):
            broken = BROKEN(path=self.path, at=at)
            raise broken from None  # the first error shows the line
