"""Checks a pipeline's source and its Kafka, once the file itself is good.

In: a checked pipeline.  Out: the source's findings about server and tables, and whether the brokers accept
our login.  A server that can't be reached is a finding as well: the error that the start would end with.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

import orjson

from wrackline.control.runtime.check.file_check import STOPS
from wrackline.control.runtime.ground.pipeline_access import BYSTANDER, group_of, ownership_of
from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.contract.optional_parts import Attended, Claimed, Renewing, Surveying
from wrackline.producers.contract.source_plugin import Source, Surroundings, WriterIds
from wrackline.producers.contract.source_plugin import load as load_source
from wrackline.producers.contract.uncaptured import UncapturedReason, group_by_reason, name_some
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.login_check import check_login
from wrackline.producers.kafka.neighbours import neighbour_positions
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.events.avro_names import column_names
from wrackline.schemas.kafka.schema_registry import RegistryClient, registry_access
from wrackline.schemas.kafka.topic_names import Naming, assign
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

ASIDE = "the table is set aside, unless it was copied before the other came; the others are copied"
WAITS = "the pipeline waits until it answers"
READS_ANEW = "the start reads all tables again, because snapshot.mode is when_needed"
FILTERED = rule(
    "tables.filtered",
    Severity.INFO,
    "Tables that the filters leave out",
    "the filters leave these out: {shown}",
    "they are not copied",
    "nothing, if that is meant; all of them: wrackline tables <pipeline.toml> --all",
)
STRICT = rule(
    "registry.strict",
    Severity.WARNING,
    "Subjects that check compatibility",
    "the schema registry compares new versions of {shown} with older ones ({level})",
    "it may refuse a changed table's schema, and that table then pauses (registry.incompatible)",
    "for each, if that is not meant: curl -X PUT -H 'Content-Type: application/json'"
    " -d '{{\"compatibility\":\"NONE\"}}' '{url}/config/{subject}'",
)
MOST_SUBJECTS = 100  # whose level is read
LEVELS_SECONDS = 10.0  # after which no other level is read
PATIENCE = 3.0  # seconds for the brokers' answer


@dataclass(frozen=True, slots=True)
class ServerFindings:
    """What a source reports of its server, and the topics that its tables have or will have."""

    findings: tuple[Finding, ...] = ()
    topics: tuple[str, ...] = ()


def check_server(pipeline: Pipeline) -> ServerFindings:
    """Let the source check its server; nothing is changed there."""
    if pipeline.source is None or pipeline.values is None:
        return ServerFindings()
    refused = [*broker_findings(pipeline.values)]
    found = [*refused]
    naming = naming_of(pipeline.values)
    topics: list[str] = []
    try:
        source = load_source(pipeline.source).open(pipeline.values, _surroundings(pipeline.values))
        try:
            for partition in source.partitions():
                try:
                    tables = source.tables(partition)
                    found += topic_findings(partition.server, tables, naming)
                    topics += assign(partition.server, tables, naming=naming).topics.values()
                    if not refused:  # the pipeline's position is read from Kafka
                        found += position_findings(pipeline.values, source, partition)
                    found += _source_findings(source, partition, tables)
                except WracklineError as error:  # the other databases are checked all the same
                    found.append(_stopping_finding(pipeline.values, error))
        finally:
            source.close()
    except WracklineError as error:
        found.append(_stopping_finding(pipeline.values, error))
    found += registry_findings(pipeline.values, topics)
    return ServerFindings(tuple(found), tuple(topics))


def _source_findings(
    source: Source, partition: SourcePartition, tables: Sequence[TableId]
) -> Iterator[Finding]:
    yield from source.check(partition, tables)
    if isinstance(source, Surveying):
        yield from filtered_findings(source.left_out(partition))
        yield from name_findings(source.described(partition, tables))


def _stopping_finding(values: Values, error: WracklineError) -> Finding:
    return Finding(error.code, values.text("name"), error.sentence, error.hint, STOPS, Severity.ERROR)


def broker_findings(values: Values) -> Iterator[Finding]:
    """Report why the brokers refuse our login; a broker that does not answer may answer by the start."""
    try:
        check_login(Client(values.below("kafka.")), time.monotonic, PATIENCE)
    except WracklineError as error:
        yield start_error_finding(values.text("name"), error)


def position_findings(values: Values, source: Source, partition: SourcePartition) -> Iterator[Finding]:
    """Let the source look at the log that the pipeline continues in, which its settings may not name.

    Report why it can't continue, if that log is gone.  A log that exists is checked by the source: what a
    running worker confirms meanwhile is newer than the position that was read.
    """
    name = values.text("name")
    try:
        offset = ownership_of(values).state().resume(name, partition)
        if offset is not None and isinstance(source, Attended):
            saved = orjson.loads(offset.position)
            source.place(partition, saved)  # from here on the source looks at the log of this position
            if source.log_state(partition) is None:
                source.resumable(partition, saved)
        if isinstance(source, Claimed):
            source.refuse_anothers(partition, None if offset is None else orjson.loads(offset.position))
    except WracklineError as error:
        found = start_error_finding(name, error)
        recovers = FirstReads.of(values).mode.recovers
        if recovers and isinstance(source, Renewing) and source.lost(partition, error):
            found = replace(found, impact=READS_ANEW, severity=Severity.WARNING)
        yield found


def registry_findings(
    values: Values, topics: Collection[str], clock: Callable[[], float] = time.monotonic
) -> Iterator[Finding]:
    """Report why the schema registry would not accept our schemas; nothing is written there."""
    subjects = [f"{topic}-value" for topic in topics]
    given = registry_access(values)
    try:
        with RegistryClient(replace(given, timeout_seconds=PATIENCE)) as registry:
            known = registry.subjects()
            for subject in subjects[:1]:
                registry.may_register(subject)
            there = [subject for subject in subjects if subject in known]
            until = clock() + LEVELS_SECONDS
            timely = takewhile(lambda _: clock() < until, there[:MOST_SUBJECTS])
            levels = {subject: registry.compatibility(subject) for subject in timely}
    except WracklineError as error:
        yield start_error_finding(values.text("name"), error)
        return
    meant = (None, "NONE", given.compatibility)
    strict = [subject for subject, level in levels.items() if level not in meant]
    if strict:
        yield STRICT(shown=name_some(strict), level=levels[strict[0]], url=given.shown, subject=strict[0])


def start_error_finding(name: str, error: WracklineError) -> Finding:
    """Return an error that a start would meet; the start waits for what may come back by itself."""
    impact, severity = (WAITS, Severity.WARNING) if isinstance(error, Transient) else (STOPS, Severity.ERROR)
    return Finding(error.code, name, error.sentence, error.hint, impact, severity)


def filtered_findings(left_out: Mapping[TableId, UncapturedReason]) -> Iterator[Finding]:
    """Report how many tables the filters leave out; the source itself reports what else is left out."""
    tables = group_by_reason(left_out).get(UncapturedReason.FILTERS)
    if tables:
        yield FILTERED(shown=name_some(list(map(str, tables))))


def name_findings(shapes: Mapping[TableId, TableSchema | WracklineError]) -> Iterator[Finding]:
    """Report each table with two columns that have one name in Avro."""
    for table, shape in shapes.items():
        if isinstance(shape, TableSchema):
            try:
                column_names(str(table), (column.name for column in shape.columns))
            except WracklineError as error:
                name = "Columns with one name in Avro"
                yield Finding(error.code, name, error.sentence, error.hint, ASIDE, Severity.ERROR, table)


def topic_findings(server: str, tables: Collection[TableId], naming: Naming) -> Iterator[Finding]:
    """Report each table that can have no topic of its own."""
    for table, error in assign(server, tables, naming=naming).refused.items():
        name = "A table can have no topic of its own"
        yield Finding(error.code, name, error.sentence, error.hint, ASIDE, Severity.ERROR, table)


def _surroundings(values: Values) -> Surroundings:
    name = values.text("name")
    own = Identity(group_of(name), name, BYSTANDER, 0)
    others = partial(neighbour_positions, Client(values.below("kafka.")), own, tell=lambda _: None)
    return Surroundings(time.monotonic, now_ms, _registers_nothing, neighbours=others)


def _registers_nothing(table: TableSchema) -> WriterIds:
    raise TypeError(f"a check writes no event of {table.id}")
