"""A key's column that is renamed while events wait: those under both names change the same rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from tests.integration.targets.delta import world as delta
from tests.integration.targets.postgres.world import settings_of
from tests.unit.consumers.test_decode import KEYED, NOON, TOPIC, Topic
from tests.unit.consumers.test_sift import TABLE, Bin
from wrackline.consumers.targets import delta as delta_target
from wrackline.consumers.targets import postgres as postgres_target
from wrackline.schemas.events.envelope import dump, key_schema
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind

NUMBER = Column("a b", 1, ColumnType(Kind.INT64, "bigint"), nullable=False)
OLD = replace(KEYED, columns=(NUMBER, *KEYED.columns[1:]))
NEW = replace(OLD, columns=(replace(NUMBER, name="id"), *OLD.columns[1:]), key=("id",))
KEY_ID, VALUE_ID = 5, 6


class Renamed(Bin):
    """A topic whose key is called otherwise from some event on."""

    def __init__(self, spark: SparkSession, namespace: str) -> None:
        super().__init__(spark, namespace, OLD)
        self._later = Topic(NEW, KEY_ID)
        self._later.value_is(self._later.value_schema, VALUE_ID)
        self.texts |= {KEY_ID: dump(key_schema(NEW, topic=TOPIC) or {}), **self._later.texts}

    def old(self, op: str, number: int, row: Sequence[object], *, unsent: bool = False) -> None:
        self.topic.tell(op, number, row, unsent=["b"] if unsent else [])

    def new(self, op: str, number: int, row: Sequence[object], *, unsent: bool = False) -> None:
        self._later.tell(op, number, row, unsent=["b"] if unsent else [])
        self.topic.raw(*self._later.records.pop()[:2])

    def seen(self, key: str) -> dict[object, object]:
        rows = self.target.rows(TABLE)  # type: ignore[attr-defined]  # both lakes have it
        assert key in rows.columns
        return {row[key]: row["b"] for row in rows.collect()}


class InPostgres(Renamed):
    """The same, merged into a database."""

    dsn = ""

    def seen(self, key: str) -> dict[object, object]:
        with psycopg.connect(self.dsn, row_factory=psycopg.rows.dict_row) as reader:
            return {row[key]: row["b"] for row in reader.execute("SELECT * FROM public.things").fetchall()}


@pytest.fixture(params=["iceberg", pytest.param("delta", marks=pytest.mark.deep), "postgres"])
def renamed(
    request: pytest.FixtureRequest, spark: SparkSession, namespace: str, tmp_path: Path
) -> Iterator[Renamed]:
    made = (InPostgres if request.param == "postgres" else Renamed)(spark, namespace)
    if request.param == "delta":
        made.target = delta_target.PLUGIN.open(delta.settings(tmp_path), made.spark)
    elif isinstance(made, InPostgres):
        made.dsn = request.getfixturevalue("database").dsn
        made.target = postgres_target.PLUGIN.open(settings_of(made.dsn), made.spark)
    yield made
    made.target.close()


def one_batch(_: Renamed) -> None:
    """Leave it to the end."""


def each_alone(made: Renamed) -> None:
    made.on()


@pytest.mark.parametrize("cut", [one_batch, pytest.param(each_alone, marks=pytest.mark.deep)])
def test_events_under_both_names_change_the_same_rows(
    renamed: Renamed, cut: Callable[[Renamed], None]
) -> None:
    for number in range(1, 6):
        renamed.old("c", number, (number, f"b{number}", NOON, None))
    renamed.on()
    renamed.old("u", 10, (1, "old", NOON, None))
    renamed.old("d", 11, (2, None, None, None))
    renamed.old("u", 12, (3, "kept", NOON, None))
    cut(renamed)
    renamed.new("u", 20, (1, "new", NOON, None))
    renamed.new("c", 21, (2, "again", NOON, None))
    renamed.new("u", 22, (3, None, NOON, None), unsent=True)
    renamed.new("d", 23, (4, None, None, None))
    cut(renamed)
    renamed.old("u", 9, (5, "late", NOON, None))  # of another partition: it came after the new name
    renamed.old("u", 13, (4, "late", NOON, None))
    renamed.on()
    assert renamed.seen("id") == {1: "new", 2: "again", 3: "kept", 5: "late"}
