"""`wrackline run`: one pipeline in the foreground, until it is stopped, is done, or needs an operator.

    main thread      figures; receives SIGTERM and SIGINT
    task's thread    claims its generation, opens the source, publishes
    log watch        looks at the slot every few seconds, on its own connection
    board            writes what becomes of it to the pipeline's board
    metrics          answers scrapes, if metrics.port is set

The source is opened twice: here, to ask before a generation is claimed and beside the task, and by the task,
to write events.  A source lends its connection to one caller at a time, so neither waits for the other.

Each pipeline has its own internal topics, `wrackline-<name>-*`: a partition of an offsets topic has one
writer, and without a group nothing assigns partitions.  A second run of the same pipeline claims a newer
generation; the first run notices that when it is fenced, reports it and ends.

The run waits for a server that is not there yet as for one that goes away later: errors.max.retries counts,
and errors.retry.timeout.
"""

import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from threading import Event

import orjson

from wrackline.control.runtime.board.board_writer import written_board
from wrackline.control.runtime.board.source_report import SourceReport
from wrackline.control.runtime.ground.pipeline_access import (
    group_of,
    ownership_of,
    position_text,
    surroundings,
)
from wrackline.control.runtime.ground.scrape_port import HOST, METRICS, metrics_page, serve_pages, task_port
from wrackline.control.runtime.ground.stop_signals import Alarm, hear_stop_signals
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.lineage.column_maps import Knows, name_of, publish_map
from wrackline.control.runtime.lineage.source_half import report_source_run
from wrackline.control.runtime.logs.libraries import log_libraries
from wrackline.control.runtime.logs.lines import Log
from wrackline.control.runtime.logs.sent_lines import sent_lines
from wrackline.control.runtime.running.status_line import Narration, Pulse, StatusLine, TellWrong
from wrackline.producers.contract.optional_parts import Attended, Buffering, LogState, Recounting, Surveying
from wrackline.producers.contract.source_plugin import Source, SourcePlugin, load
from wrackline.producers.contract.uncaptured import UncapturedReason, uncaptured_text
from wrackline.producers.kafka.ownership import Ownership
from wrackline.producers.observe.log_lag_poller import poll_logs
from wrackline.producers.observe.task_metrics import TaskMeasures
from wrackline.producers.task import assembly, background
from wrackline.producers.task.retries import Retries
from wrackline.producers.task.task_limits import Clocks, TaskLimits
from wrackline.producers.task.task_loop import Task
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define, of_database
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.pipelines.deal import TaskShare, whole_deal
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

LAST_WORD = 20.0  # seconds to finish what it began, after a request to stop
_LOOK = 1.0  # seconds between two looks whether the figures are due
_NAMED = 5  # tables in the line about them


Tell = Callable[[Health, Exception | None], None]

NO_TABLES = define(
    "run.no_tables",
    OperatorNeeded,
    "no table of database {database} is captured: the filters leave all out, or the user may see none",
    hint="see which are left out: wrackline tables <pipeline.toml> --all; then correct table.include.list or"
    " table.exclude.list; a table that comes later and passes them is captured by itself",
)
TOO_MANY = define(
    "run.too_many_tables",
    OperatorNeeded,
    "{count} tables of database {database} pass the filters, and guardrail.collections.max is {most}",
    hint="narrow table.include.list, or raise guardrail.collections.max; which tables: wrackline tables"
    " <pipeline.toml>",
)
NOT_STOPPED = define(
    "run.not_stopped",
    Transient,
    "{pipeline} was asked to stop and did not stop within {seconds:.0f} s; Wrackline no longer waits for it",
    hint="nothing is lost; see whether Kafka and the database are there",
)


def run(
    pipeline: Pipeline,
    log: Log,
    share: TaskShare | None = None,
    *,
    tell: Tell = lambda _health, _error: None,
    wrong: TellWrong = lambda _what, _now: None,
    draw: Callable[[str], None] | None = None,
    is_wished: Callable[[], bool] = lambda: False,
) -> None:
    """Run a task of a pipeline that was found good, or all of it; an error that needs an operator is raised.

    `wrong` gets the tables that have an error, and the databases; `draw` redraws the status line on a
    terminal.  `is_wished` says whether somebody wished that it rests, when it is asked to stop.
    """
    values = pipeline.good()
    if pipeline.source is None:
        raise ValueError("a pipeline without a source does not run")
    stopping, plugin = Event(), load(pipeline.source)
    share = share or TaskShare(whole_deal(values, now_ms()))
    log = log.bind(pipeline=values.text("name"))
    alarm = Alarm()
    with hear_stop_signals(alarm) as asked, log_libraries(log, values.redactor.clean), ExitStack() as opened:
        opened.enter_context(sent_lines(values, Half.SOURCE))
        warn_of_no_effect(pipeline, log)
        lineage = opened.enter_context(report_source_run(plugin, values, log))
        source = plugin.open(values, surroundings(share))
        opened.callback(source.close)
        measures = _measures(plugin, source, share.task)
        if port := task_port(values, share.task):
            pages = {METRICS: metrics_page(measures.families)}
            opened.enter_context(serve_pages(port, pages, "metrics.port"))
            url = f"http://{HOST}:{port}{METRICS}"
            log.info("metrics", line=f"metrics: {url}", url=url)
        report = SourceReport(values, plugin.kind, measures, position_text(source), is_wished, share.deal)

        def hear(health: Health, error: Exception | None) -> None:
            report.health(health, error)
            tell(health, error)

        narration = Narration(measures, log, time.monotonic, hear, lineage, wrong)
        board = written_board(
            values, Half.SOURCE, report.look, narration.notice, task=share.task, tasks=share.deal.tasks
        )
        maps = opened.enter_context(board)
        narration.pass_shapes(partial(_know_shape, ColumnRules.of(values), maps.knows))
        opened.enter_context(report.standing.until_its_end())
        begin = partial(_begin, plugin, values, source, share, narration, log, stopping)
        work = partial(_work, begin, assembly.limits(values), narration, stopping, random.random)
        working = background.start_call(work, "task")
        pulse = Pulse(StatusLine(measures, position_text(source), time.monotonic), log, time.monotonic, draw)
        working.add_done_callback(lambda _: alarm.ring())
        while not working.done():
            alarm.wait(_LOOK)
            if asked():
                stopping.set()
                if not wait([working], LAST_WORD).done:
                    raise NOT_STOPPED(pipeline=values.text("name"), seconds=LAST_WORD)
            if measures.running:
                pulse()
        _end_with(working, share)
        pulse(last=True)
        _last_words(source, log, completed=narration.completed)


def _know_shape(rules: ColumnRules, knows: Knows, table: TableSchema, topic: str) -> None:
    knows(name_of(topic), publish_map(table, rules))


def warn_of_no_effect(pipeline: Pipeline, log: Log) -> None:
    """Name the settings that nothing acts on; the pipeline runs without them."""
    for problem in pipeline.problems:
        told = {"setting": shown_name(problem.setting), "error": problem.error.document()}
        log.warning("without effect", line=f"warning: {problem.error}", **told)


def _last_words(source: Source, log: Log, *, completed: bool) -> None:
    """Log how it ended, and what stays on the server without a reader."""
    if not completed:
        log.info("stopped", line="stopped")
        return
    log.info("completed", line="completed: existing rows are read, and snapshot.mode asks for no more")
    left: Collection[LogState | None] = ()
    with suppress(WracklineError):  # it does not matter if the server is gone now
        left = _log_states(source).values()
    for one in left:
        if one is not None:
            line = (
                f"{one.name} is kept, and the server keeps all of its log from here on: continue with"
                f' snapshot.mode = "initial", or drop it: {one.drop}'
            )
            log.warning("log kept", line=line, name=one.name, drop=one.drop)


Begun = tuple[Task, ExitStack]


def _work(
    begin: Callable[[], Begun],
    limits: TaskLimits,
    narration: Narration,
    stopping: Event,
    chance: Callable[[], float],
) -> None:
    """Begin, again and again while a retry may help, and run the task."""
    retries = Retries()
    while not stopping.is_set():
        try:
            task, opened = begin()
        except Transient as error:
            retries = retries.failed(error, time.monotonic(), limits)
            narration.health(Health.RECOVERING, error)
            stopping.wait(limits.wait_before(retries.tries, chance()))
        else:
            with opened:
                task.run()
            return


def _end_with(working: Future[None], share: TaskShare) -> None:
    """Raise what ended the task; the error of a task with one of several databases names that one."""
    try:
        working.result()
    except WracklineError as error:
        if share.deal.several and len(share.names) == 1:  # the others are those of other tasks
            raise of_database(error, share.names[0]) from error
        raise


def _begin(
    plugin: SourcePlugin,
    values: Values,
    source: Source,
    share: TaskShare,
    narration: Narration,
    log: Log,
    stopping: Event,
) -> Begun:
    name, partitions = values.text("name"), source.partitions()
    surveys = background.ask_each(partial(_look, source), partitions, "survey")
    for partition, survey in surveys.items():
        if not survey.done():
            narration.database(partition, Health.STARTING, None)
            continue
        try:
            lead = f"{partition.database}: " if len(partitions) > 1 else ""
            _survey(plugin, values, partition, survey.result(), narration, log, lead)
        except WracklineError as error:
            if len(partitions) == 1 or error.code == TOO_MANY.code:  # a limit on the whole pipeline
                raise
            narration.database(partition, Health.RECOVERING, error)  # the others need not wait for it
    ownership = ownership_of(values, share.task)
    ownership.prepare(tasks=share.deal.tasks)
    generation = _claim(ownership, share, source, log, name)
    owner = assembly.TaskOwner(
        group_of(name), share.task, ownership.newest, claimed=generation, share=share.names
    )
    moments = Clocks(time.monotonic, now_ms, random.random)
    with ExitStack() as opened:
        opened.enter_context(poll_logs(source, narration, now_ms))
        made = assembly.task(plugin, values, owner, narration, moments, stopping)
        return opened.enter_context(made), opened.pop_all()


LeftOut = Mapping[TableId, UncapturedReason]


def _look(source: Source, partition: SourcePartition) -> tuple[Sequence[TableId], LeftOut | None]:
    """Ask which tables of a database are captured, and which are not, where the source says so."""
    return source.tables(partition), source.left_out(partition) if isinstance(source, Surveying) else None


def _survey(
    plugin: SourcePlugin,
    values: Values,
    partition: SourcePartition,
    found: tuple[Sequence[TableId], LeftOut | None],
    narration: Narration,
    log: Log,
    lead: str,
) -> None:
    """Log what is read of a database, and what is not; `lead` names it where there are several."""
    tables, left_out = found
    narration.sees(partition, tables)
    first = ", ".join(f"{table.schema}.{table.name}" for table in tables[:_NAMED])
    more = f", and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
    line, told = f"database {partition.database}", {"database": partition.database}
    name = values.text("name")
    log.info("connected", line=f"{name}: connected to {plugin.kind}, {line}", kind=plugin.kind, **told)
    line = f"tables: {len(tables)} ({first}{more})" if tables else "tables: none"
    log.info("tables", line=f"{lead}{line}", tables=len(tables), **told)
    error = check_table_count(values, partition, len(tables))
    if not tables:
        error = NO_TABLES(database=partition.database)
    if left_out is not None:
        narration.left_out(partition, left_out)
        if left_out:
            line = (
                f"{lead}not captured: {uncaptured_text(left_out)}; all of them: wrackline tables <file> --all"
            )
            log.info("not captured", line=line, tables=len(left_out), **told)
    if error is not None:
        log.warning("warning", line=f"warning: {error}", error=error.document(), **told)


def check_table_count(values: Values, partition: SourcePartition, count: int) -> WracklineError | None:
    """Compare the count of tables with the maximum; return an error for more, or raise it if set to fail."""
    most = values.integer("guardrail.collections.max")
    if not most or count <= most:
        return None
    error = TOO_MANY(count=count, database=partition.database, most=most)
    if values.text("guardrail.collections.limit.action") == "fail":
        raise error
    return error


def _claim(ownership: Ownership, share: TaskShare, source: Source, log: Log, name: str) -> int:
    claim = ownership.take_over(share, time.monotonic)
    place = position_text(source)
    for partition, state in _log_states(source).items():
        offset = claim.state.resume(name, partition)
        begins = None if offset is None else place(partition, orjson.loads(offset.position))
        kept = "" if state is None else f"; {state.name} exists"
        told = {"database": partition.database, "position": begins}
        said = "starts with no stored position" if begins is None else f"begins at {begins}"
        log.info("begins", line=f"{partition.database}: {said}{kept}", **told)
        if state is not None and state.held_by is not None:
            line = f"takes over from {state.held_by}, which still reads {state.name} and is now shut out"
            log.warning("takes over", line=line, held_by=state.held_by, database=partition.database)
    line = f"owner: generation {claim.generation} of {group_of(name)}.{name}.{share.task}"
    log.info("owner", line=line, generation=claim.generation, task=share.task)
    return claim.generation


def _log_states(source: Source) -> Mapping[SourcePartition, LogState | None]:
    """Ask how the server sees each log; None for one of several that is not shown: its lane reports why."""
    if not isinstance(source, Attended):
        return dict.fromkeys(source.partitions())
    answers = background.ask_each(source.log_state, source.partitions(), "log state")
    found: dict[SourcePartition, LogState | None] = dict.fromkeys(answers)
    for partition, answer in answers.items():
        with suppress(WracklineError) if len(answers) > 1 else nullcontext():
            found[partition] = answer.result() if answer.done() else None
    return found


def _measures(plugin: SourcePlugin, source: Source, task: int) -> TaskMeasures:
    measures = TaskMeasures(
        task,
        plugin.kind,
        source.partitions(),
        TaskLimits().most_ahead_bytes,
        monotonic=time.monotonic,
        now_ms=now_ms,
    )
    if isinstance(source, Recounting):
        measures.recounts(source.recount)
    if isinstance(source, Buffering):
        measures.keeps(source.open_transactions)
    return measures
