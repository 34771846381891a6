"""What a pipeline leaves on the server, for who deletes the pipeline: nothing that it has made by itself.

A binlog has no reader's mark.  What an administrator made for the pipeline, the account and the signal table,
may serve others too, so both stay, with the statement that drops them.
"""

from collections.abc import Iterator
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.plugin import Kept
from wrackline.producers.sources.mysql.check_server import readers
from wrackline.producers.sources.mysql.connect import ask, who
from wrackline.producers.sources.mysql.names import account, table_name
from wrackline.producers.sources.mysql.server_facts import ServerFacts
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.table import TableId

READERS_UNSEEN = define(
    "mysql.readers_unseen",
    OperatorNeeded,
    "the server does not tell {account} who reads its log",
    hint="GRANT REPLICATION MASTER ADMIN ON *.* TO {account}",
)

_SHARED = "other pipelines may use it"
_ADMINISTRATOR = "root"


def kept(connection: "Connection[Any]", signal_table: TableId | None) -> Iterator[Kept]:
    """Name the pipeline's signal table and its account."""
    if signal_table is not None:
        found = ask(
            connection,
            "SELECT 1 AS there FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
            signal_table.schema,
            signal_table.name,
        )
        if found:
            named = table_name(signal_table)
            yield Kept(f"signal table {named}", f"DROP TABLE {named}", left=_SHARED)
    user, host = who(connection)
    if user != _ADMINISTRATOR:
        named = account(user, host)
        yield Kept(f"account {named}", f"DROP USER {named}", left=_SHARED)


def log_reader(connection: "Connection[Any]", facts: ServerFacts, number: int) -> str | None:
    """Return who reads the log under this number; on MariaDB our account may not be allowed to ask."""
    found = readers(connection, facts)
    if found is None:
        raise READERS_UNSEEN(account=account(*who(connection)))
    ours = any(reader.number == number and not reader.port for reader in found)
    return f"reader {number}" if ours else None
