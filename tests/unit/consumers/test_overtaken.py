"""What happens to a table while a batch is on its way: it is dropped, altered, or its batch ends half way."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.unit.consumers.test_decode import KEYED, NOON, TOPIC, Topic
from tests.unit.consumers.test_sift import LOST, TABLE, Bin
from wrackline.consumers.batch.batch import merge_sound
from wrackline.consumers.batch.evolve import SchemaChangeBehaviour
from wrackline.consumers.batch.report import Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.plan import Applied, TopicPartition
from wrackline.schemas.errors import Transient
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind

ENDED = Transient("test.ended", "the batch ended here", "")
BY_NUMBER = (Column("a b", 1, ColumnType(Kind.INT64, "bigint"), nullable=False), *KEYED.columns[1:3])
SMALL = replace(KEYED, columns=(*BY_NUMBER, Column("n", 9, ColumnType(Kind.INT32, "integer"))))
WIDE = replace(KEYED, columns=(*BY_NUMBER, Column("n", 9, ColumnType(Kind.INT64, "bigint"))))
MORE = replace(SMALL, columns=(*SMALL.columns, Column("more", 10, ColumnType(Kind.STRING, "text"))))
RENAMED = replace(
    SMALL, columns=(SMALL.columns[0], replace(SMALL.columns[1], name="remark"), *SMALL.columns[2:])
)
LATER = 3  # the schema of the values that have the later shape


class Changing(Bin):
    """A topic whose table takes another shape."""

    behaviour = SchemaChangeBehaviour.EVOLVE
    hold: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, spark: SparkSession, namespace: str, later: Any = WIDE) -> None:
        super().__init__(spark, namespace, SMALL)
        self._later = Topic(later)
        self.texts[LATER] = self._later.texts[2]

    def tell_later(self, op: str, number: int, row: Sequence[object], unsent: Sequence[str] = ()) -> None:
        self._later.tell(op, number, row, unsent=unsent)
        key, value, *_ = self._later.records.pop()
        assert value is not None
        self.topic.raw(key, b"\0" + LATER.to_bytes(4, "big") + value[5:])

    def part(self, start: int, end: int, before: Applied) -> None:
        """Merge some of the topic, as a driver that knows only an older state of the table."""
        some = self.frame().where(f"offset >= {start} AND offset < {end}")
        wanted = BatchRange(TOPIC, {0: start}, {0: end})
        rules = replace(self.rules(5), behaviour=self.behaviour, hold=self.hold)
        merge_sound(some, wanted, before, self.target, rules, Stopwatch())

    def on(self) -> None:
        """Merge the rest."""
        before = self.target.applied(TABLE)
        self.part(before.offsets.get(TopicPartition(TOPIC, 0), 0), len(self.topic.records), before)

    def seen(self, column: str) -> dict[object, object]:
        rows = self.lake.rows(TABLE)
        assert rows is not None
        return {row["a b"]: row[column] for row in rows.collect()}


def once(then: Callable[..., Any], first: Callable[[], object]) -> Callable[..., Any]:
    """Do something before the first call."""
    left = [first]

    def call(*given: Any) -> Any:
        if left:
            left.pop()()
        return then(*given)

    return call


def ended() -> None:
    raise ENDED


def test_a_batch_that_ended_behind_its_alteration_continues(
    spark: SparkSession, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Changing(spark, namespace)
    made.topic.tell("c", 1, (1, "x", NOON, 7))
    made.on()
    made.tell_later("c", 2, (2, "y", NOON, 1 << 40))
    monkeypatch.setattr(made.lake, "apply", once(made.lake.apply, ended))
    with pytest.raises(Transient, match=r"test.ended"):
        made.on()
    made.on()
    assert made.seen("n") == {1: 7, 2: 1 << 40}


@pytest.mark.full
def test_a_table_that_is_dropped_under_a_batch_is_built_again(
    spark: SparkSession, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Changing(spark, namespace)
    made.topic.tell("c", 1, (1, "x", NOON, 7))
    made.on()
    made.topic.tell("c", 2, (2, "y", NOON, 8))

    def drop() -> None:
        table = made.lake.find(TABLE)
        assert table is not None
        made.spark.sql(table.address.drop)

    monkeypatch.setattr(made.lake, "held", once(made.lake.held, drop))
    with pytest.raises(Transient, match=r"target.set_back"):
        made.on()
    made.on()
    assert made.seen("n") == {1: 7, 2: 8}


@pytest.mark.full
def test_a_late_driver_takes_no_column_away(spark: SparkSession, namespace: str) -> None:
    made = Changing(spark, namespace, MORE)
    made.topic.tell("c", 1, (1, "x", NOON, 7))
    made.on()
    late = made.target.applied(TABLE)
    made.topic.tell("u", 2, (1, "y", NOON, 8))
    made.tell_later("c", 3, (2, "z", NOON, 9, "more"))
    made.on()
    with pytest.raises(Transient, match=r"consume.overtaken"):
        made.part(1, 2, late)
    assert made.seen("more") == {1: None, 2: "more"}


@pytest.mark.full
def test_a_column_of_a_newer_consumer_that_has_not_merged_yet_stays(
    spark: SparkSession, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Changing(spark, namespace, MORE)
    made.topic.tell("c", 1, (1, "x", NOON, 7))
    made.on()
    older = made.target.applied(TABLE)
    made.topic.tell("u", 2, (1, "y", NOON, 8))
    made.tell_later("c", 3, (2, "z", NOON, 9, "more"))
    with monkeypatch.context() as newer:
        newer.setattr(made.lake, "apply", once(made.lake.apply, ended))
        with pytest.raises(Transient, match=r"test.ended"):
            made.on()
    made.hold = ended
    with pytest.raises(Transient, match=r"test.ended"):
        made.part(1, 2, older)
    held = made.lake.held(TABLE)
    assert held is not None
    assert "more" in [column.target for column in held]


@pytest.mark.full
def test_what_was_not_sent_stays_under_a_name_that_was_left(spark: SparkSession, namespace: str) -> None:
    made = Changing(spark, namespace, RENAMED)
    made.behaviour = SchemaChangeBehaviour.LENIENT
    made.topic.tell("c", 1, (1, "kept", NOON, 7))
    made.on()
    made.tell_later("u", 2, (1, None, NOON, 8), unsent=["remark"])
    made.on()
    assert made.seen("n") == {1: 8}
    assert made.seen("b") == {1: "kept"}


@pytest.mark.full
def test_a_letter_lends_nothing_over_an_event_that_came_in_time(spark: SparkSession, namespace: str) -> None:
    made = Bin(spark, namespace)
    for number, b in ((1, "first"), (5, "old"), (10, "in time"), (12, None)):
        made.topic.tell("u", number, (1.0, b, NOON, None), unsent=["b"] if b is None else [])
    for place in (1, 3):
        key, value, *at = made.topic.records[place]
        assert value is not None
        made.topic.records[place] = (key, b"\0" + LOST.to_bytes(4, "big") + value[5:], at[0], at[1])
    assert made.merge(5) == 2
    assert made.rows() == {1.0: "in time"}
    made.texts[LOST] = made.texts[2]
    assert made.replay() == (2, {})
    assert made.rows() == {1.0: "in time"}


@pytest.mark.full
def test_a_letter_that_lacks_a_value_takes_it_from_the_letter_before(
    spark: SparkSession, namespace: str
) -> None:
    made = Bin(spark, namespace)
    for number, b in ((5, "kept"), (12, None)):
        made.topic.tell("u", number, (1.0, b, NOON, None), unsent=["b"] if b is None else [])
    made.topic.records = [
        (key, b"\0" + LOST.to_bytes(4, "big") + (value or b"")[5:], partition, offset)
        for key, value, partition, offset in made.topic.records
    ]
    assert made.merge(5) == 2
    made.texts[LOST] = made.texts[2]
    assert made.replay() == (2, {})
    assert made.rows() == {1.0: "kept"}
