"""The process of the emulator: `python -m wrackline.control.local.emulators.snowflake_server PORT`.

fakesnow's server, and what it does otherwise than Snowflake put right:

    MERGE          it rewrites one into statements that lose a source's column inside an expression.  DuckDB
                   has a MERGE of its own, so it is handed over, with a count behind it, which is looked for
    log-in         it gives no master token, without which the driver does not end its session
    errors         one inside a transaction is HTTP 500, which the driver tries again for minutes
    transactions   one of a session that is closed, or whose process is gone, stays open and holds its rows.
                   Snowflake ends one that is in the way of others after five minutes; here it is seconds
"""

import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Final

import duckdb
import uvicorn
from fakesnow import cursor, transforms
from snowflake.connector.errors import ProgrammingError
from sqlglot import exp, parse_one
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import request_response

Endpoint = Callable[[Request], Awaitable[Response]]

_IDLE_S: Final = 10.0
_CONFLICT: Final = (625, "57014")  # another transaction holds what is wanted
_OTHERWISE: Final = (603, "XX000")


class EmulatedSessions(dict[str, Any]):
    """The open sessions by their tokens; each leaves no transaction behind."""

    def __delitem__(self, token: str) -> None:
        """End a session."""
        self[token].cursor().execute("ROLLBACK")
        super().__delitem__(token)


class SessionTurn:
    """One statement of a session at a time, and when the last one ended."""

    def __init__(self) -> None:
        self._lock, self._ended = threading.RLock(), time.monotonic()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._ended = time.monotonic()
        self._lock.release()

    @contextmanager
    def rest(self) -> Iterator[bool]:
        """Let nothing begin meanwhile; whether the session has rested for long."""
        took = self._lock.acquire(blocking=False)
        try:
            yield took and time.monotonic() - self._ended > _IDLE_S
        finally:
            if took:
                self._lock.release()


def main() -> None:
    """Serve until the process ends."""
    server: Any = import_module("fakesnow.server")  # here, because it makes its database as it is imported

    count = parse_one("SELECT 1 AS 'number of rows'", read="duckdb")
    merge: Any = transforms
    merge.merge = lambda one: [one, count] if isinstance(one, exp.Merge) else [one]
    server.sessions = EmulatedSessions()
    _answer_errors()
    for route in server.app.routes:
        if route.path == "/session/v1/login-request":
            route.app = request_response(_with_master_token(server.login_request))
    threading.Thread(target=_end_forgotten, args=[server.sessions], daemon=True).start()
    uvicorn.run(server.app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")


def _answer_errors() -> None:
    """Answer DuckDB's errors as the server's own."""
    emulated: Any = cursor.FakeSnowflakeCursor
    execute = emulated.execute

    def answered(self: Any, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - fakesnow's own
        with _turn(self._conn):
            try:
                return execute(self, *given, **named)
            except duckdb.Error as exc:
                number, state = _CONFLICT if isinstance(exc, duckdb.TransactionException) else _OTHERWISE
                raise ProgrammingError(msg=f"the emulator: {exc}", errno=number, sqlstate=state) from exc

    emulated.execute = answered


def _turn(session: Any) -> SessionTurn:  # noqa: ANN401 - a connection of fakesnow's
    turn: SessionTurn = vars(session).setdefault("_wrackline_turn", SessionTurn())
    return turn


def _with_master_token(login: Endpoint) -> Endpoint:
    """Let the log-in answer with two tokens."""

    async def answered(request: Request) -> Response:
        answer = json.loads(bytes((await login(request)).body))
        answer["data"]["masterToken"] = answer["data"]["token"]
        return JSONResponse(answer)

    return answered


def _end_forgotten(sessions: Mapping[str, Any]) -> None:
    while True:
        time.sleep(1)
        for session in list(sessions.values()):
            with _turn(session).rest() as long, suppress(Exception):
                if long:
                    session.cursor().execute("ROLLBACK")


if __name__ == "__main__":
    main()
