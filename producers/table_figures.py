"""Where each table of a source partition stands, as figures: from the states that Kafka has committed.

a table's saved state --> Tables --> what is served of it, under our names and under Debezium's
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from wrackline.producers import metric_names as names
from wrackline.producers import set_aside
from wrackline.producers.snapshot.state import Status
from wrackline.schemas.exposition import Metric
from wrackline.schemas.offsets import Json
from wrackline.schemas.table import TableId

_READ: Final = frozenset({Status.QUEUED.value, Status.SNAPSHOTTING.value, Status.REFRESHING.value})
_PAUSED, _FAILED = Status.PAUSED.value, Status.FAILED.value


@dataclass(frozen=True, slots=True)
class _Table:
    status: str | None
    aside: str | None  # the code of the error that set it aside
    rows: int | None = None  # released of the reading under way
    expected: int | None = None


class Tables:
    """The tables of one source partition."""

    def __init__(self) -> None:
        self._tables: dict[TableId, _Table] = {}

    def take(self, table: TableId, state: Json | None) -> None:
        """A table's state is committed; None: nothing is known of it any more."""
        self._tables.pop(table, None)
        if state is not None:
            self._tables[table] = _figures(orjson.loads(state))

    def ours(self) -> Iterator[tuple[Metric, Mapping[str, str], float]]:
        """What is served under our names, with the labels that it has more."""
        for table, one in self._tables.items():
            named = {"table": f"{table.schema}.{table.name}"}
            if one.aside is not None:
                yield names.ASIDE, {**named, "code": one.aside}, 1
            if one.status is not None:
                yield names.TABLE_STATE, {**named, "state": one.status}, 1
            if one.rows is not None:
                yield names.ROWS_READ, named, one.rows
            if one.expected is not None:
                yield names.ROWS_EXPECTED, named, one.expected

    def theirs(self) -> Iterator[float]:
        """The values of Debezium's snapshot attributes, in their order."""
        states = [one.status for one in self._tables.values() if one.status != Status.GONE.value]
        read = sum(state in _READ for state in states)
        paused, failed = states.count(_PAUSED), states.count(_FAILED)
        yield len(states)
        yield read + paused
        yield read > 0
        yield paused > 0 and not read
        yield failed > 0 and not read + paused
        yield len(states) > 0 and not read + paused + failed


def _figures(state: Mapping[str, Any]) -> _Table:
    reason = set_aside.reason_in(state)
    job = next((job for job in state.get("jobs", ()) if "failed" not in job), None)
    rows = None if job is None else job.get("rows", 0)
    expected = None if job is None else job.get("expected")
    return _Table(state.get("status"), None if reason is None else reason.code, rows, expected)
