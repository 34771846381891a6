"""The state of a pipeline's tables, on both sides: what `wrackline status` shows.

    source  <--  the tables' states beside its stored positions, in Kafka
    log     <--  the running worker, at its port
    target  <--  the running consumer, at its port

In: a pipeline that was found good.  Out: one value, whatever part of it answers; an error of one part takes
that part's place, so that the others are still shown.  The exit code is that of the trouble that is hardest
to repair.  A log that can't be asked does not count, because what is in Kafka is known without the worker.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from time import monotonic
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

import orjson
from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.ground.exits import Exit, exit_of
from wrackline.control.runtime.ground.scrape_port import HOST, STATUS
from wrackline.control.runtime.services import requests
from wrackline.control.runtime.services.offsets import open_offsets
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.topic_deletion import list_topics
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

NO_PORT = define(
    "status.no_port",
    OperatorNeeded,
    "the {who} of {pipeline} can't be asked: {setting} is 0",
    hint="set {setting} to a port, and start it again: {command} <pipeline.toml>; in a group of workers the"
    " setting is part of the connector's: PUT /connectors/{pipeline}/config",
)
NO_ANSWER = define(
    "status.no_answer",
    Transient,
    "no {who} of {pipeline} answers at {host}:{port}",
    hint="start it: {command} <pipeline.toml>; if it was started before {setting} was set, restart it; if it"
    " runs on another machine, ask there",
)
ANOTHER = define(
    "status.another",
    OperatorNeeded,
    "port {port} is answered by something else than the {who} of {pipeline}",
    hint="give each a {setting} of its own; who has it: ss -ltnp 'sport = :{port}'",
)

_PATIENCE = 5.0  # seconds
_PIECE = 1 << 16
_MOST = 32 << 20  # bytes of an answer: for ten thousand tables it has a few million
_KINDS = {kind.__name__: kind for kind in (Transient, OperatorNeeded, Definite)}


class PipelineProcess(NamedTuple):
    """One of a pipeline's two processes, and how it is asked."""

    who: str
    setting: str  # of its port
    command: str
    tells: str  # a key that only this process's answer has


WORKER = PipelineProcess("worker", "metrics.port", "wrackline run", "databases")
CONSUMER = PipelineProcess("consumer", "consume.metrics.port", "wrackline consume", "tables")


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """Both sides of one pipeline: for each its tables by name, or why they can't be known."""

    pipeline: str
    source: Mapping[str, Any] | WracklineError
    log: Mapping[str, Any] | WracklineError  # as producers/observe/status_document.py writes it
    target: (
        Mapping[str, Any] | WracklineError | None
    )  # as consumers/observe/status.py writes it; None: it has no target
    first: Mapping[str, Any] = field(default_factory=dict)  # by database: the progress of the first read

    @property
    def tables(self) -> list[str]:
        """All tables that either side names."""
        sides = [self.source] if isinstance(self.source, Mapping) else []
        sides += [self.target["tables"]] if isinstance(self.target, Mapping) else []
        return sorted({name for side in sides for name in side})

    def of_source(self, table: str) -> Mapping[str, Any] | None:
        """Return the source's state of a table."""
        return self.source.get(table) if isinstance(self.source, Mapping) else None

    def own_name(self, table: str) -> str:
        """Return a table's name at its source; topics write `_` for some characters of it."""
        return str((self.of_source(table) or {}).get("table", table))

    def of_target(self, table: str) -> Mapping[str, Any] | None:
        """Return the target's state of a table."""
        return self.target["tables"].get(table) if isinstance(self.target, Mapping) else None

    @property
    def exit(self) -> Exit:
        """Return 0 only if both sides answer, and no table has an error."""
        return max(self._troubles(), default=Exit.OK)

    def _troubles(self) -> Iterator[Exit]:
        yield from (exit_of(side) for side in (self.source, self.target) if isinstance(side, WracklineError))
        for table in self.tables:
            source, target = self.of_source(table) or {}, self.of_target(table) or {}
            if source.get("reason"):
                yield Exit.OPERATOR
            if target.get("error"):
                yield _exit_code(target["error"])
        if isinstance(self.target, Mapping) and self.target["outage"]:
            yield _exit_code(self.target["outage"])


def gather_status(pipeline: Pipeline) -> PipelineStatus:
    """Ask both sides."""
    values = pipeline.good()
    name = values.text("name")
    first: dict[str, Any] = {}
    source = _or_error(lambda: _source(pipeline, values, first))
    log = _or_error(lambda: ask_process(name, WORKER, values.integer(WORKER.setting)))
    target = None
    if pipeline.target is not None:
        target = _or_error(lambda: ask_process(name, CONSUMER, values.integer(CONSUMER.setting)))
    return PipelineStatus(name, source, log, target, first)


def ask_process(pipeline: str, half: PipelineProcess, port: int) -> Mapping[str, Any]:
    """Return the status that one of the pipeline's processes reports."""
    named = {"pipeline": pipeline, "who": half.who, "setting": half.setting}
    if not port:
        raise NO_PORT(**named, command=half.command)
    direct = build_opener(ProxyHandler({}), _NoRedirect)  # no proxy knows this machine's own address
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


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect, because any program may have the port."""

    def redirect_request(self, *_: object) -> None:
        """Do not follow it."""


def _read(answer: HTTPResponse) -> bytes:
    """Read an answer up to a size and for a few seconds at most: it may come a byte at a time."""
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


def _source(pipeline: Pipeline, values: Values, first: dict[str, Any]) -> Mapping[str, Any]:
    """Return the tables' states; put the progress of their first read into `first`."""
    with open_offsets(pipeline) as opened:
        states = opened.states()
    receipts = requests.read_receipts(values, lambda _: None)
    first.update(requests.first_reads(receipts))
    _leave_out_filled(values, first, states)
    return by_topic(states, values.text("topic.prefix"), naming_of(values), requests.table_receipts(receipts))


def _leave_out_filled(values: Values, first: Mapping[str, Any], tables: Iterable[TableId]) -> None:
    """Remove the tables that have a topic by now from the tables that had no rows."""
    if not any(read["empty"] for read in first.values()):
        return
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    there = list_topics(AdminClient(client.admin()))
    server, naming = values.text("topic.prefix"), naming_of(values)
    filled = {str(table) for table in tables if table_topic(server, table, naming) in there}
    for read in first.values():
        read["empty"] = [name for name in read["empty"] if name not in filled]


def by_topic(
    states: Mapping[TableId, Mapping[str, Any]], server: str, naming: Naming, told: requests.TableReceipts
) -> Mapping[str, Any]:
    """Return the tables' states by their topics' names, without the server, as the target names them."""
    return {
        table_topic(server, table, naming).partition(".")[2]: requests.table_state(str(table), state, told)
        for table, state in states.items()
    }


def _exit_code(error: Mapping[str, Any]) -> Exit:
    """Return the exit code of an error that came as plain values."""
    kind = _KINDS.get(error["kind"], Transient)
    return exit_of(kind(error["code"], error["sentence"], error["hint"]))
