"""Procedures of the server: those of change data capture, and what drivers call by themselves."""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wrackline.control.local.sqlserver_standin.model import driver_catalogue
from wrackline.control.local.sqlserver_standin.model.catalogue import system_source
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.relations import plain_source
from wrackline.control.local.sqlserver_standin.tsql.compiling import matches
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.tsql.reading.word_reader import listed_names
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError, unknown_statement
from wrackline.control.local.sqlserver_standin.wire.sql_types import sql_type
from wrackline.control.local.sqlserver_standin.wire.values import Cell

if TYPE_CHECKING:
    from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession

_Named = Mapping[str, Cell]
_HELP = (
    "source_schema sysname null; source_table sysname null; capture_instance sysname; object_id int; "
    "source_object_id int null; start_lsn binary(10) null; end_lsn binary(10) null; "
    "supports_net_changes bit null; has_drop_pending bit null; role_name sysname null; "
    "index_name sysname null; filegroup_name sysname null; "
    "create_date datetime null; index_column_list nvarchar(max) null; captured_column_list nvarchar(max) null"
)


def call(session: "SqlSession", name: Sequence[str], arguments: Sequence[tuple[str, Cell]]) -> Sequence[Any]:
    """Run a procedure; one with a database before it runs there."""
    short = name[-1].lower()
    if short not in _PROCEDURES:
        raise unknown_statement(f"EXEC {'.'.join(name)}", "it is not a procedure of the stand-in")
    parameters, owner_only, run = _PROCEDURES[short]
    database = session.entered(name[0]) if len(name) == 3 else session.database
    if owner_only and not session.asks(database).grant.owner:
        raise ServerError(
            22904, "Caller is not authorized to initiate the requested action. DBO privileges are required."
        )
    named: dict[str, Cell] = {}
    for at, (given, value) in enumerate(arguments):
        named[given.lstrip("@").lower() or parameters[at]] = value
    if unknown := set(named) - set(parameters):
        raise ServerError(8145, f"@{min(unknown)} is not a parameter for procedure {short}.")
    return run(session, database, named)


def _enable_db(_session: "SqlSession", database: ModelDatabase, _named: _Named) -> Sequence[Any]:
    database.enable_cdc()
    return ()


def _disable_db(_session: "SqlSession", database: ModelDatabase, _named: _Named) -> Sequence[Any]:
    database.disable_cdc()
    return ()


def _enable_table(_session: "SqlSession", database: ModelDatabase, named: _Named) -> Sequence[Any]:
    if "role_name" not in named:
        raise ServerError(201, "Procedure or function 'sp_cdc_enable_table' expects parameter '@role_name'.")
    columns = named.get("captured_column_list")
    database.enable_table(
        f"{named['source_schema']}.{named['source_name']}",
        _text(named.get("capture_instance")),
        _text(named["role_name"]),
        None if columns is None else listed_names(str(columns)),
        _text(named.get("filegroup_name")),
        net_changes=None if (net := named.get("supports_net_changes")) is None else bool(net),
    )
    return ()


def _disable_table(_session: "SqlSession", database: ModelDatabase, named: _Named) -> Sequence[Any]:
    instance = str(named.get("capture_instance") or "all")
    full = f"{named['source_schema']}.{named['source_name']}".lower()
    job = database.job()
    found = [one.name for one in job.instances.values() if one.table.full_name.lower() == full]
    for name in found if instance == "all" else [instance]:
        database.disable_table(name)
    return ()


def _help(session: "SqlSession", database: ModelDatabase, named: _Named) -> Sequence[Any]:
    """Show the capture instances that the caller may read: the others are left out without a word."""
    asker, rows = session.asks(database), []
    for one in database.job().instances.values():
        wanted = named.get("source_name") in {None, one.table.name}
        if wanted and asker.may_see(one):
            key = ", ".join(f"[{name}]" for name in one.table.key) or None
            columns = ", ".join(f"[{column.name}]" for column in one.columns)
            created = fitted(sql_type("datetime"), session.server.local(one.created))
            rows.append(
                (
                    *(one.table.schema, one.table.name, one.name, one.object_id, one.table.object_id),
                    *(one.start_lsn, None, one.net_changes, one.has_drop_pending, one.role, one.index_name),
                    *(one.filegroup, created, key, columns),
                )
            )
    return (QueryRows(plain_source(_HELP, []).columns, rows),)


def _clean_up(_session: "SqlSession", database: ModelDatabase, named: _Named) -> Sequence[Any]:
    job, mark = database.job(), named.get("low_water_mark")
    instance = job.instances.get(str(named.get("capture_instance")))
    if instance is None:
        raise ServerError(22960, "The capture instance has not been found.")
    if isinstance(mark, bytes) and (instance.start_lsn is None or instance.start_lsn < mark):
        instance.start_lsn = mark
    instance.rows = [row for row in instance.rows if row.start_lsn >= (instance.start_lsn or b"")]
    return ()


def _change_job(_session: "SqlSession", database: ModelDatabase, named: _Named) -> Sequence[Any]:
    """Change what the jobs are configured to; the capture job heeds it when it is started again."""
    job, kind = database.job(), str(named.get("job_type") or "capture").lower()
    numbers = {
        name: int(str(value)) for name, value in named.items() if name in _LIMITS and value is not None
    }
    if set(numbers) - set(_OF_JOB.get(kind, ())):
        raise ServerError(22996, f"A parameter is not valid for a job of the type {kind}.")
    if "retention" in numbers:
        job.retention = dt.timedelta(minutes=numbers["retention"])
    changes = {_LIMITS[name]: value for name, value in numbers.items() if _LIMITS[name]}
    job.configured = job.configured._replace(**changes)
    return ()


def _start_job(_session: "SqlSession", database: ModelDatabase, _named: _Named) -> Sequence[Any]:
    database.job().start()
    return ()


def _stop_job(_session: "SqlSession", database: ModelDatabase, _named: _Named) -> Sequence[Any]:
    database.job().stop()
    return ()


def _scan(_session: "SqlSession", database: ModelDatabase, named: _Named) -> Sequence[Any]:
    """Read the log, ten times unless something else is asked for."""
    most = named.get("maxtrans")
    for _ in range(int(str(named.get("maxscans") or 10))):
        database.scan(None if most is None else int(str(most)))
    return ()


def _help_jobs(session: "SqlSession", database: ModelDatabase, _named: _Named) -> Sequence[Any]:
    """Show the database's rows of msdb's table of jobs, with the job's identity first."""
    jobs = system_source("dbo.cdc_jobs", session.asks(database))
    _, kind, identity, *rest = range(len(jobs.columns))
    places = (identity, kind, *rest)
    rows = [tuple(row[at] for at in places) for row in jobs.between((), ()) if row[0] == database.number]
    return (QueryRows([jobs.columns[at] for at in places], rows),)


def _rename(_session: "SqlSession", database: ModelDatabase, named: _Named) -> Sequence[Any]:
    if named.get("objtype"):
        raise ServerError(4928, "Cannot alter column because it is 'enabled for Change Data Capture'.")
    database.rename_table(str(named["objname"]).replace("[", "").replace("]", ""), str(named["newname"]))
    return ()


def _reset(session: "SqlSession", _database: ModelDatabase, _named: _Named) -> Sequence[Any]:
    session.reset()
    return ()


def _for_drivers(
    declaration: str, rows: Callable[[ModelDatabase, driver_catalogue.Matches, driver_catalogue.Matches], Any]
) -> "_Run":
    """Make a procedure that describes tables whose names match patterns."""

    def run(session: "SqlSession", database: ModelDatabase, named: _Named) -> Sequence[Any]:
        asked = session.entered(str(named["table_qualifier"])) if named.get("table_qualifier") else database
        name, schema = (_pattern(named.get(key)) for key in ("table_name", "table_owner"))
        columns = plain_source(declaration, []).columns
        found = [
            tuple(fitted(column.of, cell) for column, cell in zip(columns, row, strict=True))
            for row in rows(asked, name, schema)
        ]
        return (QueryRows(columns, found),)

    return run


def _pattern(text: Cell) -> driver_catalogue.Matches:
    return lambda name: text is None or matches(str(text), name, re.IGNORECASE)


def _text(value: Cell) -> str | None:
    return None if value is None else str(value)


_Run = Callable[["SqlSession", ModelDatabase, _Named], Sequence[Any]]
_TABLE = ("source_schema", "source_name", "capture_instance")
_ENABLING = ("supports_net_changes", "role_name", "index_name", "captured_column_list", "filegroup_name")
# a parameter of a job: what it is called in the limits of the capture job
_LIMITS = {
    "maxtrans": "max_transactions",
    "maxscans": "max_scans",
    "pollinginterval": "polling_s",
    "retention": "",
    "threshold": "",
}
_OF_JOB = {"capture": ("maxtrans", "maxscans", "pollinginterval"), "cleanup": ("retention", "threshold")}
_DRIVERS = ("table_name", "table_owner", "table_qualifier")
_PROCEDURES: Mapping[str, tuple[tuple[str, ...], bool, _Run]] = MappingProxyType(
    {
        "sp_cdc_enable_db": ((), True, _enable_db),
        "sp_cdc_disable_db": ((), True, _disable_db),
        "sp_cdc_enable_table": ((*_TABLE, *_ENABLING, "allow_partition_switch"), True, _enable_table),
        "sp_cdc_disable_table": (_TABLE, True, _disable_table),
        "sp_cdc_help_change_data_capture": (("source_schema", "source_name"), False, _help),
        "sp_cdc_cleanup_change_table": (("capture_instance", "low_water_mark", "threshold"), True, _clean_up),
        "sp_cdc_change_job": (
            ("job_type", "maxtrans", "maxscans", "continuous", "pollinginterval", "retention", "threshold"),
            True,
            _change_job,
        ),
        "sp_cdc_start_job": (("job_type",), True, _start_job),
        "sp_cdc_stop_job": (("job_type",), True, _stop_job),
        "sp_cdc_scan": (("maxtrans", "maxscans", "continuous", "pollinginterval"), True, _scan),
        "sp_cdc_help_jobs": ((), True, _help_jobs),
        "sp_tables": (
            (*_DRIVERS, "table_type", "fusepattern"),
            False,
            _for_drivers(driver_catalogue.TABLES, driver_catalogue.tables),
        ),
        "sp_pkeys": (_DRIVERS, False, _for_drivers(driver_catalogue.KEYS, driver_catalogue.keys)),
        "sp_columns_100": (
            (*_DRIVERS, "column_name", "namescope", "odbcver"),
            False,
            _for_drivers(driver_catalogue.COLUMNS, driver_catalogue.columns),
        ),
        "sp_rename": (("objname", "newname", "objtype"), True, _rename),
        "sp_reset_connection": ((), False, _reset),
    }
)
