"""Makes a capture instance where a table has new columns; drops the old one when Kafka has its changes.

    the catalogue, how far Kafka has come  ->  statements, one after the other

It is for pipelines with `capture.instance.rotate`, whose login is db_owner.  A statement that fails is
reported, and not tried again until the log is opened again: the copy continues without the new columns.
"""

from collections.abc import Callable, Mapping
from typing import Final

from wrackline.producers.sources.sqlserver.connect.server_errors import ROWS_LOCKED
from wrackline.producers.sources.sqlserver.discover.discover import SqlServerTableFacts
from wrackline.producers.sources.sqlserver.follow.capture_instances import CapturedColumn
from wrackline.producers.sources.sqlserver.follow.rotation import next_step
from wrackline.producers.sources.sqlserver.log.lsn import ZERO, Lsn
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define

NOT_ROTATED = define(
    "sqlserver.not_rotated",
    OperatorNeeded,
    "the capture instances of {table} could not be changed for its new columns: {reason}",
    hint="as db_owner: {statement} or set capture.instance.rotate = false",
)

_DOING: Final = "change a capture instance"


class InstanceRotator:
    """Runs what `rotation.py` says, on the connection that polls."""

    def __init__(
        self, execute: Callable[[str, str], object], tell: Callable[[WracklineError], None], *, works: bool
    ) -> None:
        """Take what runs a statement, and whether the settings let us."""
        self._execute, self._tell, self._works = execute, tell, works
        self._confirmed = ZERO
        self._tried: set[str] = set()

    def confirm(self, passed: Lsn) -> None:
        """Note how far Kafka has come; any thread may call."""
        self._confirmed = max(self._confirmed, passed)

    def waits(self, tables: Mapping[int, SqlServerTableFacts]) -> bool:
        """Whether it may have to drop an instance, once Kafka has come so far."""
        return self._works and any(len(facts.instances) > 1 for facts in tables.values())

    def rotate(self, tables: Mapping[int, SqlServerTableFacts]) -> None:
        """Take the next step of each table."""
        if not self._works:
            return
        for facts in tables.values():
            columns = [CapturedColumn(one.name, one.number, 0, one.computed) for one in facts.columns]
            step = next_step(facts.id, facts.instances, columns, self._confirmed)
            if step is None or step.statement is None or step.statement in self._tried:
                continue
            self._tried.add(step.statement)
            try:
                self._execute(step.statement, _DOING)
            except WracklineError as error:
                if not isinstance(error, OperatorNeeded) and error.code != ROWS_LOCKED.code:
                    raise  # of the connection
                reason = f"{error.sentence} [{error.code}]"
                self._tell(NOT_ROTATED(table=facts.id, reason=reason, statement=step.statement))
