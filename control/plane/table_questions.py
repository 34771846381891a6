"""What a draft's source says of its tables: asked in a process of its own, which ends when it takes too long.

In: a draft's settings, what they may read, a line to the worker.  Out: one report, `{"answer": …}` or the
error's document.  Only catalogues are read, and no server is changed.  Settings that the source does not
need may still be missing: tables are chosen before the target is.
"""

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from wrackline.control.plane.column_answers import SupportCounts, column_documents, count_support
from wrackline.control.runtime.check.child_answer import tell_answer
from wrackline.control.runtime.check.file_check import check_pipeline
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.pipeline_access import surroundings
from wrackline.control.runtime.probe.assess import assess_pipeline
from wrackline.producers.contract.optional_parts import Sizing, Surveying, TableSize
from wrackline.producers.contract.source_plugin import Source, load
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.findings import ColumnSupport, Finding, Support
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import join_list, split_list
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

NO_SUCH_TABLE = define(
    "draft.no_table",
    OperatorNeeded,
    "the source has no table {table}, or it may not be read",
    hint="if it is there: GRANT SELECT ON {table} TO <the pipeline's user>; the tables that there are:"
    " POST /v1/contexts/default/drafts/<id>/listTables",
)
_OTHERS: Final = ("target.", "consume.", "spark.", "errors.")  # what is not the source's
_CHOOSE: Final = ("table.", "schema.", "column.", "message.key.columns")
_NEEDED: Final = {  # what a source does not use, and a draft may not have yet
    "name": "draft",
    "topic.prefix": "draft",
    "kafka.bootstrap.servers": "127.0.0.1:9092",
    "schema.registry.url": "http://127.0.0.1:8081",
}
_MOST_BROKEN: Final = (
    50  # tables that can't be described, whose columns are asked for one table after the other
)
_TEXTS: Final = "column.as.text"


@dataclass(frozen=True, slots=True)
class DraftSettings:
    """A draft's settings, and what they may read."""

    given: Mapping[str, str]
    allowed: Allowed

    @property
    def target(self) -> str:
        """The kind of its target."""
        return self.given.get("target.kind", "")

    def check(self, given: Mapping[str, str]) -> Pipeline:
        """Check settings with what these may read."""
        return check(given, Installed(), Resolver(self.allowed, os.environ))

    @contextmanager
    def source(self, *, every: bool = False, texts: Sequence[str] = ()) -> Iterator[tuple[Source, Values]]:
        """Open the source: with every table, or also with these columns as text."""
        left = {
            name: text
            for name, text in self.given.items()
            if not name.startswith(_OTHERS) and not (every and name.startswith(_CHOOSE))
        }
        if texts:
            left[_TEXTS] = join_list((*split_list(left.get(_TEXTS, "")), *texts))
        checked = self.check({**_NEEDED, **left})
        values = checked.good()
        opened = load(checked.source or "").open(values, surroundings())
        try:
            yield opened, values
        finally:
            opened.close()

    @contextmanager
    def table(self, wanted: Sequence[str]) -> Iterator[tuple[Source, Values, SourcePartition, TableId]]:
        """Open the source and find a table; `wanted` is database, schema, each maybe empty, and name."""
        with self.source(every=True) as (source, values):
            for partition in source.partitions():
                for table in source.tables(partition):
                    if all(want in ("", part) for want, part in zip(wanted, table, strict=True)):
                        yield source, values, partition, table
                        return
        raise NO_SUCH_TABLE(table=".".join(filter(None, wanted)))


def list_tables(given: Mapping[str, str], allowed: Allowed, line: socket.socket) -> None:
    """List all tables, also those that the draft leaves out."""
    tell_answer(lambda: _list(DraftSettings(given, allowed)), line)


def describe_table(
    given: Mapping[str, str], allowed: Allowed, wanted: Sequence[str], line: socket.socket
) -> None:
    """Describe a table."""
    tell_answer(lambda: _describe(DraftSettings(given, allowed), wanted), line)


def assess_table(
    given: Mapping[str, str], allowed: Allowed, wanted: Sequence[str], line: socket.socket
) -> None:
    """Say what each column of a table is in the target."""
    tell_answer(lambda: _assess(DraftSettings(given, allowed), wanted), line)


def assess_draft(given: Mapping[str, str], allowed: Allowed, probe: bool, line: socket.socket) -> None:  # noqa: FBT001 - of a process
    """Check everything, and count the columns of the chosen tables that are not carried as they are."""
    tell_answer(lambda: _assess_all(DraftSettings(given, allowed), probe=probe), line)


def _list(draft: DraftSettings) -> list[dict[str, Any]]:
    rules = draft.check({**_NEEDED, **draft.given}).values
    chosen = TableFilter() if rules is None else TableFilter.of(rules)
    with draft.source(every=True) as (source, _):
        readable = [
            {
                **_named(table),
                **_counts(counts),
                "rows": size.rows,
                "bytes": size.bytes,
                "key": list(shape.key) if isinstance(shape, TableSchema) else [],
                "support": counts.worst.value,
                "selected": chosen.captures(table),
                "hidden": None,
            }
            for table, shape, counts, size in _tables(source, draft.target)
        ]
        return [*readable, *_hidden(source, chosen)]


def _hidden(source: Source, chosen: TableFilter) -> Iterator[dict[str, Any]]:
    """Yield the tables that are there and can't be captured, each with the reason."""
    if not isinstance(source, Surveying):
        return
    unknown: dict[str, Any] = {"rows": None, "bytes": None, "key": [], "support": Support.NO.value}
    for partition in source.partitions():
        for table, why in source.left_out(partition).items():
            counts = _counts(SupportCounts(None, 0, 0))
            captured = {"selected": chosen.captures(table), "hidden": why.value}
            yield {**_named(table), **counts, **unknown, **captured}


def _tables(
    source: Source, target: str
) -> Iterator[tuple[TableId, TableSchema | WracklineError, SupportCounts, TableSize]]:
    broken = 0
    for partition in source.partitions():
        tables = source.tables(partition)
        sizes = source.sizes(partition) if isinstance(source, Sizing) else {}
        shapes = source.described(partition, tables) if isinstance(source, Surveying) else {}
        for table in tables:
            shape = shapes.get(table) or _shape(source, partition, table)
            told: Sequence[ColumnSupport] = ()
            if isinstance(shape, WracklineError) and broken < _MOST_BROKEN:
                broken += 1
                told = _column_support(source, partition, table)
            yield (
                table,
                shape,
                count_support(shape, told, target),
                sizes.get(table, TableSize(None, None)),
            )


def _shape(source: Source, partition: SourcePartition, table: TableId) -> TableSchema | WracklineError:
    try:
        return source.describe(partition, table)
    except WracklineError as error:
        return error


def _column_support(source: Source, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
    try:
        return source.support(partition, table)
    except WracklineError:
        return ()


def _describe(draft: DraftSettings, wanted: Sequence[str]) -> dict[str, Any]:
    with draft.table(wanted) as (source, _, partition, table):
        broken = [one.column for one in source.support(partition, table) if one.support is Support.NO]
        shape = _described(draft, source, partition, table, broken)
        return {
            **_named(table),
            "primaryKey": list(shape.key),
            "keyKind": shape.key_kind.value,
            "columns": [
                {
                    "name": one.name,
                    "type": one.type.source,
                    "nullable": one.nullable,
                    "identity": one.identity,
                    "generated": one.generated,
                }
                for one in shape.columns
            ],
            **_problems(source.check(partition, [table]), table),
        }


def _assess(draft: DraftSettings, wanted: Sequence[str]) -> dict[str, Any]:
    with draft.table(wanted) as (_, _, partition, table), draft.source() as (source, values):
        told = source.support(partition, table)
        broken = [one.column for one in told if one.support is Support.NO]
        shape = _described(draft, source, partition, table, broken)
        types = {one.name: one.type for one in shape.columns}
        rules = ColumnRules.of(values)
        return {
            **_named(table),
            "columns": list(column_documents(told, types, draft.target, rules)),
            **_problems(source.check(partition, [table]), table),
            "connectivity": [],
            "connectivityProblems": [],
        }


def _described(
    draft: DraftSettings, source: Source, partition: SourcePartition, table: TableId, broken: Sequence[str]
) -> TableSchema:
    """Return a table's shape, with the columns of unknown types as text."""
    if not broken:
        return source.describe(partition, table)
    texts = [exact_pattern(table.schema, table.name, column) for column in broken]
    with draft.source(every=True, texts=texts) as (another, _):
        return another.describe(partition, table)


def _assess_all(draft: DraftSettings, *, probe: bool) -> dict[str, Any]:
    checked = check_pipeline(draft.check(draft.given))
    found = assess_pipeline(checked, probe=probe)
    tables: list[dict[str, Any]] = []
    pipeline = checked.pipeline
    if pipeline is not None and pipeline.values is not None and pipeline.source is not None:
        try:
            with draft.source() as (source, _):
                tables = [
                    {**_named(table), **_counts(counts)}
                    for table, _, counts, _ in _tables(source, draft.target)
                ]
        except WracklineError:  # it is among the findings
            tables = []
    return {**found.document(), "tables": tables}


def _named(table: TableId) -> dict[str, str]:
    return {"database": table.database, "schema": table.schema, "name": table.name, "table": table.name}


def _counts(counts: SupportCounts) -> dict[str, int | None]:
    return {
        "numColumns": counts.columns,
        "columnsNotSupported": counts.no,
        "numColumnsNotSupported": counts.no,
        "columnsPartiallySupported": counts.partial,
        "numColumnsPartiallySupported": counts.partial,
    }


def _problems(findings: Sequence[Finding], table: TableId) -> dict[str, list[Finding]]:
    found = [one for one in findings if one.table == table]
    return {"features": found, "featureProblems": found}
