"""Redshift as a service of a staged target: its catalogue, its layout, its refusals.

A table is distinguished from a later one of its name by its oid.  A view that gets other columns is another
view, so what its readers may do is written down and given again.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.staged.service import StagedSession, StageTable
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import state_query
from wrackline.consumers.targets.redshift.check import RedshiftCheck
from wrackline.consumers.targets.redshift.dialect import DIALECT, create_stage, create_table, literal, quoted
from wrackline.consumers.targets.redshift.refusals import statement_error
from wrackline.consumers.targets.redshift.session import Connect, CopyRole, RedshiftSession
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding

_GRANTEES = {"user": "", "group": "GROUP ", "role": "ROLE "}


class RedshiftService:
    """One database."""

    def __init__(self, connect: Connect, role: CopyRole, check: RedshiftCheck | None = None) -> None:
        self._connect, self._role, self._check = connect, role, check

    @property
    def dialect(self) -> StagedDialect:
        """Its SQL."""
        return DIALECT

    def session(self) -> StagedSession:
        """Connect."""
        return RedshiftSession(self._connect, self._role)

    def has_schema(self, session: StagedSession, name: str) -> bool:
        """Ask the catalogue."""
        return bool(session.rows(f"SELECT 1 FROM pg_namespace WHERE nspname = {literal(name)}"))  # noqa: S608 - the name is a literal

    def state_row(self, session: StagedSession, table: StagedRelation) -> tuple[Any, ...] | None:
        """Read the row, if the table is there."""
        if self.made(session, table) is None:
            return None
        rows = session.rows(state_query(DIALECT.path(table)))
        return rows[0] if len(rows) == 1 else ()

    def made(self, session: StagedSession, relation: StagedRelation) -> str | None:
        """Return its oid."""
        schema, name = map(literal, relation)
        rows = session.rows(
            "SELECT CAST(c.oid AS BIGINT) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"  # noqa: S608 - names are literals
            f" WHERE n.nspname = {schema} AND c.relname = {name}"
        )
        return str(rows[0][0]) if rows else None

    def create(self, place: StagedPlace, shape: StagedShape) -> Sequence[str]:
        """Write the creation of the table."""
        return [create_table(place, shape)]

    def create_stage(self, stage: StageTable) -> str:
        """Write the creation of a stage; upkeep drops what a crash left."""
        return create_stage(stage)

    def old_tables(self, session: StagedSession, beginning: StagedRelation) -> Sequence[str]:
        """Ask the one view that knows when a table was made."""
        schema, name = map(literal, beginning)
        rows = session.rows(
            "SELECT CAST(c.relname AS VARCHAR(127)) FROM pg_class_info c"  # noqa: S608 - names are literals
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE n.nspname = {schema} AND LEFT(c.relname, {len(beginning.name)}) = {name}"
            " AND c.relcreationtime < GETDATE() - INTERVAL '1 day'"
        )
        return [str(found) for (found,) in rows]

    def kept_columns(self, session: StagedSession, table: StagedRelation) -> Collection[str]:
        """Name those by which the table is distributed or sorted; Redshift itself chooses a sort key."""
        schema, name = map(literal, table)
        rows = session.rows(
            "SELECT column_name FROM svv_redshift_columns WHERE database_name = current_database()"  # noqa: S608 - names are literals
            f" AND schema_name = {schema} AND table_name = {name} AND (distkey OR sortkey <> 0)"
        )
        return {str(column) for (column,) in rows}

    def grants(self, session: StagedSession, view: StagedRelation) -> Sequence[str]:
        """Write what readers of a view may do."""
        schema, name = map(literal, view)
        rows = session.rows(
            "SELECT privilege_type, identity_type, identity_name, admin_option FROM svv_relation_privileges"  # noqa: S608 - names are literals
            f" WHERE namespace_name = {schema} AND relation_name = {name}"
        )
        path = DIALECT.path(view)
        return [
            f"GRANT {privilege} ON {path} TO {_grantee(kind, whom)}{' WITH GRANT OPTION' if grants else ''}"
            for privilege, kind, whom, grants in rows
        ]

    def refusal(self, error: Exception, doing: str, place: str) -> WracklineError | None:
        """Say what the driver's error means."""
        return statement_error(error, doing, place)

    def check(self, session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
        """Look at rights, names, the bucket and the pace."""
        return iter(()) if self._check is None else self._check.findings(session, places)


def _grantee(kind: str, name: str) -> str:
    return "PUBLIC" if kind == "public" else _GRANTEES[kind] + quoted(name)
