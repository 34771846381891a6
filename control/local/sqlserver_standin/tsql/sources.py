"""What a name in FROM means, and whether the user may read it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from wrackline.control.local.sqlserver_standin.model.capture import BEFORE, CaptureInstance
from wrackline.control.local.sqlserver_standin.model.catalogue import (
    SERVER_STATE_VIEWS,
    STATE_VIEWS,
    Asker,
    system_source,
)
from wrackline.control.local.sqlserver_standin.model.database import Grant, ModelDatabase
from wrackline.control.local.sqlserver_standin.model.log_numbers import as_text
from wrackline.control.local.sqlserver_standin.model.relations import (
    RowSource,
    change_source,
    plain_source,
    table_source,
)
from wrackline.control.local.sqlserver_standin.model.server import AZURE
from wrackline.control.local.sqlserver_standin.model.system_columns import COLUMNS
from wrackline.control.local.sqlserver_standin.model.tables import ModelTable
from wrackline.control.local.sqlserver_standin.model.transactions import ModelTransaction
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import RelationName
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError, unknown_statement
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_ALL_CHANGES = "fn_cdc_get_all_changes_"
_PAST = frozenset({"READPAST", "READCOMMITTEDLOCK"})
_OPTIONS = {"all", "all update old"}


class Reader(Protocol):
    """What reading needs of a session."""

    def entered(self, name: str) -> ModelDatabase:
        """Return a database, if the user may enter it."""
        ...

    def asks(self, database: ModelDatabase) -> Asker:
        """Return who asks in this database."""
        ...

    def view(
        self, database: ModelDatabase, hints: frozenset[str]
    ) -> tuple[ModelTransaction | None, int | None, bool]:
        """Return whose own rows are seen, the snapshot of the others, and whether a lock makes it wait."""
        ...


def located(reader: Reader, current: ModelDatabase, parts: Sequence[str]) -> tuple[ModelDatabase, str]:
    """Return the database of a name of one to three parts, and schema and name in small letters."""
    if len(parts) > 3:
        raise unknown_statement(".".join(parts), "linked servers are not modelled")
    database = reader.entered(parts[0]) if len(parts) == 3 else current
    if database is not current and reader.asks(current).server.edition == AZURE:
        text = f"Reference to database and/or server name in '{'.'.join(parts)}' is not supported"
        raise ServerError(40515, f"{text} in this version of SQL Server.", severity=15)
    schema = parts[-2] if len(parts) > 1 else "dbo"
    return database, f"{schema}.{parts[-1]}".lower()


def base_table(
    reader: Reader, current: ModelDatabase, table: RelationName, right: str = "SELECT"
) -> ModelTable:
    """Return a base table that the user may read, or write as `right` says."""
    database, name = located(reader, current, table.parts)
    found = database.tables.get(name)
    if found is None:
        raise invalid(table)
    permit(reader.asks(database).grant, database, found.schema, found.name, right)
    return found


def source(
    reader: Reader, current: ModelDatabase, table: RelationName, arguments: Sequence[Cell] | None
) -> RowSource:
    """Return what a name in FROM gives; `arguments` are a function's."""
    database, name = located(reader, current, table.parts)
    asker = reader.asks(database)
    if database.read_committed_snapshot and _PAST & table.hints == {"READPAST"}:
        text = "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation"
        raise ServerError(650, f"{text} levels.")
    if arguments is not None:
        return _function(asker, name, table, arguments)
    if name in COLUMNS:
        _check_system(asker, name, table)
        return system_source(name, asker)
    if name.startswith("cdc."):
        instance = _instance(asker, name.removesuffix("_ct")) if name.endswith("_ct") else None
        if instance is None:
            raise invalid(table)
        permit(asker.grant, database, "cdc", instance.change_table)
        return change_source(instance, visible=asker.may_see(instance))
    found = base_table(reader, current, table)
    one, snapshot, waits = reader.view(database, table.hints)
    if one is not None and {"TABLOCK", "HOLDLOCK"} <= table.hints:
        one.lock_table(found)
    return table_source(found, one, snapshot, waits=waits)


def invalid(table: RelationName) -> ServerError:
    """Return the error about a name that nothing has."""
    return ServerError(208, f"Invalid object name '{'.'.join(table.parts)}'.")


def permit(grant: Grant, database: ModelDatabase, schema: str, name: str, right: str = "SELECT") -> None:
    """Refuse who has no right on a table, nor on its schema."""
    if not grant.may(right, schema, name):
        text = f"The {right} permission was denied on the object '{name}'"
        raise ServerError(
            229, f"{text}, database '{database.name}', schema '{schema}'.", severity=14, state=5
        )


def _check_system(asker: Asker, name: str, table: RelationName) -> None:
    database = asker.database
    if name.startswith("cdc."):
        if database.cdc is None:
            raise invalid(table)
        permit(asker.grant, database, "cdc", name.removeprefix("cdc."))
    if name == "sys.database_recovery_status" and asker.server.edition == AZURE:
        raise invalid(table)
    if name == "dbo.cdc_jobs" and database.name != "msdb":
        raise invalid(table)
    server = asker.server
    if name in SERVER_STATE_VIEWS and server.edition != AZURE and not server.views_state(asker.user):
        text = "VIEW SERVER STATE permission was denied on object 'server', database 'master'."
        raise ServerError(300, text, severity=14)
    if name in STATE_VIEWS | SERVER_STATE_VIEWS and not asker.views_state:
        raise ServerError(
            262, f"VIEW DATABASE STATE permission was denied in database '{database.name}'.", severity=14
        )


def _instance(asker: Asker, name: str) -> CaptureInstance | None:
    instances: Mapping[str, CaptureInstance] = asker.database.cdc.instances if asker.database.cdc else {}
    return next((one for one in instances.values() if f"cdc.{one.name}".lower() == name), None)


def _function(asker: Asker, name: str, table: RelationName, arguments: Sequence[Cell]) -> RowSource:
    if name == "sys.dm_db_log_stats":
        found = [one for one in asker.server.databases.values() if one.number == arguments[0]]
        rows = [(one.number, as_text(one.numbers.last), "FULL") for one in found]
        return plain_source(
            "database_id int; log_end_lsn nvarchar(24) null; recovery_model nvarchar(60) null", rows
        )
    instance = _instance(asker, name.replace(_ALL_CHANGES, "")) if _ALL_CHANGES in name else None
    if instance is None:
        raise invalid(table)
    return _all_changes(asker, instance, arguments)


def _all_changes(asker: Asker, instance: CaptureInstance, arguments: Sequence[Cell]) -> RowSource:
    """Give what `fn_cdc_get_all_changes` gives: no command, no end, and old images only if asked for."""
    job = asker.database.job()
    most = max((row.start_lsn for row in job.mapping), default=None)
    if len(arguments) != 3 or str(arguments[2]).lower() not in _OPTIONS:
        raise ServerError(22823, f"An invalid row filter option was specified for {instance.name}.")
    low, high = arguments[:2]
    inside = isinstance(low, bytes) and isinstance(high, bytes) and instance.start_lsn and most
    if not inside or low < instance.start_lsn or high > most or low > high:  # type: ignore[operator]
        text = "An insufficient number of arguments were supplied for the procedure or function"
        raise ServerError(313, f"{text} cdc.fn_cdc_get_all_changes_ ... .", state=3)
    whole = change_source(instance, visible=asker.may_see(instance))
    kept = [at for at, one in enumerate(whole.columns) if one.name not in {"__$end_lsn", "__$command_id"}]
    old = str(arguments[2]).lower() == "all update old"
    rows = [
        tuple(row[at] for at in kept)
        for row in whole.between((), ())
        if low <= row[0] <= high and (old or row[3] != BEFORE)  # type: ignore[operator]
    ]
    return RowSource([whole.columns[at] for at in kept], (), lambda _low, _high: iter(rows))
