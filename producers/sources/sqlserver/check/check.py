"""The preflight: what prevents the copy of a database, each finding with the SQL that solves it.

    server, settings  ->  findings, most severe first

It reads catalogues, and changes nothing: it needs no more rights than the pipeline does.  What it may not see
it leaves to the start.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final

from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.kit.preflight.column_findings import (
    TypedColumn,
    column_support,
    unknown_type_findings,
)
from wrackline.producers.kit.preflight.probes import Probe, error_finding, run_probes
from wrackline.producers.kit.preflight.table_scope import TableScope
from wrackline.producers.sources.sqlserver.check import check_rules, check_server, facts_sql, grants
from wrackline.producers.sources.sqlserver.check.check_server import DatabaseFacts, SqlServerFacts
from wrackline.producers.sources.sqlserver.check.grants import NeededRight
from wrackline.producers.sources.sqlserver.chunks.marks import MarkSettings
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.connect.server_errors import RIGHT_MISSING
from wrackline.producers.sources.sqlserver.discover.discover import (
    TABLE_MISSING,
    CatalogueLook,
    SqlServerCatalogue,
    SqlServerShapes,
    SqlServerTableFacts,
)
from wrackline.producers.sources.sqlserver.discover.types import column_type
from wrackline.producers.sources.sqlserver.follow.capture_instances import CapturedColumn
from wrackline.producers.sources.sqlserver.session.server import (
    OpenedSession,
    SqlServerConnector,
    ask_named,
    ask_values,
    database_row,
    edition_of,
)
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events import projection
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.settings.filters import TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId, TableSchema

_KEYLESS: Final = "tables without a key are read in one snapshot"
_READS_VERSIONS: Final = "snapshot.isolation.mode is snapshot"


class SqlServerLook:
    """What the probes need: the server, the settings, and what both say about the tables."""

    def __init__(
        self,
        server: SqlServerConnector,
        settings: Values,
        shapes: SqlServerShapes,
        tables: Sequence[TableId],
        marks: MarkSettings,
        session: TdsSession,
    ) -> None:
        self.server, self.settings, self.shapes, self.marks = server, settings, shapes, marks
        self._session = session
        self.edition = edition_of(session)
        self.row = database_row(session, self.edition, server.database)
        self.catalogue = CatalogueLook({})
        usable = self.row.captured and not check_server.too_old(self.edition.number, self.edition.version)
        self.readable = usable and self.has(next(grants.needed_rights(server.user, [], [])))
        if self.readable:
            self.catalogue = SqlServerCatalogue(self.ask, server.database, shapes).look()
        found = [
            self.catalogue.tables.get(number) or SqlServerTableFacts(table, number)
            for number, table in self.catalogue.names.items()
            if table != marks.table
        ]
        self.scope = TableScope(found, frozenset(tables), TableFilter.of(settings))
        self.chosen = self.scope.chosen(lambda one: one.newest is None)

    @property
    def captured(self) -> list[SqlServerTableFacts]:
        """The chosen tables that change data capture has."""
        return [facts for facts in self.chosen if facts.newest is not None]

    @property
    def keyless(self) -> bool:
        """Whether a table has no key: it is read whole, at a place of the log."""
        return any(not shape.key for facts in self.captured if (shape := _shape(self, facts)))

    def ask(self, sql: str) -> Sequence[Sequence[tuple[Any, ...]]]:
        """Run a batch."""
        return ask_values(self._session, sql, "answer a check")

    def has(self, right: NeededRight) -> bool:
        """Whether our login has a right."""
        (((answer,),),) = self.ask(grants.rights_sql([right]))
        return bool(answer)

    def named(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of the first result with the names of its columns."""
        return ask_named(self._session, sql, "answer a check")

    def first(self, sql: str) -> tuple[Any, ...]:
        """Return the first row of an answer; nothing if there is none, or if we may not see it."""
        return self.first_seen(sql)[0]

    def first_seen(self, sql: str) -> tuple[tuple[Any, ...], bool]:
        """Do the same, and say whether a right is missing to see it."""
        try:
            answers = self.ask(sql)
        except WracklineError as error:
            return (), error.code == RIGHT_MISSING.code
        return (next(iter(answers[0]), ()) if answers else ()), False


def _server_findings(look: SqlServerLook) -> Iterator[Finding]:
    # a secondary captures nothing
    agent, hides_agent = ((), False) if look.server.reads_only else look.first_seen(facts_sql.AGENT)
    size = look.first(facts_sql.REPLICATED_SIZE)
    facts = SqlServerFacts(
        look.edition.version,
        look.edition.number,
        (str(agent[0]), str(agent[1])) if agent else None,
        check_server.DEFAULT_REPLICATED if not size or size[0] is None else int(size[0]),
        hides_agent=hides_agent,
    )
    return check_server.server_findings(facts, look.server.database, look.server.user)


def _name_findings(look: SqlServerLook) -> Iterator[Finding]:
    try:
        look.server.refuse_twin(look.row)
    except WracklineError as error:
        yield error_finding(error, impact="only the name that the server itself has is copied")


def _database_findings(look: SqlServerLook) -> Iterator[Finding]:
    age = look.first(facts_sql.newest_age(None)) if look.row.captured else ()
    needed = _READS_VERSIONS if look.server.reads_versions else _KEYLESS if look.keyless else None
    facts = DatabaseFacts(
        look.row.name,
        look.row.captured,
        look.row.versions,
        None if not age or age[0] is None else float(age[0]),
        **_jobs(look),
    )
    return check_server.database_findings(facts, versions_for=needed)


def _jobs(look: SqlServerLook) -> dict[str, int | None]:
    """Read the two jobs' settings, where we may see them."""
    found: dict[str, int | None] = {}
    if look.row.captured:
        try:
            jobs = look.named(facts_sql.jobs(None))
        except WracklineError:
            return found
        for job in jobs:
            if job["job_type"] == "capture":
                found["polling_s"] = job["pollinginterval"]
            else:
                found["retention_minutes"] = job["retention"]
    return found


def _right_findings(look: SqlServerLook) -> Iterator[Finding]:
    tables = [facts.id for facts in look.captured]
    roles = [one.role for facts in look.captured for one in facts.instances if one.role is not None]
    rights = list(
        grants.needed_rights(
            look.server.user,
            tables,
            roles,
            signals=look.marks.table,
            fence=look.marks.table is None or look.keyless,
            azure=look.edition.azure,
        )
    )
    ((answers,),) = look.ask(grants.rights_sql(rights))
    return check_server.right_findings(look.server.database, rights, answers)


def _absent_findings(look: SqlServerLook) -> Iterator[Finding]:
    for table in look.scope.absent():
        missing = TABLE_MISSING(table=table, database=identifier(table.database))
        yield error_finding(missing, table, impact="the table is not copied")


def _table_findings(look: SqlServerLook) -> Iterator[Finding]:
    database, user = map(identifier, (look.server.database, look.server.user))
    names = {"name": look.server.database, "database": database, "user": user}
    if not look.captured:
        yield check_rules.NO_TABLES(None, **names)
    if look.catalogue.unseen:
        yield check_rules.TABLES_UNSEEN(None, instances=", ".join(look.catalogue.unseen), **names)
    for facts in look.chosen:
        columns = [CapturedColumn(one.name, one.number, 0, one.computed) for one in facts.columns]
        yield from check_server.instance_findings(
            facts.id, facts.instances, columns, look.catalogue.unnumbered
        )
        for column in facts.columns:
            yield from check_server.column_findings(
                facts.id, column.name, column.type, computed=column.computed
            )
        for typed in _typed(facts, look.shapes):
            yield from unknown_type_findings(facts.id, typed, look.shapes.rules, "the table is not copied")


def _signal_findings(look: SqlServerLook) -> Iterator[Finding]:
    table = look.marks.table
    if table is not None:
        found = [facts for facts in look.catalogue.tables.values() if facts.id == table]
        yield from check_server.instance_findings(table, found[0].instances if found else (), ())
    elif look.settings["heartbeat.action.query"] is None:
        yield check_rules.PLACES_LATE(name=look.server.database)


def _rule_findings(look: SqlServerLook) -> Iterator[Finding]:
    sources = []
    names = {"database": identifier(look.server.database), "user": identifier(look.server.user)}
    for facts in look.captured:
        try:
            shape = look.shapes.of(facts)
        except WracklineError as error:
            yield error_finding(error, facts.id, impact="the table is not copied")
            continue
        sources.append(shape.source)
        for column in facts.masked(shape):
            yield check_rules.COLUMN_MASKED(facts.id, column, listed=f"{facts.id}.{column}", **names)
        for column in facts.encrypted(shape):
            yield check_rules.COLUMN_ENCRYPTED(facts.id, column, listed=f"{facts.id}.{column}")
    yield from projection.findings(look.shapes.rules, sources)
    yield from FirstReads.of(look.settings).unmatched_findings([facts.id for facts in look.captured])


def _captured(look: SqlServerLook) -> bool:
    return look.row.captured


def _readable(look: SqlServerLook) -> bool:
    return look.readable


PROBES: Final[Sequence[Probe[SqlServerLook]]] = (
    Probe(_server_findings),
    Probe(_name_findings),
    Probe(_database_findings),
    Probe(_right_findings, _captured),
    Probe(_absent_findings, _readable),
    Probe(lambda look: look.scope.filter_findings(), _readable),
    Probe(_table_findings, _readable),
    Probe(_signal_findings, _readable),
    Probe(_rule_findings, _readable),
)


def check(
    server: SqlServerConnector,
    settings: Values,
    shapes: SqlServerShapes,
    tables: Sequence[TableId],
    marks: MarkSettings,
) -> Sequence[Finding]:
    """Look at the server, the database and the tables: these, and those that the filters name."""

    def look(opened: OpenedSession) -> SqlServerLook:
        return SqlServerLook(server, settings, shapes, tables, marks, opened.session)

    return run_probes(lambda: OpenedSession(server.connect()), lambda _: nullcontext(), look, PROBES)


def support(facts: SqlServerTableFacts, shapes: SqlServerShapes) -> Sequence[ColumnSupport]:
    """Say for every copied column of one table how far it is carried."""
    return tuple(column_support(facts.id, _typed(facts, shapes), shapes.rules, {}))


def _shape(look: SqlServerLook, facts: SqlServerTableFacts) -> TableSchema | None:
    try:
        return look.shapes.of(facts).table
    except WracklineError:
        return None


def _typed(facts: SqlServerTableFacts, shapes: SqlServerShapes) -> Iterator[TypedColumn]:
    """Return the columns that are copied."""
    newest = facts.newest
    columns = (
        [column for column, _ in facts.captured(newest)]
        if newest is not None
        else [column for column in facts.columns if not column.computed]
    )
    for column in columns:
        yield TypedColumn(
            column.name,
            str(column.type),
            partial(column_type, column.type, column=f"{facts.id}.{column.name}", instants=shapes.instants),
        )
