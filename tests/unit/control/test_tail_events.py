"""Records become events, and events lines and objects, without Kafka and without a registry."""

import json
import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import fastavro
import pytest
from rich.cells import cell_len

from wrackline.control.cli.tail.event_lines import LineStyle, line
from wrackline.control.runtime.events import event_documents
from wrackline.control.runtime.events.record_decoder import (
    DecodedEvent,
    DecodedPart,
    RecordDecoder,
    TopicRecord,
)
from wrackline.control.runtime.events.start_offsets import (
    first_offset,
    merge_by_time,
    read_start,
    short_slices,
    stretch_back,
)
from wrackline.control.runtime.events.topic_choice import choose_topics, name_topics, topic_filter
from wrackline.control.runtime.services.topic_ends import OffsetSpan, TopicSlice
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.kafka.schema_registry import UNKNOWN_ID, UNREACHABLE
from wrackline.schemas.kafka.topic_names import Naming

WRACKLINE = Naming.WRACKLINE
TOPIC = "shop1.shop.public.orders"
CANARY = "c4n4ry-row"
ROW = {"type": "record", "name": "R", "fields": [{"name": "note", "type": ["null", "string"]}]}
NEVER = {
    "type": "record",
    "name": "N",
    "fields": [{"name": "day", "type": {"type": "int", "logicalType": "date"}}],
}
TEXTS = {1: json.dumps(ROW), 2: "{", 3: '{"type": "record"}', 4: json.dumps(NEVER), 5: '"string"'}


class Texts:
    """A registry that counts its requests."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, number: int) -> str:
        self.asked.append(number)
        if number == 99:
            raise UNREACHABLE(url="r")
        if number not in TEXTS:
            raise UNKNOWN_ID(url="r", id=number)
        return TEXTS[number]


def bytes_of(number: int, value: object) -> bytes:
    body = BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(json.loads(TEXTS[number])), value)
    return b"\0" + number.to_bytes(4, "big") + body.getvalue()


def record(value: bytes | None, key: bytes | None = None, topic: str = TOPIC) -> TopicRecord:
    return TopicRecord(topic, 0, 17, 1_777_636_800_000, key, value)


GOOD = bytes_of(1, {"note": CANARY})


ZERO = {"type": "array", "items": {"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]}}
TWICE = [
    {"type": "record", "name": f"R{at}", "fields": [{"name": side, "type": inner} for side in "ab"]}
    for at in range(40)
    for inner in [f"R{at - 1}" if at else "null"]
]


@pytest.mark.parametrize(
    ("schema", "body"),
    [
        pytest.param(
            {"type": "record", "name": "L", "fields": [{"name": "n", "type": ["null", "L"]}]},
            b"\2" * 20_000 + b"\0",
            id="a type that holds itself",
        ),
        pytest.param({"type": "array", "items": "null"}, b"\xfe\xff\xff\xff\x0f\0", id="items of no byte"),
        pytest.param(ZERO, b"\xfe\xff\xff\xff\x0f\0", id="items that hold items of no byte"),
        pytest.param([*TWICE, "null"], b"\x4e", id="types that hold others twice"),
        pytest.param(
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 10**9}, b"\2\1", id="a scale"
        ),
    ],
)
def test_a_schema_without_bounds_is_not_read(schema: object, body: bytes) -> None:
    """A-DATA-03."""
    part = RecordDecoder(lambda _: json.dumps(schema)).event(record(b"\0\0\0\0\1" + body)).value
    assert isinstance(part, WracklineError)
    assert part.code == "tail.no_avro"


TOO_LARGE = (b"\xff" * 20 + b"\1", b"\xff" * 9 + b"\1", b"\xfe" * 9 + b"\x7f")


@pytest.mark.parametrize("schema", ["string", "bytes"])
@pytest.mark.parametrize("body", TOO_LARGE)
def test_a_length_too_large_is_not_what_the_schema_says(schema: str, body: bytes) -> None:
    event = RecordDecoder(lambda _: json.dumps(schema)).event(record(b"\0\0\0\0\1" + body))
    assert event.error is not None
    assert event.error.code == "tail.not_its_schema"


@pytest.mark.parametrize("schema", ["long", {"type": "int", "logicalType": "date"}])
@pytest.mark.parametrize("body", TOO_LARGE)
def test_a_number_too_large_is_shown_as_it_was_read(schema: object, body: bytes) -> None:
    """The reader of Avro has no bound for a number; what shows a day must take any."""
    event = RecordDecoder(lambda _: json.dumps(schema)).event(record(b"\0\0\0\0\1" + body))
    assert event.error is None
    shown = str(line(event, LineStyle())).split()[-1]
    assert re.fullmatch(r"[+-]?\d+(-\d\d-\d\d)?", shown)
    assert shown in str(event_documents.document(event))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "tail.not_wire_format"),
        (CANARY.encode(), "tail.not_wire_format"),
        (b'{"a": 1}', "tail.not_wire_format"),
        (b"\0\0\0", "tail.not_wire_format"),
        (b"\0\0\0\0\x07" + CANARY.encode(), "registry.unknown_id"),
        (GOOD[:-1], "tail.not_its_schema"),
        (GOOD + b"\0", "tail.not_its_schema"),
        (b"\0\0\0\0\1\x04", "tail.not_its_schema"),
        (b"\0\0\0\0\1\x02\x04\xff\xfe", "tail.not_its_schema"),
        (b"\0\0\0\0\2x", "tail.no_avro"),
        (b"\0\0\0\0\3x", "tail.no_avro"),
        (b"\0\0\0\0\1", "tail.not_its_schema"),
    ],
)
def test_a_broken_record_says_why_and_nothing_of_itself(value: bytes, code: str) -> None:
    event = RecordDecoder(Texts()).event(record(value, GOOD))
    assert event.error is not None
    assert event.error.code == code
    assert CANARY not in str(event.error)
    assert "broken" in line(event, LineStyle()).plain
    assert f"[{code}]" in line(event, LineStyle()).plain
    told = json.loads(event_documents.line(event))
    assert told["error"]["code"] == code
    assert told["key"] == {"note": CANARY}
    assert "value" not in told


def test_a_schema_is_asked_for_once_whether_it_is_known_or_not() -> None:
    texts = Texts()
    decoder = RecordDecoder(texts)
    for _ in range(3):
        for value in (GOOD, b"\0\0\0\0\x07x", b"\0\0\0\0\2x"):
            decoder.event(record(value))
    assert texts.asked == [1, 7, 2]


def test_a_registry_that_is_away_is_no_fault_of_a_record() -> None:
    with pytest.raises(Transient):
        RecordDecoder(Texts()).event(record(b"\0\0\0\0\x63x"))


def test_topics_beside_the_rows_may_hold_json_and_text() -> None:
    decoder = RecordDecoder(Texts())
    event = decoder.event(record(b'{"state": "running"}', b'["shop","one"]', "wrackline-shop-requests"))
    assert line(event, LineStyle()).plain.endswith('event      ["shop", "one"]  state="running"')
    assert decoder.event(record(b"word", None, "x")).value == DecodedPart("word")
    assert decoder.event(record(b"null", None, "x")).value == DecodedPart(None)
    assert decoder.event(record(b"\xff", None, "x")).error is not None


def test_a_day_that_python_has_no_date_for_is_shown_all_the_same() -> None:
    event = RecordDecoder(Texts()).event(record(bytes_of(4, {"day": -800_000})))
    assert line(event, LineStyle()).plain.endswith("day=-0221-09-04")
    assert json.loads(event_documents.line(event))["value"] == {"day": "-0221-09-04"}


def changed(
    op: str, before: object, after: object, key: object = None, unchanged: object = None
) -> DecodedEvent:
    """An event of a row, as it was decoded."""
    value = {"before": before, "after": after, "source": {"unchanged": unchanged}, "op": op}
    return DecodedEvent(
        record(b"v", b"k"), DecodedPart({"id": 7} if key is None else key, 1), DecodedPart(value, 2)
    )


def said(event: DecodedEvent) -> str:
    return line(event, LineStyle(None, name_topics("shop1", [TOPIC], WRACKLINE))).plain.partition("0:17  ")[2]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (changed("c", None, {"id": 7, "a": None}), "insert     id=7  a=null"),
        (changed("r", None, {"id": 7, "a": "x"}), 'read       id=7  a="x"'),
        (changed("u", {"id": 7, "a": 1, "b": 2}, {"id": 7, "a": 1, "b": 3}), "update     id=7  b: 2 -> 3"),
        (changed("u", {"id": 7, "a": None}, {"id": 7, "a": "null"}), 'update     id=7  a: null -> "null"'),
        (changed("u", None, {"id": 7, "b": 3}), "update     id=7  b=3"),
        (changed("u", None, {"id": 7, "b": None}, None, ["b"]), "update     id=7  b=(unchanged, not sent)"),
        (changed("u", {"id": 7, "b": 1}, {"id": 7, "b": None}, None, ["b"]), "update     id=7"),
        (changed("u", {"f": float("nan")}, {"f": float("nan")}), "update     id=7"),
        (changed("u", {"f": 0.0}, {"f": -0.0}), "update     id=7  f: 0.0 -> -0.0"),
        (changed("d", {"id": 7, "a": None}, None), "delete     id=7"),
        (changed("d", {"id": 7, "a": "x"}, None), 'delete     id=7  a="x"'),
        (changed("t", None, None), "truncate   id=7"),
        (changed("\x1b", None, None), r'"\u001b"   id=7'),
        (changed("c", None, {"id": None}, {"id": None, "b": "\n"}), r'insert     id=null  b="\n"'),
        (DecodedEvent(record(None, None), DecodedPart(None), DecodedPart(None)), "tombstone  no key"),
        (
            DecodedEvent(record(b"v", b"k"), DecodedPart("k"), DecodedPart({"status": "END"})),
            'event      "k"  status="END"',
        ),
    ],
)
def test_a_line_says_what_happened(event: DecodedEvent, text: str) -> None:
    assert said(event) == text


def test_a_line_has_the_place_and_fits_the_terminal() -> None:
    row = {"id": 7, "\x1b]0;": "日本" * 40, "b": b"\0" * 10_000_000}
    whole = line(changed("c", None, row), LineStyle(None, name_topics("shop1", [TOPIC], WRACKLINE))).plain
    assert whole.startswith("2026-05-01 12:00:00Z  public.orders  0:17  insert     id=7  ")
    assert "\x1b" not in whole
    for width in (1, 20, 79, 80, 81, 120):
        cut = line(changed("c", None, row), LineStyle(width, name_topics("shop1", [TOPIC], WRACKLINE))).plain
        assert cell_len(cut) <= width
        assert cut.endswith("…")


def test_an_object_is_exact_and_one_line() -> None:
    value = {"a": float("nan"), "b": 2**63 - 1, "c": "\x1b\x9b\u2028\n", "d": b"\x01", "e": [True, 0.1]}
    text = event_documents.line(DecodedEvent(record(b"v"), DecodedPart(None), DecodedPart(value, 2)))
    assert text.isprintable()
    read = json.loads(text)
    assert read["value"] == value | {"a": "NaN", "d": "0x01"}
    assert read["key"] is read["key_schema_id"] is None
    assert (read["topic"], read["partition"], read["offset"]) == (TOPIC, 0, 17)
    assert "headers" not in read


def test_names_mean_topics() -> None:
    there = [
        TOPIC,
        "shop1.shop.public.a_b",
        "shop1.other.public.orders",
        "shop1",
        "shop1.transaction",
        "s2.a.b.c",
    ]
    assert choose_topics("shop1", [], there, WRACKLINE) == sorted([TOPIC, there[1], there[2]])
    assert choose_topics("shop1", ["public.orders"], there, WRACKLINE) == sorted([TOPIC, there[2]])
    assert choose_topics("shop1", ["shop.public.orders", TOPIC], there, WRACKLINE) == [TOPIC]
    assert choose_topics("shop1", ["public.a+b"], there, WRACKLINE) == ["shop1.shop.public.a_b"]
    assert choose_topics("shop1", ["shop1.transaction", "s2.a.b.c"], there, WRACKLINE) == [
        "s2.a.b.c",
        "shop1.transaction",
    ]
    for name in ("orders", "lic.orders", "public.nobody", "", "b.c"):
        with pytest.raises(OperatorNeeded):
            choose_topics("shop1", [name], there, WRACKLINE)
        assert not any(map(topic_filter("shop1", [name], WRACKLINE), there))
    assert name_topics("shop1", there, WRACKLINE)(TOPIC) == "shop.public.orders"
    assert name_topics("shop1", there[:2], WRACKLINE)(TOPIC) == "public.orders"
    assert name_topics("shop1", there, WRACKLINE)("shop1.transaction") == "shop1.transaction"


def test_where_to_begin() -> None:
    span = OffsetSpan(5, 20)
    assert [first_offset(one, span) for one in ("beginning", "end", 0, 7, 99)] == [5, 20, 5, 7, 20]
    assert (read_start(None), read_start("end"), read_start("12")) == (None, "end", 12)
    assert str(read_start("2026-05-01T12:00:00+02:00")) == "2026-05-01 12:00:00+02:00"
    assert str(read_start("2026-05-01")) == "2026-05-01 00:00:00+00:00"


def test_the_newest_few_are_looked_for_further_and_further_back() -> None:
    spot, span = TopicSlice(TOPIC, 0), OffsetSpan(0, 1000)
    assert [stretch_back(span, 10, tries) for tries in range(3)] == [960, 680, 0]
    spans: Mapping[TopicSlice, OffsetSpan] = {spot: span}
    assert short_slices({}, {spot: 960}, spans, 10) == [spot]
    assert short_slices({spot: [record(None)] * 10}, {spot: 960}, spans, 10) == []
    assert short_slices({spot: []}, {spot: 0}, spans, 10) == []


def test_partitions_are_shown_as_one_by_time_each_in_its_own_order() -> None:
    def of(partition: int, *times: int | None) -> list[Any]:
        return [TopicRecord("t", partition, at, ms, None, None) for at, ms in enumerate(times)]

    found = merge_by_time([of(0, 5, 1, None), of(1, 2, 7)])
    assert [(one.partition, one.offset) for one in found] == [(1, 0), (0, 0), (0, 1), (0, 2), (1, 1)]
