"""A conversation with Snowflake, by its own driver.

    run, rows   one statement, committed by itself
    commit      BEGIN; the move, which must change one row; the merge; COMMIT
    load        PUT of each file into a temporary stage of the session; one COPY, which removes the files

The temporary stage is made with the session's first load, and goes with the session.  A batch asks no
catalogue for anything.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from wrackline.consumers.staged.places import StagedRelation
from wrackline.consumers.staged.service import CarriedFiles, StageTable, commit_over
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.targets.snowflake.dialect import DIALECT, literal
from wrackline.consumers.targets.snowflake.limits import STATEMENT_BYTES

Connect = Callable[[], Any]  # the driver has its own types of a connection


class SnowflakeSession:
    """One connection, in which each statement is committed by itself, except between BEGIN and COMMIT."""

    def __init__(self, connect: Connect) -> None:
        self._connection: Any = connect()
        self._files: dict[str, str] = {}  # by schema: a place for files

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Ask."""
        return [tuple(row) for row in self._send(text).fetchall()]

    def named_rows(self, text: str) -> list[Mapping[str, Any]]:
        """Ask, where columns have names and no fixed order; the names are lower case."""
        cursor = self._send(text)
        names = [column[0].lower() for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def run(self, text: str) -> None:
        """Do one statement."""
        self._send(text)

    def commit(self, move: StateMove, steps: Sequence[str], name: str) -> bool:
        """Move the state and do the steps, or change nothing."""
        del name  # the state says whether a lost COMMIT was kept
        return commit_over(self._send, move, steps, STATEMENT_BYTES)

    def load(self, stage: StageTable, files: CarriedFiles, name: str) -> int:
        """Upload the files and copy them by the names of their columns."""
        folder = f"{self._place(stage.relation.schema)}/{uuid4().hex}"
        del name
        for address in files.addresses:
            self._send(put_text(Path(address), folder))
        cursor = self._send(copy_text(DIALECT.path(stage.relation), folder))
        names = [column[0].lower() for column in cursor.description]
        if "rows_loaded" not in names:  # it found no file
            return 0
        return sum(int(row[names.index("rows_loaded")]) for row in cursor.fetchall())

    def close(self) -> None:
        """End the connection; the server undoes what was not committed."""
        with suppress(Exception):  # it may be lost already, and the driver raises anything then
            self._connection.close()

    def _place(self, schema: str) -> str:
        """Return the session's stage in a schema."""
        if schema not in self._files:
            path = DIALECT.path(StagedRelation(schema, f"_WL_FILES__{uuid4().hex}"))
            self._send(f"CREATE TEMPORARY STAGE {path}")
            self._files[schema] = f"@{path}"
        return self._files[schema]

    def _send(self, text: str) -> Any:  # noqa: ANN401 - a cursor of the driver
        cursor = self._connection.cursor()
        cursor.execute(text)
        return cursor


def put_text(file: Path, folder: str) -> str:
    """Write the upload of a file, whose name the driver takes as it stands; Parquet is compressed already."""
    address = literal(f"file://{file.as_posix()}")
    return f"PUT {address} {folder} AUTO_COMPRESS = FALSE SOURCE_COMPRESSION = NONE"


def copy_text(table: str, folder: str) -> str:
    """Write the load of a folder's files; bytes are not taken for texts."""
    return (
        f"COPY INTO {table} FROM {folder}/"
        " FILE_FORMAT = (TYPE = PARQUET BINARY_AS_TEXT = FALSE USE_VECTORIZED_SCANNER = TRUE)"
        " MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE ON_ERROR = ABORT_STATEMENT PURGE = TRUE"
    )
