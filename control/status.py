"""Where a pipeline's tables stand, on both sides: what `wrackline status` shows.

    source  <--  the tables' states beside its stored positions, in Kafka
    target  <--  the running consumer, at its port

In: a pipeline that was found good.  Out: one value, whatever of it answers; an error of one side stands in
its place, so that the other is shown all the same.  The exit code says what is hardest to mend.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

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
    "a consumer of {pipeline} can't be asked: consume.metrics.port is 0",
    hint="set consume.metrics.port in the file, and start the consumer again: wrackline consume"
    " <pipeline.toml>",
)
NO_ANSWER = define(
    "status.no_answer",
    Transient,
    "no consumer of {pipeline} answers at {host}:{port}",
    hint="start it: wrackline consume <pipeline.toml>; start one again that began before its"
    " consume.metrics.port was set; one on another machine is asked there",
)
ANOTHER = define(
    "status.another",
    OperatorNeeded,
    "port {port} is answered by something else than the consumer of {pipeline}",
    hint="give each consumer a consume.metrics.port of its own; who has it: ss -ltnp 'sport = :{port}'",
)

_PATIENCE = 5.0  # seconds
_ODD = re.compile(r"[^a-zA-Z0-9._-]")  # as topics write what they can't hold
_KINDS = {kind.__name__: kind for kind in (Transient, OperatorNeeded, Definite)}


@dataclass(frozen=True, slots=True)
class Status:
    """Both sides of one pipeline; of each its tables by name, or why it can't be said."""

    pipeline: str
    source: Mapping[str, Any] | WracklineError
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
    values = pipeline.values
    if values is None:
        raise ValueError("a pipeline with errors has no status")
    name = values.text("name")
    source: Mapping[str, Any] | WracklineError
    target: Mapping[str, Any] | WracklineError | None = None
    try:
        source = _source(pipeline, values)
    except WracklineError as error:
        source = error
    if pipeline.target is not None:
        try:
            target = asked(name, values.integer("consume.metrics.port"))
        except WracklineError as error:
            target = error
    return Status(name, source, target)


def asked(pipeline: str, port: int) -> Mapping[str, Any]:
    """Return what the pipeline's consumer says of itself."""
    if not port:
        raise NO_PORT(pipeline=pipeline)
    direct = build_opener(ProxyHandler({}))  # no proxy knows this machine's own address
    try:
        with direct.open(f"http://{HOST}:{port}{STATUS}", timeout=_PATIENCE) as answer:
            told = orjson.loads(answer.read())
    except (orjson.JSONDecodeError, HTTPError, HTTPException) as exc:
        raise ANOTHER(port=port, pipeline=pipeline) from exc
    except OSError as exc:  # it is refused, or nothing comes
        raise NO_ANSWER(pipeline=pipeline, host=HOST, port=port) from exc
    if not isinstance(told, dict) or told.get("pipeline") != pipeline or "tables" not in told:
        raise ANOTHER(port=port, pipeline=pipeline)
    return told


def _source(pipeline: Pipeline, values: Values) -> Mapping[str, Any]:
    with desk(pipeline) as opened:
        states = {name: state for one in opened.show() for name, state in one.tables.items()}
    found = requests.found(values, lambda _: None)
    return {_ODD.sub("_", name): requests.standing(name, state, found) for name, state in states.items()}


def _exit(error: Mapping[str, Any]) -> Exit:
    """Return the code of an error that came as plain values."""
    kind = _KINDS.get(error["kind"], Transient)
    return exit_of(kind(error["code"], error["sentence"], error["hint"]))
