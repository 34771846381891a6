"""Statements of one's own for the first read of a table, as Debezium writes them.

    snapshot.select.statement.overrides               = public.orders
    snapshot.select.statement.overrides.public.orders = SELECT * FROM public.orders WHERE deleted = false

Comes in: the settings.  Goes out: by the table's name, the condition that its statement holds, as text of the
grammar of `conditions.py`, or what is wrong with the settings.  A statement is taken apart here and only its
condition goes on, so nothing that somebody wrote is ever run.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from wrackline.schemas.conditions import Select, parse_select, render
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.setting_kinds import Value, split_list

LIST: Final = "snapshot.select.statement.overrides"
STATEMENT: Final = "snapshot.select.statement.overrides.<table>"

UNLISTED = define(
    "override.unlisted",
    Definite,
    "{name} says how a table is read that " + LIST + " does not list",
    hint="add the table to " + LIST + ", or take the line out",
)
WITHOUT_STATEMENT = define(
    "override.without_statement",
    Definite,
    LIST + " lists {table}, and no statement says how it is read",
    hint=LIST + ".{table} = SELECT * FROM {table} WHERE …",  # noqa: S608 - shown, never run
)
ANOTHER_TABLE = define(
    "override.another_table",
    Definite,
    "the statement of {name} reads another table",
    hint="read the table that the setting is named after: SELECT * FROM {table} WHERE …",
)


def statement(value: Value) -> str | None:
    """Refuse a statement that can't be taken apart, by the place of what is not understood."""
    try:
        parse_select(str(value))
    except WracklineError as refused:
        return f"expected SELECT * FROM, a table, WHERE and a condition; {refused.sentence}"
    return None


def conditions_of(values: Mapping[str, Value]) -> Mapping[str, str | None]:
    """Return each listed table's condition; None: all of its rows.  The settings were found good."""
    return {table: _condition(parse_select(str(values[f"{LIST}.{table}"]))) for table in _listed(values)}


def faults(given: Mapping[str, str], values: Mapping[str, Value]) -> Iterator[tuple[str, WracklineError]]:
    """Name each setting that does not fit together with the others; `values` are those that could be read."""
    listed = _listed(values)
    written = split_list(given.get(LIST, ""))
    for table in listed:
        name = f"{LIST}.{table}"
        if name not in given:
            # what a reference gave is a secret that anybody who may ask for a check could have read out
            yield LIST, WITHOUT_STATEMENT(table=table if table in written else "<table>")
        elif name in values and not _same(table, parse_select(str(values[name]))):
            yield name, ANOTHER_TABLE(name=name, table=table)
    for name in values:
        if name.startswith(f"{LIST}.") and name.removeprefix(f"{LIST}.") not in listed:
            yield name, UNLISTED(name=name)


def _listed(values: Mapping[str, Value]) -> tuple[str, ...]:
    listed = values.get(LIST)
    return listed if isinstance(listed, tuple) else ()


def _condition(select: Select) -> str | None:
    return None if select.condition is None else render(select.condition)


def _same(table: str, select: Select) -> bool:
    """Whether a statement reads this table, named with as much before its name as one likes."""
    meant, read = f".{table}".lower(), "." + ".".join(select.table).lower()
    return meant.endswith(read) or read.endswith(meant)
