"""Events made by hand: of each kind, broken ones, and ones whose every text means harm."""

from collections.abc import Mapping, Sequence
from typing import Any

from wrackline.control.runtime.events.event_looks import EventLook
from wrackline.control.runtime.events.record_decoder import (
    NOT_ITS_SCHEMA,
    DecodedEvent,
    DecodedPart,
    TopicRecord,
)
from wrackline.schemas.tables.seq import EventClass, Seq

TOPIC = "shop.shop.public.orders"
BEGAN_MS = 1_790_000_000_000
ROW: Mapping[str, Any] = {
    "id": 7, "customer": 4711, "status": "paid", "total": "129.90", "note": "leave it at the door",
    "picture": None, "placed_at": "2026-05-01T09:12:44.120Z",
}  # fmt: skip


def row(offset: int, op: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None,
        unsent: Sequence[str] = (), **more: Any) -> DecodedEvent:  # fmt: skip
    """Return the event of a row."""
    source = {
        "version": "1", "connector": "postgresql", "name": "shop", "ts_ms": BEGAN_MS + offset,
        "snapshot": "false", "db": "shop", "schema": "public", "table": "orders", "txId": 90_210,
        "lsn": 27_001_344 + offset,
        "xmin": None, "unchanged": list(unsent) or None,
    }  # fmt: skip
    seq = Seq(3, (27_001_344 + offset).to_bytes(8, "big"), EventClass.LOG, offset % 5).text()
    envelope = {"op": op, "before": before, "after": after, "source": source, "seq": seq, **more}
    key = {"id": (after or before or {}).get("id")} if after or before else None
    return event(offset, DecodedPart(key, 11), DecodedPart(envelope, 12))


def event(offset: int, key: Any, value: Any, data: bytes | None = b"\0" * 218) -> DecodedEvent:
    """Return any record, decoded."""
    record = TopicRecord(TOPIC, 0, offset, BEGAN_MS + offset * 731, b"\0" * 9, data, (("origin", b"shop"),))
    return DecodedEvent(record, key, value)


def some() -> EventLook:
    """Return one of each kind."""
    paid = {**ROW, "note": None}
    other = {**ROW, "id": 8, "status": "new", "total": "8.00", "note": "x" * 5_000}
    events = [
        row(100, "r", None, {**ROW, "status": "new"}),
        row(101, "c", None, other),
        row(102, "u", {**ROW, "status": "new", "total": "120.00"}, paid, ["note"]),
        row(103, "d", other, None),
        event(104, DecodedPart({"id": 8}, 11), DecodedPart(None), None),
        event(105, DecodedPart({"id": 9}, 11), NOT_ITS_SCHEMA(part="value", id=12)),
        row(106, "t", None, None),
    ]
    return EventLook([TOPIC], "broker1:9092", events, 240, "0:107")


def hostile(text: str) -> EventLook:
    """Return an event in which all is this text."""
    one = row(1, "u", {text: text}, {text: f"{text}."}, [], seq=text)
    other = event(2, DecodedPart({text: text}), DecodedPart({text: [text, {text: text}]}))
    odd = row(3, text, None, {text: text, "b": 1}, [text])
    named = DecodedEvent(
        one.record._replace(headers=((text, text.encode()), ("b", b"\xff"))), one.key, one.value
    )
    return EventLook([text], text, [named, other, odd], 3, "")
