"""The stand-in as a process: `python -m wrackline.control.local.sqlserver_standin --port 1433`.

Everything is in its memory, and ends with it.  It prints a line when it serves.
"""

import signal
from threading import Event
from typing import Annotated

import typer

from wrackline.control.local.sqlserver_standin.agent import Agent
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer

USER, PASSWORD = "sa", "Standin-1"

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def serve(
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1; 0 is any that is free.")] = 0,
    user: Annotated[str, typer.Option(help="An administrator's log-in.")] = USER,
    password: Annotated[str, typer.Option(help="Its password.")] = PASSWORD,
    scan_every: Annotated[
        float | None,
        typer.Option(
            min=0.01, help="Seconds between two scans of the capture jobs; else sys.sp_cdc_scan does it."
        ),
    ] = None,
) -> None:
    """Serve a stand-in for SQL Server, which is not a SQL Server, until it is asked to stop."""
    end = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    model = ModelServer()
    model.create_login(user, password, administrator=True)
    with Agent(model, scan_every), SqlServerStandin(model, port=port) as server:
        typer.echo(f"a stand-in for SQL Server listens on 127.0.0.1:{server.port}")
        end.wait()


if __name__ == "__main__":
    app()
