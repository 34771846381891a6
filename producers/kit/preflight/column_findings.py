"""What a table's types, the rules about its columns, and its stored values mean, before a row is copied.

    what a source's catalogue and a bounded look at the rows say  ->  findings, and the support of each column

Statements, limits of time and the driver's errors are the source's.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from wrackline.producers.contract.row_chunks import duplicate_key_error, duplicate_key_text
from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.rows.unfit_values import unfit_finding
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.events import projection
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.language.findings import ColumnSupport, Finding, Rule, Support
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import ColumnType, Kind

AS_TEXT: Final = ColumnRules.of({"column.as.text": (".*",)})  # with these rules every type is known
Describe: TypeAlias = Callable[[TableId], Projection]


class TypeOf(Protocol):
    """What a column's type means; OperatorNeeded if it is not known."""

    def __call__(self, *, as_text: bool) -> ColumnType:
        """Return the type, or the type of its text."""
        ...


class TypedColumn(NamedTuple):
    """A column of a table, and its type as the server writes it."""

    name: str
    written: str
    type_of: TypeOf


def unknown_type_findings(
    table: TableId, column: TypedColumn, rules: ColumnRules, impact: str
) -> Iterator[Finding]:
    """Report a column whose type is not known, and which no rule carries as text or leaves out."""
    known = _known_type(table, column, rules)
    if isinstance(known, OperatorNeeded):
        yield error_finding(known, table, column.name, impact=impact)


def column_support(
    table: TableId, columns: Iterable[TypedColumn], rules: ColumnRules, partial: Mapping[Kind, str]
) -> Iterator[ColumnSupport]:
    """Say for each copied column how far it is carried; `partial`: kinds with a limit, and which."""
    for column in columns:
        if rules.drops(table, column.name):
            continue
        known = _known_type(table, column, rules)
        if isinstance(known, OperatorNeeded):
            support, suggestion = Support.NO, known.hint
        elif known.kind in partial:
            support, suggestion = Support.PARTIAL, partial[known.kind]
        else:
            support, suggestion = Support.YES, ""
        yield ColumnSupport(table, column.name, column.written, support, suggestion)


def rule_findings(
    rules: ColumnRules, tables: Iterable[TableId], as_text: Describe, as_set: Describe, logged: Describe
) -> Iterator[Finding]:
    """Report rules that do not fit a table, and rules that do nothing.

    A table is described with `AS_TEXT`, with its rules, and with its rules as the log carries it.
    """
    sources = []
    for table in tables:
        try:
            source = as_text(table).source
        except OperatorNeeded as error:
            yield error_finding(error, table, impact="the table is not copied")
            continue
        try:
            source = as_set(table).source
            logged(table)
        except WracklineError as error:
            if error.code.startswith("filter."):  # an unknown type has a finding of its own
                yield error_finding(error, table, impact="the table's changes are not copied")
        sources.append(source)
    yield from projection.findings(rules, sources)


def chosen_key_findings(
    unproven: Rule,
    table: TableId,
    key: Sequence[str],
    readable: Collection[str],
    proven: Callable[[], bool],
    doubled: Callable[[], int | None],
    most_s: int,
    **names: object,
) -> Iterator[Finding]:
    """Report where the columns that message.key.columns names do not distinguish rows, or may not.

    Rows are only counted, for `most_s`, if no index proves the key and all its columns can be read.
    """
    if not key or not set(key) <= set(readable) or proven():
        return
    count = doubled()
    if count:
        impact = "existing rows are not read, and the copy mixes rows with the same key"
        yield error_finding(duplicate_key_error(table, key, count), table, impact=impact)
    else:
        yield unproven(table, None, looked=duplicate_key_text(count, most_s), **names)


class UnfitCounts(NamedTuple):
    """A look at a table's first rows: how many, how many with unfit values, and how many of each column."""

    columns: Collection[str]
    counts: Sequence[Any]
    others: Collection[str]  # columns that may be the next


def value_findings(
    rule: Rule,
    tables: Iterable[TableId],
    count: Callable[[TableId], UnfitCounts | None],
    unfinished: type[Exception] = WracklineError,
) -> Iterator[Finding]:
    """Count values that do not fit; a look that fails says nothing, because the first read finds the same.

    `unfinished`: the driver's error of such a look.
    """
    for table in tables:
        try:
            counted = count(table)
        except (WracklineError, unfinished):
            continue
        if counted and (found := unfit_finding(rule, table, *counted)):
            yield found


def _known_type(table: TableId, column: TypedColumn, rules: ColumnRules) -> ColumnType | OperatorNeeded:
    try:
        return column.type_of(as_text=rules.as_text(table, column.name))
    except OperatorNeeded as unknown:
        return unknown
