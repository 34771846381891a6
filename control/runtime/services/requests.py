"""The state of a pipeline's requests, for people: their receipts, and the states of its tables.

In: the topic of receipts, and the tables' saved states.  Out: plain values for `--json`, and a line each.
This is read from outside the task: what is under way is as of the last commit.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.board.source_report import table_progress
from wrackline.control.runtime.ground.pipeline_access import BYSTANDER, group_of
from wrackline.producers.kafka import offsets_topic, requests_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.offsets_records import OUTSIDE_ANY_TRANSACTION
from wrackline.schemas.kafka.receipts import Receipt, ReceiptKey, RequestKind, TableProgress
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.settings.settings_registry import Values

Receipts = Mapping[ReceiptKey, Receipt]
TableReceipts = Mapping[tuple[str, str], TableProgress]
_FIRST: Final = re.compile(r"initial$|start-|lost-")  # the ids of requests that read all tables
_OVER: Final = {"succeeded": "finished", "failed": "failed", "cancelled": "stopped"}
_WHOLE: Final = (receipts.ScanStatus.SUCCEEDED, receipts.ScanStatus.EMPTY)
_NEWEST: Final = 10  # requests that are over and still shown


def read_receipts(values: Values, tell: Callable[[WracklineError], None]) -> Receipts:
    """Read each request's newest receipt; none before the first start."""
    name = values.text("name")
    group = group_of(name)
    client, topic = Client(values.below("kafka."), values.integer("max.row.bytes")), internal_topics(group)
    admin = AdminClient(client.admin())
    if not offsets_topic.slot_exists(admin, OffsetsSlot(topic.requests, requests_topic.PARTITION)):
        return {}
    reader = client.reader(Identity(group, name, BYSTANDER, OUTSIDE_ANY_TRANSACTION))
    read = requests_topic.read_receipts(admin, reader, topic.requests, tell, fenced=False)
    return {key: receipt for key, receipt in read if key.connector == name}


def table_receipts(requests: Receipts) -> TableReceipts:
    """Each line of each receipt, by request and table."""
    return {(one.id, line.name): line for one in requests.values() for line in one.tables}


def table_state(table: str, state: Mapping[str, Any], told: TableReceipts) -> dict[str, Any]:
    """The part of a table's saved state that is for people, with the time that its reading still takes."""
    shown = table_progress(table, state)
    last = told.get((str(next(iter(shown["requests"]), None)), table))
    return {**shown, "seconds_left": None if last is None else last.seconds_left}


def state_in_words(standing: Mapping[str, Any]) -> str:
    """Return a table's progress in words, and why it does not continue."""
    said = [standing["state"]]
    if standing["requests"]:
        rows = f"{standing['rows']:,}"
        expected, percent = standing["expected"], standing["percent"]
        said.append(f"{rows} rows read" if expected is None else f"{rows} of about {expected:,} rows read")
        said += [] if percent is None else [f"{percent}%"]
        left = standing["seconds_left"]
        said += [] if left is None else [f"about {_duration(left)} left"]
    for what, outcome in (("letters", "made their rows dead letters"), ("nulls", "published as null")):
        counts = ", ".join(f"{column} {count:,}" for column, count in standing[what].items())
        said += [f"values that do not fit, {outcome}: {counts}"] if counts else []
    reason = standing["reason"]
    why = f"\n  {reason['sentence']} [{reason['code']}]\n  hint: {reason['hint']}" if reason else ""
    return "  ".join(said) + why


def first_reads(requests: Receipts) -> Mapping[str, dict[str, Any]]:
    """Return by database the progress of its first read: the newest request that reads all of its tables."""
    newest: dict[str, dict[str, Any]] = {}
    for key, receipt in sorted(requests.items(), key=lambda item: item[1].at_ms):
        if receipt.what is RequestKind.READ and _FIRST.match(receipt.id):
            newest[key.database] = {
                "state": receipt.state.value,
                "tables": len(receipt.tables),
                "read": sum(table.scan is not None for table in receipt.tables),
                "rows": sum(table.rows for table in receipt.tables),
                "at_ms": receipt.at_ms,
                "empty": [table.name for table in receipt.tables if table.scan is receipts.ScanStatus.EMPTY],
                "given_up": [
                    table.name for table in receipt.tables if receipt.over and table.scan not in _WHOLE
                ],
            }
    return newest


def first_read_in_words(read: Mapping[str, Any]) -> str:
    """Return in words whether the existing rows of one database are read."""
    said = f"{read['read']:,} of {read['tables']:,} tables read, {read['rows']:,} rows"
    if read["state"] not in _OVER:
        return said
    said += f"; {_OVER[read['state']]} at {moment(read['at_ms'])}"
    return f"{said}, and all of its tables have come back" if has_come_back(read) else said


def still_given_up(names: Sequence[str], tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return which of these tables, by what the source reports now, still lack rows."""
    whole = {
        one["table"]
        for one in tables.values()
        if one["state"] == TableStatus.STREAMING.value and not one["reason"] and not one["requests"]
    }
    return [name for name in names if name not in whole]


def has_come_back(read: Mapping[str, Any]) -> bool:
    """Whether a first read has failed, and what it gave up was read later."""
    return read["state"] == "failed" and read["tables"] > 0 and not read["given_up"]


def request_documents(requests: Receipts) -> Sequence[dict[str, Any]]:
    """All requests as plain values, ordered by when they got their state."""
    ordered = sorted(requests.items(), key=lambda item: item[1].at_ms)
    return [{"database": key.database, **receipts.fields(receipt)} for key, receipt in ordered]


def request_lines(requests: Receipts) -> Sequence[str]:
    """A line for each request under way, and for the newest requests that are over."""
    ordered = sorted(requests.values(), key=lambda receipt: receipt.at_ms)
    shown = [receipt for receipt in ordered if not receipt.over]
    return [_line(receipt) for receipt in ([one for one in ordered if one.over][-_NEWEST:] + shown)]


def _line(receipt: Receipt) -> str:
    said = [moment(receipt.at_ms), receipt.id, receipt.what.value, receipt.state.value]
    if receipt.what is RequestKind.READ and receipt.tables:
        ended = sum(table.scan is not None for table in receipt.tables)
        rows = sum(table.rows for table in receipt.tables)
        said.append(f"{ended} of {len(receipt.tables)} tables done, {rows:,} rows")
    why = "" if receipt.sentence is None else f"\n  {receipt.sentence} [{receipt.code}]"
    return "  ".join(said) + why


def moment(ms: int) -> str:
    """Return a time as a person reads it, in UTC and to the second."""
    when = datetime.fromtimestamp(ms / 1000, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
    return f"{when}Z"


def _duration(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)} {unit}"
    return f"{seconds} s"
