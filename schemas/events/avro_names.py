"""A database's names as Avro allows them: letters, digits and underscores, no digit first.

A name goes in, a legal one comes out, always the same one.  What Avro refuses becomes `_`, one for
one, as Debezium does it; so two names can fall together, and a table where they do is refused.
The database's own name stays beside it on the field, as `wrackline.name`.
"""

import re
from collections.abc import Iterable

from wrackline.schemas.errors import OperatorNeeded, define

NAMES_COLLIDE = define(
    "avro.names_collide",
    OperatorNeeded,
    "columns {first} and {second} of {table} are both called {name} in Avro",
    hint="every character except ASCII letters, digits and _ is written as _; rename one of them, or leave"
    " one out: column.exclude.list = '{column}'; then: wrackline snapshot start <pipeline.toml> '{table}'",
)

_REFUSED = re.compile(r"[^A-Za-z0-9_]")


def avro_name(name: str) -> str:
    """Make one name legal: `2 rooms` is `_2_rooms`."""
    legal = _REFUSED.sub("_", name)
    return f"_{legal}" if not legal or legal[0].isdigit() else legal


def avro_namespace(topic: str) -> str:
    """Make a dotted name legal, part by part; the dots stay."""
    return ".".join(avro_name(part) for part in topic.split("."))


def column_names(table: str, columns: Iterable[str]) -> dict[str, str]:
    """Map each column to its Avro name; two that fall together are refused."""
    taken: dict[str, str] = {}
    for column in columns:
        name = avro_name(column)
        if name in taken:
            raise NAMES_COLLIDE(
                first=repr(taken[name]),
                second=repr(column),
                table=table,
                name=name,
                column=f"{table}.{column}",
            )
        taken[name] = column
    return {column: name for name, column in taken.items()}
