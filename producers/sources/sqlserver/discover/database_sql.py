"""What is asked about databases before their logs are read, and which log each has.  Pure.

    sys.databases, sys.database_recovery_status  ->  DatabaseIdentity

A member of an availability group has the group's id of the database, which all replicas share.  Any other has
the ids of its family and of its recovery fork, which a restore changes.  Where we may see neither, as on
Azure SQL Database, names and the time of creation must do.
"""

from collections.abc import Sequence
from typing import NamedTuple

from wrackline.producers.sources.sqlserver.connect.quoting import binary_literal, literal, system_name
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.log.position import DatabaseIdentity


class DatabaseRow(NamedTuple):
    """A row of `databases_sql`; None where it is NULL."""

    name: str
    captured: bool
    state: str
    versions: bool  # ALLOW_SNAPSHOT_ISOLATION
    collation: str | None
    created: str  # as the text of its cell
    server: str
    group: str | None
    family: str | None
    fork: str | None


def databases_sql(names: Sequence[str]) -> str:
    """Select the databases; their names are compared by the server, in its own collation."""
    return (
        "SELECT d.name, d.is_cdc_enabled, d.state_desc, CAST(d.snapshot_isolation_state AS bit),"  # noqa: S608
        " d.collation_name, d.create_date, @@SERVERNAME, d.group_database_id,"
        " r.family_guid, r.recovery_fork_guid FROM sys.databases d LEFT JOIN sys.database_recovery_status r"
        f" ON r.database_id = d.database_id WHERE d.name IN ({', '.join(map(literal, names))});"
    )


def azure_sql() -> str:
    """Do the same on Azure SQL Database, which has neither groups nor recovery forks to be seen."""
    return (
        "SELECT name, is_cdc_enabled, state_desc, CAST(snapshot_isolation_state AS bit), collation_name,"
        " create_date, @@SERVERNAME, NULL, NULL, NULL FROM sys.databases"
        " WHERE name = DB_NAME();"
    )


def log_bounds_sql(database: str | None, at: Lsn) -> str:
    """Select the oldest and the newest listed commit, and the transaction of the commit at our place."""
    mapping = system_name(database, "cdc.lsn_time_mapping")
    return (
        f"SELECT (SELECT MIN(start_lsn) FROM {mapping}), (SELECT MAX(start_lsn) FROM {mapping}),"  # noqa: S608
        f" (SELECT tran_id FROM {mapping} WHERE start_lsn = {binary_literal(at)});"
    )


def identity_of(row: DatabaseRow) -> DatabaseIdentity:
    """Return which log a database has."""
    name = f"{row.server}/{row.name}"
    if row.group is not None:
        return DatabaseIdentity(row.group, "", name)
    if row.family is not None and row.fork is not None:
        return DatabaseIdentity(row.family, row.fork, name)
    return DatabaseIdentity(name, row.created, name)
