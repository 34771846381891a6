"""What became of a pipeline's requests, for people: their receipts, and where its tables stand.

In: the topic of receipts, and the tables' saved states.  Out: plain values for `--json`, and a line each.
A bystander reads here: what is under way is as of the last commit.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from confluent_kafka.admin import AdminClient

from wrackline.control.run import TASK, group_of
from wrackline.producers.kafka import offsets_topic, requests_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.transaction import Slot
from wrackline.schemas import receipts
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.offsets import OUTSIDE_ANY_TRANSACTION
from wrackline.schemas.receipts import Key, Receipt, Table, What
from wrackline.schemas.settings import Values
from wrackline.schemas.topics import internal_topics

Found = Mapping[Key, Receipt]
Told = Mapping[tuple[str, str], Table]
_NEWEST: Final = 10  # requests that are over and still shown


def found(values: Values, tell: Callable[[WracklineError], None]) -> Found:
    """Read each request's newest receipt; none before the first start."""
    name = values.text("name")
    group = group_of(name)
    client, topic = Client(values.below("kafka."), values.integer("max.row.bytes")), internal_topics(group)
    admin = AdminClient(client.admin())
    if not offsets_topic.exists(admin, Slot(topic.requests, requests_topic.PARTITION)):
        return {}
    reader = client.reader(Identity(group, name, TASK, OUTSIDE_ANY_TRANSACTION))
    read = requests_topic.read(admin, reader, topic.requests, tell, fenced=False)
    return {key: receipt for key, receipt in read if key.connector == name}


def told(requests: Found) -> Told:
    """Each line of each receipt, by request and table."""
    return {(one.id, line.name): line for one in requests.values() for line in one.tables}


def standing(table: str, state: Mapping[str, Any], told: Told) -> dict[str, Any]:
    """What of a table's saved state is for people, with how long its reading still takes."""
    jobs = [job for job in state.get("jobs", []) if "failed" not in job]
    job: Mapping[str, Any] = jobs[0] if jobs else {}
    line = Table(table, rows=job.get("rows", 0), expected=job.get("expected"))
    last = told.get((str(job.get("id")), table))
    return {
        "state": state.get("status", "failed"),
        "requests": [job["id"] for job in jobs],
        "rows": sum(job.get("rows", 0) for job in jobs),
        "expected": line.expected,
        "percent": receipts.percent(line),
        "seconds_left": None if last is None else last.seconds_left,
        "reason": state.get("reason") or state.get("set_aside"),
    }


def in_words(standing: Mapping[str, Any]) -> str:
    """Say how far a table is, and why it does not go on."""
    said = [standing["state"]]
    if standing["requests"]:
        rows = f"{standing['rows']:,}"
        expected, percent = standing["expected"], standing["percent"]
        said.append(f"{rows} rows read" if expected is None else f"{rows} of about {expected:,} rows read")
        said += [] if percent is None else [f"{percent}%"]
        left = standing["seconds_left"]
        said += [] if left is None else [f"about {_duration(left)} left"]
    reason = standing["reason"]
    why = f"\n  {reason['sentence']} [{reason['code']}]\n  hint: {reason['hint']}" if reason else ""
    return "  ".join(said) + why


def listed(requests: Found) -> Sequence[dict[str, Any]]:
    """All requests as plain values, in the order in which they came to stand so."""
    ordered = sorted(requests.items(), key=lambda item: item[1].at_ms)
    return [{"database": key.database, **receipts.fields(receipt)} for key, receipt in ordered]


def lines(requests: Found) -> Sequence[str]:
    """A line for each request under way, and for the newest of those that are over."""
    ordered = sorted(requests.values(), key=lambda receipt: receipt.at_ms)
    shown = [receipt for receipt in ordered if not receipt.over]
    return [_line(receipt) for receipt in ([one for one in ordered if one.over][-_NEWEST:] + shown)]


def _line(receipt: Receipt) -> str:
    when = datetime.fromtimestamp(receipt.at_ms / 1000, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
    said = [f"{when}Z", receipt.id, receipt.what.value, receipt.state.value]
    if receipt.what is What.READ and receipt.tables:
        ended = sum(table.scan is not None for table in receipt.tables)
        rows = sum(table.rows for table in receipt.tables)
        said.append(f"{ended} of {len(receipt.tables)} tables done, {rows:,} rows")
    why = "" if receipt.sentence is None else f"\n  {receipt.sentence} [{receipt.code}]"
    return "  ".join(said) + why


def _duration(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)} {unit}"
    return f"{seconds} s"
