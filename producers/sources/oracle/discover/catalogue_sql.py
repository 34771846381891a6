"""The statements that describe tables, in the database that has them.  Pure.

    TABLES                          each table that our user sees
    columns, primary_keys, unique_indexes, log_groups, partitions      of some tables, together

Users that came with the server are left out, and tables that are parts of others.  Times are the server's.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Final

from wrackline.producers.sources.oracle.connect.quoting import literal
from wrackline.schemas.tables.table import TableId

SINGLY: Final = 100  # up to this many tables of an owner are named one by one

_MOMENT: Final = "'YYYY-MM-DD HH24:MI:SS'"
_TABLES: Final = (
    f"SELECT t.OWNER, t.TABLE_NAME, o.OBJECT_ID, TO_CHAR(o.LAST_DDL_TIME, {_MOMENT}),"  # noqa: S608 - our own
    f" TO_CHAR(SYSDATE, {_MOMENT}),"
    " CASE WHEN t.TEMPORARY = 'Y' OR e.TABLE_NAME IS NOT NULL THEN 1 ELSE 0 END,"
    " CASE WHEN t.PARTITIONED = 'YES' THEN 1 ELSE 0 END, t.NUM_ROWS, t.AVG_ROW_LEN"
    " FROM ALL_TABLES t JOIN ALL_OBJECTS o"
    " ON o.OWNER = t.OWNER AND o.OBJECT_NAME = t.TABLE_NAME AND o.OBJECT_TYPE = 'TABLE'"
    " LEFT JOIN ALL_EXTERNAL_TABLES e ON e.OWNER = t.OWNER AND e.TABLE_NAME = t.TABLE_NAME"
    " WHERE t.NESTED = 'NO' AND t.SECONDARY = 'N' AND t.IOT_NAME IS NULL"
)
TABLES: Final = (
    f"{_TABLES} AND t.OWNER NOT IN"  # noqa: S608 - our own
    " (SELECT u.USERNAME FROM ALL_USERS u WHERE u.ORACLE_MAINTAINED = 'Y') ORDER BY t.OWNER, t.TABLE_NAME"
)
DATABASE: Final = "SELECT SUPPLEMENTAL_LOG_DATA_ALL FROM V$DATABASE"


def one_table(table: TableId) -> str:
    """Select one table, as `TABLES` does."""
    return f"{_TABLES} AND {_among([table], 't.OWNER', 't.TABLE_NAME')}"


def columns(tables: Collection[TableId]) -> str:
    """List the columns of tables, also those that the server made."""
    return (
        "SELECT c.OWNER, c.TABLE_NAME, c.COLUMN_NAME, c.INTERNAL_COLUMN_ID, c.DATA_TYPE, c.DATA_TYPE_OWNER,"  # noqa: S608 - literals
        " c.CHAR_LENGTH, c.DATA_LENGTH, c.DATA_PRECISION, c.DATA_SCALE, c.NULLABLE, c.VIRTUAL_COLUMN,"
        " c.HIDDEN_COLUMN, c.USER_GENERATED, c.DEFAULT_LENGTH FROM ALL_TAB_COLS c"
        f" WHERE {_among(tables, 'c.OWNER', 'c.TABLE_NAME')}"
        " ORDER BY c.OWNER, c.TABLE_NAME, c.INTERNAL_COLUMN_ID"
    )


def primary_keys(tables: Collection[TableId]) -> str:
    """List the columns of primary keys that hold for all rows."""
    return (
        "SELECT c.OWNER, c.TABLE_NAME, k.COLUMN_NAME FROM ALL_CONSTRAINTS c JOIN ALL_CONS_COLUMNS k"  # noqa: S608 - literals
        " ON k.OWNER = c.OWNER AND k.CONSTRAINT_NAME = c.CONSTRAINT_NAME AND k.TABLE_NAME = c.TABLE_NAME"
        " WHERE c.CONSTRAINT_TYPE = 'P' AND c.STATUS = 'ENABLED' AND c.VALIDATED = 'VALIDATED'"
        f" AND {_among(tables, 'c.OWNER', 'c.TABLE_NAME')}"
        " ORDER BY c.OWNER, c.TABLE_NAME, k.POSITION"
    )


def unique_indexes(tables: Collection[TableId]) -> str:
    """List the columns of unique indexes; an expression is a column that the server made."""
    return (
        "SELECT i.TABLE_OWNER, i.TABLE_NAME, i.OWNER, i.INDEX_NAME, x.COLUMN_NAME FROM ALL_INDEXES i"  # noqa: S608 - literals
        " JOIN ALL_IND_COLUMNS x ON x.INDEX_OWNER = i.OWNER AND x.INDEX_NAME = i.INDEX_NAME"
        " WHERE i.UNIQUENESS = 'UNIQUE' AND i.TABLE_TYPE = 'TABLE' AND i.STATUS <> 'UNUSABLE'"
        f" AND {_among(tables, 'i.TABLE_OWNER', 'i.TABLE_NAME')}"
        " ORDER BY i.TABLE_OWNER, i.TABLE_NAME, i.OWNER, i.INDEX_NAME, x.COLUMN_POSITION"
    )


def log_groups(tables: Collection[TableId]) -> str:
    """List the tables of which the log gets all columns."""
    return (
        "SELECT g.OWNER, g.TABLE_NAME FROM ALL_LOG_GROUPS g"  # noqa: S608 - literals
        " WHERE g.LOG_GROUP_TYPE = 'ALL COLUMN LOGGING'"
        f" AND {_among(tables, 'g.OWNER', 'g.TABLE_NAME')}"
    )


def partitions(tables: Collection[TableId]) -> str:
    """List the parts of tables, each with the number that the log has instead of the table's."""
    return (
        "SELECT o.OWNER, o.OBJECT_NAME, o.OBJECT_ID FROM ALL_OBJECTS o"  # noqa: S608 - literals
        " WHERE o.OBJECT_TYPE IN ('TABLE PARTITION', 'TABLE SUBPARTITION')"
        f" AND {_among(tables, 'o.OWNER', 'o.OBJECT_NAME')}"
    )


def _among(tables: Collection[TableId], owner: str, name: str) -> str:
    """Narrow a statement to tables; where there are many of an owner, to the owner."""
    by_owner: dict[str, list[str]] = defaultdict(list)
    for table in sorted(tables):
        by_owner[table.schema].append(table.name)
    ways = []
    for schema, names in by_owner.items():
        way = f"{owner} = {literal(schema)}"
        if len(names) <= SINGLY:
            way += f" AND {name} IN ({', '.join(map(literal, names))})"
        ways.append(f"({way})")
    return f"({' OR '.join(ways)})"
