"""Asks a pipeline's source what stands in its way, once the file itself is good.

In: a checked pipeline.  Out: the source's findings about server and tables.  A server that can't be reached
is a finding as well: the error that the start would end with.
"""

import time

from wrackline.control.check_file import STOPS
from wrackline.producers.plugin import Surroundings, WriterIds
from wrackline.producers.plugin import load as load_source
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.findings import Finding, Severity
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.table import TableSchema


def check_server(pipeline: Pipeline) -> tuple[Finding, ...]:
    """Let the source look at its server; nothing is changed there."""
    if pipeline.source is None or pipeline.values is None:
        return ()
    found: list[Finding] = []
    try:
        source = load_source(pipeline.source).open(pipeline.values, _around())
        try:
            for partition in source.partitions():
                found += source.check(partition, source.tables(partition))
        finally:
            source.close()
    except WracklineError as error:
        name = pipeline.values.text("name")
        found.append(Finding(error.code, name, error.sentence, error.hint, STOPS, Severity.ERROR))
    return tuple(found)


def _around() -> Surroundings:
    return Surroundings(time.monotonic, lambda: time.time_ns() // 1_000_000, _registers_nothing)


def _registers_nothing(table: TableSchema) -> WriterIds:
    raise TypeError(f"a check writes no event of {table.id}")
