"""A small database with change data capture, and its change tables as plain values."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wrackline.control.local.sqlserver_standin.model.capture import CaptureInstance
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.tsql.session import Outcome, SqlSession
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType, sql_type
from wrackline.control.local.sqlserver_standin.wire.values import Cell

ORDERS = {"id": "int", "amount": "decimal(10,2)", "note": "nvarchar(max)", "old": "ntext"}


@dataclass(slots=True)
class Shop:
    """A server with one captured table."""

    server: ModelServer
    database: ModelDatabase
    instance: CaptureInstance

    def changes(self, *columns: str) -> list[tuple[object, ...]]:
        """Return operation, command and columns of what was captured, in the clustered order."""
        names = [column.name for column in self.instance.columns]
        places = [names.index(name) for name in columns or ("id",)]
        return [(row.operation, row.command, *(row.cells[at] for at in places)) for row in self.instance.rows]


def shop(columns: Mapping[str, str] = ORDERS, key: Sequence[str] = ("id",), **more: object) -> Shop:
    """Make one; the capture job has read everything so far."""
    server = ModelServer()
    server.create_login("sa", "secret", administrator=True)
    database = server.create_database("shop")
    database.create_table("dbo.orders", columns, key, **more)  # type: ignore[arg-type]
    database.enable_cdc()
    instance = database.enable_table("dbo.orders")
    database.scan()
    return Shop(server, database, instance)


def session(server: ModelServer, user: str = "sa", database: str = "shop") -> SqlSession:
    """Open a session as a connection does."""
    return SqlSession(server, user, database, 51, lambda: False)


def outcomes(one: SqlSession, text: str, **given: tuple[str, Cell]) -> list[Outcome]:
    """Run a batch; parameters are given with their types."""
    parameters: dict[str, tuple[SqlType, Cell]] = {
        f"@{name}": (sql_type(of), value) for name, (of, value) in given.items()
    }
    return list(one.run(text, parameters))


def rows(one: SqlSession, text: str, **given: tuple[str, Cell]) -> list[tuple[Cell, ...]]:
    """Run a batch, and return the rows of its last result."""
    found = [outcome for outcome in outcomes(one, text, **given) if isinstance(outcome, QueryRows)]
    return list(found[-1].rows)


MINUTE = dt.timedelta(minutes=1)
