"""Where a server's log continues: compares the saved position with the server's log.

    nothing saved          from the log's end on
    the same server        the same place, after a check that it exists and means the same
    another server         by GTIDs, in an epoch of its own, because places there mean something else

| what the check shows | the error |
|---|---|
| another server and no GTIDs; a file of another beginning; transactions of ours that it lost | Definite |
| the file, or the transactions that come next, are purged | Definite |
| another server that lacks transactions of ours | Transient: we wait for a replica that is behind |
"""

from typing import Any, TypeAlias

from pymysql.connections import Connection

from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.mysql.connect.connect import query_dicts
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, MySqlServerFacts
from wrackline.producers.sources.mysql.events.gtids import AnyGtids, MariaDbGtids, MySqlGtids
from wrackline.producers.sources.mysql.log.dump import DumpReader, dump_after, dump_from
from wrackline.producers.sources.mysql.log.dump_refusals import (
    LOG_ANOTHER,
    LOG_MISSING,
    LOG_PURGED,
    SERVER_BEHIND,
)
from wrackline.producers.sources.mysql.log.log_cursor import position_elsewhere
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.producers.sources.mysql.log.position import (
    MySqlHistory,
    MySqlPosition,
    file_number,
    position_of,
)
from wrackline.producers.sources.mysql.resume.large_offsets import reachable_position
from wrackline.producers.sources.mysql.transactions.xa_parts import XaPart
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.untrusted import is_number

FIRST_EPOCH = 1
OpenConnection: TypeAlias = "Connection[Any]"
_EPOCH_ALONE = {"epoch"}

SERVER_CHANGED = define(
    "mysql.server_changed",
    Definite,
    "this is another server ({server}) than the one that was read so far, and without GTIDs on both, the"
    " position in its log is unknown",
    hint="connect to the previous server: database.hostname; or start over: wrackline offsets reset"
    " <pipeline.toml>; so that the next change of servers is harmless, beforehand: SET PERSIST gtid_mode ="
    " ON, step by step",
)


def start_position(connection: OpenConnection, facts: MySqlServerFacts, saved: Saved | None) -> MySqlPosition:
    """Return the place to continue from; a place in another server's log has no file yet."""
    if saved is None:
        return end_position(connection, facts, FIRST_EPOCH)
    if (epoch := fresh_epoch(saved)) is not None:
        return end_position(connection, facts, epoch)
    position = position_of(saved)
    history = position.history
    if history is not None and history.server == facts.identity:
        _look(connection, facts, position, history)
        return reachable_position(connection, position, history)
    there = position_elsewhere(position)
    if position.gtids is None or not facts.gtids or there is None:
        raise SERVER_CHANGED(server=facts.identity)
    _compare(connection, facts, position.gtids)
    return there


def fresh_epoch(saved: Saved) -> int | None:
    """Return the epoch of a position that has nothing else; None for a position that names a place."""
    epoch = saved.get("epoch")
    return epoch if saved.keys() == _EPOCH_ALONE and is_number(epoch) else None


def is_fresh(saved: Saved | None) -> bool:
    """Whether the log begins at its current end."""
    return saved is None or fresh_epoch(saved) is not None


def flow(connection: OpenConnection, reader: DumpReader, start: MySqlPosition) -> Packets:
    """Start the log from this position."""
    if start.history is None and start.gtids is not None:
        return dump_after(connection, reader, start.gtids)
    file = "" if start.history is None else start.history.file
    return dump_from(connection, reader, file, start.offset)


def flow_of_part(connection: OpenConnection, reader: DumpReader, part: XaPart) -> Packets:
    """Start the log where the rows of an XA transaction are, or a little before."""
    if part.behind is not None:
        return dump_after(connection, reader, part.behind)
    return dump_from(connection, reader, part.file, part.offset)


def end_position(connection: OpenConnection, facts: MySqlServerFacts, epoch: int) -> MySqlPosition:
    """Return the log's end; its set lacks what MySQL has logged before it but not executed yet."""
    gtids: AnyGtids | None = None
    if facts.gtids and not _is_mariadb(facts):
        gtids = _executed(connection)  # before the place, or the set could have later transactions
    shown = query_dicts(connection, facts.log_status)
    if not shown:
        raise LOG_MISSING(reason="log_bin is off")
    file, offset = str(shown[0]["File"]), int(shown[0]["Position"])
    if _is_mariadb(facts):
        [told] = query_dicts(connection, "SELECT BINLOG_GTID_POS(%s, %s) AS gtids", file, offset)
        gtids = MariaDbGtids.parse(str(told["gtids"] or ""))
    return MySqlPosition(
        epoch, file_number(file), offset, history=MySqlHistory(facts.identity, file, 0), gtids=gtids
    )


def _look(
    connection: OpenConnection, facts: MySqlServerFacts, position: MySqlPosition, history: MySqlHistory
) -> None:
    """Check that the place exists, and that the server still has what it had up to there."""
    files = {
        str(row["Log_name"]): int(row["File_size"]) for row in query_dicts(connection, "SHOW BINARY LOGS")
    }
    if history.file not in files:
        if files and file_number(min(files, key=file_number)) > position.file:
            raise LOG_PURGED(reason=f"{history.file} is gone")
        raise LOG_ANOTHER(reason=f"it has no {history.file}")
    if files[history.file] < position.offset:
        raise LOG_ANOTHER(reason=f"{history.file} ends before {position.offset}")
    owned = _owned(connection, facts)  # first: what ends meanwhile is executed by then
    missing = _missing(connection, facts, position.gtids)
    if missing and not (isinstance(missing, MySqlGtids) and owned.contains(missing)):
        raise LOG_ANOTHER(reason=f"it lacks transactions that were read: {missing}")


def _compare(connection: OpenConnection, facts: MySqlServerFacts, gtids: AnyGtids) -> None:
    """Check that another server has all that was read, and all that comes next."""
    if _is_mariadb(facts) != isinstance(gtids, MariaDbGtids):
        raise SERVER_CHANGED(server=facts.identity)
    missing = _missing(connection, facts, gtids)
    if missing:
        raise SERVER_BEHIND(reason=f"it lacks {missing}")
    if isinstance(gtids, MySqlGtids):
        [told] = query_dicts(connection, "SELECT @@global.gtid_purged AS purged")
        purged = gtids.missing(MySqlGtids.parse(str(told["purged"])))
        if purged:
            raise LOG_PURGED(reason=f"it purged {purged}")


def _missing(connection: OpenConnection, facts: MySqlServerFacts, gtids: AnyGtids | None) -> AnyGtids | None:
    """Return the transactions that were read and that the server lacks."""
    if isinstance(gtids, MySqlGtids) and facts.gtids and not _is_mariadb(facts):
        return _executed(connection).missing(gtids)
    if isinstance(gtids, MariaDbGtids) and _is_mariadb(facts):
        look = "SELECT @@global.gtid_binlog_pos AS logged, @@global.gtid_slave_pos AS applied"
        [told] = query_dicts(connection, look)
        unlogged = MariaDbGtids.parse(str(told["logged"])).missing(gtids)
        return MariaDbGtids.parse(str(told["applied"])).missing(unlogged)
    return None


def _executed(connection: OpenConnection) -> MySqlGtids:
    [told] = query_dicts(connection, "SELECT @@global.gtid_executed AS has")
    return MySqlGtids.parse(str(told["has"]))


def _owned(connection: OpenConnection, facts: MySqlServerFacts) -> MySqlGtids:
    """Return what is logged but not executed yet, perhaps for long: a session owns it until then."""
    if not facts.gtids or _is_mariadb(facts):
        return MySqlGtids()
    [told] = query_dicts(connection, "SELECT @@global.gtid_owned AS has")
    return MySqlGtids.owned(str(told["has"]))


def _is_mariadb(facts: MySqlServerFacts) -> bool:
    return facts.flavour is Flavour.MARIADB
