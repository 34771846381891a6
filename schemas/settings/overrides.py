"""A user's own statements for the first read of a table, as Debezium writes them.

    snapshot.select.statement.overrides               = public.orders
    snapshot.select.statement.overrides.public.orders = SELECT * FROM public.orders WHERE deleted = false

Comes in: the settings.  Goes out: by the table's name, the condition in its statement, as text of the grammar
of `conditions.py`, or what is wrong with the settings.  A statement is parsed here and only its condition is
passed on, so nothing that a user wrote is ever run.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.language.conditions import Select, parse_select, render
from wrackline.schemas.settings.value_kinds import Value, split_list

LIST: Final = "snapshot.select.statement.overrides"
STATEMENT: Final = "snapshot.select.statement.overrides.<table>"

UNLISTED = define(
    "override.unlisted",
    Definite,
    "{name} sets the statement for a table that " + LIST + " does not list",
    hint="add the table to " + LIST + ", or remove the line",
)
WITHOUT_STATEMENT = define(
    "override.without_statement",
    Definite,
    LIST + " lists {table}, but there is no statement for it",
    hint=LIST + ".{table} = SELECT * FROM {table} WHERE …",  # noqa: S608 - shown, never run
)
ANOTHER_TABLE = define(
    "override.another_table",
    Definite,
    "the statement of {name} reads another table",
    hint="read the table in the setting's name: SELECT * FROM {table} WHERE …",
)


def statement(value: Value) -> str | None:
    """Refuse a statement that can't be parsed, with the place of what is not understood."""
    try:
        parse_select(str(value))
    except WracklineError as refused:
        return f"expected SELECT * FROM, a table, WHERE and a condition; {refused.sentence}"
    return None


def conditions_of(values: Mapping[str, Value]) -> Mapping[str, str | None]:
    """Return each listed table's condition; None: all of its rows.  The settings were found good."""
    return {table: _condition(parse_select(str(values[f"{LIST}.{table}"]))) for table in _listed(values)}


def faults(given: Mapping[str, str], values: Mapping[str, Value]) -> Iterator[tuple[str, WracklineError]]:
    """Report each setting that is inconsistent with others; `values` are those that could be read."""
    listed = _listed(values)
    written = split_list(given.get(LIST, ""))
    for table in listed:
        name = f"{LIST}.{table}"
        if name not in given:
            # a reference's value is a secret that a user with the right to a check could read in this error
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
