"""The same log through mysql-replication, another decoder of it, and whether it says what our events say.

    rows of its events, in the log's order  ->  for each: what our event must be     a changed key: d, then c

It takes names, keys and signs from the log's metadata as we do; what its values mean is in values.py.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import pytest

from tests.integration.mysql.followed import Change
from tests.integration.mysql.values import decoded, same
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.steps import Saved

_MISSING = (
    "mysql-replication, with which the log is compared, is missing: pip install 'mysql-replication>=1,<2'"
)
_SERVER_ID = 987_654

Cells = Mapping[str, Any]


class Logged(NamedTuple):
    """One row of a rows event, as it was and as it became."""

    table: str
    before: Cells | None
    after: Cells | None


def logged(server: MysqlServer, database: str, start: Saved, end: tuple[str, int]) -> list[Logged]:
    """Read a database's rows between two places of the log."""
    library: Any = pytest.importorskip("pymysqlreplication", reason=_MISSING)
    rows: Any = library.row_event
    settings = {"host": server.host, "port": server.port, "user": server.user, "password": server.password}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of PyMySQL, for how it is called
        reader = library.BinLogStreamReader(
            settings,
            server_id=_SERVER_ID,
            log_file=start["file"],
            log_pos=start["offset"],
            resume_stream=True,
            only_schemas=[database],
            only_events=[rows.WriteRowsEvent, rows.UpdateRowsEvent, rows.DeleteRowsEvent],
            enable_logging=False,
        )
        with closing(reader):
            return list(_rows(reader, end))


def _rows(reader: Any, end: tuple[str, int]) -> Iterator[Logged]:
    for event in reader:
        if (reader.log_file, reader.log_pos) > end:
            return
        for row in event.rows:
            match type(event).__name__:
                case "WriteRowsEvent":
                    yield Logged(event.table, None, row["values"])
                case "DeleteRowsEvent":
                    yield Logged(event.table, row["values"], None)
                case _:
                    yield Logged(event.table, row["before_values"], row["after_values"])


def differences(changes: Sequence[Change], rows: Iterable[Logged]) -> list[str]:
    """What our events and its rows do not agree in, at the first place where they do not."""
    ours = iter([change for change in changes if change.op != "t"])
    for number, row in enumerate(rows):
        change = next(ours, None)
        if change is None:
            return [f"row {number}, of {row.table}, was not reported"]
        found = _compared(change, row)
        if change.op == "d" and row.after is not None:
            created = next(ours, None)
            found += ["half a changed key"] if created is None else _image(created, "c", row.after)
        if found:
            return [f"row {number}, of {row.table}: {one}" for one in found]
    return [f"{change.op} of {change.shape.id} is not in the log" for change in ours][:3]


def _compared(change: Change, row: Logged) -> list[str]:
    if change.shape.id.name != row.table:
        return [f"reported as one of {change.shape.id.name}"]
    if row.before is None and row.after is not None:
        return _image(change, "c", row.after)
    assert row.before is not None
    if row.after is None or change.op == "d":  # or the first half of a changed key
        found = [] if change.op == "d" else [f"a delete was reported as {change.op}"]
        keyed = zip(change.shape.key, change.key or (), strict=False)
        cells = {name: value for name, value in row.before.items() if name in change.shape.key}
        return found + _cells(change, dict(keyed), cells)
    return _image(change, "u", row.after)


def _image(change: Change, op: str, cells: Cells) -> list[str]:
    found = [] if change.op == op else [f"{op} was reported as {change.op}"]
    return found + _cells(change, dict(change.row or {}), cells)


def _cells(change: Change, told: Mapping[str, object], cells: Cells) -> list[str]:
    columns = {column.name: column for column in change.shape.columns}
    if told.keys() != cells.keys():
        return [f"columns {sorted(told)} were reported, {sorted(cells)} are logged"]
    pairs = [(name, told[name], decoded(columns[name], value)) for name, value in cells.items()]
    return [
        f"{name} ({columns[name].type.source}): {str(ours)[:60]} was reported, {str(theirs)[:60]} is logged"
        for name, ours, theirs in pairs
        if not same(ours, theirs)
    ]
