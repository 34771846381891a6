"""The rights of a pipeline's user: no more than it needs, and a proof of each.  Pure.

A view or a table that may not be read looks as if it did not exist.  So each is asked for no row of it, on a
session in the container where it is used; rights without an object are in SESSION_PRIVS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.producers.sources.oracle.check.facts_sql import END_MINING, no_delete, no_insert, nothing_of
from wrackline.producers.sources.oracle.connect.quoting import identifier, table_name
from wrackline.schemas.tables.table import TableId

MINED_VIEWS: Final = ("DATABASE", "THREAD", "LOG", "LOGFILE", "ARCHIVED_LOG", "LOGMNR_CONTENTS")
DESTINATIONS: Final = "ARCHIVE_DEST_STATUS"  # where archive.destination.name is set
OWN_VIEWS: Final = ("DATABASE", "INSTANCE", "TRANSACTION")  # in the container of the tables
LOOKED_AT: Final = ("SESSION",)
LOOKED_AT_ROOT: Final = ("RECOVERY_FILE_DEST",)
UNLIMITED: Final = "UNLIMITED TABLESPACE"  # or a quota, which the check adds under this name


@dataclass(frozen=True, slots=True)
class ContainerNames:
    """Which containers a statement is for."""

    database: str  # of the tables
    container: str | None = None  # the same, of a pluggable one

    @property
    def quoted(self) -> str:
        """The database's name in a statement."""
        return identifier(self.database)

    @property
    def in_root(self) -> str:
        """Continues "as SYSDBA"."""
        return "" if self.container is None else ", in CDB$ROOT"

    @property
    def in_own(self) -> str:
        """Continues "as SYSDBA"."""
        return "" if self.container is None else f", in {self.container}"

    @property
    def enter_root(self) -> str:
        """The statement before one that is for the root."""
        return "" if self.container is None else "ALTER SESSION SET CONTAINER = CDB$ROOT; "

    @property
    def enter_own(self) -> str:
        """The statement before one that is for the tables' container."""
        return "" if self.container is None else f"ALTER SESSION SET CONTAINER = {self.quoted}; "


@dataclass(frozen=True, slots=True)
class OracleRight:
    """One right: how it is proved, and the statement that gives it."""

    purpose: str  # continues "the user may not"
    statement: str
    in_root: bool
    privilege: str = ""  # its name in SESSION_PRIVS
    trial: str = ""  # or a statement that can't be run without it
    table: TableId | None = None
    needed: bool = True


def needed_rights(
    user: str, place: ContainerNames, *, creates_in: str | None, destinations: bool = False
) -> Iterator[OracleRight]:
    """Name what a pipeline needs beside the right to log in.

    `creates_in`: the user's tablespace, if the table with which the log is flushed is missing;
    `destinations`: logs of some destinations alone are read.
    """
    to = f"TO {identifier(user)};"
    root, own = place.enter_root, place.enter_own
    yield OracleRight(
        "read the log with LogMiner", f"{root}GRANT LOGMINING {to}", in_root=True, privilege="LOGMINING"
    )
    yield OracleRight(
        "run the package DBMS_LOGMNR",
        f"{root}GRANT EXECUTE ON SYS.DBMS_LOGMNR {to}",
        in_root=True,
        trial=END_MINING,
    )
    for view in (*MINED_VIEWS, *([DESTINATIONS] if destinations else [])):
        yield _view(view, user, place, in_root=True)
    for view in OWN_VIEWS:
        if place.container is not None or view not in MINED_VIEWS:
            yield _view(view, user, place, in_root=False)
    if creates_in is not None:
        table = "the table with which the log is flushed"
        yield OracleRight(
            f"create {table}", f"{own}GRANT CREATE TABLE {to}", in_root=False, privilege="CREATE TABLE"
        )
        yield OracleRight(
            f"store {table}",
            f"{own}ALTER USER {identifier(user)} QUOTA 10M ON {identifier(creates_in)};",
            in_root=False,
            privilege=UNLIMITED,
        )


def flush_rights(user: str, place: ContainerNames, table: TableId, *, missing: bool) -> Iterator[OracleRight]:
    """Name what is needed to flush the log with a table of another owner."""
    quoted = table_name(table)
    made = f"CREATE TABLE {quoted} (LAST_SCN NUMBER(19)); " if missing else ""
    for right, doing, trial in (
        ("INSERT", f"{made}GRANT", no_insert(quoted)),
        ("DELETE", "GRANT", no_delete(quoted)),
    ):
        yield OracleRight(
            f"{right} rows of {table}, with which the log is flushed",
            f"{place.enter_own}{doing} SELECT, {right} ON {quoted} TO {identifier(user)};",
            in_root=False,
            trial=trial,
        )


def looking_rights(user: str, place: ContainerNames) -> Iterator[OracleRight]:
    """Name what only a check looks at."""
    for view in LOOKED_AT:
        yield _view(view, user, place, in_root=False, needed=False)
    for view in LOOKED_AT_ROOT:
        yield _view(view, user, place, in_root=True, needed=False)


def table_rights(
    user: str, place: ContainerNames, tables: Sequence[TableId], scn: int
) -> Iterator[OracleRight]:
    """Name what the existing rows of tables need."""
    for table in tables:
        quoted = table_name(table)
        yield OracleRight(
            f"read {table} as it was at an SCN",
            f"{place.enter_own}GRANT SELECT, FLASHBACK ON {quoted} TO {identifier(user)};",
            in_root=False,
            trial=nothing_of(f"{quoted} AS OF SCN {scn}"),
            table=table,
        )


def _view(name: str, user: str, place: ContainerNames, *, in_root: bool, needed: bool = True) -> OracleRight:
    enter = place.enter_root if in_root else place.enter_own
    return OracleRight(
        f"read V${name}{place.in_root if in_root else place.in_own}",
        f"{enter}GRANT SELECT ON SYS.V_${name} TO {identifier(user)};",
        in_root=in_root,
        trial=nothing_of(f"V${name}"),
        needed=needed,
    )
