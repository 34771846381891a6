"""Asks a pipeline's source and its Kafka what stands in the way, once the file itself is good.

In: a checked pipeline.  Out: the source's findings about server and tables, and whether the brokers let us
in.  A server that can't be reached is a finding as well: the error that the start would end with.
"""

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from wrackline.control.check_file import STOPS
from wrackline.control.moments import now_ms
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.knock import knock
from wrackline.producers.plugin import Surroundings, WriterIds
from wrackline.producers.plugin import load as load_source
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.findings import Finding, Severity
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId, TableSchema
from wrackline.schemas.topics import assign

ASIDE = "the table is set aside, unless it was copied before the other came; the others go on"
PATIENCE = 3.0  # seconds for the brokers' answer


@dataclass(frozen=True, slots=True)
class Looked:
    """What a source said of its server, and the topics that its tables have or will have."""

    findings: tuple[Finding, ...] = ()
    topics: tuple[str, ...] = ()


def check_server(pipeline: Pipeline) -> Looked:
    """Let the source look at its server; nothing is changed there."""
    if pipeline.source is None or pipeline.values is None:
        return Looked()
    found: list[Finding] = [*broker_findings(pipeline.values)]
    topics: list[str] = []
    try:
        source = load_source(pipeline.source).open(pipeline.values, _around())
        try:
            for partition in source.partitions():
                tables = source.tables(partition)
                found += topic_findings(partition.server, tables)
                topics += assign(partition.server, tables).topics.values()
                found += source.check(partition, tables)
        finally:
            source.close()
    except WracklineError as error:
        name = pipeline.values.text("name")
        found.append(Finding(error.code, name, error.sentence, error.hint, STOPS, Severity.ERROR))
    return Looked(tuple(found), tuple(topics))


def broker_findings(values: Values) -> Iterator[Finding]:
    """Say why the brokers do not let us in; that nobody answers may pass until the start."""
    try:
        knock(Client(values.below("kafka.")), time.monotonic, PATIENCE)
    except WracklineError as error:
        severity = Severity.WARNING if isinstance(error, Transient) else Severity.ERROR
        name = values.text("name")
        yield Finding(error.code, name, error.sentence, error.hint, STOPS, severity)


def topic_findings(server: str, tables: Collection[TableId]) -> Iterator[Finding]:
    """Name each table that can have no topic of its own."""
    for table, error in assign(server, tables).refused.items():
        name = "A table can have no topic of its own"
        yield Finding(error.code, name, error.sentence, error.hint, ASIDE, Severity.ERROR, table)


def _around() -> Surroundings:
    return Surroundings(time.monotonic, now_ms, _registers_nothing)


def _registers_nothing(table: TableSchema) -> WriterIds:
    raise TypeError(f"a check writes no event of {table.id}")
