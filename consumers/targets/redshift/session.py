"""A conversation with Redshift, by its own driver; COPY takes files from S3 with a role, never with a key.

    run, rows   one statement, committed by itself
    commit      LOCK of the state, so that the snapshot is taken when no other session holds it; the move,
                which must change one row; the merge; COMMIT
    load        one COPY for each address, which is a manifest's; all in one transaction

The driver keeps the text of each statement that a connection ever ran, and no two texts of ours are alike:
so a session connects again after a while.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import Any, Final

from wrackline.consumers.staged.service import CarriedFiles, StageTable, commit_over
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.targets.redshift.dialect import DIALECT, literal
from wrackline.consumers.targets.redshift.limits import STATEMENT_BYTES
from wrackline.consumers.targets.redshift.refusals import LOAD_REFUSED
from wrackline.schemas.errors import WracklineError

Connect = Callable[[], Any]  # the driver has its own types of a connection

_MOST_STATEMENTS: Final = 500  # of one connection
_CLOCKS_S: Final = 60  # how much longer than our own count of a load is looked back


@dataclass(frozen=True, slots=True)
class CopyRole:
    """Who reads the files: a role of the cluster, or the cluster's default one."""

    arn: str | None

    @property
    def clause(self) -> str:
        """The clause of COPY."""
        return "IAM_ROLE default" if self.arn is None else f"IAM_ROLE {literal(self.arn)}"


class RedshiftSession:
    """One connection; a statement that is not between BEGIN and COMMIT is committed by itself."""

    def __init__(self, connect: Connect, role: CopyRole) -> None:
        self._connect, self._role = connect, role
        self._connection: Any = connect()
        self._sent = 0

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Ask."""
        self._begin()
        return [tuple(row) for row in self._send(text).fetchall()]

    def run(self, text: str) -> None:
        """Do one statement."""
        self._begin()
        self._send(text)

    def commit(self, move: StateMove, steps: Sequence[str], name: str) -> bool:
        """Move the state and do the steps, or change nothing."""
        del name  # the state says whether a lost COMMIT was kept
        self._begin()
        return commit_over(self._send, move, steps, STATEMENT_BYTES, [f"LOCK TABLE {move.state}"])

    def load(self, stage: StageTable, files: CarriedFiles, name: str) -> int:
        """Copy what each manifest names; COPY reads columns by position, in the stage's order."""
        del name
        table, begun = DIALECT.path(stage.relation), monotonic()
        self._begin()
        self._send("BEGIN")
        for address in files.addresses:
            try:
                self._send(copy_text(table, address, self._role))
            except Exception:
                refusal = self._load_refusal(table, ceil(monotonic() - begun) + _CLOCKS_S)
                if refusal is None:
                    raise
                raise refusal from None  # the driver's own error may show a value
        ((rows,),) = self._send(f"SELECT COUNT(*) FROM {table}").fetchall()  # noqa: S608 - the name is quoted
        self._send("COMMIT")
        return int(rows)

    def close(self) -> None:
        """End the connection; the server undoes what was not committed."""
        with suppress(Exception):  # it may be lost already, and the driver raises anything then
            self._connection.close()

    def _load_refusal(self, table: str, seconds: int) -> WracklineError | None:
        """Ask what COPY has written down of its files, without a word of what is in them; None: nothing.

        No other COPY of this session has failed, because a session ends with its first error; but an older
        session may have had its number.
        """
        try:
            self._send("ROLLBACK")
            found = self._send(load_errors(seconds)).fetchall()
        except Exception:  # noqa: BLE001 - the connection is lost, and COPY's own error says it
            return None
        if not found:
            return None
        number, column = found[0]
        return LOAD_REFUSED(place=table, number=int(number), column=str(column).strip() or "?")

    def _begin(self) -> None:
        """Connect again where the driver keeps too many texts; nothing is open between two calls."""
        if self._sent >= _MOST_STATEMENTS:
            self.close()
            self._connection, self._sent = self._connect(), 0

    def _send(self, text: str) -> Any:  # noqa: ANN401 - a cursor of the driver
        self._sent += 1
        cursor = self._connection.cursor()
        cursor.execute(text)
        return cursor


def load_errors(seconds: int) -> str:
    """Ask for what COPY could not load in this session, since so many seconds."""
    return (
        "SELECT error_code, column_name FROM sys_load_error_detail WHERE session_id = pg_backend_pid()"  # noqa: S608 - a number
        f" AND start_time > GETDATE() - INTERVAL '{seconds} seconds' ORDER BY start_time DESC LIMIT 1"
    )


def copy_text(table: str, address: str, role: CopyRole) -> str:
    """Write the load of the files that a manifest names; Spark calls the scheme s3a."""
    source = literal(re.sub(r"^s3[an]://", "s3://", address))
    return f"COPY {table} FROM {source} {role.clause} FORMAT AS PARQUET MANIFEST"
