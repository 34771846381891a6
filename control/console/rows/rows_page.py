"""What the page of existing rows shows: requests with their receipts, and each table under way.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.control.console.draw.range_bar import RangeBar, range_bar
from wrackline.control.console.page_words import DASH, Badge, source_badge
from wrackline.control.console.rows.request_form import RequestForm
from wrackline.control.runtime.ground.number_text import ago_text, count_text, duration_text
from wrackline.control.runtime.services.requests import moment
from wrackline.schemas.kafka.board_records import Document, HalfBoard
from wrackline.schemas.kafka.receipts import Receipt, RequestKind, RequestState, ScanStatus, TableProgress

_MOST_TABLES: Final = 50
_MOST_NAMES: Final = 2_000  # that the form proposes
_UNDER_WAY: Final = frozenset({"queued", "snapshotting", "refreshing", "paused"})
_STATES: Final = {
    RequestState.ACCEPTED: Badge("accepted", "◔", "busy"),
    RequestState.RUNNING: Badge("reading", "◐", "busy"),
    RequestState.PAUSED: Badge("paused", "‖", "idle"),
    RequestState.SUCCEEDED: Badge("finished", "✓", "good"),
    RequestState.FAILED: Badge("failed", "✕", "bad"),
    RequestState.CANCELLED: Badge("stopped", "■", "idle"),
}
_WHAT: Final = {
    RequestKind.READ: "read rows",
    RequestKind.STOP: "stop reads",
    RequestKind.PAUSE: "pause reads",
    RequestKind.RESUME: "resume reads",
}


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A request."""

    id: str
    what: str
    badge: Badge
    tables: str
    rows: str
    percent: int | None
    left: str
    when: str
    ago: str
    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TableReading:
    """A table whose rows are being read, or are to be read."""

    key: str
    name: str
    badge: Badge
    request: str
    rows: str
    percent: int | None
    left: str
    bar: RangeBar | None
    gate: str  # what it waits for


@dataclass(frozen=True, slots=True)
class RowsPage:
    """The page."""

    name: str
    requests: Sequence[RequestRow]
    tables: Sequence[TableReading]
    more_tables: int
    idle: str  # what to say where nothing is under way
    paused: bool
    names: Sequence[str]  # of tables, for the form
    form: RequestForm
    sent: str  # the request that was sent just now, if its receipt is not here yet


def rows_page(
    name: str,
    source: HalfBoard,
    receipts: Sequence[Receipt],
    at_ms: int,
    form: RequestForm | None = None,
    sent: str = "",
) -> RowsPage:
    """Make the page; `sent` is the id of a request that was sent just now."""
    under_way = {key: table for key, table in source.tables.items() if table["state"] in _UNDER_WAY}
    shown = sorted(under_way, key=lambda key: (not under_way[key]["ranges"], under_way[key]["state"], key))
    return RowsPage(
        name,
        [_request(one, at_ms) for one in receipts],
        [_table(key, under_way[key], at_ms) for key in shown[:_MOST_TABLES]],
        max(0, len(shown) - _MOST_TABLES),
        "" if under_way else _idle(source, receipts),
        any(table["state"] == "paused" for table in under_way.values()),
        sorted(table["table"] for table in source.tables.values())[:_MOST_NAMES],
        form or RequestForm(),
        "" if any(one.id == sent for one in receipts) else sent,
    )


def _request(receipt: Receipt, at_ms: int) -> RequestRow:
    lines = receipt.tables
    reads = receipt.what is RequestKind.READ
    over = sum(line.scan is not None for line in lines)
    rows = sum(line.rows for line in lines)
    left = [line.seconds_left for line in lines if line.seconds_left is not None]
    return RequestRow(
        receipt.id,
        _WHAT[receipt.what],
        _STATES[receipt.state],
        _tables(lines, over) if reads else "",
        f"{rows:,}" if reads else "",
        _percent(lines) if reads and not receipt.over else None,
        f"{duration_text(max(left) * 1000)} left" if left else "",
        moment(receipt.at_ms),
        ago_text(receipt.at_ms, at_ms),
        receipt.code or "",
        receipt.sentence or "",
    )


def _tables(lines: Sequence[TableProgress], over: int) -> str:
    if not lines:
        return DASH
    if len(lines) == 1:
        return lines[0].name
    return f"{over:,} of {count_text(len(lines), 'table', 'tables')}"


def _percent(lines: Sequence[TableProgress]) -> int | None:
    """Return how much of all expected rows is read; None where the size of a table is not known."""
    if any(line.expected is None and line.scan is None for line in lines):
        return None
    expected = sum(line.rows if line.scan else line.expected or 0 for line in lines)
    return min(99, 100 * sum(line.rows for line in lines) // expected) if expected else None


def _table(key: str, table: Document, at_ms: int) -> TableReading:
    rows, expected, left = table["rows"], table["expected"], table["seconds_left"]
    ranges = table["ranges"]
    each = round(expected / len(ranges)) if expected and ranges else None
    since = table["waits_since_ms"]
    waits = f"a chunk waits for the log to pass its mark, for {duration_text(at_ms - since)}" if since else ""
    return TableReading(
        key,
        table["table"],
        source_badge(table["state"]),
        ", ".join(table["requests"]),
        f"{rows:,} of about {expected:,} rows" if expected else f"{count_text(rows, 'row', 'rows')}",
        table["percent"],
        f"{duration_text(left * 1000)} left" if left is not None else "",
        range_bar(ranges, table["percent"], each) if ranges else None,
        waits,
    )


def _idle(source: HalfBoard, receipts: Sequence[Receipt]) -> str:
    if not source.tables:
        return "No table has been reported yet. Existing rows are read when the pipeline starts."
    good = (ScanStatus.SUCCEEDED, ScanStatus.EMPTY)
    read = [
        one
        for one in receipts
        if one.state is RequestState.SUCCEEDED
        and one.what is RequestKind.READ
        and all(line.scan in good for line in one.tables)
    ]
    if not read:
        return "No rows are being read. Ask for some below."
    last = moment(max(one.at_ms for one in read))
    return f"All rows were read on {last}; ask for some again below."
