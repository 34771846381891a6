"""What is said to Spanner in SQL: tables, views, and questions; rows are mutations.

    upsert    the view shows rows that live and are complete, without columns of ours
    history   complete versions, with when each began and ended, and when its newest event was written
    append    every event, with what it was, its place, and which columns it did not send
    no key    a content as often as it came more than it went; contents are compared exactly

Spanner has no window functions, so a content is grouped and counted, and shown by an array of so many items.
A view takes no name without its table, and says with whose rights it reads.  Pure.
"""

from typing import Final

from wrackline.consumers.contract.plan import OurColumns, TableMode
from wrackline.consumers.contract.sequences import BELOW_ALL_LONGS, ESCAPES, PARTS
from wrackline.consumers.staged.dialect import list_holds, make_list
from wrackline.consumers.staged.places import StagedRelation
from wrackline.consumers.staged.shape import StagedColumn, StagedShape
from wrackline.consumers.staged.state import COLUMNS
from wrackline.consumers.targets.spanner.types import DIALECT, TEXT, legal, physical, quoted, span_places
from wrackline.schemas.tables.types import Kind

MADE: Final = "wl_made_"  # how the name of the column begins by which a table is known again
PLACE: Final = "place"
LETTER_COLUMNS: Final = (
    "storage", "topic", "part", "place", "piece", "code", "reason", "kept_ms", "key_part", "value_part",
)  # fmt: skip
LETTER_KEY: Final = LETTER_COLUMNS[:5]


def path(relation: StagedRelation) -> str:
    """Name a table or a view in a statement."""
    return DIALECT.path(relation)


def create_table(table: StagedRelation, shape: StagedShape, mark: str) -> str:
    """Write the table; the name of a column that is never written distinguishes it from a later one."""
    ours, key = shape.ours, [quoted(name) for name in primary_key(shape)]
    columns = {
        **{one.place: physical(one.type) for one in shape.of_source},
        legal(ours.seq): TEXT,
        legal(ours.op): TEXT,
        legal(ours.deleted): "BOOL",
        legal(ours.missing): TEXT,
        legal(ours.commit_ts): "TIMESTAMP",
        **dict.fromkeys(_of_history(shape), TEXT),
        MADE + mark: "BOOL",
    }
    listed = ", ".join(
        [f"{name} {TEXT} NOT NULL" for name in key] + [f"{quoted(name)} {of}" for name, of in columns.items()]
    )
    return f"CREATE TABLE IF NOT EXISTS {path(table)} ({listed}) PRIMARY KEY ({', '.join(key)})"


def primary_key(shape: StagedShape) -> tuple[str, ...]:
    """Name the columns of a table's primary key; in a history a key has a row for each event."""
    key = legal(shape.key_place)
    return (key, legal(shape.ours.row)) if shape.mode is TableMode.HISTORY else (key,)


def create_states(table: StagedRelation) -> str:
    """Write the table of what is kept about tables, with a row each."""
    types = {"number": "INT64", "version": "INT64"}
    columns = ", ".join(f"{name} {types.get(name, TEXT)}" for name in COLUMNS)
    return (
        f"CREATE TABLE IF NOT EXISTS {path(table)} ({PLACE} {TEXT} NOT NULL, {columns}) PRIMARY KEY ({PLACE})"
    )


def create_letters(table: StagedRelation) -> str:
    """Write the table of dead letters, in the order of their spots."""
    numbers = dict.fromkeys(("part", "place", "piece", "kept_ms"), "INT64")
    types = numbers | dict.fromkeys(("key_part", "value_part"), "BYTES(MAX)")
    columns = ", ".join(
        f"{name} {types.get(name, TEXT)}{' NOT NULL' if name in LETTER_KEY else ''}"
        for name in LETTER_COLUMNS
    )
    return f"CREATE TABLE IF NOT EXISTS {path(table)} ({columns}) PRIMARY KEY ({', '.join(LETTER_KEY)})"


def create_view(view: StagedRelation, table: StagedRelation, shape: StagedShape, rights: str) -> str:
    """Create or replace what readers see."""
    return (
        f"CREATE OR REPLACE VIEW {path(view)} SQL SECURITY {rights.upper()} AS {_query(path(table), shape)}"
    )


def add_column(table: StagedRelation, place: str, of: str) -> str:
    """Write that a place is added; where it is there already, nothing changes."""
    return f"ALTER TABLE {path(table)} ADD COLUMN IF NOT EXISTS {quoted(place)} {of}"


def fill_column(table: StagedRelation, new: StagedColumn, old: StagedColumn) -> str:
    """Write that a second place gets the values of the first, also where a crash has left others there."""
    value, place = quoted(old.place), quoted(new.place)
    either = f"{value} IS NOT NULL OR {place} IS NOT NULL"
    converted = DIALECT.converted(value, old.type, new.type)
    return f"UPDATE {path(table)} SET {place} = {converted} WHERE {either}"  # noqa: S608 - names are quoted, here and below


def drop_column(table: StagedRelation, place: str) -> str:
    """Write that a place goes with its values."""
    return f"ALTER TABLE {path(table)} DROP COLUMN {quoted(place)}"


def voided(table: StagedRelation, shape: StagedShape, most: int) -> str:
    """Ask for keys of rows that are older than @floor."""
    key = ", ".join(_of("t", name) for name in primary_key(shape))
    seq = _of("t", legal(shape.ours.seq))
    return f"SELECT {key} FROM {path(table)} AS t WHERE {seq} < @floor LIMIT {most}"  # noqa: S608


def delete_voided(table: StagedRelation, shape: StagedShape) -> str:
    """Delete the rows that are older than @floor."""
    return f"DELETE FROM {path(table)} WHERE {quoted(legal(shape.ours.seq))} < @floor"  # noqa: S608


def across(table: StagedRelation, shape: StagedShape, most: int) -> str:
    """Ask for keys that have a version which stood before @seq and behind it."""
    key = _of("t", legal(shape.key_place))
    start, end = (_of("t", name) for name in span_places(shape.ours))
    stood = f"{start} < @seq AND ({end} IS NULL OR {end} > @seq)"
    return f"SELECT DISTINCT {key} FROM {path(table)} AS t WHERE {stood} LIMIT {most}"  # noqa: S608


def old_tombstones(table: StagedRelation, ours: OurColumns) -> str:
    """Delete the tombstones of deletes that were committed before @before."""
    deleted, commit_ts = quoted(legal(ours.deleted)), quoted(legal(ours.commit_ts))
    return f"DELETE FROM {path(table)} WHERE {deleted} AND {commit_ts} < @before"  # noqa: S608


def incomplete(table: StagedRelation, shape: StagedShape) -> str:
    """Count the rows, or the versions, that wait for a value."""
    missing = _of("t", legal(shape.ours.missing))
    return f"SELECT COUNT(*) FROM {path(table)} AS t WHERE {_is_there(shape)} AND {missing} IS NOT NULL"  # noqa: S608


def pairs(table: StagedRelation, shape: StagedShape, most: int) -> str:
    """Ask for one row that came and one that went of contents that have both, all before @before."""
    key, deleted = _of("t", legal(shape.key_place)), _of("t", legal(shape.ours.deleted))
    came, went = f"MIN(IF({deleted}, NULL, {key}))", f"MIN(IF({deleted}, {key}, NULL))"
    return (
        f"SELECT {came}, {went} FROM {path(table)} AS t"  # noqa: S608
        f" WHERE {_of('t', legal(shape.ours.commit_ts))} < @before{_grouped(shape)}"
        f" HAVING {came} IS NOT NULL AND {went} IS NOT NULL LIMIT {most}"
    )


def _query(table: str, shape: StagedShape) -> str:
    if shape.keyless:
        return _counted(table, shape)
    ours = shape.ours
    columns = [f"{_of('t', one.place)} AS {quoted(one.column.target)}" for one in shape.of_source]
    if shape.mode is TableMode.APPEND:
        marks = (legal(name) for name in (ours.op, ours.seq, ours.commit_ts))
        columns += [f"{_of('t', name)} AS {quoted(name)}" for name in marks]
        columns.append(f"{_missing_names(shape)} AS {quoted(legal(ours.missing))}")
        return f"SELECT {', '.join(columns)} FROM {table} AS t"  # noqa: S608
    if shape.mode is TableMode.HISTORY:
        spans = (
            f"{_shown_place(_of('t', name), ours)} AS {quoted(f'{name}_at')}" for name in span_places(ours)
        )
        columns += [*spans, f"{_of('t', legal(ours.commit_ts))} AS {quoted(legal(ours.commit_ts))}"]
    whole = f"{_is_there(shape)} AND {_of('t', legal(ours.missing))} IS NULL"
    return f"SELECT {', '.join(columns)} FROM {table} AS t WHERE {whole}"  # noqa: S608


def _is_there(shape: StagedShape) -> str:
    """Whether a row is one of those that are shown when they are complete."""
    if shape.mode is TableMode.HISTORY:
        return f"{_of('t', span_places(shape.ours)[0])} IS NOT NULL"
    return f"NOT {_of('t', legal(shape.ours.deleted))}"


def _of_history(shape: StagedShape) -> tuple[str, ...]:
    """Name the columns that only a history has, beside its key."""
    if shape.mode is not TableMode.HISTORY:
        return ()
    return legal(shape.ours.unsent), *span_places(shape.ours)


def _shown_place(text: str, ours: OurColumns) -> str:
    """Show a place of a table of ours as it is, and a feed's as the value of its sequence."""
    if ours.shown is None:
        return text
    ((_, of),) = ours.shown.fields  # no table of several is made
    part = f"SPLIT({text}, {_characters(PARTS)})[SAFE_OFFSET(0)]"
    if of.kind is Kind.STRING:
        for character, escaped in reversed(ESCAPES.items()):
            part = f"REPLACE({part}, {_characters(escaped)}, {_characters(character)})"
        return part
    if of.kind is Kind.DECIMAL:
        zero = 10 ** ((of.precision or 0) - (of.scale or 0))
        return f"CAST({part} AS NUMERIC) - NUMERIC '{zero}'"
    long = f"CAST(CAST({part} AS NUMERIC) - NUMERIC '{BELOW_ALL_LONGS}' AS INT64)"
    return f"{_OF_LONGS.get(physical(of), '')}({long})"


def _characters(text: str) -> str:
    """Write control characters, which no text of a statement should hold."""
    return f"CODE_POINTS_TO_STRING({list(map(ord, text))})"


def _counted(table: str, shape: StagedShape) -> str:
    names = [quoted(one.column.target) for one in shape.of_source]
    values = [
        f"ANY_VALUE({_of('t', one.place)}) AS {name}"
        for one, name in zip(shape.of_source, names, strict=True)
    ]
    count = f"SUM(IF({_of('t', legal(shape.ours.deleted))}, -1, 1)) AS {quoted(_COPIES)}"
    grouped = f"SELECT {', '.join([*values, count])} FROM {table} AS t{_grouped(shape)}"  # noqa: S608
    shown = ", ".join(f"c.{name} AS {name}" for name in names)
    return f"SELECT {shown} FROM ({grouped}) AS c, UNNEST(GENERATE_ARRAY(1, c.{quoted(_COPIES)})) AS copy"  # noqa: S608


def _grouped(shape: StagedShape) -> str:
    """Group by contents; 0.0 and -0.0 are one number with two inverses."""
    images = [DIALECT.image(_of("t", one.place), one.type) for one in shape.of_source]
    return f" GROUP BY {', '.join(images)}" if images else ""


def _missing_names(shape: StagedShape) -> str:
    """List by their names of now the columns that an event did not send."""
    missing = _of("t", legal(shape.ours.missing))
    return make_list(
        (list_holds(missing, one.column.identity), f"'{one.column.target},'") for one in shape.of_source
    )


def _of(table: str, name: str) -> str:
    return f"{table}.{quoted(name)}"


_OF_LONGS: Final = {"DATE": "DATE_FROM_UNIX_DATE", "TIMESTAMP": "TIMESTAMP_MICROS"}
_COPIES: Final = "wl copies"  # no column is named so, because of the blank
