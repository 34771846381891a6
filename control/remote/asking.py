"""One question to a worker, and its answer: a document, or the error that it is.

In: how it is asked, a method, a path, perhaps a body.  Out: what it says.  No redirect is followed and no
proxy asked, for the log-in goes along; an answer has a bound in time and size.  An error of a worker keeps
its code; Kafka Connect's own have none, and get one here.
"""

import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Final, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

import orjson

from wrackline.control.installed import import_everything
from wrackline.control.remote.access import Access
from wrackline.control.remote.states import Now, every, now
from wrackline.control.tail.shown import escaped, escaped_lines
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define, registered

_PATIENCE: Final = 60.0  # seconds; what writes in a group waits for its Kafka
_MOST: Final = 64 << 20  # bytes of an answer

NO_ANSWER = define(
    "remote.no_answer",
    Transient,
    "no worker answers at {url}: {why}",
    hint="start it: wrackline worker <pipeline.toml> --rest-port <port>; one that listens elsewhere is named"
    " by --rest http://host:port or WRACKLINE_REST",
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
    "what answers at {url} is no worker",
    hint="name the worker's own address, as it printed it: --rest http://host:port",
)
LOG_IN = define(
    "remote.log_in",
    OperatorNeeded,
    "the worker at {url} wants to know who asks: {why}",
    hint="--user NAME with WRACKLINE_REST_PASSWORD, or WRACKLINE_REST_TOKEN; what a user may do is said by"
    " the role that the worker gives",
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


class _Stays(HTTPRedirectHandler):
    """Asks nobody else."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow none."""


class Worker:
    """A worker that is asked by REST."""

    def __init__(self, access: Access) -> None:
        self._access = access
        handlers = [HTTPSHandler(context=access.trust)] if access.trust else []
        self._opener = build_opener(ProxyHandler({}), _Stays(), *handlers)

    @property
    def url(self) -> str:
        """Where it is asked."""
        return self._access.url

    def state(self, name: str) -> Now:
        """Say how a connector is."""
        return self._read_as(now, f"{path_of(name)}/status")

    def states(self) -> Mapping[str, Now]:
        """Say how each connector is, by name."""
        return self._read_as(every, "/connectors?expand=status")

    def _read_as(self, what: Callable[[Any], T], path: str) -> T:
        _, told = self.ask("GET", path)
        try:
            return what(told)
        except (LookupError, TypeError, AttributeError):  # it is JSON, and not of this shape
            raise NO_WORKER(url=self.url) from None

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        """Ask; return the status and the document, None where the answer has none."""
        data = None if body is None else orjson.dumps(body)
        if data is not None:
            self._access.keep_secret("the connector's settings")
        headers = {**self._access.headers, "Accept": "application/json", "Content-Type": "application/json"}
        request = Request(f"{self.url}{path}", data, headers, method=method)  # noqa: S310 - http or https: access.py
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
        """Make the error that a worker told; one of no form of its own is of somebody else."""
        status = refused.code
        try:
            told = orjson.loads(refused.read(_MOST))
        except (orjson.JSONDecodeError, OSError, HTTPException):
            told = None
        if not isinstance(told, dict) or "message" not in told:
            return LOG_IN(url=self.url, why=status) if status in (401, 403) else NO_WORKER(url=self.url)
        why = escaped_lines(str(told["message"]))
        if "code" in told:
            code = escaped(str(told["code"]))
            return _kind(code, status)(code, why, escaped_lines(str(told.get("hint", ""))))
        if status in (401, 403):
            return LOG_IN(url=self.url, why=why)
        return (BUSY if status in (409, 429) or status >= 500 else REFUSED)(status=status, why=why)


def path_of(name: str) -> str:
    """Return where a connector is asked for."""
    return f"/connectors/{quote(name, safe='')}"


def _kind(code: str, status: int) -> type[WracklineError]:
    import_everything()
    known = registered().get(code)
    if known is not None:
        return known.kind
    return Transient if status in (429, 503) else OperatorNeeded if status in (401, 403, 409) else Definite
