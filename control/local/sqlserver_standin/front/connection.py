"""One client's connection: PRELOGIN, TLS, LOGIN7, then a request at a time."""

import ssl
from dataclasses import dataclass, field

from wrackline.control.local.sqlserver_standin.front.answer import AnswerStream
from wrackline.control.local.sqlserver_standin.front.calls import Calls
from wrackline.control.local.sqlserver_standin.front.identity import user_of
from wrackline.control.local.sqlserver_standin.front.transport import Gone, Transport
from wrackline.control.local.sqlserver_standin.model.server import VERSION, ModelServer
from wrackline.control.local.sqlserver_standin.tsql.session import Cancelled, RowCount, SqlSession
from wrackline.control.local.sqlserver_standin.wire import tokens
from wrackline.control.local.sqlserver_standin.wire.collations import DEFAULT
from wrackline.control.local.sqlserver_standin.wire.login import (
    FEDERATED_FEATURE,
    Encryption,
    TdsLogin,
    agreed,
    asks_for_token,
    print_prelogin,
    read_login,
    read_prelogin,
    wanted,
)
from wrackline.control.local.sqlserver_standin.wire.packets import (
    FIRST_SIZE,
    LEAST_SIZE,
    MOST_SIZE,
    ClientMessage,
    MessageKind,
    cut,
)
from wrackline.control.local.sqlserver_standin.wire.requests import (
    TransactionKind,
    TransactionRequest,
    read_batch,
    read_calls,
    read_transaction,
)
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError, protocol_error
from wrackline.control.local.sqlserver_standin.wire.tokens import Done

_LEVELS = {0: None, 2: "READ COMMITTED", 5: "SNAPSHOT"}
_DEFAULT_TEXT_SIZE = 4096
_UTF8_SUPPORT = 0x0A
_KILLED = "Cannot continue the execution because the session is in the kill state."
_STRICT_VERSION = 0x08000000


@dataclass(slots=True)
class FrontOptions:
    """How the server meets its clients, and what they have asked."""

    encryption: Encryption = Encryption.NOT_SUPPORTED
    tls: ssl.SSLContext | None = None
    packet_size: int = MOST_SIZE
    """The largest size of a packet that the server agrees to; a small one cuts everything everywhere."""
    read_only_route: tuple[str, int] | None = None
    """Where a client that only reads (ApplicationIntent) is sent."""
    requests: list[str] = field(default_factory=list)
    """Every batch and call, in the order of arrival: a round trip each."""


class ClientConnection:
    """A connection from its first byte to its last."""

    def __init__(self, transport: Transport, model: ModelServer, options: FrontOptions, process: int) -> None:
        self._transport = transport
        self._model = model
        self._options = options
        self._process = process
        self._size = FIRST_SIZE
        self._cancelled = False
        self._strict = False
        self._announced = False  # that the client will log in with a token
        self._calls: Calls | None = None

    def serve(self) -> None:
        """Serve the client until it goes; its open transaction is rolled back then."""
        session = None
        try:
            session = self._welcome()
            while session is not None:
                message = self._transport.message()
                self._request(session, message)
        except (Gone, ServerError, ssl.SSLError, OSError):
            return  # a ServerError is one of packets: there is no message that it would answer
        finally:
            if session is not None and session.transaction is not None:
                session.end(commits=False)

    def _welcome(self) -> SqlSession | None:
        """Do what comes before the first request; None is a client that may not come in."""
        self._strict = self._options.tls is not None and self._transport.is_tls()
        if self._strict and self._options.tls is not None:
            self._transport.start_strict(self._options.tls)
        first = self._transport.message()
        if first.kind != MessageKind.PRELOGIN:
            raise Gone
        options = read_prelogin(first.body)
        asked, self._announced = wanted(options), asks_for_token(options)
        both = Encryption.NOT_SUPPORTED if self._strict else agreed(asked, self._options.encryption)
        refusal = Encryption.REQUIRED if asked is Encryption.NOT_SUPPORTED else Encryption.NOT_SUPPORTED
        said = refusal if both is None else both
        for packet in cut(MessageKind.ANSWER, print_prelogin(said, VERSION, federated=self._announced)):
            self._transport.send(packet)
        if both is None:
            raise Gone
        encrypted = both is not Encryption.NOT_SUPPORTED
        if encrypted and self._options.tls is not None:
            self._transport.start_wrapped(self._options.tls)
        message = self._transport.message()
        if encrypted and both is Encryption.OFF:
            self._transport.stop_tls()
        answer = self._answer()
        try:
            return self._log_in(read_login(message.body), answer)
        except ServerError as error:
            answer.error(error)
            answer.finish()
            return None

    def _answer(self, *, in_procedure: bool = False) -> AnswerStream:
        return AnswerStream(
            self._transport,
            self._size,
            self._model.name,
            self._process,
            self._look,
            in_procedure=in_procedure,
        )

    def _log_in(self, login: TdsLogin, answer: AnswerStream) -> SqlSession:
        """Check who the client is, open the database, and answer what the connection is."""
        user = user_of(login, self._model, self._exchange, announced=self._announced)
        with self._model.lock:
            try:
                session = SqlSession(self._model, user, login.database, self._process, self._look)
            except ServerError:
                text = f'Cannot open database "{login.database}" requested by the login. The login failed.'
                answer.error(ServerError(4060, text, severity=11))
                raise ServerError(18456, f"Login failed for user '{user}'.", severity=14) from None
        if not login.is_odbc:
            session.settings.text_size = _DEFAULT_TEXT_SIZE
        wished = max(login.packet_size, LEAST_SIZE) if login.packet_size else FIRST_SIZE
        size = min(wished, self._options.packet_size)
        name = session.database.name
        answer.write(tokens.environment(1, name, "master"))
        answer.info(5701, f"Changed database context to '{name}'.")
        answer.write(tokens.collation_change(DEFAULT))
        answer.write(tokens.environment(2, "us_english"))
        answer.info(5703, "Changed language setting to us_english.")
        version = _STRICT_VERSION if self._strict else tokens.TDS_7_4
        answer.write(tokens.login_ack("Microsoft SQL Server", VERSION, version))
        answer.write(tokens.environment(4, str(size), str(self._size)))
        known = {FEDERATED_FEATURE: b"", _UTF8_SUPPORT: b"\x01"}
        if common := [(one, data) for one, data in known.items() if one in login.features]:
            answer.write(tokens.features(common))
        if login.read_only and self._options.read_only_route is not None:
            answer.write(tokens.routing(*self._options.read_only_route))
        answer.hold(Done.FINAL)
        answer.finish()
        self._size = size
        return session

    def _exchange(self, challenge: bytes) -> bytes:
        """Send a security message, and wait for the client's; python-tds sends it as a second LOGIN7."""
        answer = self._answer()
        answer.write(tokens.security(challenge))
        answer.finish()
        message = self._transport.message()
        if message.kind not in {MessageKind.SECURITY, MessageKind.LOGIN}:
            raise Gone
        return message.body

    def _look(self) -> bool:
        """Say whether the client has sent an attention since its request."""
        if not self._cancelled and (message := self._transport.waiting_message()):
            if message.kind != MessageKind.ATTENTION:
                raise Gone  # nothing else may come before the answer
            self._cancelled = True
        return self._cancelled

    def _request(self, session: SqlSession, message: ClientMessage) -> None:
        self._cancelled = message.kind == MessageKind.ATTENTION
        answer = self._answer(in_procedure=message.kind == MessageKind.RPC)
        if session.is_severed:
            answer.error(ServerError(596, _KILLED, severity=21))
            answer.finish()
            raise Gone
        if self._cancelled:
            answer.acknowledge()
            return
        if message.resets:
            with self._model.lock:
                session.reset()
            answer.write(tokens.environment_bytes(18, b""))
        try:
            self._run(session, message, answer)
        except ServerError as error:
            answer.in_transaction = session.levels > 0
            answer.error(error)
        except Cancelled:
            answer.interrupt()
            return
        try:
            answer.finish()
        except Cancelled:
            answer.interrupt()

    def _run(self, session: SqlSession, message: ClientMessage, answer: AnswerStream) -> None:
        match message.kind:
            case MessageKind.BATCH:
                text = read_batch(message.body)
                self._options.requests.append(text)
                for outcome in session.run(text, {}):
                    answer.in_transaction = session.levels > 0
                    answer.outcome(outcome)
            case MessageKind.RPC:
                self._calls = self._calls or Calls(session)
                self._calls.run(read_calls(message.body), answer, self._options.requests)
            case MessageKind.TRANSACTION:
                with self._model.lock:
                    _transaction(session, read_transaction(message.body), answer)
            case _:
                raise protocol_error(f"messages of type {message.kind} are not known to the stand-in")


def _transaction(session: SqlSession, request: TransactionRequest, answer: AnswerStream) -> None:
    """Do what a transaction manager's request asks for."""
    level = _LEVELS.get(request.isolation)
    if level is None and request.isolation not in _LEVELS:
        raise protocol_error(f"isolation level {request.isolation} is not modelled")
    session.settings.isolation = level or session.settings.isolation
    moved = []
    if request.kind is TransactionKind.SAVE:
        session.need_transaction(628, "There is no active transaction.").save(request.name)
    elif request.kind is TransactionKind.BEGIN:
        moved.append(session.begin())
    else:
        session.need_transaction(3902, "There is no active transaction.")
        moved.append(session.end(commits=request.kind is TransactionKind.COMMIT))
        moved += [session.begin()] if request.begins else []
    answer.in_transaction = session.levels > 0
    for one in moved:
        answer.outcome(one)
    answer.outcome(RowCount(None))
