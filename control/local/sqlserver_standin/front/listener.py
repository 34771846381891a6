"""The stand-in as a running server, on a port of this machine."""

import contextlib
import socket
import ssl
from threading import Thread
from typing import Self

from wrackline.control.local.sqlserver_standin.front.connection import ClientConnection, FrontOptions
from wrackline.control.local.sqlserver_standin.front.transport import Transport
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.login import Encryption
from wrackline.control.local.sqlserver_standin.wire.packets import MOST_SIZE

HOST = "127.0.0.1"


class SqlServerStandin:
    """A stand-in for SQL Server: TDS over a model.

    `with SqlServerStandin(model) as server:` serves at `server.port`.  With a certificate's and its key's
    files clients may or must use TLS, as `encryption` says.
    """

    def __init__(
        self,
        model: ModelServer,
        *,
        certificate: tuple[str, str] | None = None,
        encryption: Encryption | None = None,
        port: int = 0,
        packet_size: int = MOST_SIZE,
        read_only_route: tuple[str, int] | None = None,
    ) -> None:
        self.model = model
        context = None if certificate is None else _context(*certificate)
        default = Encryption.NOT_SUPPORTED if context is None else Encryption.ON
        chosen = default if encryption is None else encryption
        self.options = FrontOptions(chosen, context, packet_size, read_only_route)
        self._listening = socket.create_server((HOST, port))
        self.port: int = self._listening.getsockname()[1]
        self._clients: dict[socket.socket, Thread] = {}
        self._accepting = Thread(target=self._accept, name="sqlserver-standin", daemon=True)
        self._stopped = False
        self._processes = 50

    @property
    def requests(self) -> list[str]:
        """What clients have asked, in the order of arrival."""
        return self.options.requests

    def start(self) -> None:
        """Begin to accept clients."""
        self._accepting.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End, and cut every client."""
        self._stopped = True
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join()
        self.cut()

    def cut(self) -> None:
        """Cut every client in the middle of whatever it does, as a network does."""
        for client, thread in list(self._clients.items()):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            thread.join()

    def _accept(self) -> None:
        while not self._stopped:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._processes += 1
            thread = Thread(target=self._serve, args=(client, self._processes), daemon=True)
            self._clients[client] = thread
            thread.start()

    def _serve(self, client: socket.socket, process: int) -> None:
        try:
            ClientConnection(Transport(client), self.model, self.options, process).serve()
        finally:
            client.close()
            self._clients.pop(client, None)


def _context(certificate: str, key: str) -> ssl.SSLContext:
    """TLS 1.2 in TDS 7: its packets have no place for what TLS 1.3 sends behind the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["tds/8.0"])
    context.load_cert_chain(certificate, key)
    return context
