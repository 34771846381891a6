"""Capture instances as the catalogue describes them, and the statements that ask for them.  Pure.

A capture instance is frozen: it has the columns that its table had when it was made.  A table can have two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wrackline.producers.sources.sqlserver.connect.quoting import identifier, literal, system_name
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.log.position import FollowedInstance
from wrackline.schemas.tables.table import TableId


class CapturedColumn(NamedTuple):
    """A column of a capture instance; `column_id` is the table's own number, which is never used again."""

    name: str
    column_id: int
    ordinal: int  # its bit in __$update_mask, from 1
    computed: bool = False  # then its change table has NULL in each row


@dataclass(frozen=True, slots=True)
class CatalogueInstance:
    """One capture instance; `object_id` is its change table's."""

    name: str
    object_id: int
    source: int  # the object_id of its table
    start_lsn: Lsn | None  # from here on its change table has all rows; None: the capture job has not begun
    created: str  # create_date, as the text of its cell
    columns: tuple[CapturedColumn, ...] = ()
    role: str | None = None
    net_changes: bool = False
    index: str | None = None
    file_group: str | None = None

    @property
    def followed(self) -> FollowedInstance | None:
        """What a position keeps of it."""
        return (
            None if self.start_lsn is None else FollowedInstance(self.object_id, self.start_lsn, self.source)
        )


def instances_sql(database: str | None) -> str:
    """Select the capture instances with their tables; a table that is gone has no name."""
    changes, tables, schemas = (
        system_name(database, name) for name in ("cdc.change_tables", "sys.tables", "sys.schemas")
    )
    return (
        "SELECT c.capture_instance, c.object_id, c.source_object_id, s.name, t.name, c.start_lsn,"  # noqa: S608
        " c.create_date, c.has_drop_pending, c.role_name, c.supports_net_changes,"
        f" c.index_name, c.filegroup_name FROM {changes} c LEFT JOIN {tables} t ON t.object_id ="
        f" c.source_object_id LEFT JOIN {schemas} s ON s.schema_id = t.schema_id;"
    )


def columns_sql(database: str | None) -> str:
    """Select the columns of all capture instances."""
    return (
        "SELECT object_id, column_name, column_id, column_ordinal, is_computed"  # noqa: S608 - a quoted name
        f" FROM {system_name(database, 'cdc.captured_columns')} ORDER BY object_id, column_ordinal;"
    )


def unnumbered_sql(database: str | None) -> str:
    """Select the instances whose change tables are older than `__$command_id`."""
    changes, columns = system_name(database, "cdc.change_tables"), system_name(database, "sys.columns")
    return (
        f"SELECT c.capture_instance FROM {changes} c LEFT JOIN {columns} k ON k.object_id = c.object_id"  # noqa: S608
        " AND k.name = N'__$command_id' WHERE k.object_id IS NULL;"
    )


def enable_sql(
    table: TableId,
    like: CatalogueInstance | None = None,
    name: str | None = None,
    added: Sequence[str] = (),
) -> str:
    """Write the statement that captures a table; `like`: as this instance does, and these columns as well."""
    said = [f"@source_schema = {literal(table.schema)}", f"@source_name = {literal(table.name)}"]
    said.append(f"@role_name = {_text(None if like is None else like.role)}")
    if name is not None:
        said.append(f"@capture_instance = {literal(name)}")
    if like is not None:
        said.append(f"@supports_net_changes = {int(like.net_changes)}")
        if like.index is not None:
            said.append(f"@index_name = {literal(like.index)}")
        columns = ", ".join(identifier(one) for one in (*(one.name for one in like.columns), *added))
        said.append(f"@captured_column_list = {literal(columns)}")
        if like.file_group is not None:
            said.append(f"@filegroup_name = {literal(like.file_group)}")
    return f"EXEC {identifier(table.database)}.sys.sp_cdc_enable_table {', '.join(said)};"


def disable_sql(table: TableId, instance: str) -> str:
    """Write the statement that drops a capture instance with its change table."""
    said = (
        f"@source_schema = {literal(table.schema)}",
        f"@source_name = {literal(table.name)}",
        f"@capture_instance = {literal(instance)}",
    )
    return f"EXEC {identifier(table.database)}.sys.sp_cdc_disable_table {', '.join(said)};"


def _text(value: str | None) -> str:
    return "NULL" if value is None else literal(value)
