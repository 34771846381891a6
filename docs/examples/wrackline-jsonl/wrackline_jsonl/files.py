"""A table as one file, and its dead letters as another: lines of JSON, the first of a table being its head.

A file is written beside the old one and then takes its place, which is the commit: rows and offsets are there
together or not at all.  A lock keeps two writers apart.
"""

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wrackline.consumers.contract import applied_text
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.consumers.contract.plan import Applied, PlannedColumn
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline_jsonl.merge import Key, Rows, StoredRow


@dataclass(frozen=True, slots=True)
class TableFile:
    """All that one commit exchanges."""

    columns: tuple[PlannedColumn, ...]
    key: tuple[str, ...]
    rows: Rows = field(default_factory=dict)
    applied: Applied = field(default_factory=Applied)


class Folder:
    """The files of all tables."""

    def __init__(self, path: Path, reach: Callable[[str], None] = lambda _: None) -> None:
        """Make the folder; `reach` is told where a commit is, so that a test can end the process there."""
        self.path, self._reach = path, reach
        path.mkdir(parents=True, exist_ok=True)

    def file(self, table: TableId, what: str = "rows") -> Path:
        """Return the path of a table's file."""
        return self.path / f"{quote(str(table), safe='')}.{what}.jsonl"

    @contextmanager
    def locked(self, table: TableId) -> Iterator[None]:
        """Keep other writers away from a table."""
        with self.file(table, "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def read(self, table: TableId) -> TableFile | None:
        """Return a table; None where there is none."""
        try:
            lines = self.file(table).read_text().splitlines()
        except FileNotFoundError:
            return None
        head = json.loads(lines[0])
        columns = tuple(_column(one) for one in head["columns"])
        key = tuple(head["key"])
        drop = f"rm '{self.file(table)}'"
        applied = applied_text.parse(head["applied"], str(table), drop)
        return TableFile(columns, key, dict(_row(key, json.loads(line)) for line in lines[1:]), applied)

    def write(self, table: TableId, made: TableFile) -> None:
        """Exchange a table."""
        columns = [{**asdict(one), "type": _type_text(one.type)} for one in made.columns]
        head = {"columns": columns, "key": made.key, "applied": applied_text.text(made.applied)}
        rows = ({**asdict(row), "missing": sorted(row.missing)} for row in made.rows.values())
        self._exchange(self.file(table), [head, *rows])

    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        """Keep dead letters; one that is kept already stays as it is."""
        with self.locked(table):
            held = {one.spot: one for one in self.kept(table)}
            for one in letters:
                held.setdefault(one.spot, one)
            self._exchange(self.file(table, "letters"), [_letter_text(held[spot]) for spot in sorted(held)])

    def spots(self, table: TableId) -> frozenset[RecordPosition]:
        """Return where the kept records were."""
        return frozenset(one.spot for one in self.kept(table))

    def kept(self, table: TableId) -> Iterator[DeadLetter]:
        """Return the letters in the order of their places."""
        try:
            lines = self.file(table, "letters").read_text().splitlines()
        except FileNotFoundError:
            return iter(())
        return iter([_letter(json.loads(line)) for line in lines])

    def remove(self, table: TableId, spots: Collection[RecordPosition]) -> None:
        """Forget some letters."""
        with self.locked(table):
            left = [_letter_text(one) for one in self.kept(table) if one.spot not in spots]
            self._exchange(self.file(table, "letters"), left)

    def _exchange(self, path: Path, lines: Iterable[object]) -> None:
        beside = path.with_suffix(".new")
        with beside.open("w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        self._reach("before the commit")
        beside.replace(path)
        self._reach("after the commit")


def _row(key: tuple[str, ...], found: Mapping[str, Any]) -> tuple[Key, StoredRow]:
    row = StoredRow(**{**found, "missing": frozenset(found["missing"])})
    return tuple(row.values[name] for name in key), row


def _type_text(of: ColumnType) -> dict[str, Any]:
    element = None if of.element is None else _type_text(of.element)
    return {**asdict(of), "kind": of.kind.value, "element": element}


def _type(found: Mapping[str, Any]) -> ColumnType:
    made = ColumnType(**{**found, "kind": Kind(found["kind"]), "labels": tuple(found["labels"])})
    return made if found["element"] is None else replace(made, element=_type(found["element"]))


def _column(found: Mapping[str, Any]) -> PlannedColumn:
    return PlannedColumn(**{**found, "type": _type(found["type"])})


def _letter_text(letter: DeadLetter) -> dict[str, Any]:
    raw = {name: None if part is None else part.hex() for name, part in _parts(letter)}
    return {**asdict(letter), "spot": list(letter.spot), **raw}


def _parts(letter: DeadLetter) -> tuple[tuple[str, bytes | None], ...]:
    return ("key", letter.key), ("value", letter.value)


def _letter(found: Mapping[str, Any]) -> DeadLetter:
    raw = {name: None if found[name] is None else bytes.fromhex(found[name]) for name in ("key", "value")}
    return DeadLetter(**{**found, "spot": RecordPosition(*found["spot"]), **raw})
