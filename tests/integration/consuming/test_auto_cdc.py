"""Feeds that no worker of ours wrote: hand-made JSON on hand-made topics, in any order, twice, in any cut.

Each history is compared with a model of a few lines: of each key the event with the greatest sequence.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is public
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from tests.fixtures.servers import Database
from tests.integration.running.world import wait_until
from tests.integration.targets.iceberg.world import FEW_ROWS, settings
from tests.integration.targets.postgres.world import settings_of
from wrackline.consumers.auto_cdc.flow import FlowArguments
from wrackline.consumers.auto_cdc.flow_batch import (
    BEGIN_ANEW,
    NO_KEY,
    NO_SEQUENCE,
    TOO_MANY_LETTERS,
    UNREADABLE,
    FlowReadSettings,
)
from wrackline.consumers.auto_cdc.flows import NO_TOPIC, Flows
from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.consumers.targets.postgres import PLUGIN as POSTGRES
from wrackline.control.local.stack.servers import Broker
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient
from wrackline.schemas.tables.table import TableId

TABLE = TableId("legacy", "sales", "customers")
PARTITIONS = 3
FIELDS = "id bigint, name string, city string, op string, at bigint"
Event = Mapping[str, Any]
Row = tuple[Any, ...]


@dataclass
class Feed:
    """A topic of JSON, and the table that its flow makes."""

    spark: SparkSession
    kafka: Broker
    topic: str
    namespace: str
    fields: str = FIELDS
    options: Mapping[str, str] = field(default_factory=dict)
    exists: bool = False
    target: Any = None

    def __post_init__(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.kafka.bootstrap})
        if not self.exists:
            admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])[self.topic].result(30)
        if self.target is None:
            self.target = open_iceberg(settings(self.spark, namespace=self.namespace), self.spark)
        self._producer = Producer({"bootstrap.servers": self.kafka.bootstrap})

    def send(self, events: Sequence[Event], chance: random.Random) -> None:
        """Write them anywhere: no key, no order."""
        for event in events:
            self._producer.produce(self.topic, json.dumps(event), partition=chance.randrange(PARTITIONS))
        assert self._producer.flush(30) == 0

    def flows(self, most_offsets: int = 1_000, most_letters: int = 0, **more: Any) -> Flows:
        """Make the one flow, as a user's script does; each call is a process started again."""
        given = {"bootstrap.servers": self.kafka.bootstrap}
        flows = Flows(
            self.spark,
            TopicOffsets(client_settings(given)),
            self.target,
            FlowReadSettings(spark_options(given), "_wl_", most_offsets, most_letters),
        )

        @flows.view(topic=self.topic)
        def customers(records: DataFrame) -> DataFrame:
            value = F.from_json(F.col("value").cast("string"), self.fields, self.options)
            return records.select(value.alias("v")).select("v.*")

        arguments: FlowArguments = {"except_column_list": ["op", "at"], **more}  # type: ignore[typeddict-item]  # what a test asks for
        flows.create_auto_cdc_flow(str(TABLE), "customers", ["id"], "at", **arguments)
        return flows

    def merge(self, flows: Flows) -> int:
        """Merge until there is no news; return how many batches it took."""
        for batches in range(1000):
            if flows.merge(*next(iter(flows.look().items()))).empty:
                return batches
        raise AssertionError("it never ends")

    def rows(self, *names: str) -> list[Row]:
        """Return what a reader sees."""
        found = self.target.rows(TABLE)
        assert found is not None
        return sorted(map(tuple, found.select(*names).collect()), key=repr)


@pytest.fixture
def feed(spark: SparkSession, kafka: Broker, topic_prefix: str, namespace: str) -> Iterator[Feed]:
    for name, value in FEW_ROWS.items():
        spark.conf.set(name, value)
    yield Feed(spark, kafka, f"{topic_prefix}-customers", namespace)
    for name in FEW_ROWS:
        spark.conf.unset(name)


def event(at: int, key: int, op: str = "put", **values: object) -> Event:
    return {"id": key, "op": op, "at": at, **values}


def now(events: Sequence[Event]) -> list[Row]:
    """Return each key's newest event, unless it is a delete, behind the newest truncate."""
    floor = max((one["at"] for one in events if one["op"] == "truncate"), default=-1)
    newest: dict[int, Event] = {}
    for one in sorted(events, key=lambda one: one["at"]):
        if one["op"] != "truncate" and one["at"] > floor:
            newest[one["id"]] = one
    return sorted(
        ((one["id"], one["name"], one["city"]) for one in newest.values() if one["op"] == "put"), key=repr
    )


def history(chance: random.Random, events: int) -> list[Event]:
    """Make events of few keys, a delete in five, a truncate in thirty."""
    made = []
    for at in range(events):
        op = chance.choices(("put", "delete", "truncate"), (24, 5, 1))[0]
        city = chance.choice((None, "Rom", "Genf"))
        made.append(event(at - 20, chance.randrange(6), op, name=f"n{at}", city=city))
    return made


def test_any_order_and_any_cut_and_any_repetition_give_the_same_table(feed: Feed) -> None:
    chance = random.Random(7)
    events = history(chance, 60)
    twice = [*events, *chance.sample(events, 20)]
    chance.shuffle(twice)
    batches = 0
    for part in (twice[:30], twice[30:]):
        feed.send(part, chance)
        batches += feed.merge(
            feed.flows(17, apply_as_deletes="op = 'delete'", apply_as_truncates=F.expr("op = 'truncate'"))
        )
    assert batches > 3
    assert feed.rows("id", "name", "city") == now(events)


@pytest.mark.full
def test_a_null_is_ignored_in_the_columns_that_are_listed(feed: Feed) -> None:
    chance = random.Random(1)
    flow: dict[str, Any] = {
        "apply_as_deletes": "op = 'delete'",
        "ignore_null_updates_column_list": ["city"],
    }
    feed.send([event(1, 1, name="a", city="Rom"), event(2, 2, name="b", city=None)], chance)
    feed.merge(feed.flows(**flow))
    feed.send([event(3, 1, name=None, city=None), event(4, 2, name="c", city="Genf")], chance)
    feed.merge(feed.flows(**flow))
    assert feed.rows("id", "name", "city") == [(1, None, "Rom"), (2, "c", "Genf")]
    feed.send([event(5, 1, "delete"), event(6, 1, name="again", city=None)], chance)
    feed.merge(feed.flows(**flow))
    assert feed.rows("id", "name", "city") == [(1, "again", None), (2, "c", "Genf")]


@pytest.mark.full
def test_what_came_late_lends_nothing_to_a_newer_event_of_its_batch(feed: Feed, database: Database) -> None:
    chance = random.Random(4)
    flow: dict[str, Any] = {"apply_as_deletes": "op = 'delete'", "ignore_null_updates": True}
    copy = POSTGRES.open(settings_of(database.dsn), feed.spark)
    rows = [event(10, key, name="a", city="Rom") for key in (1, 2, 3)]
    feed.send([*rows, event(10, 4, "delete")], chance)
    both: list[Feed] = [replace(feed, target=target, exists=True) for target in (copy, feed.target)]
    for one in both:
        one.merge(one.flows(**flow))
    late = [event(5, key, name="late", city="Bern") for key in (1, 4)]
    newest = [event(12, key, name="b", city=None) for key in (1, 2, 3, 4)]
    feed.send([*late, event(9, 2, "delete"), event(11, 3, name=None, city="Genf"), *newest], chance)
    for one in both:
        one.merge(one.flows(**flow))
    expected = [(1, "b", "Rom"), (2, "b", "Rom"), (3, "b", "Genf"), (4, "b", None)]
    assert feed.rows("id", "name", "city") == expected
    with psycopg.connect(database.dsn) as sql:
        assert sql.execute("SELECT id, name, city FROM sales.customers ORDER BY id").fetchall() == expected
    copy.close()


@pytest.mark.full
def test_a_new_column_comes_and_an_old_one_stays(feed: Feed) -> None:
    chance = random.Random(1)
    feed.send([event(1, 1, name="a", city="Rom"), event(2, 2, name="b", city="Genf")], chance)
    feed.merge(feed.flows())
    feed.fields = "id bigint, name string, op string, at bigint, age int"
    feed.send([event(3, 1, name="c", age=7), event(4, 3, name="d", age=8)], chance)
    feed.merge(feed.flows())
    assert feed.rows("id", "name", "city", "age") == [
        (1, "c", "Rom", 7),
        (2, "b", "Genf", None),
        (3, "d", None, 8),
    ]


@pytest.mark.parametrize(
    ("bad", "code"), [({"id": 1, "at": None}, NO_SEQUENCE.code), ({"id": None, "at": 1}, NO_KEY.code)]
)
def test_an_event_without_order_or_key_stops_the_flow_before_anything_is_merged(
    feed: Feed, bad: Event, code: str
) -> None:
    feed.send([event(1, 1, name="a", city="Rom"), bad], random.Random(1))
    with pytest.raises(Definite) as raised:
        feed.merge(feed.flows())
    assert raised.value.code == code
    assert feed.target.rows(TABLE) is None


@pytest.mark.full
def test_records_that_cannot_be_read_are_set_aside_and_come_once_the_view_can(feed: Feed) -> None:
    chance = random.Random(5)
    feed.fields, feed.options = FIELDS.replace("city string", "city int"), {"mode": "FAILFAST"}
    good = [event(at, at % 4, name=f"n{at}", city=None) for at in range(1, 12)]
    feed.send([*good, event(20, 7, name="late", city="Rom"), {"id": None, "at": 3}], chance)
    with pytest.raises(OperatorNeeded, match=UNREADABLE.code):
        feed.merge(feed.flows())
    with pytest.raises(OperatorNeeded, match=TOO_MANY_LETTERS.code):
        feed.merge(feed.flows(most_letters=1))
    assert feed.target.rows(TABLE) is None
    flows = feed.flows(most_letters=2)
    feed.merge(flows)
    assert feed.rows("id", "name", "city") == now(good)
    letters = sorted((one.code, one.reason) for one in flows.letters(str(TABLE)))
    assert [code for code, _ in letters] == [NO_KEY.code, UNREADABLE.code]
    assert "late" not in str(letters)
    feed.options = {}
    flows = feed.flows()
    assert flows.replay(str(TABLE)).merged == 1
    assert feed.rows("id", "name", "city") == sorted([*now(good), (7, "late", None)], key=repr)
    assert flows.drop_letters(str(TABLE)) == 1
    assert feed.merge(flows) == 0, "no offset has moved"


@pytest.mark.full
def test_a_topic_created_again_is_not_taken_for_the_one_that_was_read(feed: Feed) -> None:
    chance = random.Random(2)
    feed.send([event(at, at, name="a", city=None) for at in range(3)], chance)
    feed.merge(feed.flows())
    admin = AdminClient({"bootstrap.servers": feed.kafka.bootstrap})
    admin.delete_topics([feed.topic])[feed.topic].result(30)
    wait_until(lambda: feed.topic not in admin.list_topics(timeout=10).topics)
    admin.create_topics([NewTopic(feed.topic, PARTITIONS, 1)])[feed.topic].result(30)
    again = Feed(feed.spark, feed.kafka, feed.topic, feed.namespace, exists=True)
    again.send([event(at, at, name="b", city=None) for at in range(9, 30)], chance)
    flows = feed.flows()
    wait_until(lambda: sum(sum(ends.values()) for ends in flows.look().values()) == 21)
    with pytest.raises(Definite, match=rf"{BEGIN_ANEW.code}.*its id was(.*\n)*.*run the script again"):
        feed.merge(flows)


def test_type_two_keeps_each_version_whatever_comes_first(feed: Feed) -> None:
    chance = random.Random(3)
    flow: dict[str, Any] = {
        "stored_as_scd_type": 2,
        "apply_as_deletes": "op = 'delete'",
        "track_history_except_column_list": ["city", "at"],
        "except_column_list": ["op"],
    }
    events = [
        event(1, 1, name="a", city="Rom"),
        event(2, 1, name="a", city="Genf"),  # no version: the city is not watched
        event(3, 1, name="b", city="Genf"),
        event(5, 1, "delete"),
        event(7, 1, name="c", city="Bern"),
        event(4, 2, name="x", city="Rom"),
    ]
    chance.shuffle(events)
    for part in (events[:3], events[3:], events[1:4]):
        feed.send(part, chance)
        feed.merge(feed.flows(**flow))
    assert feed.rows("id", "name", "city", "at") == [
        (1, "a", "Genf", 2),
        (1, "b", "Genf", 3),
        (1, "c", "Bern", 7),
        (2, "x", "Rom", 4),
    ]
    assert feed.rows("name", "__START_AT", "__END_AT") == [
        ("a", 1, 3),
        ("b", 3, 5),
        ("c", 7, None),
        ("x", 4, None),
    ], "as the sequence has it"


def test_a_topic_that_is_not_there_is_reported(feed: Feed) -> None:
    feed.topic += "-another"
    with pytest.raises(Transient) as raised:
        feed.merge(feed.flows())
    assert raised.value.code == NO_TOPIC.code
