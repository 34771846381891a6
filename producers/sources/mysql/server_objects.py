"""What a pipeline leaves on the server, used when it is deleted: nothing that it has made by itself.

A binlog does not record its readers.  Other pipelines may use what an administrator made for this pipeline,
the account and the signal table, so both stay, with the statement that drops them.
"""

from collections.abc import Iterator
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.contract.optional_parts import ServerObject
from wrackline.producers.sources.mysql.check.check_server import readers
from wrackline.producers.sources.mysql.connect.connect import current_account, query_dicts
from wrackline.producers.sources.mysql.connect.quoting import account, table_name
from wrackline.producers.sources.mysql.connect.server_facts import MySqlServerFacts
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableId

READERS_UNSEEN = define(
    "mysql.readers_unseen",
    OperatorNeeded,
    "the server does not show {account} which clients read its log",
    hint="GRANT REPLICATION MASTER ADMIN ON *.* TO {account}",
)

_SHARED = "other pipelines may use it"
_ADMINISTRATOR = "root"


def pipeline_objects(connection: "Connection[Any]", signal_table: TableId | None) -> Iterator[ServerObject]:
    """Name the pipeline's signal table and its account."""
    if signal_table is not None:
        found = query_dicts(
            connection,
            "SELECT 1 AS there FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
            signal_table.schema,
            signal_table.name,
        )
        if found:
            named = table_name(signal_table)
            yield ServerObject(f"signal table {named}", f"DROP TABLE {named}", left=_SHARED)
    user, host = current_account(connection)
    if user != _ADMINISTRATOR:
        named = account(user, host)
        yield ServerObject(f"account {named}", f"DROP USER {named}", left=_SHARED)


def log_reader(connection: "Connection[Any]", facts: MySqlServerFacts, number: int) -> str | None:
    """Return the reader of the log with this number; on MariaDB our account may lack the right to ask."""
    found = readers(connection, facts)
    if found is None:
        raise READERS_UNSEEN(account=account(*current_account(connection)))
    ours = any(reader.number == number and not reader.port for reader in found)
    return f"reader {number}" if ours else None
