"""A database's names as Avro allows them: letters, digits and underscores, no digit first.

A name goes in, a legal one comes out, always the same one.  What Avro refuses becomes `_`, one for one, as
Debezium does it.  Where two columns would fall together, those with refused characters are written as
Debezium's `avro_unicode` writes them instead, which makes no two names one; so a table is refused only if a
third column has such a name already.  The database's own name stays beside it on the field, as
`wrackline.name`, and the target's column has it.
"""

import re
from collections import Counter
from collections.abc import Iterable

from wrackline.schemas.errors import OperatorNeeded, define

NAMES_COLLIDE = define(
    "avro.names_collide",
    OperatorNeeded,
    "columns {first} and {second} of {table} are both called {name} in Avro",
    hint="each character except ASCII letters, digits and _ is written as _ or as _uxxxx; rename one of them,"
    " or leave one out: column.exclude.list = '{column}'; then: wrackline snapshot start <pipeline.toml>"
    " '{table}'",
)

_REFUSED = re.compile(r"[^A-Za-z0-9_]")
_ESCAPED = re.compile(r"[^A-Za-z0-9]|\A[0-9]")


def avro_name(name: str) -> str:
    """Make one name legal: `2 rooms` is `_2_rooms`."""
    legal = _REFUSED.sub("_", name)
    return f"_{legal}" if not legal or legal[0].isdigit() else legal


def avro_namespace(topic: str) -> str:
    """Make a dotted name legal, part by part; the dots stay."""
    return ".".join(avro_name(part) for part in topic.split("."))


def column_names(table: str, columns: Iterable[str]) -> dict[str, str]:
    """Map each column to its Avro name; two that fall together even if escaped are refused."""
    plain = {column: avro_name(column) for column in columns}
    shared = Counter(plain.values())
    taken: dict[str, str] = {}
    for column, short in plain.items():
        name = short if shared[short] == 1 or short == column else unicode_name(column)
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


def unicode_name(name: str) -> str:
    """Make one name legal so that no other becomes the same: `a b` is `a_u0020b`, and `_` is `_u005f`."""
    return _ESCAPED.sub(_escape, name) or "_"


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"_u{units[at : at + 4]}" for at in range(0, len(units), 4))
