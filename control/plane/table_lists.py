"""The document's tables, columns and transformations as lists of patterns, and back.  Pure.

    {"database": "shop", "schema": "public", "table": "orders"}   <->  table.include.list = public.orders
    "columns": [{"name": "id"}]                                   <->  column.include.list = public.orders.id
    drop :note, set-type :note string, mask-number :note xxxx     <->  column.exclude.list, column.as.text,
                                                                       column.mask.with.4.chars

A pattern that means more than one table stays a setting.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.settings.value_kinds import join_list, split_list

TABLES: Final = "table.include.list"
COLUMNS: Final = "column.include.list"
_EVERY_COLUMN: Final = "..*"  # behind a table: each of its columns
_PART: Final = re.compile(r"(?:[\w -]|\[[^\]^\\]\])+")
_STARS: Final = re.compile(r"column\.mask\.with\.([0-9]{1,3})\.chars")
_DROP: Final = re.compile(r"drop\s+:(\S+)")
_TEXT: Final = re.compile(r"set-type\s+:(\S+)\s+string")
_MASK: Final = re.compile(r"mask-number\s+:(\S+)\s+(x{1,999})")


class TableName(NamedTuple):
    """A table as its patterns name it; MySQL has a database in the schema's place."""

    schema: str
    table: str

    @property
    def pattern(self) -> str:
        """The pattern that means only this table."""
        return exact_pattern(*self)


def names_in(pattern: str, count: int) -> tuple[str, ...] | None:
    """Return the names that a pattern consists of, if it is `exact_pattern` of so many names."""
    parts, at = [], 0
    while at < len(pattern):
        found = _PART.match(pattern, at)
        if found is None:
            return None
        parts.append(re.sub(r"\[(.)\]", r"\1", found[0]))
        at = found.end()
        if at < len(pattern) and pattern[at] != ".":
            return None
        at += 1
    names = tuple(parts)
    return names if len(names) == count and exact_pattern(*names) == pattern else None


def write_tables(tables: Mapping[TableName, Sequence[str] | None]) -> dict[str, str]:
    """Return the settings of chosen tables, and of their columns; None: all columns."""
    if not tables:
        return {}
    made = {TABLES: join_list(tuple(table.pattern for table in tables))}
    if any(columns is not None for columns in tables.values()):
        patterns = [one for table, columns in tables.items() for one in _column_patterns(table, columns)]
        made[COLUMNS] = join_list(tuple(patterns))
    return made


def read_tables(settings: Mapping[str, str]) -> dict[TableName, list[str] | None] | None:
    """Return the tables and columns that settings choose one by one; None where a pattern means more."""
    chosen = [names_in(one, 2) for one in split_list(settings.get(TABLES, ""))]
    if not chosen or None in chosen:
        return None
    tables: dict[TableName, list[str] | None] = {TableName(*names): [] for names in chosen if names}
    if COLUMNS not in settings:
        return dict.fromkeys(tables)
    for pattern in split_list(settings[COLUMNS]):
        whole = names_in(pattern.removesuffix(_EVERY_COLUMN), 2) if pattern.endswith(_EVERY_COLUMN) else None
        names = whole or names_in(pattern, 3)
        columns = None if names is None else tables.get(TableName(*names[:2]))
        if names is None or columns is None:
            return None
        if whole:
            tables[TableName(*whole)] = None
        else:
            columns.append(names[2])
    written = write_tables(tables)
    return tables if written == {name: settings[name] for name in written} else None


def _column_patterns(table: TableName, columns: Sequence[str] | None) -> Iterator[str]:
    if columns is None:
        yield table.pattern + _EVERY_COLUMN
    else:
        yield from (exact_pattern(*table, column) for column in columns)


def read_directive(table: TableName, directive: str) -> tuple[str, str] | None:
    """Return the setting that does what a directive says, and its column's pattern; None: nothing does."""
    text = directive.strip()
    for form, setting in ((_DROP, "column.exclude.list"), (_TEXT, "column.as.text")):
        if found := form.fullmatch(text):
            return setting, exact_pattern(*table, found[1])
    if found := _MASK.fullmatch(text):
        return f"column.mask.with.{len(found[2])}.chars", exact_pattern(*table, found[1])
    return None


def write_directives(settings: Mapping[str, str]) -> tuple[dict[TableName, list[dict[str, str]]], set[str]]:
    """Return the transformations that settings mean, by table, and which settings these are."""
    made: defaultdict[TableName, list[dict[str, str]]] = defaultdict(list)
    used: set[str] = set()
    for setting, text in settings.items():
        stars = _STARS.fullmatch(setting)
        form = {"column.exclude.list": "drop :{}", "column.as.text": "set-type :{} string"}.get(setting)
        if stars and 0 < int(stars[1]) == int(stars[1].lstrip("0") or 0):
            form = f"mask-number :{{}} {'x' * int(stars[1])}"
        columns = [names_in(one, 3) for one in split_list(text)] if form else []
        if form is None or not columns or any(one is None or re.search(r"\s", one[2]) for one in columns):
            continue
        used.add(setting)
        for schema, table, column in (one for one in columns if one):
            made[TableName(schema, table)].append({"columnName": column, "directive": form.format(column)})
    return dict(made), used
