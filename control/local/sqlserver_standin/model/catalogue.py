"""System tables and views: the columns that Microsoft documents, filled from the model.

Only what a reader of changes asks for is here; a name that is missing is an invalid object, as on a server.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wrackline.control.local.sqlserver_standin.model.capture import CaptureInstance
from wrackline.control.local.sqlserver_standin.model.database import RIGHTS, Grant, ModelDatabase
from wrackline.control.local.sqlserver_standin.model.log_numbers import as_number, as_text
from wrackline.control.local.sqlserver_standin.model.relations import RowSource, change_source, plain_source
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.model.system_columns import COLUMNS
from wrackline.control.local.sqlserver_standin.model.tables import Cells, ModelTable
from wrackline.control.local.sqlserver_standin.model.transactions import ModelTransaction
from wrackline.control.local.sqlserver_standin.model.type_numbers import TYPE_NUMBERS, type_columns
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.sql_types import CLR, sql_type


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and from where."""

    server: ModelServer
    database: ModelDatabase
    user: str
    transaction: ModelTransaction | None

    @property
    def grant(self) -> Grant:
        """Return what the user may do here."""
        return self.server.right(self.database, self.user) or Grant(schemas=frozenset())

    @property
    def views_state(self) -> bool:
        """Say whether the user may see the state of the database."""
        return self.grant.owner or self.grant.views_state or self.server.views_state(self.user)

    def may_see(self, one: CaptureInstance) -> bool:
        """Say whether the user is in the role that guards an instance."""
        return one.role is None or self.grant.owner or one.role in self.grant.roles


def _databases(asker: Asker) -> Iterator[Cells]:
    for one in asker.server.databases.values():
        snapshots = 1 if one.allows_snapshots else 0
        yield (
            *(
                one.name,
                one.number,
                asker.server.local(one.created),
                one.collation.name,
                "MULTI_USER",
                one.state,
            ),
            *(one.cdc is not None, one.read_committed_snapshot, snapshots, "ON" if snapshots else "OFF"),
            *(160, one.read_only, 1, "FULL"),
            *((None, None) if one.group is None else (asker.server.replica, one.identity("group"))),
        )


def _recovery(asker: Asker) -> Iterator[Cells]:
    for one in asker.server.databases.values():
        right = asker.server.right(one, asker.user)
        if right is None or not (right.owner or right.views_state):
            yield (one.number, None, None, None, None)
        else:
            guids = (one.identity(what) for what in ("database", "family"))
            yield (one.number, *guids, as_number(one.numbers.last), one.identity("fork"))


def _seen_tables(asker: Asker) -> Iterator[ModelTable]:
    """Give the tables on which the user has a right: nobody sees the others."""
    for one in asker.database.tables.values():
        if any(asker.grant.may(right, one.schema, one.name) for right in RIGHTS):
            yield one


def _tables(asker: Asker) -> Iterator[Cells]:
    schemas = asker.database.schemas
    for one in _seen_tables(asker):
        captured = asker.database.captures(one)
        yield (one.name, one.object_id, schemas[one.schema], "U ", "USER_TABLE", False, captured)
    for instance in _instances(asker):
        yield (instance.change_table, instance.object_id, schemas["cdc"], "U ", "USER_TABLE", True, False)


def _instances(asker: Asker) -> Iterable[CaptureInstance]:
    return () if asker.database.cdc is None else asker.database.cdc.instances.values()


def _schemas(asker: Asker) -> Iterator[Cells]:
    yield from (row for row in asker.database.schemas.items() if row[0] != "cdc" or asker.database.cdc)


def _columns(asker: Asker) -> Iterator[Cells]:
    for table in _seen_tables(asker):
        for one in table.columns:
            encryption = None if one.encrypts is None else 2  # randomized
            rest = (one.nullable, one.identity, one.computed, one.masked, encryption)
            yield (table.object_id, one.name, one.number, *type_columns(one.encrypts or one.of), *rest)
    for instance in _instances(asker):
        for at, shown in enumerate(change_source(instance, visible=True).columns, 1):
            rest = (shown.nullable, False, False, False, None)
            yield (instance.object_id, shown.name, at, *type_columns(shown.of), *rest)


def _types(_asker: Asker) -> Iterator[Cells]:
    for name, (system, user) in TYPE_NUMBERS.items():
        yield (name, system, user, 4, False, name in CLR)


def _indexes(asker: Asker) -> Iterator[Cells]:
    for one in _seen_tables(asker):
        if one.key:
            yield (one.object_id, f"PK_{one.name}", 1, 1, "CLUSTERED", True, True, False, False)
        else:
            yield (one.object_id, None, 0, 0, "HEAP", False, False, False, False)
        if one.unique:
            yield (one.object_id, f"UQ_{one.name}", 2, 2, "NONCLUSTERED", True, False, False, False)


def _partitions(asker: Asker) -> Iterator[Cells]:
    for one in _seen_tables(asker):
        rows = sum(one.seen(key, None) is not None for key in one.keys)
        yield (one.object_id << 16, one.object_id, 1 if one.key else 0, 1, rows)
        if one.unique:
            yield ((one.object_id << 16) + 1, one.object_id, 2, 1, rows)


def _index_columns(asker: Asker) -> Iterator[Cells]:
    for one in _seen_tables(asker):
        for index, names in ((1, one.key), (2, one.unique)):
            for at, name in enumerate(names, 1):
                yield (one.object_id, index, at, one.columns[one.place(name)].number, at, False, False)


def _change_tables(asker: Asker) -> Iterator[Cells]:
    for one in asker.database.job().instances.values():
        yield (
            *(one.object_id, 0, one.table.object_id, one.name, one.start_lsn, None, one.net_changes),
            *(
                one.has_drop_pending,
                one.role,
                one.index_name,
                one.filegroup,
                asker.server.local(one.created),
                True,
            ),
        )


def _captured_columns(asker: Asker) -> Iterator[Cells]:
    for one in asker.database.job().instances.values():
        for at, column in enumerate(one.columns, 1):
            yield (one.object_id, column.name, column.number, column.of.name, at, column.computed)


def _cdc_index_columns(asker: Asker) -> Iterator[Cells]:
    for one in asker.database.job().instances.values():
        for at, name in enumerate(one.table.key, 1):
            yield (one.object_id, name, at, one.table.columns[one.table.place(name)].number)


def _mapping(asker: Asker) -> Iterator[Cells]:
    datetime = sql_type("datetime")
    for row in asker.database.job().mapping:
        times = (fitted(datetime, asker.server.local(moment)) for moment in (row.began, row.ended))
        yield (row.start_lsn, *times, row.transaction)


def _ddl_history(asker: Asker) -> Iterator[Cells]:
    for row in asker.database.job().ddl:
        yield (*row[:5], asker.server.local(row.at))


def _jobs(asker: Asker) -> Iterator[Cells]:
    for one in asker.server.databases.values():
        if one.cdc is not None:
            ids = (one.identity("capture"), one.identity("cleanup"))
            most, scans, wait = one.cdc.configured
            capture = (most, scans, True, wait)
            yield (one.number, "capture", ids[0], *capture, 0, 0)
            minutes = int(one.cdc.retention.total_seconds() // 60)
            yield (one.number, "cleanup", ids[1], 0, 0, False, 0, minutes, 5000)


def _scan_sessions(asker: Asker) -> Iterator[Cells]:
    job, now = asker.database.job(), asker.server.local(asker.server.now)
    last = as_text(job.scanned)
    yield (
        1,
        now,
        now,
        0,
        "Done",
        0,
        last,
        last,
        last,
        0,
        last,
        now,
        0,
        0,
        0,
        last,
        last,
        now,
        0,
        job.empty_scans,
        0,
    )


def _services(asker: Asker) -> Iterator[Cells]:
    status = (4, "Running") if asker.server.agent_runs else (1, "Stopped")
    yield ("SQL Server (STANDIN)", 2, "Automatic", 4, "Running")
    yield ("SQL Server Agent (STANDIN)", 2, "Automatic", *status)


def _database_transactions(asker: Asker) -> Iterator[Cells]:
    for database in asker.server.databases.values():
        for one in database.running:
            began = asker.server.local(one.began_at)
            saved = as_number(one.savepoints[-1].number) if one.savepoints else None
            places = (as_number(one.began), as_number(one.last), saved)
            yield (one.number, database.number, began, 1, 4, *places)


def _current_transaction(asker: Asker) -> Iterator[Cells]:
    if asker.transaction is not None:
        yield (asker.transaction.number,)


def _availability(asker: Asker) -> Iterator[Cells]:
    for one in asker.server.databases.values():
        if one.group is not None:
            yield (one.group, one.identity("group"), one.name)


def _configurations(asker: Asker) -> Iterator[Cells]:
    yield (
        1536,
        "max text repl size (B)",
        asker.database.max_text_repl_size,
        asker.database.max_text_repl_size,
    )


_Rows = Callable[[Asker], Iterator[Cells]]
_ROWS: Mapping[str, _Rows] = MappingProxyType(
    {
        "sys.databases": _databases,
        "sys.database_recovery_status": _recovery,
        "sys.tables": _tables,
        "sys.schemas": _schemas,
        "sys.columns": _columns,
        "sys.types": _types,
        "sys.indexes": _indexes,
        "sys.partitions": _partitions,
        "sys.index_columns": _index_columns,
        "cdc.change_tables": _change_tables,
        "cdc.captured_columns": _captured_columns,
        "cdc.index_columns": _cdc_index_columns,
        "cdc.lsn_time_mapping": _mapping,
        "cdc.ddl_history": _ddl_history,
        "dbo.cdc_jobs": _jobs,
        "sys.dm_cdc_log_scan_sessions": _scan_sessions,
        "sys.dm_server_services": _services,
        "sys.dm_tran_database_transactions": _database_transactions,
        "sys.dm_tran_current_transaction": _current_transaction,
        "sys.configurations": _configurations,
        "sys.availability_databases_cluster": _availability,
    }
)
STATE_VIEWS = frozenset({"sys.dm_cdc_log_scan_sessions"})
SERVER_STATE_VIEWS = frozenset(
    {"sys.dm_tran_database_transactions", "sys.dm_tran_current_transaction", "sys.dm_server_services"}
)


def system_source(name: str, asker: Asker) -> RowSource:
    """Return the rows of a system table with values of its columns' types."""
    declaration, rows = COLUMNS[name], _ROWS[name]
    source = plain_source(declaration, [])
    types = [column.of for column in source.columns]
    made = [tuple(map(fitted, types, row)) for row in rows(asker)]
    return plain_source(declaration, made)
