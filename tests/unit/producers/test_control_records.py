"""Control records: bytes that a reader decodes with the schemas that were registered for them."""

import io
import json
from typing import Any

import fastavro
import pytest

from tests.fakes.place import Place
from wrackline.producers.contract.steps import (
    Appeared,
    Message,
    Misfit,
    Renamed,
    Reshaped,
    Shape,
    UnfitColumn,
    Vanished,
)
from wrackline.producers.cutting.control_records import ControlRecords, EventOrigin, WantedTopics
from wrackline.producers.cutting.message_filter import PREFIX_MOST, MessageFilter
from wrackline.producers.cutting.record_buffer import Record
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import Naming, control_topics
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema
from wrackline.testing.sources.source_world import orders

TABLE = orders(SourcePartition("server", "db0"))
FIELDS = ({"name": "lsn", "type": ["null", "long"], "default": None}, {"name": "server_id", "type": "long"})
RENAME = "RENAME TABLE public.orders TO old.orders_1"
ORIGIN = EventOrigin("1", "postgresql", "server", FIELDS, Naming.WRACKLINE)


class Subjects:
    """A registry in memory."""

    def __init__(self) -> None:
        self.schemas: list[tuple[str, Any]] = []

    def register(self, subject: str, text: str) -> int:
        self.schemas.append((subject, json.loads(text)))
        return len(self.schemas)

    def read(self, raw: bytes | None, subject: str) -> Any:
        assert raw is not None
        assert raw[0] == 0
        name, schema = self.schemas[int.from_bytes(raw[1:5], "big") - 1]
        assert name == subject
        return fastavro.schemaless_reader(io.BytesIO(raw[5:]), schema, None)

    def both(self, record: Record | None) -> tuple[Any, Any]:
        assert record is not None
        topic, key, value = record
        return self.read(key, f"{topic}-key"), self.read(value, f"{topic}-value")


def made(subjects: Subjects, **wanted: bool) -> ControlRecords:
    kinds = WantedTopics(**wanted)  # type: ignore[arg-type] # mypy: one field is no bool
    return ControlRecords(
        control_topics("server"), kinds, ORIGIN, "db0", subjects.register, now_ms=lambda: 1_700_000_000_123
    )


def test_begin_and_end_are_debeziums() -> None:
    subjects = Subjects()
    records = made(subjects, transactions=True)
    begin, end = records.begin("571", 10), records.end("571", 20, {TableId("db0", "public", "orders"): 3})
    assert begin[0] == end[0] == "server.transaction"
    assert subjects.both(begin)[0] == {"id": "571"}
    assert subjects.both(begin)[1]["status"] == "BEGIN"
    ended = subjects.both(end)[1]
    assert (ended["status"], ended["event_count"], ended["ts_ms"]) == ("END", 3, 20)
    assert ended["data_collections"] == [{"data_collection": "public.orders", "event_count": 3}]
    assert len(subjects.schemas) == 2, "registered once"


def test_a_heartbeat_is_debeziums() -> None:
    subjects = Subjects()
    record = made(subjects).heartbeat()
    assert record[0] == "__debezium-heartbeat.server"
    assert subjects.both(record) == ({"serverName": "server"}, {"ts_ms": 1_700_000_000_123})


def test_messages_are_published_but_not_our_own_marks() -> None:
    subjects = Subjects()
    records = made(subjects)
    assert records.message(Message("wrackline", b"mark", Place(0, 1)), 5) is None
    key, value = subjects.both(records.message(Message("app", b"\x00\xff", Place(0, 1)), 5))
    assert key == {"prefix": "app"}
    assert value["message"] == {"prefix": "app", "content": b"\x00\xff"}
    assert (value["source"]["name"], value["source"]["db"], value["source"]["ts_ms"]) == ("server", "db0", 5)
    assert (value["source"]["lsn"], value["source"]["server_id"]) == (None, 0)


def test_tables_that_come_and_go_are_schema_changes() -> None:
    subjects = Subjects()
    records = made(subjects)
    moved = TABLE.id._replace(schema="old", name="orders_1")
    created = subjects.both(records.coming(Appeared(TABLE.id, complete=True, shape=TABLE), 5))[1]
    dropped = subjects.both(records.coming(Vanished(TABLE.id), 6))[1]
    renamed = subjects.both(records.coming(Renamed(TABLE.id, moved, ddl=RENAME), 7))[1]
    kinds = [(change["ts_ms"], change["tableChanges"][0]["type"]) for change in (created, dropped, renamed)]
    assert kinds == [(5, "CREATE"), (6, "DROP"), (7, "ALTER")]
    assert [column["name"] for column in created["tableChanges"][0]["table"]["columns"]][:1] == ["shop"]
    assert dropped["tableChanges"][0]["table"] is None
    assert (renamed["source"]["schema"], renamed["source"]["table"]) == ("old", "orders_1")
    assert (created["ddl"], renamed["ddl"]) == (None, RENAME), "in the source's own words"
    altered = TABLE.columns[:2]
    shape = TableSchema(TABLE.id, altered, TABLE.key, TABLE.key_kind)
    assert records.coming(Reshaped(TABLE.id, refresh=True), 8) is None, "nobody knows what it is now"
    assert records.coming(Reshaped(TABLE.id, True, shape), 8) is not None
    assert records.shape(Shape(1, shape, TABLE), 9) is None, "it was reported already"
    assert records.shape(Shape(2, TABLE, shape), 10) is not None
    assert made(subjects, schema_changes=False).coming(Vanished(TABLE.id), 5) is None


def test_a_statement_is_reported_in_its_place_and_its_columns_once_they_are_known() -> None:
    subjects = Subjects()
    records = made(subjects)
    created = subjects.both(
        records.coming(Appeared(TABLE.id, complete=True, ddl="CREATE TABLE orders …"), 5)
    )[1]
    assert (created["ddl"], created["tableChanges"][0]["table"]) == ("CREATE TABLE orders …", None)
    columns = subjects.both(records.shape(Shape(1, TABLE, None), 6))[1]
    assert columns["ddl"] is None
    assert len(columns["tableChanges"][0]["table"]["columns"]) == len(TABLE.columns)
    assert records.shape(Shape(2, TABLE, None), 7) is None, "they were reported"
    altered = subjects.both(records.coming(Reshaped(TABLE.id, refresh=False, ddl="ALTER TABLE orders …"), 8))[
        1
    ]
    assert (altered["ddl"], altered["tableChanges"][0]["type"]) == ("ALTER TABLE orders …", "ALTER")
    assert records.coming(Reshaped(TABLE.id, refresh=False, shape=TABLE), 9) is not None, "as it became"
    dropped = subjects.both(records.coming(Vanished(TABLE.id, "DROP TABLE orders"), 10))[1]
    assert (dropped["ddl"], dropped["tableChanges"][0]["type"]) == ("DROP TABLE orders", "DROP")
    assert records.shape(Shape(3, TABLE, None), 11) is None, "what is met later was not altered"


def test_only_a_changed_shape_is_a_schema_change() -> None:
    subjects = Subjects()
    assert made(subjects).shape(Shape(0, TABLE, None), 5) is None
    assert made(subjects, schema_changes=False).shape(Shape(1, TABLE, TABLE), 5) is None
    record = made(subjects).shape(Shape(1, TABLE, TABLE), 5)
    key, value = subjects.both(record)
    assert key == {"databaseName": "db0"}
    (change,) = value["tableChanges"]
    assert (change["type"], change["id"]) == ("ALTER", '"db0"."public"."orders"')
    assert [column["name"] for column in change["table"]["columns"]] == ["shop", "number", "label", "big"]


def test_messages_are_published_by_their_whole_prefix_in_either_case() -> None:
    def published(**lists: tuple[str, ...]) -> list[str]:
        values = {f"message.prefix.{way}.list": texts for way, texts in lists.items()}
        wanted = WantedTopics(messages=MessageFilter.of({"max.row.bytes": 100, **values}, 1 << 20))
        records = ControlRecords(
            control_topics("server"), wanted, ORIGIN, "db0", Subjects().register, now_ms=lambda: 0
        )
        prefixes = ("shop.a", "SHOP.b", "my.shop.a", "other", "wrackline.ddl")
        messages = [Message(prefix, b"", Place(1, 0)) for prefix in prefixes]
        return [one.prefix for one in messages if records.message(one, 0) is not None]

    assert published() == ["shop.a", "SHOP.b", "my.shop.a", "other"]
    assert published(include=(r"shop\..*",)) == ["shop.a", "SHOP.b"]
    assert published(exclude=(r"shop\..*", "OTHER")) == ["my.shop.a"]
    assert published(include=(".*",)) == ["shop.a", "SHOP.b", "my.shop.a", "other"]


def test_a_message_that_is_too_large_is_left_out_and_said_once_a_minute() -> None:
    told: list[WracklineError] = []
    clock = [0]
    records = ControlRecords(
        control_topics("server"),
        WantedTopics(messages=MessageFilter(most=10)),
        ORIGIN,
        "db0",
        Subjects().register,
        now_ms=lambda: clock[0],
        tell=told.append,
    )
    large, fits = Message("note", b"1234567", Place(1, 0)), Message("note", b"123456", Place(1, 0))
    for clock[0] in (0, 1, 59_999, 60_000):
        assert records.message(large, 0) is None
    assert records.message(fits, 0) is not None
    assert records.message(Message("p" * 1025, b"", Place(1, 0)), 0) is None
    assert records.message(Message("wrackline.mark", b"x" * 11, Place(1, 0)), 0) is None
    too_large = "logical messages are left out because they are too large: {} so far"
    assert [one.sentence.partition(";")[0] for one in told] == [
        too_large.format(1),
        too_large.format(4),
        "logical messages are left out because their prefix is too long: 1 so far",
    ]


def test_a_large_message_that_is_not_captured_is_not_reported() -> None:
    told: list[WracklineError] = []
    wanted = MessageFilter.of({"max.row.bytes": 10, "message.prefix.include.list": ("shop",)}, 1 << 20)
    records = ControlRecords(
        control_topics("server"),
        WantedTopics(messages=wanted),
        ORIGIN,
        "db0",
        Subjects().register,
        now_ms=lambda: 0,
        tell=told.append,
    )
    assert records.message(Message("other", b"x" * 11, Place(1, 0)), 0) is None
    assert told == []
    assert records.message(Message("shop", b"x" * 11, Place(1, 0)), 0) is None
    assert [one.code for one in told] == ["kafka.message_too_large"]


@pytest.mark.parametrize("prefix", ["p", "\U0001f40b" * PREFIX_MOST])
def test_the_largest_message_that_is_taken_fits_the_client_s_largest_record(prefix: str) -> None:
    record = 1 << 20
    messages = MessageFilter.of({"max.row.bytes": 64 << 20}, record)
    content = b"x" * (messages.most - len(prefix.encode()))
    origin = EventOrigin("1" * 20, "postgresql", "s" * 240, FIELDS, Naming.WRACKLINE)
    records = ControlRecords(
        control_topics("server"),
        WantedTopics(messages=messages),
        origin,
        "d" * 63,
        Subjects().register,
        now_ms=lambda: 0,
    )
    made = records.message(Message(prefix, content, Place(1, 0)), 1_700_000_000_123)
    assert made is not None
    assert len(made[1] or b"") + len(made[2] or b"") <= record
    assert records.message(Message(prefix, content + b"x", Place(1, 0)), 0) is None


def test_a_dead_letter_names_the_row_and_the_columns_and_is_reported_once_a_minute() -> None:
    subjects, heard = Subjects(), list[WracklineError]()
    records = ControlRecords(
        control_topics("server"),
        WantedTopics(),
        ORIGIN,
        "db0",
        subjects.register,
        now_ms=lambda: 5,
        tell=heard.append,
    )
    columns = (UnfitColumn("price", "numeric(10,2)", "it is not a number"),)
    place = {"lsn": 7}
    for number in range(3):
        letter = records.unfit(TABLE.id, Misfit("u", b"k%d" % number, columns, True, "0a"), place, None, 9)
    key, value = subjects.both(letter)
    assert letter is not None
    assert (letter[0], key) == ("server.letter", {"table": str(TABLE.id)})
    assert value == {
        "table": str(TABLE.id),
        "topic": "server.db0.public.orders",
        "key": b"k2",
        "op": "u",
        "columns": [{"name": "price", "type": "numeric(10,2)", "reason": "it is not a number"}],
        "seq": "0a",
        "chunk": None,
        "position": '{"lsn":7}',
        "ts_ms": 9,
    }
    assert records.unfit(TABLE.id, Misfit("r", None, columns, False), place, "chunk", 9) is None
    assert [error.code for error in heard] == ["value.set_aside", "value.nulled"]
    assert f"column.as.text = '{TABLE.id.schema}.{TABLE.id.name}.price'" in heard[0].hint


def test_a_dead_letter_names_the_tables_topic_as_the_setting_says() -> None:
    subjects = Subjects()
    origin = EventOrigin("1", "postgresql", "server", FIELDS, Naming.DEBEZIUM)
    records = ControlRecords(
        control_topics("server"), WantedTopics(), origin, "db0", subjects.register, now_ms=lambda: 5
    )
    _, value = subjects.both(records.unfit(TABLE.id, Misfit("u", b"k", (), True, "0a"), {"lsn": 7}, None, 9))
    assert value["topic"] == "server.public.orders"
