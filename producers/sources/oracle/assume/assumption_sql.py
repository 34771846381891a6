"""The statements that try the assumptions: a table of the probe's own, in the schema of our user.  Pure."""

from typing import Final

from wrackline.producers.sources.oracle.connect.quoting import identifier

PREFIX: Final = "WRACKLINE_P_"  # with a stamp no longer than LogMiner takes
USER: Final = "SELECT USERNAME FROM USER_USERS"
SERVER: Final = "SELECT BANNER FROM V$VERSION WHERE BANNER LIKE 'Oracle%'"
TABLES: Final = f"SELECT TABLE_NAME FROM USER_TABLES WHERE TABLE_NAME LIKE '{PREFIX}%'"  # noqa: S608 - our own text
SAVEPOINT: Final = "SAVEPOINT wrackline_probe"
ROLLBACK_TO: Final = "ROLLBACK TO SAVEPOINT wrackline_probe"


def own_table(stamp: str) -> str:
    """Name the table of a probe."""
    return PREFIX + stamp.replace("-", "_").upper()


def stamp_of(table: str) -> str:
    """Return the stamp in a table's name."""
    return table.removeprefix(PREFIX).replace("_", "-").lower()


def create(table: str) -> tuple[str, ...]:
    """Make the table, and let the log have all of its columns."""
    name = identifier(table)
    return (
        f"CREATE TABLE {name} (ID NUMBER(9) PRIMARY KEY, NOTE VARCHAR2(20))",
        f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )


def drop(table: str) -> str:
    """Drop it, and leave nothing in the recycle bin."""
    return f"DROP TABLE {identifier(table)} PURGE"


def insert(table: str, number: int) -> str:
    """Write a row."""
    return f"INSERT INTO {identifier(table)} (ID, NOTE) VALUES ({number}, 'wrackline')"  # noqa: S608 - quoted


def update(table: str, number: int) -> str:
    """Change a row."""
    return f"UPDATE {identifier(table)} SET NOTE = 'probe' WHERE ID = {number}"  # noqa: S608 - quoted


def delete(table: str, number: int) -> str:
    """Remove a row."""
    return f"DELETE FROM {identifier(table)} WHERE ID = {number}"  # noqa: S608 - quoted


def add_column(table: str) -> str:
    """Change the table's columns."""
    return f"ALTER TABLE {identifier(table)} ADD (LATER NUMBER(9))"


def count(table: str, scn: int) -> str:
    """Count the rows as they were at an SCN."""
    return f"SELECT COUNT(*) FROM {identifier(table)} AS OF SCN {scn}"  # noqa: S608 - quoted
