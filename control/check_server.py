"""Asks a pipeline's source what stands in its way, once the file itself is good.

In: a checked pipeline.  Out: the source's findings about server and tables.  A server that can't be reached
is a finding as well: the error that the start would end with.
"""

import time
from collections.abc import Collection, Iterator

from wrackline.control.check_file import STOPS
from wrackline.producers.plugin import Surroundings, WriterIds
from wrackline.producers.plugin import load as load_source
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.findings import Finding, Severity
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.table import TableId, TableSchema
from wrackline.schemas.topics import assign


def check_server(pipeline: Pipeline) -> tuple[Finding, ...]:
    """Let the source look at its server; nothing is changed there."""
    if pipeline.source is None or pipeline.values is None:
        return ()
    found: list[Finding] = []
    try:
        source = load_source(pipeline.source).open(pipeline.values, _around())
        try:
            for partition in source.partitions():
                tables = source.tables(partition)
                found += topic_findings(partition.server, tables)
                found += source.check(partition, tables)
        finally:
            source.close()
    except WracklineError as error:
        name = pipeline.values.text("name")
        found.append(Finding(error.code, name, error.sentence, error.hint, STOPS, Severity.ERROR))
    return tuple(found)


def topic_findings(server: str, tables: Collection[TableId]) -> Iterator[Finding]:
    """Name each table that can have no topic of its own."""
    for table, error in assign(server, tables).refused.items():
        name = "A table can have no topic of its own"
        yield Finding(error.code, name, error.sentence, error.hint, STOPS, Severity.ERROR, table)


def _around() -> Surroundings:
    return Surroundings(time.monotonic, lambda: time.time_ns() // 1_000_000, _registers_nothing)


def _registers_nothing(table: TableSchema) -> WriterIds:
    raise TypeError(f"a check writes no event of {table.id}")
