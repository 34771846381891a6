"""A batch with records that can't become rows: they are kept, the rest is merged, and they can come later."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fakes.duck_service import DIALECT, DuckService
from tests.fakes.duck_world import DuckWorld
from tests.fixtures.servers import Database
from tests.integration.targets.iceberg.world import FEW_ROWS, settings
from tests.integration.targets.postgres.world import settings_of
from tests.integration.targets.test_two_flows import before_the_first
from tests.unit.consumers.test_decode import KEYED, NOON, TOPIC, Topic, wire
from wrackline.consumers.batch.batch import merge_sound
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.batch.replay import replay
from wrackline.consumers.batch.report import Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.consumers.contract.plan import Applied, TopicPartition
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.lake.letters_table import letters_frame
from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.target import StagedTarget
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.consumers.targets.postgres import PLUGIN
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.events.envelope import dump, key_schema, value_schema
from wrackline.schemas.kafka import schema_registry
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.tables.table import Column, TableSchema

TABLE = table_of(TOPIC)
LOST = 99  # a schema's id


class Bin:
    """One topic of hand-made records, and an Iceberg table of it."""

    def __init__(self, spark: SparkSession, namespace: str, table: TableSchema = KEYED) -> None:
        self.spark = spark.newSession()
        for name, value in FEW_ROWS.items():
            self.spark.conf.set(name, value)
        self.lake = open_iceberg(settings(spark, namespace=namespace), self.spark)
        self.target: SparkTarget = self.lake
        self.topic = Topic(table)
        self.texts: dict[int, str] = {1: dump(key_schema(table, topic=TOPIC) or {}), **self.topic.texts}

    def rules(self, most_letters: int) -> BatchRules:
        def text(schema_id: int) -> str:
            if schema_id not in self.texts:
                raise schema_registry.UNKNOWN_ID(url="http://registry", id=schema_id)
            return self.texts[schema_id]

        return BatchRules({}, text, most_letters=most_letters)

    def frame(self) -> DataFrame:
        records = [
            DeadLetter(RecordPosition(TOPIC, partition, offset), "", "", key, value, 0)
            for key, value, partition, offset in self.topic.records
        ]
        return letters_frame(self.spark.newSession(), records).withColumnRenamed("kept_at", "timestamp")

    def merge(self, most_letters: int) -> int:
        wanted = BatchRange(TOPIC, {0: 0}, {0: len(self.topic.records)})
        before, rules = self.target.applied(TABLE), self.rules(most_letters)
        return merge_sound(self.frame(), wanted, before, self.target, rules, Stopwatch())[1]

    def on(self) -> None:
        """Merge what has come since."""
        before = self.target.applied(TABLE)
        start, end = before.offsets.get(TopicPartition(TOPIC, 0), 0), len(self.topic.records)
        records = self.frame().where(f"offset >= {start}")
        merge_sound(
            records, BatchRange(TOPIC, {0: start}, {0: end}), before, self.target, self.rules(0), Stopwatch()
        )

    def replay(self) -> tuple[int, Mapping[str, int]]:
        found = replay(self.spark, TABLE, self.target, self.rules(0))
        return found.merged, found.left

    def rows(self) -> dict[object, object]:
        rows = self.lake.rows(TABLE)
        assert rows is not None
        return {row["a b"]: row["b"] for row in rows.collect()}

    def letters(self) -> dict[int, str]:
        return {letter.spot.offset: letter.code for letter in self.target.letters.kept(TABLE)}


@pytest.mark.full
def test_what_cannot_become_a_row_is_kept_and_comes_when_it_can(spark: SparkSession, namespace: str) -> None:
    made = Bin(spark, namespace)
    topic = made.topic
    topic.tell("c", 1, (1.0, "x", NOON, None))
    key, good = topic.records[0][:2]
    assert key is not None
    assert good is not None
    topic.raw(key, good[:-1])
    topic.tell("c", 2, (2.0, "secret", "eternity", None))
    topic.raw(key, b"\0\xff\xff\xff\xffno schema at all")
    topic.tell("c", 3, (3.0, "later", NOON, None))
    late = topic.records.pop()
    topic.raw(late[0], b"\0" + LOST.to_bytes(4, "big") + (late[1] or b"")[5:])
    topic.raw(b"\0" + LOST.to_bytes(4, "big") + key[5:], good)
    topic.raw(key, None)
    topic.tell("u", 7, (1.0, "last", NOON, None))
    with pytest.raises(WracklineError, match=r"registry.unknown_id|consume.not_wire_format"):
        made.merge(0)
    with pytest.raises(OperatorNeeded, match=r"consume.too_many_letters") as refused:
        made.merge(4)
    assert "secret" not in str(refused.value)
    assert made.target.held(TABLE) is None, "nothing of it was merged"
    assert made.merge(5) == 5
    assert made.rows() == {1.0: "last"}
    assert made.target.applied(TABLE).offsets == {TopicPartition(TOPIC, 0): 8}
    kept = {
        1: "consume.broken_records",
        2: "consume.value_unfit",
        3: "consume.not_wire_format",
        4: "registry.unknown_id",
        5: "registry.unknown_id",
    }
    assert made.letters() == kept
    assert made.merge(5) == 5, "the same batch again keeps nothing twice"
    assert made.letters() == kept
    assert not any("secret" in letter.reason for letter in made.target.letters.kept(TABLE))

    made.texts[LOST] = made.texts[2]  # the registry is whole again
    merged, left = made.replay()
    assert (merged, sum(left.values()), len(left)) == (1, 4, 4)
    assert made.rows() == {1.0: "last", 3.0: "later"}
    assert made.letters().keys() == kept.keys() - {4}
    assert made.target.applied(TABLE).offsets == {TopicPartition(TOPIC, 0): 8}, "no offset moves"
    assert made.replay()[0] == 0


def test_a_record_of_another_table_reshapes_nothing(spark: SparkSession, namespace: str) -> None:
    """Its schema is one of ours, and its seq may be the newest."""
    made, others = Bin(spark, namespace), f"{TOPIC}2"
    made.topic.tell("c", 1, (1.0, "x", NOON, None))
    assert made.merge(0) == 0
    held = made.target.held(TABLE)
    columns = (KEYED.columns[0], replace(KEYED.columns[1], name="label"))
    theirs = replace(KEYED, columns=columns)
    made.texts[3] = dump(value_schema(theirs, topic=others, connector="test", source_fields=[]))
    value = {"before": None, "after": {"a_b": 1.0, "label": "y"}, "op": "u", "seq": f"{9:08x}"}
    source = {"version": "1", "connector": "test", "name": "server", "ts_ms": 1, "db": "shop"}
    value["source"] = {**source, "schema": "public", "table": "others"}
    made.topic.raw(made.topic.records[0][0], wire(3, json.loads(made.texts[3]), value))
    with pytest.raises(OperatorNeeded, match=r"consume.not_our_schema"):
        made.merge(0)
    assert made.merge(1) == 1
    assert (made.target.held(TABLE), made.rows()) == (held, {1.0: "x"})


@pytest.mark.parametrize("where", ["iceberg", pytest.param("postgres", marks=pytest.mark.full)])
def test_a_value_that_does_not_fit_is_found_where_it_fails(
    spark: SparkSession, namespace: str, where: str, request: pytest.FixtureRequest
) -> None:
    """Such a value shows in the merge itself, or on the way to it."""
    made = Bin(spark, namespace)
    if where == "postgres":
        made.target = PLUGIN.open(settings_of(request.getfixturevalue("database").dsn), spark)
    made.topic.tell("c", 1, (1.0, "x", NOON, None))
    made.topic.tell("c", 2, (2.0, "secret", "eternity", None))
    with pytest.raises(OperatorNeeded, match=r"consume.value_unfit") as refused:
        made.merge(0)
    assert "secret" not in str(refused.value)
    assert made.merge(1) == 1
    assert made.letters() == {1: "consume.value_unfit"}
    assert made.target.applied(TABLE).offsets == {TopicPartition(TOPIC, 0): 2}
    made.target.close()


@pytest.mark.full
def test_a_text_that_postgresql_has_no_character_for_is_set_aside(
    spark: SparkSession, namespace: str, database: Database
) -> None:
    """Also in a record that the server's error could not distinguish from its neighbours."""
    made = Bin(spark, namespace)
    made.target = PLUGIN.open(settings_of(database.dsn), spark)
    made.topic.tell("c", 1, (1.0, "x", NOON, None))
    made.topic.tell("c", 2, (2.0, "sec\0ret", NOON, None))
    with pytest.raises(OperatorNeeded, match=r"target.character_refused") as refused:
        made.merge(0)
    assert "sec" not in str(refused.value)
    assert made.merge(1) == 1
    assert made.letters() == {1: "target.character_refused"}
    assert made.target.applied(TABLE).offsets == {TopicPartition(TOPIC, 0): 2}
    merged, left = made.replay()
    assert (merged, sum(left.values())) == (0, 1), "no wait repairs it"
    made.target.close()


def test_a_value_that_a_warehouse_can_not_hold_is_set_aside(
    spark: SparkSession, namespace: str, tmp_path: Path
) -> None:
    """The whole batch fails before its load, and the search finds the record by the same words."""
    made = Bin(spark, namespace)
    made.target = StagedTarget(DuckService(), DuckWorld(tmp_path).layout, DriverCarrier())
    made.topic.tell("c", 1, (1.0, "x", NOON, None))
    made.topic.tell("c", 2, (2.0, "secret" * 20_000, NOON, None))
    made.topic.tell("c", 3, (3.0, "secret\x02", NOON, None))
    with pytest.raises(OperatorNeeded, match=r"target\.(value|character)_refused") as refused:
        made.merge(0)
    assert "secret" not in str(refused.value)
    assert made.merge(2) == 2
    assert made.letters() == {1: "target.value_refused", 2: "target.character_refused"}
    reasons = [letter.reason for letter in made.target.letters.kept(TABLE)]
    assert reasons[0] == "a value of column 'b' is longer than 70001 bytes"
    assert made.target.applied(TABLE).offsets == {TopicPartition(TOPIC, 0): 3}
    made.target.close()


def test_a_row_that_a_warehouse_can_not_hold_is_set_aside(
    spark: SparkSession, namespace: str, tmp_path: Path
) -> None:
    """Each of its values fits, and COPY would end at the whole row with an error of no record."""
    made = Bin(spark, namespace)
    service = DuckService(replace(DIALECT, row_bytes=50_000))
    made.target = StagedTarget(service, DuckWorld(tmp_path).layout, DriverCarrier())
    made.topic.tell("c", 1, (1.0, "x" * 49_000, NOON, None))
    made.topic.tell("c", 2, (2.0, "secret" * 9_000, NOON, None))
    with pytest.raises(OperatorNeeded, match=r"target\.row_refused.*longer than 50000 bytes") as refused:
        made.merge(0)
    assert "secret" not in str(refused.value)
    assert made.merge(1) == 1
    assert made.letters() == {1: "target.row_refused"}
    made.target.close()


@pytest.mark.full
def test_a_topic_of_nothing_but_broken_records_makes_no_table(spark: SparkSession, namespace: str) -> None:
    made = Bin(spark, namespace)
    made.topic.tell("c", 1, (1.0, "x", NOON, None))
    key, good, *_ = made.topic.records.pop()
    assert good is not None
    made.topic.raw(key, good[:-2])
    made.topic.raw(key, b"\0" + LOST.to_bytes(4, "big") + good[5:])
    assert made.merge(2) == 2
    assert made.target.held(TABLE) is None
    assert made.letters() == {0: "consume.broken_records", 1: "registry.unknown_id"}
    made.texts[LOST] = made.texts[2]
    assert made.replay()[0] == 1
    assert made.rows() == {1.0: "x"}
    assert made.target.applied(TABLE) == replace(Applied(), newest=made.target.applied(TABLE).newest)


@pytest.mark.full
def test_a_replay_drops_no_column_that_a_consumer_adds_beside_it(
    spark: SparkSession, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer alters the table before it merges, so the table is wider than all that is applied says."""
    made = Bin(spark, namespace)
    made.topic.tell("c", 1, (1.0, "x", NOON, None))
    made.topic.tell("c", 2, (2.0, "late", NOON, None))
    late = made.topic.records.pop()
    made.topic.raw(late[0], b"\0" + LOST.to_bytes(4, "big") + (late[1] or b"")[5:])
    assert made.merge(1) == 1
    made.texts[LOST] = made.texts[2]
    wider = Topic(replace(KEYED, columns=(*KEYED.columns, Column("more", 5, KEYED.columns[1].type))))
    wider.value_is(wider.value_schema, 3)
    made.texts |= wider.texts
    wider.tell("c", 3, (3.0, "z", NOON, None, "of the new column"))
    made.topic.raw(*wider.records[0][:2])

    with monkeypatch.context() as patched:
        patched.setattr(made.target, "apply", interrupted)
        with pytest.raises(Transient, match="InterruptedError"):
            made.on()  # up to its merge
    monkeypatch.setattr(made.target, "alter", before_the_first(made.target.alter, made.on))  # its merge comes
    assert made.replay()[0] == 1
    made.on()
    rows = made.lake.rows(TABLE)
    assert rows is not None
    assert {row["a b"]: (row["b"], row["more"]) for row in rows.collect()} == {
        1.0: ("x", None),
        2.0: ("late", None),
        3.0: ("z", "of the new column"),
    }


def interrupted(*_: object) -> NoReturn:
    raise InterruptedError
