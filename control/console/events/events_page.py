"""What the screen of events shows: a line an event, the chosen one beside, and what leads on.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urlencode

from wrackline.control.console.events.event_panel import EventPanel, cut_text, event_panel
from wrackline.control.console.page_words import DASH, Badge
from wrackline.control.runtime.events.event_looks import MOST, NEWEST, EventLook, EventQuestion, place_of
from wrackline.control.runtime.events.record_decoder import DecodedEvent, DecodedPart
from wrackline.control.runtime.events.row_columns import ColumnChange, columns_of, envelope_of, key_text
from wrackline.control.runtime.events.value_text import show_name, show_value
from wrackline.control.runtime.ground.times import exact_utc_text
from wrackline.schemas.kafka.board_records import Half, HalfBoard

LIMITS: Final = (20, 50, 100, MOST)
OPS: Final = {
    "c": Badge("insert", "+", "good"),
    "u": Badge("update", "±", "busy"),
    "d": Badge("delete", "-", "bad"),
    "r": Badge("read", "◐", "idle"),
    "t": Badge("truncate", "∅", "bad"),
}
_TOMBSTONE: Final = Badge("tombstone", "†", "idle")
_BROKEN: Final = Badge("broken", "!", "bad")
_OTHER: Final = Badge("event", "·", "idle")
_VALUE: Final = 32  # characters of a value in the list
_PIECES: Final = 6  # columns of an event in the list


@dataclass(frozen=True, slots=True)
class EventRow:
    """A line of the list."""

    place: str
    moment: str
    badge: Badge
    key: str
    pieces: Sequence[str]
    more: int  # columns that are not named
    link: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class EventsPage:
    """The page; without a look it only asks which events are meant."""

    pipeline: str
    question: EventQuestion
    tables: Sequence[str]
    rows: Sequence[EventRow]
    panel: EventPanel | None
    summary: str
    server: str
    on: str  # the link to what follows; empty: nothing does, or nothing is known to
    rest: str  # the same by REST
    here: str = ""  # the link to this page
    newer: str = ""  # the link to those that come after these; empty: nobody was asked
    follows: bool = False  # whether the page asks for them by itself
    left_out: str = ""  # the link to those between, where more came than a page that follows takes


def table_names(halves: Mapping[Half, HalfBoard]) -> list[str]:
    """Return the tables that have been reported."""
    return sorted({name for known in halves.values() for name in known.tables})


def events_page(
    pipeline: str,
    tables: Sequence[str],
    question: EventQuestion,
    look: EventLook | None,
    at: str = "",
    *,
    follows: bool = False,
) -> EventsPage:
    """Make the page; `at` is the place of the chosen event, which a page that follows does not have."""
    base = EventsPage(
        pipeline,
        question,
        tables,
        (),
        None,
        "",
        "",
        "",
        _rest(pipeline, question),
        follows=follows,
        here=_link(question),
    )
    if look is None:
        return base
    base = replace(base, newer=_link(replace(question, begin=look.newer or question.begin)))
    newest_first = follows or question.begin in ("", NEWEST)
    shown = list(reversed(look.events)) if newest_first else list(look.events)
    if not shown:
        none = f"none of {look.scanned:,} records matches" if look.scanned else "there is none"
        return replace(base, summary=none, server=look.server, on=_on(question, look))
    chosen = next((event for event in shown if place_of(event) == at), shown[0])
    fixed = replace(question, begin=_first_places(look.events))
    rows = [_row(event, fixed, not follows and event is chosen) for event in shown]
    order = "newest first" if newest_first else "in the order of the log"
    among = f", of {look.scanned:,} records looked at" if look.scanned > len(shown) else ""
    return replace(
        base,
        rows=rows,
        left_out=_on(question, look) if follows else "",
        panel=None if follows else event_panel(chosen, moment_text(chosen.record.ms)),
        summary=f"{len(shown):,} {'event' if len(shown) == 1 else 'events'}, {order}{among}",
        server=look.server,
        on=_on(question, look),
    )


def moment_text(ms: int | None) -> str:
    """Write the moment of a record, which may have none."""
    return DASH if ms is None else exact_utc_text(ms)


def _row(event: DecodedEvent, fixed: EventQuestion, chosen: bool) -> EventRow:  # noqa: FBT001 - a field
    pieces = _pieces(event)
    place = place_of(event)
    return EventRow(
        place,
        moment_text(event.record.ms),
        _badge(event),
        cut_text(key_text(event), 60) or DASH,
        pieces[:_PIECES],
        max(0, len(pieces) - _PIECES),
        _link(fixed, at=place),
        chosen,
    )


def _badge(event: DecodedEvent) -> Badge:
    if event.error is not None:
        return _BROKEN
    if event.record.value is None:
        return _TOMBSTONE
    envelope = envelope_of(event.value)
    return _OTHER if envelope is None else OPS.get(str(envelope["op"]), _OTHER)


def _pieces(event: DecodedEvent) -> list[str]:
    """Return what differs, a text a column; of a row without another side, its values beside the key."""
    if event.error is not None:
        return [event.error.sentence]
    envelope = envelope_of(event.value)
    if envelope is None:
        return []
    key = event.key.value if isinstance(event.key, DecodedPart) else None
    of_key = key.keys() if isinstance(key, Mapping) else ()
    found = []
    for column in columns_of(envelope):
        before, after = (_short(one) for one in (column.before, column.after))
        if column.change is ColumnChange.CHANGED:
            found.append(f"{show_name(column.name)}: {before} → {after}")
        elif column.change is ColumnChange.NEW and column.name not in of_key:
            found.append(f"{show_name(column.name)}={after}")
        elif column.change is ColumnChange.OLD and column.before is not None and column.name not in of_key:
            found.append(f"{show_name(column.name)}={before}")
    return found


def _short(value: object) -> str:
    text = show_value(value, _VALUE + 2)
    return text if len(text) <= _VALUE + 2 else f"{text[:_VALUE]}…"


def _first_places(events: Sequence[DecodedEvent]) -> str:
    """Return where these begin, so that a link shows the same ones again when newer ones have come."""
    first: dict[int, int] = {}
    for event in events:
        first.setdefault(event.record.partition, event.record.offset)
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(first.items()))


def _on(question: EventQuestion, look: EventLook) -> str:
    return _link(replace(question, begin=look.next)) if look.next else ""


def _link(question: EventQuestion, **more: str) -> str:
    given = {
        "table": question.table,
        "from": question.begin,
        "limit": str(question.most),
        "op": question.op,
        "key": question.key,
        **more,
    }
    return "?" + urlencode({name: value for name, value in given.items() if value})


def _rest(pipeline: str, question: EventQuestion) -> str:
    query = _link(replace(question, table=""))
    path = f"/connectors/{quote(pipeline, safe='')}/tables/{quote(question.table, safe='')}/events"
    return path + (query if query != "?" else "")
