"""A database's log as our stream reports it: each change decoded, folded into tables, held against a SELECT.

    open at a place -> poll -> steps -> changes, tables     cut anywhere and opened again, where `chance` says

A row that was written before a statement that may change stored values without an event each
(`Reshaped.refresh`, or what the engine says of the new shape) counts as old: its key must be there, its
values are what a read of the table brings.
"""

import datetime as dt
import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pymysql
from pymysql.converters import encoders

from tests.integration.mysql.source_world import MySqlRegistry
from tests.integration.mysql.values import shown
from tests.integration.mysql.world import root, settings_of
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import (
    Appeared,
    Commit,
    Fault,
    Progress,
    Renamed,
    Reshaped,
    RowChange,
    Rows,
    Saved,
    Shape,
    Step,
    Truncate,
    Vanished,
)
from wrackline.producers.snapshot.shape_changes import RefreshNeed, needs_refresh
from wrackline.producers.sources.mysql.connect.server_facts import facts_of
from wrackline.producers.sources.mysql.log.position import MySqlPosition, file_number
from wrackline.producers.sources.mysql.resume.log_opening import start_position
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.schemas.tables.table import TableId, TableSchema

Row = Mapping[str, object]
_PATIENCE = 120.0
_CUT = 0.15  # how often a batch is the last of its stream
_AS_SENT: Any = encoders  # no cell is made a Python value


class Change(NamedTuple):
    """One event of a topic, with the shape that it was written in."""

    shape: TableSchema
    op: str
    key: tuple[object, ...] | None
    row: Row | None  # None: gone
    seq: str


@dataclass
class Copy:
    """A table as the events have it so far: rows by key, cells by the column's identity."""

    rows: dict[tuple[object, ...], dict[int, object]] = field(default_factory=dict)
    old: set[tuple[object, ...]] = field(default_factory=set)
    whole: bool = True  # the log had every row that it ever had
    shape: TableSchema | None = None


class Followed:
    """One database, from a moment of its log on."""

    def __init__(self, server: MysqlServer, database: str, chance: random.Random | None = None) -> None:
        self.database, self.changes, self.copies = database, list[Change](), dict[TableId, Copy]()
        self.faults: list[Fault] = []
        self._chance, self._registry = chance, MySqlRegistry()
        self._server, self._shapes = server, dict[int, TableSchema]()
        around = Surroundings(
            time.monotonic, lambda: time.time_ns() // 1_000_000, self._registry.register, 20_000
        )
        settings = settings_of(server, **{"database.include.list": database})
        self._source = PLUGIN.open(settings, around)
        [self._partition] = self._source.partitions()
        self._listed = set(self._source.tables(self._partition))
        with root(server) as connection:
            position = start_position(connection, facts_of(connection), None)
        self.start: Saved = position.saved()
        self._at = self.start
        self.copies = {table: Copy() for table in self._listed}

    def log_end(self) -> tuple[str, int]:
        """Where the log ends now."""
        with root(self._server) as connection, connection.cursor() as cursor:
            cursor.execute(facts_of(connection).log_status)
            file, offset, *_ = cursor.fetchall()[0]
        return str(file), int(offset)

    def read(self) -> None:
        """Read on to where the log ends now."""
        file, offset = self.log_end()
        deadline, cut = time.monotonic() + _PATIENCE, True
        while cut:
            stream = self._source.stream(self._partition, sorted(self._listed), self._at)
            cut = False
            while not cut and not self._past(file_number(file), offset):
                assert time.monotonic() < deadline, f"the log was not read to {file}:{offset}: {self._at}"
                if (batch := stream.poll(time.monotonic() + 1)) is not None:
                    cut = self._chance is not None and self._chance.random() < _CUT
                    self._take(self._until_a_place(batch.steps) if cut else batch.steps)
            stream.close()

    def close(self) -> None:
        """End our connections."""
        self._source.close()

    def differences(self) -> list[str]:
        """What the copies and the tables do not agree in."""
        found = []
        tables = set(self._source.tables(self._partition))
        for table in sorted(tables | self.copies.keys()):
            copy = self.copies.get(table)
            if copy is None or table not in tables:
                found.append(f"{table} is {'missing' if copy is None else 'gone'}")
            elif copy.shape is not None and copy.shape.key:
                found += [f"{table} {what}" for what in self._compared(copy, copy.shape)]
            elif self._count(table) and copy.whole and copy.shape is None:
                found.append(f"{table} has rows, and none was reported")
        return found

    def _compared(self, copy: Copy, shape: TableSchema) -> list[str]:
        rows, names = self._selected(shape)
        found = [f"{key} is reported and gone" for key in copy.rows.keys() - rows.keys()]
        if copy.whole:
            found += [f"{key} is there and was not reported" for key in rows.keys() - copy.rows.keys()]
        for key in rows.keys() & copy.rows.keys() - copy.old:
            for number, name in names.items():
                there, told = rows[key][name], copy.rows[key].get(number)
                if there != told:
                    found.append(f"{key} {name}: {str(there)[:60]} there, {str(told)[:60]} reported")
        return found

    def _selected(
        self, shape: TableSchema
    ) -> tuple[dict[tuple[object, ...], dict[str, object]], dict[int, str]]:
        listed = ", ".join(f"`{column.name}`" for column in shape.columns)
        plain = pymysql.connect(
            host=self._server.host,
            port=self._server.port,
            user=self._server.user,
            use_unicode=False,
            conv=_AS_SENT,
        )
        with plain, plain.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00', NAMES utf8mb4")
            cursor.execute(f"SELECT {listed} FROM `{shape.id.schema}`.`{shape.id.name}`")
            rows = [
                {
                    column.name: None if text is None else shown(column.type.kind, text)
                    for column, text in zip(shape.columns, row, strict=True)
                }
                for row in cursor.fetchall()
            ]
        made = {tuple(row[name] for name in shape.key): row for row in rows}
        return made, {column.identity: column.name for column in shape.columns}

    def _count(self, table: TableId) -> int:
        with root(self._server) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM `{table.schema}`.`{table.name}`")
            return int(cursor.fetchall()[0][0])

    def _past(self, file: int, offset: int) -> bool:
        at = self._at
        number, reached, done = file_number(str(at["file"])), at["offset"], at["done"]
        return not done and (number, reached) >= (file, offset)

    def _until_a_place(self, steps: Sequence[Step]) -> Sequence[Step]:
        """The steps up to one of the places that a stream may begin at again, by chance."""
        assert self._chance is not None
        places = [i for i, step in enumerate(steps, 1) if _place(step) is not None]
        return steps[: self._chance.choice(places)] if places else ()

    def _take(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._step(step)
            if (place := _place(step)) is not None:
                self._at = json.loads(json.dumps(place.saved()))

    def _step(self, step: Step) -> None:
        match step:
            case Shape():
                self._shaped(step)
            case Rows(rows):
                for row in rows:
                    self._row(row)
            case Truncate(ref, value):
                self._truncated(self._shapes[ref], value)
            case Vanished(table):
                self.copies.pop(table, None)
                self._listed.discard(table)
            case Renamed(old, new):
                copy = self.copies.pop(old)  # its topic lacks these rows, and they are read for it
                self.copies[new] = Copy(whole=False) if copy.old else replace(copy, old=set(copy.rows))
                self._listed = self._listed - {old} | {new}
            case Appeared(table, complete):
                self.copies[table] = Copy(whole=complete)
                self._listed.add(table)
            case Reshaped(refresh=True):
                self._reshaped(step)
            case Fault():
                self.faults.append(step)
            case _:
                pass

    def _reshaped(self, step: Reshaped) -> None:
        copy = self._copy(step.table)
        copy.old |= copy.rows.keys()
        if step.void:
            self.copies[step.table] = Copy(whole=False, shape=copy.shape)

    def _shaped(self, step: Shape) -> None:
        shape, copy = step.table, self._copy(step.table.id)
        if (
            copy.shape is not None
            and needs_refresh(copy.shape, shape, step.filled) is not RefreshNeed.NOTHING
        ):
            copy.old |= copy.rows.keys()
        self._shapes[step.ref] = copy.shape = shape

    def _copy(self, table: TableId) -> Copy:
        return self.copies.setdefault(table, Copy())

    def _row(self, row: RowChange) -> None:
        ref, op, key, value, _ = row
        shape, event = self._shapes[ref], self._registry.decode(value)
        named = None if key is None else tuple(map(_plain, self._registry.decode(key).values()))
        after: Any = event["after"]
        made = None if after is None else {name: _plain(cell) for name, cell in after.items()}
        self.changes.append(Change(shape, op, named, made, str(event["seq"])))
        if named is None:
            return
        copy = self._copy(shape.id)
        copy.old.discard(named)
        if made is None:
            copy.rows.pop(named, None)
        else:
            copy.rows[named] = {column.identity: made[column.name] for column in shape.columns}

    def _truncated(self, shape: TableSchema, value: bytes) -> None:
        self.changes.append(Change(shape, "t", None, None, str(self._registry.decode(value)["seq"])))
        copy = self._copy(shape.id)
        copy.rows.clear()
        copy.old.clear()
        copy.whole = True


def _place(step: Step) -> MySqlPosition | None:
    match step:
        case Rows(_, place) | Truncate(_, _, place) | Commit(_, place) | Progress(place):
            assert isinstance(place, MySqlPosition)
            return place
        case _:
            return None


def _plain(value: object) -> object:
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value
