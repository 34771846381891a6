"""Names as they stand in SQL and on a shell's command line, so that a hint runs as it is pasted.

A hint is read by somebody who copies it: a table called `weird Name` or `a"b` must come out of it whole.
Names that the server was asked about anyway are quoted by the server; these are for where nobody is.
"""

import re
import shlex
import zlib
from collections.abc import Iterable, Mapping

from psycopg import conninfo

from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId

_LONGEST_SLOT = 63
_LIKE_A_CHECKSUM = re.compile("_[0-9a-f]{8}$")


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def slot_name(settings: Values, saved: Mapping[str, object] | None = None) -> str:
    """Return the slot that is set, else the saved position's, else the pipeline's own."""
    given = settings["slot.name"] or (saved or {}).get("slot")
    return str(given) if given else own_slot(settings.text("name"))


def own_slot(pipeline: str) -> str:
    """Make a slot's name of a pipeline's: another for each, by a checksum where letters do not fit."""
    made = "wrackline_" + re.sub("[^a-z0-9_]", "_", pipeline.lower())
    plain = made == f"wrackline_{pipeline}" and not _LIKE_A_CHECKSUM.search(made)
    if plain and len(made) <= _LONGEST_SLOT:
        return made
    told_apart = f"_{zlib.crc32(pipeline.encode()):08x}"
    return made[: _LONGEST_SLOT - len(told_apart)] + told_apart


def literal(text: str) -> str:
    """Quote a text for SQL; a backslash is one with standard_conforming_strings, which is the default."""
    return "'" + text.replace("'", "''") + "'"


def table_name(table: TableId) -> str:
    """Quote a table's name with its schema."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"


def table_names(tables: Iterable[TableId]) -> str:
    """Quote several, as a list."""
    return ", ".join(map(table_name, tables))


def rename(old: TableId, new: TableId) -> str:
    """Say as SQL would that a table is called otherwise."""
    made, moved = [], old._replace(schema=new.schema)
    if moved != old:
        made.append(f"ALTER TABLE {table_name(old)} SET SCHEMA {identifier(new.schema)}")
    if new.name != old.name:
        made.append(f"ALTER TABLE {table_name(moved)} RENAME TO {identifier(new.name)}")
    return "; ".join(made)


def psql(**fields: str) -> str:
    """Write the psql command that connects there."""
    return f"psql {shlex.quote(conninfo.make_conninfo('', **fields))}"
