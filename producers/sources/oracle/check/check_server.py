"""When the findings about a database, its log and its captured tables apply.

    what the database showed to our user  ->  findings

Pure: the statements that ask are `facts_sql`'s.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.sources.oracle.check import check_rules as rules
from wrackline.producers.sources.oracle.check.grants import ContainerNames, OracleRight
from wrackline.producers.sources.oracle.connect.quoting import table_name
from wrackline.producers.sources.oracle.discover.facts import OracleColumnFacts
from wrackline.producers.sources.oracle.discover.shapes import COLUMNS_UNLOGGED
from wrackline.producers.sources.oracle.discover.types import (
    KEY_NEEDED,
    finer_than_micros,
    read_again,
    type_text,
)
from wrackline.schemas.language.findings import Finding, fix
from wrackline.schemas.tables.table import TableId

OLDEST_VERSION: Final = 19
ROOT: Final = "CDB$ROOT"
DAY: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)
MOST_SWITCHES: Final = 12  # within an hour, of one thread
MOST_FULL: Final = 0.85
_RELEASE: Final = re.compile(r"\bRelease ([0-9]{1,3})\.", re.ASCII)
_MINUTES_OF_SWITCH: Final = 15  # what a log should last
_SET_ASIDE: Final = "the table is set aside with the first change that lacks the value"
_GIB: Final = 1 << 30
_MIB: Final = 1 << 20


class OracleDatabaseRow(NamedTuple):
    """A row of V$DATABASE, as one of our sessions sees it."""

    log_mode: str
    role: str
    open_mode: str
    cdb: str
    minimal: str  # SUPPLEMENTAL_LOG_DATA_MIN
    resetlogs: int
    scn: int
    container: str = ROOT  # of the session


@dataclass(frozen=True, slots=True)
class OracleDatabaseFacts:
    """The database, seen from where its log is mined and from where its tables are; None: not to be seen."""

    banner: str  # of V$VERSION
    root: OracleDatabaseRow | None
    own: OracleDatabaseRow | None
    threads: int  # of redo, open
    nodes: int  # that rac.nodes names, or the one of database.hostname
    archived_only: bool


class ArchivedRecord(NamedTuple):
    """A row of V$ARCHIVED_LOG: one copy of a log."""

    thread: int
    sequence: int
    first_scn: int
    begun: datetime
    ended: datetime
    is_there: bool


class OnlineRecord(NamedTuple):
    """A row of V$LOG."""

    thread: int
    sequence: int
    first_scn: int
    size: int


class OldestTransaction(NamedTuple):
    """The open transaction that began first; its session is unknown of one that is only prepared."""

    scn: int
    began: datetime
    session: str  # SID,SERIAL#
    user: str
    program: str


class RecoveryArea(NamedTuple):
    """A row of V$RECOVERY_FILE_DEST."""

    limit: int
    used: int
    reclaimable: int


def database_findings(facts: OracleDatabaseFacts, place: ContainerNames) -> Iterator[Finding]:
    """Report what the database itself lacks."""
    version = _RELEASE.search(facts.banner)
    if version is not None and int(version[1]) < OLDEST_VERSION:
        yield rules.VERSION_OLD(version=version[1])
    root, own = facts.root, facts.own
    if root is not None and root.cdb == "YES" and root.container != ROOT:
        yield rules.ROOT_UNNAMED(name=root.container)
    elif own is not None and place.container is None and own.cdb == "YES":
        yield rules.CONTAINER_UNNAMED()
    if own is not None and place.container is not None and not own.open_mode.startswith("READ"):
        yield rules.DATABASE_CLOSED(name=place.database, mode=own.open_mode, database=place.quoted)
    if root is not None:
        yield from _root_findings(facts, root, place)
    if facts.threads > max(facts.nodes, 1):
        yield rules.NODES_UNNAMED(open=facts.threads, named=facts.nodes)
    if facts.archived_only:
        yield rules.ARCHIVED_ONLY(in_root=place.in_root)


def _root_findings(
    facts: OracleDatabaseFacts, root: OracleDatabaseRow, place: ContainerNames
) -> Iterator[Finding]:
    if root.role != "PRIMARY":
        yield rules.NOT_PRIMARY(role=root.role)
    if root.log_mode != "ARCHIVELOG":
        yield rules.ARCHIVE_OFF()
    # local undo lets a pluggable database have it alone
    if all(row is None or row.minimal == "NO" for row in (root, facts.own)):
        yield rules.SUPPLEMENTAL_OFF(in_root=place.in_root)
    modes = (row.open_mode for row in (root, facts.own) if row is not None)
    mode = next((one for one in modes if one.startswith("READ ONLY")), "")
    if mode and not facts.archived_only:
        yield rules.UNWRITABLE(mode=mode)


def log_findings(
    archived: Sequence[ArchivedRecord], online: Sequence[OnlineRecord], now: datetime, place: ContainerNames
) -> Iterator[Finding]:
    """Report logs that are kept too short, and logs that are too small."""
    there = {(one.thread, one.sequence) for one in archived if one.is_there}
    gone = [one.ended for one in archived if (one.thread, one.sequence) not in there]
    if gone and now - max(gone) < DAY:
        yield rules.RETENTION_SHORT(minutes=_minutes(now - max(gone)))
    recent = {(one.thread, one.sequence) for one in archived if now - one.begun < HOUR}
    sizes: dict[int, int] = {}
    for one in online:
        sizes[one.thread] = min(one.size, sizes.get(one.thread, one.size))
    for thread, switches in sorted(Counter(thread for thread, _ in recent).items()):
        if switches > MOST_SWITCHES and (size := sizes.get(thread)):
            more = -(-size * switches * _MINUTES_OF_SWITCH // (60 * _MIB))
            yield rules.LOGS_SMALL(
                thread=thread, switches=switches, mib=size // _MIB, more=more, in_root=place.in_root
            )


def destination_findings(named: Sequence[str], valid: Sequence[str]) -> Iterator[Finding]:
    """Report names of destinations of which none is in use."""
    if named and not {name.upper() for name in named} & set(valid):
        yield rules.DESTINATIONS_UNUSED(named=", ".join(named), valid=", ".join(valid) or "none")


def oldest_scn(archived: Sequence[ArchivedRecord], online: Sequence[OnlineRecord]) -> int | None:
    """Return the first SCN of the oldest log that is kept."""
    first = [one.first_scn for one in archived if one.is_there] + [one.first_scn for one in online]
    return min(first, default=None)


def transaction_findings(
    oldest: OldestTransaction | None, kept_from: int | None, now: datetime, place: ContainerNames
) -> Iterator[Finding]:
    """Report an open transaction that keeps old redo needed."""
    if oldest is None:
        return
    names = {
        "session": oldest.session, "user": oldest.user, "program": oldest.program, "where": place.in_own
    }  # fmt: skip
    if kept_from is not None and oldest.scn < kept_from:
        yield rules.TRANSACTION_UNREACHED(None, scn=oldest.scn, oldest=kept_from, **names)
    elif now - oldest.began >= HOUR:
        yield rules.TRANSACTION_OLD(None, minutes=_minutes(now - oldest.began), began=oldest.began, **names)


def area_findings(area: RecoveryArea | None, place: ContainerNames) -> Iterator[Finding]:
    """Report a recovery area in which no log will have room."""
    if area is None or area.limit <= 0:
        return
    full = (area.used - area.reclaimable) / area.limit
    if full > MOST_FULL:
        gib = -(-area.limit // _GIB)
        more = gib + max(gib // 2, 1)
        yield rules.RECOVERY_AREA_FULL(percent=int(full * 100), gib=gib, more=more, in_root=place.in_root)


def right_findings(rights: Mapping[OracleRight, bool]) -> Iterator[Finding]:
    """Report each right that was not proved."""
    for right, proved in rights.items():
        if proved:
            continue
        if not right.needed:
            lacking = rules.UNSEEN
        else:
            lacking = rules.RIGHT_LACKS if right.table is None else rules.TABLE_RIGHT_LACKS
        yield lacking(right.table, purpose=right.purpose, statement=right.statement)


def unlogged_finding(table: TableId, place: ContainerNames) -> Finding:
    """Report a table whose log lacks columns."""
    quoted = table_name(table)
    added = f"{place.enter_own}ALTER TABLE {quoted} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;"
    undo = f"{place.enter_own}ALTER TABLE {quoted} DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS;"
    unlogged = COLUMNS_UNLOGGED(table=table, quoted=quoted)
    # it waits for open transactions, and the log grows
    way = fix(unlogged.code, added, "owner", undo=undo, safe=False)
    return error_finding(unlogged, table, impact="the table is not copied", fixes=(way,))


def column_findings(
    table: TableId, column: OracleColumnFacts, *, as_text: bool, keyed: bool
) -> Iterator[Finding]:
    """Report what is not copied of a column's values, or comes later; `keyed`: the table has a key."""
    kind, listed = type_text(column.type), f"{table}.{column.name}"
    if column.virtual:
        yield rules.VIRTUAL_LEFT_OUT(table, column.name)
    elif read_again(column.type):
        if keyed:
            yield rules.READ_AGAIN(table, column.name, type=kind, listed=listed)
        else:
            needed = KEY_NEEDED(column=column.name, table=table)
            yield error_finding(needed, table, column.name, impact=_SET_ASIDE)
    elif finer_than_micros(column.type) and not as_text:
        yield rules.PLACE_CUT(table, column.name, type=kind, listed=listed)


def _minutes(time: timedelta) -> int:
    return int(time.total_seconds() // 60)
