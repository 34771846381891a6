"""The state of a pipeline's tables, on both sides: what `wrackline status` and REST show.

    source, log, target  <--  the pipeline's board, on which both halves report
    first read           <--  the receipts of requests, in Kafka

In: a pipeline that was found good, or what a worker has read of its board.  Out: one value, whatever part of
it is known; an error takes the place of a part that is not, so that the others are still shown.  The exit
code is that of the trouble that is hardest to repair.  A half that has ended is trouble, unless it has
completed or somebody wished that it rests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.board.board_reader import read_board
from wrackline.control.runtime.board.tasks.half_fold import half_of
from wrackline.control.runtime.ground.exits import Exit, exit_of
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.services import requests
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.topic_deletion import list_topics
from wrackline.schemas.errors import Transient, WracklineError, define, error_of
from wrackline.schemas.kafka.board_records import ENDED, Document, Half, HalfBoard, HalfState
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.settings.settings_registry import Values

NO_REPORT = define(
    "status.no_report",
    Transient,
    "the {who} of {pipeline} has never reported",
    hint="start it: {command} <pipeline.toml>",
)
SILENT = define(
    "status.silent",
    Transient,
    "the {who} of {pipeline} has reported nothing since {since}",
    hint="see whether its process, {pid} on {host}, still runs, and whether Kafka answers there; to start it:"
    " {command} <pipeline.toml>",
)
HAS_ENDED = define(
    "status.has_ended",
    Transient,
    "the {who} of {pipeline} is {state} since {since}",
    hint="start it: {command} <pipeline.toml>",
)

_READ = (None, HalfState.STARTING.value, HalfState.RUNNING.value, HalfState.RECOVERING.value)
_TIMED = ("behind_s", "held_s")  # they grow while nothing else changes


class PipelineProcess(NamedTuple):
    """One of a pipeline's two processes, in words."""

    who: str
    command: str


_PROCESSES = {
    Half.SOURCE: PipelineProcess("worker", "wrackline run"),
    Half.TARGET: PipelineProcess("consumer", "wrackline consume"),
}
Halves = Mapping[Half, HalfBoard]


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """Both sides of one pipeline: for each its tables by name, or why they can't be known."""

    pipeline: str
    source: Mapping[str, Any] | WracklineError
    log: Mapping[str, Any] | WracklineError  # as control/runtime/board/source_report.py writes it
    target: (
        Mapping[str, Any] | WracklineError | None
    )  # as control/runtime/board/target_report.py writes it; None: it has no target
    first: Mapping[str, Any] = field(default_factory=dict)  # by database: the progress of the first read
    resting: frozenset[Half] = frozenset()  # those that have ended, as they should
    ended: Mapping[str, Any] = field(default_factory=dict)  # databases, as they were when their half failed

    def is_read(self, database: str) -> bool:
        """Whether a process reads a database, or tries to."""
        if not isinstance(self.log, Mapping):
            return False
        its = self.log["databases"].get(database, {})
        return its.get("state") in _READ

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
        """Return 0 only if both halves run or rest, and no table has an error."""
        return max(self._troubles(), default=Exit.OK)

    def _troubles(self) -> Iterator[Exit]:
        log = None if Half.SOURCE in self.resting else self.log
        target = None if Half.TARGET in self.resting else self.target
        yield from (exit_of(side) for side in (self.source, log, target) if isinstance(side, WracklineError))
        for table in self.tables:
            source, target = self.of_source(table) or {}, self.of_target(table) or {}
            if source.get("reason"):
                yield Exit.OPERATOR
            if target.get("error"):
                yield _exit_code(target["error"])
        for half in (self.log, self.target):
            if isinstance(half, Mapping) and half.get("error"):
                yield _exit_code(half["error"])
        if isinstance(self.log, Mapping):
            tasks = self.log.get("tasks", ())
            for one in (*self.log["databases"].values(), *tasks):
                if error := one.get("error"):
                    yield _exit_code(error)
            if any(one["state"] == HalfState.STOPPED.value and not one["wished"] for one in tasks):
                yield Exit.TRANSIENT


def gather_status(pipeline: Pipeline) -> PipelineStatus:
    """Read the board, and the receipts."""
    values = pipeline.good()
    name, has_target = values.text("name"), pipeline.target is not None
    try:
        board = read_board(values)
        halves = {half: half_of(board, name, half, now_ms()) for half in Half}
        first = _first_reads(values, halves[Half.SOURCE].tables)
    except WracklineError as error:
        return PipelineStatus(name, error, error, error if has_target else None)
    return pipeline_status(name, halves, now_ms(), has_target=has_target, first=first)


def pipeline_status(
    name: str, halves: Halves, at_ms: int, *, has_target: bool, first: Mapping[str, Any] | None = None
) -> PipelineStatus:
    """Put together what both halves report; pure."""
    source, target = halves[Half.SOURCE], halves[Half.TARGET]
    worker, consumer = (half_trouble(name, half, halves[half], at_ms) for half in Half)
    of_target = None
    if has_target:
        tables = {
            table: {**_aged(document, at_ms), "freshness_ms": _freshness(target.complete_ms(table), at_ms)}
            for table, document in target.tables.items()
        }
        of_target = consumer or {**target.report, "tables": tables}
    return PipelineStatus(
        name,
        source.tables if source.report else _never(name, Half.SOURCE),
        worker or {**source.report, "databases": _idle(source.report["databases"], at_ms)},
        of_target,
        first or {},
        frozenset(half for half in Half if _rests(halves[half], at_ms)),
        source.report["databases"] if source.state is HalfState.FAILED else {},
    )


def half_trouble(name: str, half: Half, known: HalfBoard, at_ms: int) -> WracklineError | None:
    """Return why a half is not known to run."""
    state, report = known.state, known.report
    if state is None:
        return _never(name, half)
    named = {"pipeline": name, **_PROCESSES[half]._asdict()}
    if state is HalfState.FAILED and report["error"]:
        return error_of(report["error"])
    if state in ENDED:
        return HAS_ENDED(**named, state=state.value, since=requests.moment(report["since_ms"]))
    if known.is_silent(at_ms):
        return SILENT(**named, since=requests.moment(known.heard_ms), pid=report["pid"], host=report["host"])
    return None


def _rests(known: HalfBoard, at_ms: int) -> bool:
    """Whether a half has ended, and nobody has to start it."""
    if known.state in (None, HalfState.FAILED) or known.runs(at_ms):
        return False
    ends = known.report.get("tasks") or [known.report]
    return all(one["state"] == HalfState.COMPLETED.value or one.get("wished") for one in ends)


def _never(name: str, half: Half) -> WracklineError:
    return NO_REPORT(pipeline=name, **_PROCESSES[half]._asdict())


def _aged(table: Document, at_ms: int) -> Document:
    """Add the time since the report to what grows with time."""
    passed = max(0, at_ms - table["at_ms"]) / 1000
    return {**table, **{name: round(table[name] + passed, 1) for name in _TIMED if table.get(name)}}


def _freshness(complete_ms: int | None, at_ms: int) -> int | None:
    return None if complete_ms is None else max(0, at_ms - complete_ms)


def _idle(databases: Mapping[str, Document], at_ms: int) -> Mapping[str, Document]:
    """Add how long ago each database's newest event came."""
    idle = {
        name: None if one["last_ms"] is None else max(0, at_ms - one["last_ms"])
        for name, one in databases.items()
    }
    return {name: {**one, "idle_ms": idle[name]} for name, one in databases.items()}


def _first_reads(values: Values, tables: Mapping[str, Document]) -> Mapping[str, Any]:
    """Return the progress of each database's first read, as its tables are by now.

    Those that have a topic are not empty, and those that have come back are not given up.
    """
    first = requests.first_reads(requests.read_receipts(values, lambda _: None))
    for read in first.values():
        read["given_up"] = requests.still_given_up(read["given_up"], tables)
    if any(read["empty"] for read in first.values()):
        client = Client(values.below("kafka."), values.integer("max.row.bytes"))
        there = list_topics(AdminClient(client.admin()))
        server = values.text("topic.prefix")
        filled = {one["table"] for name, one in tables.items() if f"{server}.{name}" in there}
        for read in first.values():
            read["empty"] = [name for name in read["empty"] if name not in filled]
    return first


def _exit_code(error: Mapping[str, Any]) -> Exit:
    """Return the exit code of an error that came as plain values."""
    return exit_of(error_of(error))
