"""States and positions by the paths of CDAP's document.

    POST /v1/contexts/{ns}/getState                         {"name", "offsetBasePath"}
    GET  /v1/contexts/{ns}/pipelines                        one line for each connector
    GET  /v1/contexts/{ns}/pipelines/{name}/state|metrics
    GET  /v1/contexts/{ns}/apps/{name}/maxgeneration        the newest epoch of its positions
    GET, PUT …/apps/{name}/generations/{g}/instances/{i}/offset
    GET  /v1/health

In: connectors, and the boards of their pipelines.  Out: routes.  An instance is one part of the source that
has a position of its own; they are numbered in the order of `GET /connectors/{name}/offsets`.
"""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import orjson
from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from wrackline.control.runtime.board.board_summary import PipelineHistory, PipelineSummary, summarise
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.contexts.metrics_document import metrics_document
from wrackline.control.runtime.rest.contexts.namespaces import namespace_check
from wrackline.control.runtime.rest.contexts.state_document import (
    GET_STATE,
    STATE_FILE,
    StateWords,
    TableLines,
    state_document,
)
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.body import json_of
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR, Connectors, WritableConnectors
from wrackline.control.runtime.rest.model.sent_positions import ALTERED, NOT_OFFSETS
from wrackline.control.runtime.rest.model.sent_settings import MOST, read_object
from wrackline.control.runtime.rest.routes.answer_cache import SlowReads
from wrackline.control.runtime.rest.routes.connector_routes import BY_FILE
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.kafka.board_records import Half, HalfBoard
from wrackline.schemas.redaction import shown_name

NO_GENERATION = define(
    "rest.no_generation",
    Definite,
    "connector {name} has no position of generation {generation} and instance {instance}",
    hint="its newest generation: GET /v1/contexts/default/apps/{name}/maxgeneration; its instances are"
    " numbered in the order of GET /connectors/{name}/offsets",
)
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_MOST_LINES: Final = 64  # pipelines whose tables' lines are kept


class PipelineKinds(Protocol):
    """What a pipeline reads, and what it merges into."""

    @property
    def kind(self) -> str:
        """The source's kind."""
        ...

    @property
    def target(self) -> str | None:
        """The target's kind; None: there is no target."""
        ...


class KnownBoard(Protocol):
    """What both halves of a pipeline have reported."""

    @property
    def followed(self) -> PipelineKinds:
        """What it reads, and what it merges into."""
        ...

    @property
    def halves(self) -> Mapping[Half, HalfBoard]:
        """Both halves."""
        ...

    @property
    def history(self) -> PipelineHistory:
        """What it added up to, some seconds ago and before."""
        ...


class Boards(Protocol):
    """Has the boards of all pipelines in memory."""

    def board(self, name: str) -> AbstractContextManager[KnownBoard]:
        """Hold the board of a pipeline until the block ends."""
        ...


def routes(crew: Connectors, boards: Boards, group: WritableConnectors | None = None) -> APIRouter:
    """Make the routes; `group` has the connectors whose positions REST may set."""
    made = APIRouter(prefix="/v1", default_response_class=Answer)
    check = namespace_check(None if group is None else group.group_id)
    _add_states(made, crew, _States(crew, boards), check)
    _add_positions(made, _Positions(crew, group), check)

    @made.get("/health")
    def health() -> Response:
        """Report that it answers."""
        return Answer({"status": "healthy", "message": "the worker answers"})

    return made


def _add_states(made: APIRouter, crew: Connectors, states: "_States", check: Any) -> None:  # noqa: ANN401
    @made.post("/contexts/{ns}/getState")
    async def get_state(ns: str, request: Request) -> Response:
        """Return the state of a pipeline and of its tables."""
        check(ns)
        given = read_object(await json_of(request, MOST))
        found = await run_in_threadpool(states.state, str(given.get("name", "")), GET_STATE)
        return Answer(found | {"ignored": ["offsetBasePath"] if "offsetBasePath" in given else []})

    @made.get("/contexts/{ns}/pipelines")
    def pipelines(ns: str) -> Response:
        """List all pipelines."""
        check(ns)
        lines = map(states.line, sorted(crew.names()))
        return Answer([line for line in lines if line is not None])

    @made.get("/contexts/{ns}/pipelines/{name}/state")
    def state(ns: str, name: str) -> Response:
        """Return a pipeline's state in the words of the document's file of states."""
        check(ns)
        return Answer(states.state(name, STATE_FILE))

    @made.get("/contexts/{ns}/pipelines/{name}/metrics")
    def metrics(ns: str, name: str) -> Response:
        """Return a pipeline's counts."""
        check(ns)
        return Answer(states.metrics(name))


def _add_positions(made: APIRouter, positions: "_Positions", check: Any) -> None:  # noqa: ANN401
    slow = SlowReads()
    offset = "/contexts/{ns}/apps/{name}/generations/{generation}/instances/{instance}/offset"

    @made.get("/contexts/{ns}/apps/{name}/maxgeneration")
    async def newest(ns: str, name: str) -> Response:
        """Return the newest epoch of a pipeline's positions; null before its first start."""
        check(ns)
        return Answer({"maxGeneration": await slow.ask(positions.newest, name)})

    @made.get(offset)
    async def position(ns: str, name: str, generation: str, instance: str) -> Response:
        """Return a position."""
        check(ns)
        _, found = await slow.ask(positions.one, name, generation, instance)
        return Answer({"offset": found})

    @made.put(offset)
    async def put(ns: str, name: str, generation: str, instance: str, request: Request) -> Response:
        """Set a position of a stopped pipeline."""
        check(ns)
        given = _sent_offset(await json_of(request, MOST))
        await slow.ask(positions.put, name, generation, instance, given)
        return Answer(ALTERED)


class _States:
    def __init__(self, crew: Connectors, boards: Boards) -> None:
        self._crew, self._boards = crew, boards
        self._lines: dict[tuple[str, StateWords], TableLines] = {}

    def state(self, name: str, words: StateWords) -> dict[str, Any]:
        with self._board(name) as board:
            if (name, words) not in self._lines and len(self._lines) >= _MOST_LINES:
                self._lines.clear()
            lines = self._lines.setdefault((name, words), TableLines(words))
            return state_document(name, board.halves, self._crew.standing(name), now_ms(), words, lines)

    def metrics(self, name: str) -> dict[str, Any]:
        with self._board(name) as board:
            return metrics_document(board.followed.target, board.halves, now_ms())

    def line(self, name: str) -> dict[str, Any] | None:
        """Return a pipeline's line; None: it was deleted meanwhile."""
        try:
            with self._board(name) as board:
                kinds, summary = board.followed, board.history.newest(board.halves, now_ms())
                return _line(name, self._crew.standing(name), kinds.kind, kinds.target, summary)
        except WracklineError as error:  # one whose settings are no longer good keeps no other from the list
            if name not in self._crew.names():
                return None
            nothing = summarise({half: HalfBoard() for half in Half}, now_ms())
            unread = _line(name, self._crew.standing(name), "", None, nothing)
            return {**unread, "error": error.sentence}

    def _board(self, name: str) -> AbstractContextManager[KnownBoard]:
        if name not in self._crew.names():
            raise NO_CONNECTOR(name=shown_name(name))
        return self._boards.board(name)


def _line(
    name: str, standing: ConnectorState, kind: str, target: str | None, summary: PipelineSummary
) -> dict[str, Any]:
    return {
        "name": name,
        "source": kind,
        "target": target,
        "status": standing.state.value,
        "states": {half.value: state and state.value for half, state in summary.states.items()},
        "silent": sorted(half.value for half in summary.silent),
        "tables": summary.tables,
        "tablesSnapshotting": summary.reading,
        "tablesFailing": summary.wrong,
        "freshness_ms": summary.late_ms,
        "error": None if summary.error is None else summary.error["sentence"],
    }


class _Positions:
    def __init__(self, crew: Connectors, group: WritableConnectors | None) -> None:
        self._crew, self._group = crew, group

    def newest(self, name: str) -> int | None:
        return max((_epoch(position) for _, position in self._all(name)), default=None)

    def one(self, name: str, generation: str, instance: str) -> tuple[Mapping[str, str], object]:
        known = self._all(name)
        if _NUMBER.fullmatch(generation) and _NUMBER.fullmatch(instance) and int(instance) < len(known):
            partition, position = known[int(instance)]
            if _epoch(position) == int(generation):
                return partition, position
        raise NO_GENERATION(name=name, generation=shown_name(generation), instance=shown_name(instance))

    def put(self, name: str, generation: str, instance: str, position: Mapping[str, Any]) -> None:
        if self._group is None:
            raise BY_FILE(method="PUT of an offset")
        partition, _ = self.one(name, generation, instance)
        self._group.edit_offsets(name, [(partition, position)])

    def _all(self, name: str) -> list[tuple[Mapping[str, str], object]]:
        if name not in self._crew.names():
            raise NO_CONNECTOR(name=shown_name(name))
        return list(self._crew.offsets(name))


def _epoch(position: object) -> int:
    found = position.get("epoch", 0) if isinstance(position, dict) else 0
    return found if isinstance(found, int) else 0


def _sent_offset(body: bytes) -> Mapping[str, Any]:
    try:
        match orjson.loads(body):
            case {"offset": dict(position), **rest} if not rest:
                return position
    except orjson.JSONDecodeError:
        pass
    raise NOT_OFFSETS(why='it is not {"offset": {…}}')
