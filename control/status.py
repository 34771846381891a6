"""Where a pipeline's tables stand, on both sides: what `wrackline status` shows.

    source  <--  the tables' states beside its stored positions, in Kafka
    log     <--  the running worker, at its port
    target  <--  the running consumer, at its port

In: a pipeline that was found good.  Out: one value, whatever of it answers; an error of one part stands in
its place, so that the others are shown all the same.  The exit code says what is hardest to mend; a log of
which nobody can tell does not count, for what is in Kafka is told without its worker.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from time import monotonic
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

import orjson

from wrackline.control import requests
from wrackline.control.exits import Exit, exit_of
from wrackline.control.offsets import desk
from wrackline.control.scrape_port import HOST, STATUS
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.settings import Values

NO_PORT = define(
    "status.no_port",
    OperatorNeeded,
    "the {who} of {pipeline} can't be asked: {setting} is 0",
    hint="set {setting} in the file, and start it again: {command} <pipeline.toml>",
)
NO_ANSWER = define(
    "status.no_answer",
    Transient,
    "no {who} of {pipeline} answers at {host}:{port}",
    hint="start it: {command} <pipeline.toml>; start one again that began before its {setting} was set; one"
    " on another machine is asked there",
)
ANOTHER = define(
    "status.another",
    OperatorNeeded,
    "port {port} is answered by something else than the {who} of {pipeline}",
    hint="give each a {setting} of its own; who has it: ss -ltnp 'sport = :{port}'",
)

_PATIENCE = 5.0  # seconds
_PIECE = 1 << 16
_MOST = 32 << 20  # bytes of an answer: of ten thousand tables it has some millions
_ODD = re.compile(r"[^a-zA-Z0-9._-]")  # as topics write what they can't hold
_KINDS = {kind.__name__: kind for kind in (Transient, OperatorNeeded, Definite)}


class Half(NamedTuple):
    """One of a pipeline's two processes, and where it is asked."""

    who: str
    setting: str  # of its port
    command: str
    tells: str  # a word that its answer has, and the other's has not


WORKER = Half("worker", "metrics.port", "wrackline run", "databases")
CONSUMER = Half("consumer", "consume.metrics.port", "wrackline consume", "tables")


@dataclass(frozen=True, slots=True)
class Status:
    """Both sides of one pipeline; of each its tables by name, or why it can't be said."""

    pipeline: str
    source: Mapping[str, Any] | WracklineError
    log: Mapping[str, Any] | WracklineError  # as producers/status.py writes it
    target: (
        Mapping[str, Any] | WracklineError | None
    )  # as consumers/status.py writes it; None: it has no target

    @property
    def tables(self) -> list[str]:
        """All tables that either side names."""
        sides = [self.source] if isinstance(self.source, Mapping) else []
        sides += [self.target["tables"]] if isinstance(self.target, Mapping) else []
        return sorted({name for side in sides for name in side})

    def of_source(self, table: str) -> Mapping[str, Any] | None:
        """Where the source's side of a table stands."""
        return self.source.get(table) if isinstance(self.source, Mapping) else None

    def of_target(self, table: str) -> Mapping[str, Any] | None:
        """Where the target's side of a table stands."""
        return self.target["tables"].get(table) if isinstance(self.target, Mapping) else None

    @property
    def exit(self) -> Exit:
        """Return 0 only if both sides answer, and every table goes on."""
        return max(self._troubles(), default=Exit.OK)

    def _troubles(self) -> Iterator[Exit]:
        yield from (exit_of(side) for side in (self.source, self.target) if isinstance(side, WracklineError))
        for table in self.tables:
            source, target = self.of_source(table) or {}, self.of_target(table) or {}
            if source.get("reason"):
                yield Exit.OPERATOR
            if target.get("error"):
                yield _exit(target["error"])
        if isinstance(self.target, Mapping) and self.target["outage"]:
            yield _exit(self.target["outage"])


def gather(pipeline: Pipeline) -> Status:
    """Ask both sides."""
    values = pipeline.good()
    name = values.text("name")
    source = _or_error(lambda: _source(pipeline, values))
    log = _or_error(lambda: asked(name, WORKER, values.integer(WORKER.setting)))
    target = None
    if pipeline.target is not None:
        target = _or_error(lambda: asked(name, CONSUMER, values.integer(CONSUMER.setting)))
    return Status(name, source, log, target)


def asked(pipeline: str, half: Half, port: int) -> Mapping[str, Any]:
    """Return what one of the pipeline's processes says of itself."""
    named = {"pipeline": pipeline, "who": half.who, "setting": half.setting}
    if not port:
        raise NO_PORT(**named, command=half.command)
    direct = build_opener(ProxyHandler({}), _StayHere)  # no proxy knows this machine's own address
    try:
        with direct.open(f"http://{HOST}:{port}{STATUS}", timeout=_PATIENCE) as answer:
            told = orjson.loads(_read(answer))
    except (orjson.JSONDecodeError, HTTPError, HTTPException) as exc:
        raise ANOTHER(**named, port=port) from exc
    except OSError as exc:  # it is refused, or nothing comes
        raise NO_ANSWER(**named, command=half.command, host=HOST, port=port) from exc
    if not isinstance(told, dict) or told.get("pipeline") != pipeline or half.tells not in told:
        raise ANOTHER(**named, port=port)
    return told


class _StayHere(HTTPRedirectHandler):
    """Follows nobody: whoever has the port may be anybody."""

    def redirect_request(self, *_: object) -> None:
        """Go nowhere else."""


def _read(answer: HTTPResponse) -> bytes:
    """Read an answer up to a bound, and for no longer than some seconds: it may come a byte at a time."""
    ends, pieces, size = monotonic() + _PATIENCE, [], 0
    while piece := answer.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > _MOST:
            raise HTTPException
        if monotonic() > ends:
            raise TimeoutError
    return b"".join(pieces)


def _or_error(ask: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | WracklineError:
    try:
        return ask()
    except WracklineError as error:
        return error


def _source(pipeline: Pipeline, values: Values) -> Mapping[str, Any]:
    with desk(pipeline) as opened:
        states = {name: state for one in opened.show() for name, state in one.tables.items()}
    told = requests.told(requests.found(values, lambda _: None))
    return {_ODD.sub("_", name): requests.standing(name, state, told) for name, state in states.items()}


def _exit(error: Mapping[str, Any]) -> Exit:
    """Return the code of an error that came as plain values."""
    kind = _KINDS.get(error["kind"], Transient)
    return exit_of(kind(error["code"], error["sentence"], error["hint"]))
