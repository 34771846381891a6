"""The status of each table of a source partition as figures, from the states that Kafka has committed.

a table's saved state --> PartitionTables --> its metrics, under our names and under Debezium's
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from wrackline.producers.cutting import table_fault
from wrackline.producers.observe import task_metric_names as names
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.language.exposition import Metric
from wrackline.schemas.tables.table import TableId

_READ: Final = frozenset(
    {TableStatus.QUEUED.value, TableStatus.SNAPSHOTTING.value, TableStatus.REFRESHING.value}
)
_PAUSED, _FAILED = TableStatus.PAUSED.value, TableStatus.FAILED.value


@dataclass(frozen=True, slots=True)
class _TableFigures:
    status: str | None
    aside: str | None  # the code of the error that set it aside
    rows: int | None = None  # released by the reading under way
    expected: int | None = None
    state: Mapping[str, Any] = field(default_factory=dict)  # as it is saved


class PartitionTables:
    """The tables of one source partition."""

    def __init__(self) -> None:
        self._tables: dict[TableId, _TableFigures] = {}

    def take(self, table: TableId, state: Json | None) -> bool:
        """Take a table's committed state, None: nothing is known of it anymore; return whether that is news.

        How many rows are read is none.
        """
        before, now = self._tables.get(table), None
        if state is None:
            self._tables.pop(table, None)
        else:  # another thread finds the table at each moment
            now = self._tables[table] = _figures(orjson.loads(state), table_fault.reason_in(state, table))
        return _news(before) != _news(now)

    def known(self) -> frozenset[TableId]:
        """Return the tables that have a saved state; on any thread."""
        return frozenset(self._tables.copy())

    def state(self, table: TableId) -> Mapping[str, Any] | None:
        """Return the saved state of a table; on any thread."""
        one = self._tables.get(table)
        return None if one is None else one.state

    def ours(self) -> Iterator[tuple[Metric, Mapping[str, str], float]]:
        """Yield the metrics under our names, with their additional labels."""
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
        """Yield the values of Debezium's snapshot attributes, in their order."""
        states = [one.status for one in self._tables.values() if one.status != TableStatus.GONE.value]
        read = sum(state in _READ for state in states)
        paused, failed = states.count(_PAUSED), states.count(_FAILED)
        yield len(states)
        yield read + paused
        yield read > 0
        yield paused > 0 and not read
        yield failed > 0 and not read + paused
        yield len(states) > 0 and not read + paused + failed


def _news(table: _TableFigures | None) -> tuple[str | None, str | None] | None:
    return None if table is None else (table.status, table.aside)


def _figures(state: Mapping[str, Any], reason: table_fault.FaultReason | None) -> _TableFigures:
    job = next((job for job in state.get("jobs", ()) if "failed" not in job), None)
    rows = None if job is None else job.get("rows", 0)
    expected = None if job is None else job.get("expected")
    return _TableFigures(state.get("status"), None if reason is None else reason.code, rows, expected, state)
