"""The flags of `wrackline worker` that say where it listens for REST, and whom it hears there."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from wrackline.control.rest.settings import RestSettings

Port = Annotated[
    int | None,
    typer.Option(
        "--rest-port",
        min=0,
        max=65_535,
        help="Answer as Kafka Connect's REST does, on this port; 0: a free one."
        " The worker then stays when all pipelines have ended.",
    ),
]
Host = Annotated[
    str,
    typer.Option(
        "--rest-host",
        metavar="ADDRESS",
        help="The address to listen on; beyond this machine only with log-in and TLS.",
    ),
]
Advertised = Annotated[
    str | None,
    typer.Option("--rest-advertised", metavar="HOST:PORT", help="How others reach this worker, and its id."),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--rest-name", metavar="HOST", help="One more host that it is asked by; may be repeated."),
]
Users = Annotated[
    Path | None,
    typer.Option("--rest-users", metavar="users.toml", help="Who may log in, and as what."),
]
Certificate = Annotated[
    Path | None,
    typer.Option("--rest-certificate", metavar="PEM", help="Speak TLS, with this certificate and its chain."),
]
Key = Annotated[
    Path | None,
    typer.Option("--rest-key", metavar="PEM", help="Its key, unless it stands in the same file."),
]
ClientCa = Annotated[
    Path | None,
    typer.Option("--rest-client-ca", metavar="PEM", help="Hear only who has a certificate of this one."),
]
TlsEndsBefore = Annotated[
    bool,
    typer.Option("--rest-tls-ends-before", help="A proxy before this worker ends TLS; it listens in clear."),
]


def settings(port: int | None, given: RestSettings) -> RestSettings | None:
    """Take the flags together; without a port nobody is heard."""
    if port is not None:
        return replace(given, port=port)
    if given != RestSettings(0):
        raise typer.BadParameter("what is said of REST needs a port too: --rest-port <port>")
    return None
