"""One bounded look at a table's events: a few hundred records, and the time of a breath.

    begin    newest, beginning, end, an offset, a time; or a place to go on at: 0:17,1:20
    op, key  only such events

In: a pipeline that was found good, and a question.  Out: decoded events in the order of the log, and where to
go on.  Only topics of the pipeline's own tables are read, in no group, so nothing in Kafka changes.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from wrackline.control.runtime.events.feed import Begins, Feed, Spans
from wrackline.control.runtime.events.record_decoder import DecodedEvent, RecordDecoder, TopicRecord
from wrackline.control.runtime.events.row_columns import envelope_of, has_key
from wrackline.control.runtime.events.start_offsets import first_offset, merge_by_time, read_start
from wrackline.control.runtime.events.topic_choice import choose_topics
from wrackline.control.runtime.services.topic_ends import TopicSlice
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.kafka.schema_registry import RegistryClient, registry_access
from wrackline.schemas.kafka.topic_names import is_of_table
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import Values

NEWEST: Final = "newest"
MOST: Final = 500  # records of an answer
_SCANNED: Final = 5_000  # records that are decoded to find those that are meant
_READ_S: Final = 1.5  # seconds of reading; the caller's own bound is above it
_PLACES: Final = re.compile(r"[0-9]{1,9}:[0-9]{1,18}(?:,[0-9]{1,9}:[0-9]{1,18}){0,999}")
OPS: Final = ("c", "u", "d", "r", "t")

BAD_START = define(
    "events.bad_start",
    Definite,
    "events can't begin at {given}",
    hint="begin at newest, beginning, end, an offset, or a time such as 2026-05-01T12:00:00Z",
)


@dataclass(frozen=True, slots=True)
class EventQuestion:
    """Which events of a table are wanted."""

    table: str
    begin: str = NEWEST
    most: int = 50
    op: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class EventLook:
    """What was found."""

    topics: Sequence[str]
    server: str  # the Kafka that was asked
    events: Sequence[DecodedEvent]
    scanned: int
    next: str  # where to go on; empty: the look came to the end
    newer: str = ""  # the end when it was made: where newer ones begin


def look_at_events(values: Values, question: EventQuestion) -> EventLook:
    """Read what is wanted, as far as the bounds allow."""
    start = _read_begin(question.begin)
    server, naming = values.text("topic.prefix"), naming_of(values)
    with Feed(values) as feed, RegistryClient(registry_access(values)) as registry:
        spans = feed.spans(lambda topic: is_of_table(server, topic, naming))
        topics = set(choose_topics(server, [question.table], {spot.topic for spot in spans}, naming))
        spans = {spot: span for spot, span in spans.items() if spot.topic in topics}
        decoder = RecordDecoder(registry.text)
        wanted = _filter(question)
        if start is None:
            found = _newest(feed, spans, question)
            events = [event for event in map(decoder.event, found) if wanted(event)]
            read = EventLook((), "", events[-question.most :], len(found), "")
        else:
            read = _forward(feed, _begins(feed, start, spans), spans, decoder.event, wanted, question.most)
    brokers = values.text("kafka.bootstrap.servers")
    ends = _places({spot: span.end for spot, span in spans.items()})
    return EventLook(sorted(topics), brokers, read.events, read.scanned, read.next, ends)


def place_of(event: DecodedEvent) -> str:
    """Write where an event is, so that a look can begin there."""
    return f"{event.record.partition}:{event.record.offset}"


Start = str | int | datetime | Mapping[int, int] | None


def _read_begin(text: str) -> Start:
    if text in ("", NEWEST):
        return None
    if _PLACES.fullmatch(text):
        places = (place.split(":") for place in text.split(","))
        return {int(partition): int(offset) for partition, offset in places}
    try:
        return read_start(text)
    except ValueError:
        raise BAD_START(given=shown_name(text)) from None


def _begins(feed: Feed, start: Start, spans: Spans) -> Begins:
    if isinstance(start, datetime):
        return feed.since(start, spans)
    if isinstance(start, Mapping):
        return {spot: span.within(start.get(spot.partition, span.end)) for spot, span in spans.items()}
    return {spot: first_offset("end" if start is None else start, span) for spot, span in spans.items()}


def _filter(question: EventQuestion) -> Callable[[DecodedEvent], bool]:
    def wanted(event: DecodedEvent) -> bool:
        if question.op:
            envelope = envelope_of(event.value)
            if envelope is None or envelope["op"] != question.op:
                return False
        return not question.key or has_key(event, question.key)

    return wanted


def _newest(feed: Feed, spans: Spans, question: EventQuestion) -> Sequence[TopicRecord]:
    filtered = bool(question.op or question.key)
    most = _SCANNED // max(1, len(spans)) if filtered else question.most
    found = list(merge_by_time(feed.newest(spans, max(1, most)).values()))
    return found if filtered else found[-question.most :]


def _forward(
    feed: Feed,
    begins: Begins,
    spans: Spans,
    decode: Callable[[TopicRecord], DecodedEvent],
    wanted: Callable[[DecodedEvent], bool],
    most: int,
) -> EventLook:
    events: list[DecodedEvent] = []
    ahead, scanned, until = dict(begins), 0, time.monotonic() + _READ_S
    for record in _records(feed.up_to(begins, spans), until):
        if record is None or len(events) == most or scanned == _SCANNED:
            return EventLook((), "", events, scanned, _places(ahead))
        event = decode(record)
        ahead[TopicSlice(record.topic, record.partition)] = record.offset + 1
        scanned += 1
        if wanted(event):
            events.append(event)
    return EventLook((), "", events, scanned, "")


def _records(batches: Iterator[Sequence[TopicRecord]], until: float) -> Iterator[TopicRecord | None]:
    """Yield records one by one; None: the time is over."""
    for batch in batches:
        yield from batch
        if time.monotonic() > until:
            yield None


def _places(ahead: Begins) -> str:
    return ",".join(f"{spot.partition}:{offset}" for spot, offset in sorted(ahead.items()))
