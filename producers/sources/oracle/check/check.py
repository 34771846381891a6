"""The preflight: what prevents the copy of a database, each finding with the statement that solves it.

    server, settings  ->  findings, most severe first

It reads catalogues, and changes nothing: it needs no more rights than the pipeline does.  What it may not see
is a finding, and what hangs on it is not looked at.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, Self

from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.kit.preflight.column_findings import (
    TypedColumn,
    column_support,
    unknown_type_findings,
)
from wrackline.producers.kit.preflight.probes import Probe, error_finding, run_probes
from wrackline.producers.kit.preflight.table_scope import TableScope
from wrackline.producers.sources.oracle.check import check_rules, check_server, facts_sql, grants
from wrackline.producers.sources.oracle.check.check_server import (
    ArchivedRecord,
    OldestTransaction,
    OnlineRecord,
    OracleDatabaseFacts,
    OracleDatabaseRow,
    RecoveryArea,
)
from wrackline.producers.sources.oracle.check.grants import ContainerNames, OracleRight
from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.producers.sources.oracle.connect.driver import Binds, Fields
from wrackline.producers.sources.oracle.connect.meanings import archived_only
from wrackline.producers.sources.oracle.connect.quoting import identifier, table_name
from wrackline.producers.sources.oracle.connect.server_errors import OBJECT_MISSING, RIGHT_MISSING
from wrackline.producers.sources.oracle.connect.session import NO_BINDS
from wrackline.producers.sources.oracle.discover.catalogue import TABLE_MISSING, OracleCatalogue, VisibleTable
from wrackline.producers.sources.oracle.discover.facts import OracleTableFacts
from wrackline.producers.sources.oracle.discover.shapes import OracleShapes
from wrackline.producers.sources.oracle.discover.types import column_type, type_text
from wrackline.producers.sources.oracle.mining.safe_scn import flush_table
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events import projection
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.settings.filters import TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_DOING: Final = "answer a check"
_NOT_COPIED: Final = "the table is not copied"
_NOBODY: Final = ("<user>", "<tablespace>", 0)
_LACKS: Final = frozenset({RIGHT_MISSING.code, OBJECT_MISSING.code})


class CheckSessions:
    """A session where LogMiner runs, and one where the tables are."""

    def __init__(self, connector: OracleConnector) -> None:
        self.root = connector.connect_root()
        try:
            self.own = connector.connect()
        except BaseException:
            self.root.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.own.close()
        self.root.close()


class OracleCheckLook:
    """What the probes need: the sessions, the settings, and what both say about the tables."""

    def __init__(
        self,
        connector: OracleConnector,
        settings: Values,
        shapes: OracleShapes,
        tables: Sequence[TableId],
        signals: TableId | None,
        sessions: CheckSessions,
    ) -> None:
        self.connector, self.settings, self.shapes = connector, settings, shapes
        self.place = ContainerNames(connector.database, connector.container)
        self.archived_only = archived_only(settings)
        self.flush, self.signals = flush_table(connector, settings), signals
        self._sessions = sessions
        self.root, self.own = self._row(in_root=True), self._row(in_root=False)
        self._privileges: dict[bool, Collection[str]] = {}
        ((user, tablespace, quota),) = self.seen(facts_sql.USER, in_root=False) or (_NOBODY,)
        self.user, self.tablespace, self.quota = str(user), str(tablespace), int(quota or 0)
        self.described: Sequence[OracleTableFacts] = ()
        self.has_signals = False
        self.scope: TableScope[VisibleTable] = TableScope((), frozenset(tables), TableFilter.of(settings))
        if self.readable:
            self._describe(tables)

    @property
    def readable(self) -> bool:
        """Whether tables can be described."""
        return self.own is not None

    def seen(self, sql: str, *, in_root: bool, binds: Binds = NO_BINDS) -> list[Fields] | None:
        """Return the rows of an answer; None: a right is missing to see them."""
        session = self._sessions.root if in_root else self._sessions.own
        try:
            return session.ask(sql, _DOING, binds)
        except WracklineError as error:
            if error.code in _LACKS:
                return None
            raise

    def has(self, right: OracleRight) -> bool:
        """Whether our user has a right; an error that is not about rights proves that it has."""
        if right.privilege:
            return right.privilege in self._privileges_of(in_root=right.in_root)
        session = self._sessions.root if right.in_root else self._sessions.own
        try:
            if right.trial.startswith("SELECT "):
                session.ask(right.trial, _DOING)
            else:
                session.execute(right.trial, _DOING)
        except WracklineError as error:
            return error.code not in _LACKS
        return True

    def has_flush_table(self) -> bool:
        """Whether the table is there with which the log is flushed."""
        names = {"owner": self.flush.schema, "name": self.flush.name}
        return bool(self.seen(facts_sql.TABLE, in_root=False, binds=names))

    def _privileges_of(self, *, in_root: bool) -> Collection[str]:
        if in_root not in self._privileges:
            found = {str(name) for (name,) in self.seen(facts_sql.PRIVILEGES, in_root=in_root) or ()}
            if not in_root and self.quota:
                found.add(grants.UNLIMITED)
            self._privileges[in_root] = found
        return self._privileges[in_root]

    def _row(self, *, in_root: bool) -> OracleDatabaseRow | None:
        for row in self.seen(facts_sql.DATABASE, in_root=in_root) or ():
            return OracleDatabaseRow(*row)
        return None

    def _describe(self, tables: Sequence[TableId]) -> None:
        unread = frozenset({self.flush})
        catalogue = OracleCatalogue(self._sessions.own, self.connector.database, self.shapes, unread)
        listed = catalogue.listed()
        self.has_signals = any(one.id == self.signals for one in listed)
        data = [one for one in listed if one.id != self.signals]
        self.scope = TableScope(data, frozenset(tables), TableFilter.of(self.settings))
        chosen = {one.id for one in self.scope.chosen(lambda one: not one.unlogged)}
        found = catalogue.look(chosen.__contains__).tables.values()
        self.described = sorted(found, key=lambda facts: facts.id)


def _database_findings(look: OracleCheckLook) -> Iterator[Finding]:
    facts = OracleDatabaseFacts(
        next((str(banner) for (banner,) in look.seen(facts_sql.VERSION, in_root=False) or ()), ""),
        look.root,
        look.own,
        len(look.seen(facts_sql.THREADS, in_root=True) or ()),
        len(look.connector.nodes),
        look.archived_only,
    )
    return check_server.database_findings(facts, look.place)


def _right_findings(look: OracleCheckLook) -> Iterator[Finding]:
    user, place = look.user, look.place
    missing, foreign = not look.has_flush_table(), look.flush.schema != user
    creates = not look.archived_only and missing and not foreign
    named = bool(look.settings.listed("archive.destination.name"))
    rights = [
        *grants.needed_rights(
            user, place, creates_in=look.tablespace if creates else None, destinations=named
        ),
        *grants.looking_rights(user, place),
    ]
    if foreign and not look.archived_only:
        rights += grants.flush_rights(user, place, look.flush, missing=missing)
    if look.own is not None:
        rights += grants.table_rights(user, place, [facts.id for facts in look.described], look.own.scn)
    return check_server.right_findings({right: look.has(right) for right in rights})


def _log_findings(look: OracleCheckLook) -> Iterator[Finding]:
    ((now,),) = look.seen(facts_sql.NOW, in_root=False) or ((None,),)
    if now is None or look.root is None:
        return
    moment, resetlogs = datetime.fromisoformat(str(now)), {"resetlogs": look.root.resetlogs}
    rows = look.seen(facts_sql.ARCHIVED, in_root=True, binds=resetlogs) or ()
    archived = [
        ArchivedRecord(thread, sequence, first, _moment(begun), _moment(ended), there == 1)
        for thread, sequence, first, begun, ended, there in rows
    ]
    online = [OnlineRecord(*row) for row in look.seen(facts_sql.LOGS, in_root=True) or ()]
    yield from check_server.log_findings(archived, online, moment, look.place)
    named = look.settings.listed("archive.destination.name")
    if named and (valid := look.seen(facts_sql.DESTINATIONS, in_root=True)) is not None:
        yield from check_server.destination_findings(named, [str(name) for (name,) in valid])
    for row in look.seen(facts_sql.RECOVERY_AREA, in_root=True) or ():
        yield from check_server.area_findings(RecoveryArea(*row), look.place)
    kept_from = check_server.oldest_scn(archived, online)
    open_since = look.seen(facts_sql.OLDEST_TRANSACTION, in_root=False) or ()
    for scn, began, sid, serial, user, program in open_since:
        session = "unknown" if sid is None else f"{sid},{serial}"
        oldest = OldestTransaction(scn, _moment(began), session, user or "unknown", program or "unknown")
        yield from check_server.transaction_findings(oldest, kept_from, moment, look.place)


def _absent_findings(look: OracleCheckLook) -> Iterator[Finding]:
    for table in look.scope.absent():
        missing = TABLE_MISSING(table=table, quoted=table_name(table))
        yield error_finding(missing, table, impact=_NOT_COPIED)


def _table_findings(look: OracleCheckLook) -> Iterator[Finding]:
    if not look.described:
        names = {"user": identifier(look.user), "container": look.place.enter_own}
        yield check_rules.NO_TABLES(None, name=look.connector.database, **names)
    rules = look.shapes.rules
    sources = []
    for facts in look.described:
        if not facts.logs_all:
            yield check_server.unlogged_finding(facts.id, look.place)
        unknown = [
            finding
            for typed in _typed(facts, look.shapes)
            for finding in unknown_type_findings(facts.id, typed, rules, _NOT_COPIED)
        ]
        yield from unknown
        try:
            shape = look.shapes.of(replace(facts, logs_all=True))
        except WracklineError as error:
            if not unknown:  # else it is about one of these columns
                yield error_finding(error, facts.id, impact=_NOT_COPIED)
            continue
        sources.append(shape.source)
        for column in facts.columns:
            if not column.hidden and not rules.drops(facts.id, column.name):
                yield from check_server.column_findings(
                    facts.id,
                    column,
                    as_text=rules.as_text(facts.id, column.name),
                    keyed=bool(shape.table.key),
                )
    yield from projection.findings(rules, sources)
    yield from FirstReads.of(look.settings).unmatched_findings([facts.id for facts in look.described])


def _signal_findings(look: OracleCheckLook) -> Iterator[Finding]:
    if look.signals is not None and not look.has_signals:
        missing = TABLE_MISSING(table=look.signals, quoted=table_name(look.signals))
        yield error_finding(missing, look.signals, impact="no signal is seen")


def _readable(look: OracleCheckLook) -> bool:
    return look.readable


PROBES: Final[Sequence[Probe[OracleCheckLook]]] = (
    Probe(_database_findings),
    Probe(_right_findings),
    Probe(_log_findings),
    Probe(_absent_findings, _readable),
    Probe(lambda look: look.scope.filter_findings(), _readable),
    Probe(_table_findings, _readable),
    Probe(_signal_findings, _readable),
)


def check(
    connector: OracleConnector,
    settings: Values,
    shapes: OracleShapes,
    tables: Sequence[TableId],
    signals: TableId | None = None,
) -> Sequence[Finding]:
    """Look at the database, its log and the tables: these, and those that the filters name."""

    def look(sessions: CheckSessions) -> OracleCheckLook:
        return OracleCheckLook(connector, settings, shapes, tables, signals, sessions)

    return run_probes(lambda: CheckSessions(connector), lambda _: nullcontext(), look, PROBES)


def support(facts: OracleTableFacts, shapes: OracleShapes) -> Sequence[ColumnSupport]:
    """Say for every copied column of one table how far it is carried."""
    return tuple(column_support(facts.id, _typed(facts, shapes), shapes.rules, {}))


def _typed(facts: OracleTableFacts, shapes: OracleShapes) -> Iterator[TypedColumn]:
    """Return the columns that are copied."""
    for column in facts.columns:
        if not column.virtual and not column.hidden:
            name = f"{facts.id}.{column.name}"
            kind = partial(column_type, column.type, column=name, instants=shapes.instants)
            yield TypedColumn(column.name, type_text(column.type), kind)


def _moment(text: object) -> datetime:
    return datetime.fromisoformat(str(text))
