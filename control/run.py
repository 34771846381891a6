"""`wrackline run`: one pipeline in the foreground, until it is asked to stop, is done, or asks for somebody.

    main thread      figures; hears SIGTERM and SIGINT
    task's thread    claims its generation, opens the source, publishes
    log watch        looks at the slot every few seconds, on a connection of its own
    metrics          answers scrapes, where metrics.port says so

Each pipeline's internal topics are its own, `wrackline-<name>-*`: a partition of an offsets topic has one
writer, and without a group there is nobody to hand partitions out.  A second run of the same pipeline claims
a newer generation; the first one finds that out when it is fenced, says so and ends.

A server that is not there yet is waited for as one that goes away later: errors.max.retries counts.
"""

import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import Event

import orjson

from wrackline.control.lineage.source_half import source_told
from wrackline.control.logs.libraries import libraries_say
from wrackline.control.logs.lines import Log
from wrackline.control.moments import now_ms
from wrackline.control.scrape_port import HOST, METRICS, STATUS, Page, metrics_page, serving
from wrackline.control.status_line import Narration, Pulse, StatusLine
from wrackline.producers import assembly, background
from wrackline.producers.changes import Saved
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.knock import knock
from wrackline.producers.kafka.ownership import Ownership
from wrackline.producers.lanes import Health
from wrackline.producers.log_watch import watching
from wrackline.producers.metrics import Measures
from wrackline.producers.pace import Limits, Moments
from wrackline.producers.plugin import (
    Attended,
    LogState,
    Source,
    SourcePlugin,
    Surroundings,
    WriterIds,
    load,
)
from wrackline.producers.status import document
from wrackline.producers.task import Task
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableSchema

TASK = 0
LAST_WORD = 20.0  # seconds for what was begun, once it is asked to stop
_LOOK = 0.2  # seconds between two looks at a wish to stop
_NAMED = 5  # tables in the line about them


Tell = Callable[[Health, Exception | None], None]

NO_TABLES = define(
    "run.no_tables",
    OperatorNeeded,
    "no table of database {database} is captured: the filters leave all out, or the user may see none",
    hint="see which are left out: wrackline tables <pipeline.toml> --all; then correct table.include.list or"
    " table.exclude.list; a table that comes later and passes them is captured by itself",
)
NOT_STOPPED = define(
    "run.not_stopped",
    Transient,
    "{pipeline} was asked to stop and has not within {seconds:.0f} s; it is left where it is",
    hint="nothing is lost; see whether Kafka and the database are there",
)


def group_of(name: str) -> str:
    """Name the group of one: whose topics and transactional ids a pipeline's run has."""
    return f"wrackline-{name}"


def run(
    pipeline: Pipeline,
    log: Log,
    *,
    tell: Tell = lambda _health, _error: None,
    draw: Callable[[str], None] | None = None,
) -> None:
    """Run a pipeline that was found good; an error that asks for somebody is raised.

    `draw` writes the status line anew on a terminal.
    """
    values = pipeline.good()
    if pipeline.source is None:
        raise ValueError("a pipeline without a source does not run")
    stopping, plugin = Event(), load(pipeline.source)
    log = log.bind(pipeline=values.text("name"))
    with asked_to_stop() as asked, libraries_say(log, values.redactor.clean), ExitStack() as opened:
        lineage = opened.enter_context(source_told(plugin, values, log))
        source = plugin.open(values, around())
        opened.callback(source.close)
        measures = _measures(plugin, source)
        port = values.integer("metrics.port")
        if port:
            pages = {METRICS: metrics_page(measures.families), STATUS: _status_page(values, measures)}
            opened.enter_context(serving(port, pages, "metrics.port"))
            url = f"http://{HOST}:{port}{METRICS}"
            log.info("metrics", line=f"metrics: {url}", url=url)
        narration = Narration(measures, log, time.monotonic, tell, lineage)
        begin = partial(_begin, plugin, values, source, narration, log, stopping)
        work = partial(_work, begin, assembly.limits(values), narration, stopping, random.random)
        working = background.begin(work, "task")
        pulse = Pulse(StatusLine(measures, placing(source), time.monotonic), log, time.monotonic, draw)
        while not wait([working], _LOOK).done:
            if asked():
                stopping.set()
                if not wait([working], LAST_WORD).done:
                    raise NOT_STOPPED(pipeline=values.text("name"), seconds=LAST_WORD)
            if measures.running:
                pulse()
        working.result()
        pulse(last=True)
        _last_words(source, log, completed=narration.completed)


def around() -> Surroundings:
    """What a source needs that writes no events here."""
    return Surroundings(time.monotonic, now_ms, _registers_nothing)


def placing(source: Source) -> Callable[[Saved], str]:
    """Return how this source's people write a position."""
    return source.place if isinstance(source, Attended) else lambda saved: orjson.dumps(saved).decode()


def ownership_of(values: Values) -> Ownership:
    """Return the offsets' partition of a pipeline's one task, once Kafka has let us in."""
    name = values.text("name")
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    knock(client, time.monotonic)
    return Ownership(client, group_of(name), name, TASK)


def _last_words(source: Source, log: Log, *, completed: bool) -> None:
    """Say how it ended, and what is left on the server that nobody reads from."""
    if not completed:
        log.info("stopped", line="stopped")
        return
    log.info("completed", line="completed: existing rows are read, and snapshot.mode asks for no more")
    left: list[LogState | None] = []
    if isinstance(source, Attended):
        with suppress(WracklineError):  # a server that is gone now changes nothing
            left = [source.log_state(partition) for partition in source.partitions()]
    for one in left:
        if one is not None:
            line = (
                f"{one.name} stays, and the server keeps all of its log from here on: go on from it with"
                f" snapshot.mode=initial, or drop it: {one.drop}"
            )
            log.warning("log stays", line=line, name=one.name, drop=one.drop)


Begun = tuple[Task, ExitStack]


def _work(
    begin: Callable[[], Begun],
    limits: Limits,
    narration: Narration,
    stopping: Event,
    chance: Callable[[], float],
) -> None:
    """Begin, again and again while that may help, and run the task."""
    tries = 0
    while not stopping.is_set():
        try:
            task, opened = begin()
        except Transient as error:
            tries += 1
            if 0 <= limits.most_tries < tries:
                raise
            narration.health(Health.RECOVERING, error)
            stopping.wait(limits.wait_before(tries, chance()))
        else:
            with opened:
                task.run()
            return


def _begin(
    plugin: SourcePlugin, values: Values, source: Source, narration: Narration, log: Log, stopping: Event
) -> Begun:
    name = values.text("name")
    for partition in source.partitions():
        tables = source.tables(partition)
        narration.sees(partition, tables)
        first = ", ".join(f"{table.schema}.{table.name}" for table in tables[:_NAMED])
        more = f", and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
        line, told = f"database {partition.database}", {"database": partition.database}
        log.info("connected", line=f"{name}: connected to {plugin.kind}, {line}", kind=plugin.kind, **told)
        line = f"tables: {len(tables)} ({first}{more})" if tables else "tables: none"
        log.info("tables", line=line, tables=len(tables), **told)
        if not tables:
            error = NO_TABLES(database=partition.database)
            log.warning("warning", line=f"warning: {error}", error=error.document(), **told)
    ownership = ownership_of(values)
    ownership.prepare()
    generation = _claim(ownership, source, log, name)
    owner = assembly.Owner(group_of(name), TASK, ownership.newest, claimed=generation)
    moments = Moments(time.monotonic, now_ms, random.random)
    with ExitStack() as opened:
        opened.enter_context(watching(source, narration.confirmed, narration.looked))
        made = assembly.task(plugin, values, owner, narration, moments, stopping)
        return opened.enter_context(made), opened.pop_all()


def _claim(ownership: Ownership, source: Source, log: Log, name: str) -> int:
    claim = ownership.claim(time.monotonic)
    place = placing(source)
    for partition in source.partitions():
        offset = claim.state.resume(name, partition)
        begins = "no stored position" if offset is None else place(orjson.loads(offset.position))
        state = source.log_state(partition) if isinstance(source, Attended) else None
        kept = "" if state is None else f"; {state.name} is there"
        told = {"database": partition.database, "position": None if offset is None else begins}
        log.info("begins", line=f"{partition.database}: begins at {begins}{kept}", **told)
    line = f"owner: generation {claim.generation} of {group_of(name)}.{name}.{TASK}"
    log.info("owner", line=line, generation=claim.generation, task=TASK)
    return claim.generation


def _measures(plugin: SourcePlugin, source: Source) -> Measures:
    return Measures(
        TASK,
        plugin.kind,
        source.partitions(),
        Limits().most_ahead_bytes,
        monotonic=time.monotonic,
        now_ms=now_ms,
    )


def _status_page(values: Values, measures: Measures) -> Page:
    name, began_ms = values.text("name"), now_ms()

    def told() -> bytes:
        return orjson.dumps(document(measures, name, began_ms, now_ms()))

    return Page("application/json", told)


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Hear SIGTERM and SIGINT; a handler may take no lock, so it only makes a note."""
    heard: list[int] = []
    before = {
        number: signal.signal(number, lambda caught, _: heard.append(caught))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _registers_nothing(table: TableSchema) -> WriterIds:
    raise TypeError(f"no event of {table.id} is written here")
