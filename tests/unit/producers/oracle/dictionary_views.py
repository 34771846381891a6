"""The views of a data dictionary that the catalogue asks, as tables of duckdb; sqlglot translates the SQL.

A view has the columns that are asked for, and a few that a wrong statement would miss.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import duckdb
import sqlglot

from wrackline.producers.sources.oracle.connect.driver import Binds, Fields
from wrackline.producers.sources.oracle.connect.session import NO_BINDS, OracleSession

NOW: Final = "2026-03-01 12:00:00"
OLD: Final = "2026-01-01 00:00:00"

_VIEWS: Final = {
    "ALL_USERS": "USERNAME VARCHAR, ORACLE_MAINTAINED VARCHAR DEFAULT 'N'",
    "ALL_TABLES": "OWNER VARCHAR DEFAULT 'SHOP', TABLE_NAME VARCHAR, NESTED VARCHAR DEFAULT 'NO',"
    " SECONDARY VARCHAR DEFAULT 'N', IOT_NAME VARCHAR, TEMPORARY VARCHAR DEFAULT 'N',"
    " PARTITIONED VARCHAR DEFAULT 'NO', NUM_ROWS BIGINT, AVG_ROW_LEN BIGINT",
    "ALL_OBJECTS": "OWNER VARCHAR DEFAULT 'SHOP', OBJECT_NAME VARCHAR, SUBOBJECT_NAME VARCHAR,"
    f" OBJECT_ID BIGINT, OBJECT_TYPE VARCHAR DEFAULT 'TABLE', LAST_DDL_TIME TIMESTAMP DEFAULT '{OLD}'",
    "ALL_EXTERNAL_TABLES": "OWNER VARCHAR DEFAULT 'SHOP', TABLE_NAME VARCHAR",
    "ALL_TAB_COLS": "OWNER VARCHAR DEFAULT 'SHOP', TABLE_NAME VARCHAR, COLUMN_NAME VARCHAR,"
    " INTERNAL_COLUMN_ID BIGINT, DATA_TYPE VARCHAR DEFAULT 'NUMBER', DATA_TYPE_OWNER VARCHAR,"
    " CHAR_LENGTH BIGINT DEFAULT 0, DATA_LENGTH BIGINT DEFAULT 22, DATA_PRECISION BIGINT, DATA_SCALE BIGINT,"
    " NULLABLE VARCHAR DEFAULT 'Y', VIRTUAL_COLUMN VARCHAR DEFAULT 'NO', HIDDEN_COLUMN VARCHAR DEFAULT 'NO',"
    " USER_GENERATED VARCHAR DEFAULT 'YES', DEFAULT_LENGTH BIGINT",
    "ALL_CONSTRAINTS": "OWNER VARCHAR DEFAULT 'SHOP', CONSTRAINT_NAME VARCHAR, TABLE_NAME VARCHAR,"
    " CONSTRAINT_TYPE VARCHAR DEFAULT 'P', STATUS VARCHAR DEFAULT 'ENABLED',"
    " VALIDATED VARCHAR DEFAULT 'VALIDATED'",
    "ALL_CONS_COLUMNS": "OWNER VARCHAR DEFAULT 'SHOP', CONSTRAINT_NAME VARCHAR, TABLE_NAME VARCHAR,"
    " COLUMN_NAME VARCHAR, POSITION BIGINT",
    "ALL_INDEXES": "OWNER VARCHAR DEFAULT 'SHOP', INDEX_NAME VARCHAR, TABLE_OWNER VARCHAR DEFAULT 'SHOP',"
    " TABLE_NAME VARCHAR, TABLE_TYPE VARCHAR DEFAULT 'TABLE', UNIQUENESS VARCHAR DEFAULT 'UNIQUE',"
    " STATUS VARCHAR DEFAULT 'VALID'",
    "ALL_IND_COLUMNS": "INDEX_OWNER VARCHAR DEFAULT 'SHOP', INDEX_NAME VARCHAR, COLUMN_NAME VARCHAR,"
    " COLUMN_POSITION BIGINT",
    "ALL_LOG_GROUPS": "OWNER VARCHAR DEFAULT 'SHOP', TABLE_NAME VARCHAR, LOG_GROUP_TYPE VARCHAR",
    "V$DATABASE": "SUPPLEMENTAL_LOG_DATA_ALL VARCHAR",
}


class DictionaryViews:
    """A session that answers from the views; `asked` has each statement."""

    def __init__(self) -> None:
        self._base = duckdb.connect()
        for name, columns in _VIEWS.items():
            self._base.execute(f'CREATE TABLE "{name}" ({columns})')
        self.asked: list[str] = []
        self.put("V$DATABASE", SUPPLEMENTAL_LOG_DATA_ALL="YES")
        for user in ("SYS", "SHOP"):
            self.put("ALL_USERS", USERNAME=user, ORACLE_MAINTAINED="Y" if user == "SYS" else "N")

    @property
    def session(self) -> OracleSession:
        """The views as a session."""
        return cast("OracleSession", self)

    def put(self, view: str, **values: str | int | None) -> None:
        """Add a row; what is not given has the view's default."""
        names, places = ", ".join(values), ", ".join("?" * len(values))
        self._base.execute(f'INSERT INTO "{view}" ({names}) VALUES ({places})', list(values.values()))

    def change(self, view: str, where: str, **values: str | int | None) -> None:
        """Change rows."""
        assigned = ", ".join(f"{name} = ?" for name in values)
        self._base.execute(f'UPDATE "{view}" SET {assigned} WHERE {where}', list(values.values()))

    def remove(self, view: str, where: str) -> None:
        """Remove rows."""
        self._base.execute(f'DELETE FROM "{view}" WHERE {where}')

    def table(self, name: str, number: int, **columns: Mapping[str, Any]) -> None:
        """Add a table of SHOP with these columns, in their order."""
        self.put("ALL_TABLES", TABLE_NAME=name)
        self.put("ALL_OBJECTS", OBJECT_NAME=name, OBJECT_ID=number)
        for place, (column, facts) in enumerate(columns.items(), 1):
            self.put("ALL_TAB_COLS", TABLE_NAME=name, COLUMN_NAME=column, INTERNAL_COLUMN_ID=place, **facts)

    def key(self, table: str, *columns: str) -> None:
        """Add a primary key."""
        self.put("ALL_CONSTRAINTS", CONSTRAINT_NAME=f"{table}_PK", TABLE_NAME=table)
        for place, column in enumerate(columns, 1):
            self.put(
                "ALL_CONS_COLUMNS",
                CONSTRAINT_NAME=f"{table}_PK",
                TABLE_NAME=table,
                COLUMN_NAME=column,
                POSITION=place,
            )

    def unique(self, table: str, name: str, *columns: str, **facts: str) -> None:
        """Add a unique index."""
        self.put("ALL_INDEXES", INDEX_NAME=name, TABLE_NAME=table, **facts)
        for place, column in enumerate(columns, 1):
            self.put("ALL_IND_COLUMNS", INDEX_NAME=name, COLUMN_NAME=column, COLUMN_POSITION=place)

    def ask(self, sql: str, doing: str, binds: Binds = NO_BINDS) -> list[Fields]:
        """Run a statement of the catalogue."""
        assert doing
        assert not binds
        self.asked.append(sql)
        parsed = sqlglot.parse_one(sql.replace("SYSDATE", f"CAST('{NOW}' AS TIMESTAMP)"), read="oracle")
        text = parsed.sql("duckdb", unsupported_level=sqlglot.ErrorLevel.IGNORE)
        return self._base.execute(text.replace("V$DATABASE", '"V$DATABASE"')).fetchall()
