"""The journal keeps the source contract."""

import itertools
import json
import time
from pathlib import Path

import pytest
from wrackline_jsonl.events import CONNECTOR
from wrackline_jsonl.journal import Journal, Row
from wrackline_jsonl.source import PLUGIN

from wrackline.producers.contract.source_plugin import Source, Surroundings
from wrackline.producers.contract.steps import Position
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.tables.table import SourcePartition, TableSchema
from wrackline.testing.sources.schema_ids import SchemaIds
from wrackline.testing.sources.source_suite import SourceSuite
from wrackline.testing.sources.source_world import (
    Ability,
    Change,
    ColumnAdded,
    Delete,
    Elsewhere,
    Insert,
    Said,
    Truncated,
    Update,
)

COLUMNS = [
    ["shop", "string", False],
    ["number", "int32", False],
    ["label", "string", True],
    ["big", "string", True],
]
KEY = ["shop", "number"]


def settings_of(path: Path) -> Values:
    """Settings of a pipeline that captures one of two tables."""
    given = {
        "name": "test",
        "connector.class": "journal",
        "topic.prefix": "server",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "journal.path": str(path),
        "table.include.list": "main.orders",
    }
    registry = SettingsRegistry(CORE, PLUGIN.settings)
    reading = registry.read(given, Resolver(Allowed(folders=(path.parent,)), {}))
    assert reading.values is not None, reading.problems
    return reading.values


class JournalWorld:
    """A journal that the suite writes to, as an application does."""

    abilities: frozenset[Ability] = frozenset({Ability.TRUNCATES})
    most_batch_bytes = 6_000

    def __init__(self, path: Path) -> None:
        self._path, self._ids, self._number = path, SchemaIds(CONNECTOR), itertools.count(1)
        self._columns, self._elsewhere = list(COLUMNS), 0
        path.touch()
        self._append({"table": "orders", "columns": COLUMNS, "key": KEY})
        self._append({"table": "elsewhere", "columns": [["id", "int32", False]], "key": ["id"]})
        around = Surroundings(
            time.monotonic, lambda: 1_700_000_000_000, self._ids.register, self.most_batch_bytes
        )
        self.source: Source = PLUGIN.open(settings_of(path), around)
        [partition] = self.source.partitions()
        [table] = self.source.tables(partition)
        self._orders = self.source.describe(partition, table)

    def orders(self, partition: SourcePartition) -> TableSchema:
        return self._orders

    def now(self) -> float:
        return time.monotonic()

    def commit(self, partition: SourcePartition, *changes: Change, hidden: bool = False) -> str:
        assert not hidden
        rows = dict(Journal(self._path).tables().rows["orders"])  # an update is written with its whole row
        return self._append(*(self._written(change, rows) for change in changes))

    def show(self, partition: SourcePartition, transaction: str) -> None:
        raise NotImplementedError

    def key(self, raw: bytes) -> dict[str, object]:
        return self._ids.decode(raw)

    def value(self, raw: bytes) -> dict[str, object]:
        return self._ids.decode(raw)

    def told(self, partition: SourcePartition) -> Position | None:
        return None

    def _written(self, change: Change, rows: dict[tuple[object, ...], Row]) -> dict[str, object]:
        match change:
            case Insert(values):
                rows[values["shop"], values["number"]] = values
                return {"table": "orders", "op": "c", "after": values}
            case Update(key, values):
                before = rows.pop(key)
                after = {**before, **values}
                rows[after["shop"], after["number"]] = after
                return {"table": "orders", "op": "u", "before": before, "after": after}
            case Delete(key):
                return {"table": "orders", "op": "d", "before": rows.pop(key)}
            case Truncated():
                rows.clear()
                return {"table": "orders", "op": "t"}
            case ColumnAdded(name):
                self._columns.append([name, "string", True])
                return {"table": "orders", "columns": self._columns, "key": KEY}
            case Elsewhere():
                self._elsewhere += 1
                return {"table": "elsewhere", "op": "c", "after": {"id": self._elsewhere}}
            case Said():
                raise NotImplementedError

    def _append(self, *changes: dict[str, object]) -> str:
        name = f"t{next(self._number)}"
        with self._path.open("a") as file:
            file.write(json.dumps({"tx": name, "ms": 1_700_000_000_000, "changes": changes}) + "\n")
        return name


class TestJournal(SourceSuite):
    @pytest.fixture
    def world(self, tmp_path: Path) -> JournalWorld:
        return JournalWorld(tmp_path / "shop.jsonl")
