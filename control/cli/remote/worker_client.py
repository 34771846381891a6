"""One request to a worker, and its answer: a document, or an error.

In: the worker's access, a method, a path, perhaps a body.  Out: its answer.  No redirect is followed and no
proxy is used, because the request contains the log-in; an answer has a bound in time and size.  An error of a
worker keeps its code; Kafka Connect's own errors have none, and get one here.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from http.client import HTTPException, HTTPMessage
from types import MappingProxyType
from typing import IO, Any, Final, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

import orjson

from wrackline.control.cli.remote.connector_states import RemoteState, read_state, read_states, read_tasks
from wrackline.control.cli.remote.worker_access import WorkerAccess
from wrackline.control.console.errors.error_codes import printed_codes
from wrackline.control.runtime.ground.terminal_text import escape, escape_lines
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define

_KINDS: Final = {kind.__name__: kind for kind in (Transient, OperatorNeeded, Definite)}
_PATIENCE: Final = 60.0  # seconds; a write in a group waits for the group's Kafka
_MOST: Final = 64 << 20  # bytes of an answer

NO_ANSWER = define(
    "remote.no_answer",
    Transient,
    "no worker answers at {url}: {why}",
    hint="start it: wrackline worker <pipeline.toml> --rest-port <port>; if it listens"
    " elsewhere: --rest http://host:port or WRACKLINE_REST",
)
NO_TRUST = define(
    "remote.no_trust",
    OperatorNeeded,
    "the certificate of {url} is not trusted: {why}",
    hint="name the file with the authority's certificate: --ca ca.pem, or WRACKLINE_REST_CA",
)
NO_WORKER = define(
    "remote.no_worker",
    OperatorNeeded,
    "what answers at {url} is not a worker",
    hint="name the worker's own address, as it printed it: --rest http://host:port",
)
LOG_IN = define(
    "remote.log_in",
    OperatorNeeded,
    "the worker at {url} requires a log-in: {why}",
    hint="--user NAME with WRACKLINE_REST_PASSWORD, or WRACKLINE_REST_TOKEN; the role that the worker gives"
    " to a user says what that user may do",
)
REFUSED = define(
    "remote.refused",
    Definite,
    "the worker answers {status}: {why}",
    hint="what it knows: wrackline connectors",
)
BUSY = define(
    "remote.busy", Transient, "the worker answers {status}: {why}", hint="the same command may succeed later"
)

T = TypeVar("T")


class _RefuseRedirect(HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Do not follow it."""


class WorkerClient:
    """A worker that is used by REST."""

    def __init__(self, access: WorkerAccess) -> None:
        self._access = access
        handlers = [HTTPSHandler(context=access.trust)] if access.trust else []
        self._opener = build_opener(ProxyHandler({}), _RefuseRedirect(), *handlers)

    @property
    def url(self) -> str:
        """The worker's address."""
        return self._access.url

    def state(self, name: str, half: str | None = None) -> RemoteState:
        """Return a connector's state, or that of one half."""
        return self._read_as(partial(read_state, half=half), f"{path_of(name)}/status")

    def half(self, name: str, half: str) -> tuple[RemoteState, Sequence[int]]:
        """Return the state of one half, and the numbers of its tasks."""
        return self._read_as(
            lambda status: (read_state(status, half), read_tasks(status, half)), f"{path_of(name)}/status"
        )

    def states(self) -> Mapping[str, RemoteState]:
        """Return each connector's state, by name."""
        return self._read_as(read_states, "/connectors?expand=status")

    def _read_as(self, what: Callable[[Any], T], path: str) -> T:
        _, told = self.ask("GET", path)
        try:
            return what(told)
        except (LookupError, TypeError, AttributeError):  # it is JSON, but not of this form
            raise NO_WORKER(url=self.url) from None

    def ask(
        self, method: str, path: str, body: object = None, more: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[int, object]:
        """Send a request, with more headers; return the status and the document, None if there is none."""
        data = None if body is None else orjson.dumps(body)
        if data is not None:
            self._access.keep_secret("the connector's settings")
        own = {"Accept": "application/json", "Content-Type": "application/json"}
        headers = {**self._access.headers, **own, **more}
        request = Request(f"{self.url}{path}", data, headers, method=method)  # noqa: S310 - http or https: worker_access.py
        try:
            with self._opener.open(request, timeout=_PATIENCE) as answer:
                return answer.status, self._read(answer)
        except HTTPError as refused:
            with refused:
                raise self._wrong(refused) from None
        except (OSError, HTTPException) as error:
            raise self._unheard(error) from None

    def _read(self, answer: IO[bytes]) -> object:
        told = answer.read(_MOST + 1)
        if not told:
            return None
        with suppress(orjson.JSONDecodeError):
            if len(told) <= _MOST:
                return orjson.loads(told)
        raise NO_WORKER(url=self.url)

    def _unheard(self, error: Exception) -> WracklineError:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            return NO_TRUST(url=self.url, why=reason.verify_message)
        if isinstance(reason, TimeoutError):
            return NO_ANSWER(url=self.url, why="nothing came in time")
        why = reason.strerror if isinstance(reason, OSError) else None
        return NO_ANSWER(url=self.url, why=why or type(reason).__name__)

    def _wrong(self, refused: HTTPError) -> WracklineError:
        """Make the error that a worker reported; an answer of another form does not come from a worker."""
        status = refused.code
        try:
            told = orjson.loads(refused.read(_MOST))
        except (orjson.JSONDecodeError, OSError, HTTPException):
            told = None
        if not isinstance(told, dict) or "message" not in told:
            return LOG_IN(url=self.url, why=status) if status in (401, 403) else NO_WORKER(url=self.url)
        why = escape_lines(str(told["message"]))
        if "code" in told:
            code = escape(str(told["code"]))
            return _kind(code, status)(code, why, escape_lines(str(told.get("hint", ""))))
        if status in (401, 403):
            return LOG_IN(url=self.url, why=why)
        return (BUSY if status in (409, 429) or status >= 500 else REFUSED)(status=status, why=why)


def path_of(name: str) -> str:
    """Return a connector's path."""
    return f"/connectors/{quote(name, safe='')}"


def _kind(code: str, status: int) -> type[WracklineError]:
    known = _KINDS.get(printed_codes().get(code, {}).get("kind", ""))
    if known is not None:
        return known
    return Transient if status in (429, 503) else OperatorNeeded if status in (401, 403, 409) else Definite
