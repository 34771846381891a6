"""The flags of `wrackline worker` for REST: where it listens, and which requests it accepts."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from wrackline.control.runtime.rest.server.rest_settings import RestSettings

_CONNECTS: Final = 8083  # the port of Kafka Connect, and of a group unless another is given

Port = Annotated[
    int | None,
    typer.Option(
        "--rest-port",
        min=0,
        max=65_535,
        help="Serve REST as Kafka Connect does, on this port; 0: a free port; default in a group: 8083."
        " The worker then keeps running when all pipelines have ended.",
    ),
]
Host = Annotated[
    str,
    typer.Option(
        "--rest-host",
        metavar="ADDRESS",
        help="The address to listen on; it needs log-in and TLS unless it is loopback.",
    ),
]
Advertised = Annotated[
    str | None,
    typer.Option(
        "--rest-advertised", metavar="HOST:PORT", help="This worker's address for others, and its id."
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--rest-name", metavar="HOST", help="Another host name of this worker; may be repeated."),
]
Users = Annotated[
    Path | None,
    typer.Option("--rest-users", metavar="users.toml", help="The file of users and their roles."),
]
Certificate = Annotated[
    Path | None,
    typer.Option("--rest-certificate", metavar="PEM", help="Serve TLS with this certificate and its chain."),
]
Key = Annotated[
    Path | None,
    typer.Option("--rest-key", metavar="PEM", help="The certificate's key, unless the same file has it."),
]
ClientCa = Annotated[
    Path | None,
    typer.Option(
        "--rest-client-ca", metavar="PEM", help="Accept only clients with a certificate of this CA."
    ),
]
WorkerCa = Annotated[
    Path | None,
    typer.Option(
        "--rest-worker-ca",
        metavar="PEM",
        help="The CA of other workers' certificates.",
    ),
]
TlsEndsBefore = Annotated[
    bool,
    typer.Option(
        "--rest-tls-ends-before",
        help="A proxy in front of this worker terminates TLS; the worker listens without it.",
    ),
]


def if_asked(port: int | None, given: RestSettings) -> RestSettings | None:
    """Take them together; without a port there is no REST, and any other flag of it is a mistake."""
    if port is not None:
        return given
    if given != RestSettings(0):
        raise typer.BadParameter("the options for REST need a port: --rest-port <port>")
    return None


def of_a_group(port: int | None, given: RestSettings) -> RestSettings:
    """Take them together; a group always has REST."""
    return replace(given, port=_CONNECTS if port is None else port)
