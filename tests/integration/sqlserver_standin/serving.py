"""The stand-in in a process of its own, with the tables that the drivers' tests read.

A driver that holds Python's lock while it waits for the network could not be served by its own process.
The process prints its port and ends with its input.
"""

import sys

from tests.integration.sqlserver_standin import every_type
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.login import Encryption

USER, PASSWORD, DATABASE = "reader", "pässword-0xA5", "shop"
MANY = 20_000


def shop() -> ModelServer:
    """Make the model: every type, and a table that fills many packets."""
    model = ModelServer()
    model.create_login(USER, PASSWORD, administrator=True)
    database = model.create_database(DATABASE)
    every_type.fill(database)
    database.create_table("dbo.many", {"id": "int", "note": "nvarchar(100)"}, key=("id",))
    with database.transaction() as one:
        one.insert("dbo.many", *({"id": number, "note": f"row {number} " * 8} for number in range(MANY)))
    database.create_table("dbo.notes", {"id": "int identity", "note": "nvarchar(max)"}, key=("id",))
    return model


def _main(encryption: str, *certificate: str) -> None:
    files = (certificate[0], certificate[1]) if certificate else None
    with SqlServerStandin(shop(), certificate=files, encryption=Encryption[encryption]) as server:
        print(server.port, flush=True)  # noqa: T201 - it is how the parent hears it
        sys.stdin.read()


if __name__ == "__main__":
    _main(*sys.argv[1:])
