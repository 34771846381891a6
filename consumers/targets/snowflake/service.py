"""Snowflake as a service of a staged target: its catalogue, by SHOW, for which no warehouse has to run.

A table is distinguished from a later one of its name by the moment it was made.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from snowflake.connector.errors import ProgrammingError

from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.staged.service import StagedSession, StageTable
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import state_query
from wrackline.consumers.targets.snowflake.check import SnowflakeFacts, find_problems
from wrackline.consumers.targets.snowflake.dialect import (
    DIALECT,
    create_stage,
    create_table,
    literal,
    quoted,
)
from wrackline.consumers.targets.snowflake.refusals import NOT_THERE, statement_error
from wrackline.consumers.targets.snowflake.session import Connect, SnowflakeSession
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding

_OLD = timedelta(days=1)


class SnowflakeService:
    """One database."""

    def __init__(self, connect: Connect, facts: SnowflakeFacts) -> None:
        self._connect, self._facts = connect, facts

    @property
    def dialect(self) -> StagedDialect:
        """Its SQL."""
        return DIALECT

    def session(self) -> StagedSession:
        """Connect."""
        return SnowflakeSession(self._connect)

    def has_schema(self, session: StagedSession, name: str) -> bool:
        """Ask for schemas whose names begin so."""
        return any(row[1] == name for row in session.rows(f"SHOW TERSE SCHEMAS STARTS WITH {literal(name)}"))

    def state_row(self, session: StagedSession, table: StagedRelation) -> tuple[Any, ...] | None:
        """Read the row; an error says that there is no table."""
        try:
            rows = session.rows(state_query(DIALECT.path(table)))
        except ProgrammingError as exc:
            if exc.errno not in NOT_THERE:
                raise
            return None
        return rows[0] if len(rows) == 1 else ()

    def made(self, session: StagedSession, relation: StagedRelation) -> str | None:
        """Return when it was made."""
        found = _shown(session, "OBJECTS", relation)
        return next((made.isoformat() for made, name in found if name == relation.name), None)

    def create(self, place: StagedPlace, shape: StagedShape) -> Sequence[str]:
        """Write the creation of the table."""
        return [create_table(place, shape)]

    def create_stage(self, stage: StageTable) -> str:
        """Write the creation of a stage."""
        return create_stage(stage)

    def old_tables(self, session: StagedSession, beginning: StagedRelation) -> Sequence[str]:
        """Ask for tables whose names begin so."""
        before = datetime.now(UTC) - _OLD
        return [name for made, name in _shown(session, "TABLES", beginning) if made < before]

    def refusal(self, error: Exception, doing: str, place: str) -> WracklineError | None:
        """Say what the driver's error means."""
        return statement_error(error, doing=doing, place=place)

    def check(self, session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
        """Look at warehouse, database, rights and owners."""
        if not isinstance(session, SnowflakeSession):
            raise TypeError("a session of another service")
        return find_problems(session, self._facts, places)


def _shown(session: StagedSession, kind: str, beginning: StagedRelation) -> list[tuple[datetime, str]]:
    """Return what is there whose name begins so, and since when; a schema that is not there has nothing."""
    schema, start = quoted(beginning.schema), literal(beginning.name)
    try:
        rows = session.rows(f"SHOW TERSE {kind} IN SCHEMA {schema} STARTS WITH {start}")
    except ProgrammingError as exc:
        if exc.errno not in NOT_THERE:
            raise
        return []
    return [(made, name) for made, name, *_ in rows if name.startswith(beginning.name)]
