"""What readers see of a table, under the source's names.

    upsert    rows that live and are complete, without columns of ours
    history   complete versions, with when each began and ended, and when its newest event was written
    append    every event, with what it was, its place, and which columns it did not send

In a table without a key each event left rows of its own: what came, and what went as a tombstone.  Readers
see a content as often as it came more than it went; contents are compared exactly.  Pure.
"""

from collections.abc import Iterable

from wrackline.consumers.contract.plan import END, START, TableMode
from wrackline.consumers.contract.sequences import BELOW_ALL_LONGS, ESCAPES, PARTS
from wrackline.consumers.staged.dialect import Primitive, StagedDialect, list_holds, make_list
from wrackline.consumers.staged.shape import StagedShape
from wrackline.schemas.tables.types import ColumnType, Kind


def create_view(view: str, table: str, shape: StagedShape, dialect: StagedDialect) -> str:
    """Create or replace it; where another shape can't replace it, it was dropped before."""
    create = "CREATE" if dialect.transactional_ddl else "CREATE OR REPLACE"
    option = f" {dialect.view_option}" if dialect.view_option else ""
    return f"{create} VIEW {view}{option} AS {_query(table, shape, dialect)}"


def settle(table: str, shape: StagedShape, dialect: StagedDialect, before_ms: int) -> str:
    """Delete pairs of what came and went, both before a moment: readers see the same without them."""
    key = dialect.quoted(shape.key_place)
    return f"DELETE FROM {table} WHERE {key} IN ({pairs(table, shape, dialect, before_ms)})"  # noqa: S608 - names are quoted, here and below


def read_view(view: str, shape: StagedShape, dialect: StagedDialect) -> str:
    """Ask for all rows, with the columns of the source as a driver can have them."""
    names = (dialect.shown(dialect.quoted(one.column.target), one.column.type) for one in shape.columns)
    return f"SELECT {', '.join(names)} FROM {view}"  # noqa: S608 - names are quoted


def pairs(table: str, shape: StagedShape, dialect: StagedDialect, before_ms: int) -> str:
    """Ask for the rows of such pairs."""
    key, deleted = dialect.quoted(shape.key_place), dialect.quoted(shape.ours.deleted)
    old = committed_before(shape, dialect, before_ms)
    content = _content(shape, dialect)
    return (
        f"SELECT {key} FROM (SELECT {key}, {_copy(shape, dialect)} AS copy,"  # noqa: S608
        f" {_count(f'NOT {deleted}', content)} AS came, {_count(deleted, content)} AS went"
        f" FROM {table} WHERE {old}) counted WHERE copy <= came AND copy <= went"
    )


def committed_before(shape: StagedShape, dialect: StagedDialect, moment_ms: int) -> str:
    """Write that a row's change was committed at the source before a moment."""
    return f"{dialect.quoted(shape.ours.commit_ts)} < {dialect.moment(str(moment_ms * 1000))}"


def _query(table: str, shape: StagedShape, dialect: StagedDialect) -> str:
    quoted, ours = dialect.quoted, shape.ours
    columns = [f"{quoted(one.place)} AS {quoted(one.column.target)}" for one in shape.of_source]
    if shape.mode is TableMode.APPEND:
        columns += [quoted(name) for name in (ours.op, ours.seq, ours.commit_ts)]
        columns.append(f"{_missing_names(shape, dialect)} AS {quoted(ours.missing)}")
        return f"SELECT {', '.join(columns)} FROM {table}"  # noqa: S608
    if shape.mode is TableMode.HISTORY:
        for place, name in ((ours.start, START), (ours.end, END)):
            columns.append(f"{_shown_place(quoted(place), shape, dialect)} AS {quoted(name)}")
        whole = f"{quoted(ours.start)} IS NOT NULL AND {quoted(ours.missing)} IS NULL"
        return f"SELECT {', '.join([*columns, quoted(ours.commit_ts)])} FROM {table} WHERE {whole}"  # noqa: S608
    deleted = quoted(ours.deleted)
    if not shape.keyless:
        lives = f"NOT {deleted} AND {quoted(ours.missing)} IS NULL"
        return f"SELECT {', '.join(columns)} FROM {table} WHERE {lives}"  # noqa: S608
    copy, went = quoted(f"{ours.row} copy"), quoted(f"{ours.row} went")
    return (
        f"SELECT {', '.join(columns)} FROM (SELECT t.*, {_copy(shape, dialect)} AS {copy},"  # noqa: S608
        f" {_count(deleted, _content(shape, dialect))} AS {went} FROM {table} t) counted"
        f" WHERE NOT {deleted} AND {copy} > {went}"
    )


def _shown_place(text: str, shape: StagedShape, dialect: StagedDialect) -> str:
    """Show a place of a table of ours as it is, and a feed's as the value of its sequence."""
    if shape.ours.shown is None:
        return text
    ((_, of),) = shape.ours.shown.fields  # no table of several is made
    part = dialect.part(text, _control_characters(PARTS, dialect), 1)
    if of.kind is Kind.STRING:
        for character, escaped in reversed(ESCAPES.items()):
            if character not in dialect.unheld:
                meant = _control_characters(character, dialect)
                part = f"REPLACE({part}, {_control_characters(escaped, dialect)}, {meant})"
        return part
    if of.kind is Kind.DECIMAL:
        precision, scale = of.precision or 0, of.scale or 0
        wider = ColumnType(of.kind, of.source, precision + 1, scale)
        zero = dialect.restored(f"'{10 ** (precision - scale)}'", wider)
        return dialect.converted(f"{dialect.restored(part, wider)} - {zero}", wider, of)
    long = ColumnType(Kind.UINT64, of.source)
    zero = dialect.restored(f"'{BELOW_ALL_LONGS}'", long)
    return dialect.restored(dialect.cast(f"{dialect.restored(part, long)} - {zero}", Primitive.BIGINT), of)


def _control_characters(text: str, dialect: StagedDialect) -> str:
    """Write control characters, which no text of a statement should hold."""
    return " || ".join(f"CHR({ord(one)})" if ord(one) else dialect.nul for one in text)


def _copy(shape: StagedShape, dialect: StagedDialect) -> str:
    """Number the rows of a content, what came and what went apart."""
    ours, content = shape.ours, _content(shape, dialect)
    order = f"ORDER BY {dialect.quoted(ours.seq)}"
    return f"ROW_NUMBER() OVER (PARTITION BY {', '.join([*content, dialect.quoted(ours.deleted)])} {order})"


def _count(condition: str, content: Iterable[str]) -> str:
    """Count the rows of a content; a table without columns has one content."""
    over = ", ".join(content)
    return f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END) OVER ({f'PARTITION BY {over}' if over else ''})"


def _content(shape: StagedShape, dialect: StagedDialect) -> list[str]:
    return [dialect.image(dialect.quoted(one.place), one.type) for one in shape.of_source]


def _missing_names(shape: StagedShape, dialect: StagedDialect) -> str:
    """List by their names of now the columns that an event did not send."""
    missing = dialect.quoted(shape.ours.missing)
    return make_list(
        (list_holds(missing, one.column.identity), dialect.literal(f"{one.column.target},"))
        for one in shape.of_source
    )
