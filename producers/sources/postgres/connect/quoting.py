"""Names as they are written in SQL and on a shell's command line, so that a hint runs as it is pasted.

An operator copies a hint: a table called `weird Name` or `a"b` must be written whole in it.  The server
quotes the names of the queries that are sent to it anyway; these functions are for places without a server.
"""

import re
import shlex
import zlib
from collections.abc import Iterable, Mapping

from psycopg import conninfo

from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_LONGEST_SLOT = 63
_LIKE_A_CHECKSUM = re.compile("_[0-9a-f]{8}$")


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def slot_name(settings: Values, saved: Mapping[str, object] | None = None) -> str:
    """Return the slot of the settings, else of the saved position, else the pipeline's own.

    Of a pipeline of several databases: that of the saved position, else one that ends with the database.  A
    pipeline that reads only one of them from now on keeps that slot: no other has the rest of the log.
    """
    given, kept = settings["slot.name"], (saved or {}).get("slot")
    if settings["database.names"] is None:
        was_of_several = is_of_several(str(kept), settings.text("name"), settings.text("database.dbname"))
        return str(kept if was_of_several else given or kept or own_slot(settings.text("name")))
    whose = _of_several(settings.text("name"), settings.text("database.dbname"))
    return str(kept) if kept else own_slot(whose, "wrackline_" if given is None else f"{given}_")


def is_of_several(slot: str, pipeline: str, database: str) -> bool:
    """Whether it is the slot of this database in a pipeline of several, whatever it begins with."""
    return slot.endswith(_checksum(_of_several(pipeline, database)))


def own_slot(pipeline: str, begins: str = "wrackline_") -> str:
    """Make a slot's name from a pipeline's: unique for each, by a checksum where the letters do not fit."""
    made = begins + re.sub("[^a-z0-9_]", "_", pipeline.lower())
    plain = made == f"{begins}{pipeline}" and not _LIKE_A_CHECKSUM.search(made)
    if plain and len(made) <= _LONGEST_SLOT:
        return made
    told_apart = _checksum(pipeline)
    return made[: _LONGEST_SLOT - len(told_apart)] + told_apart


def _of_several(pipeline: str, database: str) -> str:
    return f"{pipeline}/{database}"


def _checksum(pipeline: str) -> str:
    return f"_{zlib.crc32(pipeline.encode()):08x}"


def literal(text: str) -> str:
    """Quote a text for SQL; a backslash is literal with standard_conforming_strings, which is the default."""
    return "'" + text.replace("'", "''") + "'"


def table_name(table: TableId) -> str:
    """Quote a table's name with its schema."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"


def table_names(tables: Iterable[TableId]) -> str:
    """Quote several names, as a list."""
    return ", ".join(map(table_name, tables))


def rename(old: TableId, new: TableId) -> str:
    """Write a table's new name as the SQL of the rename."""
    made, moved = [], old._replace(schema=new.schema)
    if moved != old:
        made.append(f"ALTER TABLE {table_name(old)} SET SCHEMA {identifier(new.schema)}")
    if new.name != old.name:
        made.append(f"ALTER TABLE {table_name(moved)} RENAME TO {identifier(new.name)}")
    return "; ".join(made)


def psql(**fields: str) -> str:
    """Write the psql command that connects with these fields."""
    return f"psql {shlex.quote(conninfo.make_conninfo('', **fields))}"
