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
        help="Answer as Kafka Connect's REST does, on this port; 0: a free one, a group's worker: 8083."
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
WorkerCa = Annotated[
    Path | None,
    typer.Option(
        "--rest-worker-ca",
        metavar="PEM",
        help="The authority of other workers' certificates.",
    ),
]
TlsEndsBefore = Annotated[
    bool,
    typer.Option("--rest-tls-ends-before", help="A proxy before this worker ends TLS; it listens in clear."),
]


def if_asked(port: int | None, given: RestSettings) -> RestSettings | None:
    """Take them together; without a port there is no REST, and any other flag of it is a mistake."""
    if port is not None:
        return given
    if given != RestSettings(0):
        raise typer.BadParameter("what is said of REST needs a port too: --rest-port <port>")
    return None


def of_a_group(port: int | None, given: RestSettings) -> RestSettings:
    """Take them together; a group always has REST."""
    return replace(given, port=_CONNECTS if port is None else port)
