"""One event as it is shown: each column before and after, and where it comes from.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.control.console.page_words import DASH
from wrackline.control.runtime.events.event_looks import place_of
from wrackline.control.runtime.events.record_decoder import DecodedEvent, DecodedPart
from wrackline.control.runtime.events.row_columns import ColumnChange, Row, columns_of, envelope_of
from wrackline.control.runtime.events.value_text import show_value
from wrackline.control.runtime.ground.number_text import size_text
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.board_records import Document
from wrackline.schemas.tables.seq import EventClass, parse

Facts = Sequence[tuple[str, str]]

_LONGEST: Final = 2_000  # characters of a value
_SEQ_FIXED: Final = 14  # hex digits of a seq beside its position: epoch, class, ordinal
_CLASSES: Final = {EventClass.LOG: "an event of the log", EventClass.SNAPSHOT: "a row that was read"}
_UNSENT: Final = "not sent: it did not change"


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """One column; `tone` is empty for a value that stayed."""

    name: str
    before: str
    after: str
    word: str
    tone: str


@dataclass(frozen=True, slots=True)
class EventPanel:
    """One event."""

    place: str
    columns: Sequence[ColumnRow]
    plain: str  # the value of what is no event of a row
    of_record: Facts
    of_source: Facts
    of_seq: Facts
    error: Document | None


def event_panel(event: DecodedEvent, moment: str) -> EventPanel:
    """Show an event."""
    envelope = envelope_of(event.value)
    plain = ""
    if envelope is None and isinstance(event.value, DecodedPart) and event.record.value is not None:
        plain = cut_text(show_value(event.value.value, _LONGEST))
    source = (envelope or {}).get("source")
    return EventPanel(
        place_of(event),
        [] if envelope is None else _columns(envelope),
        plain,
        _of_record(event, moment),
        _of_source(source) if isinstance(source, Mapping) else (),
        _of_seq((envelope or {}).get("seq")),
        None if event.error is None else event.error.document(),
    )


def cut_text(text: str, most: int = _LONGEST) -> str:
    """Cut a long text, and say how long it is."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def _columns(envelope: Row) -> list[ColumnRow]:
    found = []
    for column in columns_of(envelope):
        before, after = (cut_text(show_value(one, _LONGEST)) for one in (column.before, column.after))
        match column.change:
            case ColumnChange.UNSENT:
                before, after, word, tone = DASH, _UNSENT, "not sent", "unsent"
            case ColumnChange.CHANGED:
                word, tone = "changed", "changed"
            case ColumnChange.NEW:
                before, word, tone = DASH, "", ""
            case ColumnChange.OLD:
                after, word, tone = DASH, "", ""
            case ColumnChange.SAME:
                word, tone = "", "same"
        found.append(ColumnRow(column.name, before, after, word, tone))
    return found


def _of_record(event: DecodedEvent, moment: str) -> Facts:
    record = event.record
    facts = [
        ("topic", record.topic),
        ("partition and offset", f"{record.partition}, {record.offset:,}"),
        ("written to Kafka", moment),
    ]
    for name, part, data in (("key", event.key, record.key), ("value", event.value, record.value)):
        schema = part.schema if isinstance(part, DecodedPart) else None
        with_schema = "" if schema is None else f", schema {schema}"
        facts.append((name, "none" if data is None else f"{size_text(len(data))}{with_schema}"))
    for name, value in record.headers:
        shown = DASH if value is None else value.decode("utf-8", "backslashreplace")
        facts.append((f"header {name}", cut_text(show_value(shown), 200)))
    return facts


def _of_source(source: Mapping[str, object]) -> Facts:
    return [
        (name, cut_text(value if isinstance(value, str) else show_value(value), 200))
        for name, value in source.items()
        if value is not None and name != "unchanged"
    ]


def _of_seq(seq: object) -> Facts:
    """Take a seq apart; one of another form is shown as it is."""
    if not isinstance(seq, str):
        return ()
    try:
        parts = parse(seq, (len(seq) - _SEQ_FIXED) // 2)
    except WracklineError:
        return [("seq", cut_text(seq, 200))]
    return [
        ("epoch", f"{parts.epoch:,}"),
        ("position", parts.position.hex()),
        ("class", _CLASSES[parts.event_class]),
        ("ordinal", f"{parts.ordinal:,}"),
    ]
