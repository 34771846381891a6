"""Where a server's log is gone on with: what was saved meets what the server has.

    nothing saved          from the log's end on
    the same server        the same place, after a look that it is there and means the same
    another server         by GTIDs, in an epoch of its own, for places there mean something else

| what the look shows | the error |
|---|---|
| another server and no GTIDs; a file of another beginning; transactions of ours that it lost | Definite |
| the file, or the transactions that come next, are purged | Definite |
| another server that lacks transactions of ours | Transient: a replica that is behind is waited for |
"""

from typing import Any, TypeAlias

from pymysql.connections import Connection

from wrackline.producers.changes import Saved
from wrackline.producers.sources.mysql.connect import ask
from wrackline.producers.sources.mysql.dump import Reader, dump_after, dump_from
from wrackline.producers.sources.mysql.dump_refusals import (
    LOG_ANOTHER,
    LOG_MISSING,
    LOG_PURGED,
    SERVER_BEHIND,
)
from wrackline.producers.sources.mysql.gtids import AnyGtids, MariaDbGtids, MySqlGtids
from wrackline.producers.sources.mysql.high_place import reachable
from wrackline.producers.sources.mysql.packets import Packets
from wrackline.producers.sources.mysql.place import elsewhere
from wrackline.producers.sources.mysql.position import History, MySqlPosition, file_number, position_of
from wrackline.producers.sources.mysql.prepared import Part
from wrackline.producers.sources.mysql.server_facts import Flavour, ServerFacts
from wrackline.schemas.errors import Definite, define

FIRST_EPOCH = 1
Asked: TypeAlias = "Connection[Any]"
_EPOCH_ALONE = {"epoch"}

SERVER_CHANGED = define(
    "mysql.server_changed",
    Definite,
    "this is another server ({server}) than the one that was read so far, and without GTIDs on both nobody"
    " can say where its log goes on",
    hint="connect to the server of before: database.hostname; or begin anew: wrackline offsets reset"
    " <pipeline.toml>; that the next change of servers is harmless, before that: SET PERSIST gtid_mode = ON,"
    " by its steps",
)


def start_of(connection: Asked, facts: ServerFacts, saved: Saved | None) -> MySqlPosition:
    """Return the place to go on from; one of another server's log has no file yet."""
    if saved is None:
        return now(connection, facts, FIRST_EPOCH)
    if (epoch := fresh_epoch(saved)) is not None:
        return now(connection, facts, epoch)
    position = position_of(saved)
    history = position.history
    if history is not None and history.server == facts.identity:
        _look(connection, facts, position, history)
        return reachable(connection, position, history)
    there = elsewhere(position)
    if position.gtids is None or not facts.gtids or there is None:
        raise SERVER_CHANGED(server=facts.identity)
    _compare(connection, facts, position.gtids)
    return there


def fresh_epoch(saved: Saved) -> int | None:
    """Return the epoch of a position that is nothing else; None for one that names a place."""
    epoch = saved.get("epoch")
    return epoch if saved.keys() == _EPOCH_ALONE and isinstance(epoch, int) else None


def is_fresh(saved: Saved | None) -> bool:
    """Whether the log is begun at wherever it ends."""
    return saved is None or fresh_epoch(saved) is not None


def flow(connection: Asked, reader: Reader, start: MySqlPosition) -> Packets:
    """Let the log flow from there."""
    if start.history is None and start.gtids is not None:
        return dump_after(connection, reader, start.gtids)
    file = "" if start.history is None else start.history.file
    return dump_from(connection, reader, file, start.offset)


def flow_of_part(connection: Asked, reader: Reader, part: Part) -> Packets:
    """Let the log flow from where the rows of an XA transaction are, or a little before."""
    if part.behind is not None:
        return dump_after(connection, reader, part.behind)
    return dump_from(connection, reader, part.file, part.offset)


def now(connection: Asked, facts: ServerFacts, epoch: int) -> MySqlPosition:
    """Return the log's end; what MySQL has logged before it and not executed yet, its set lacks."""
    gtids: AnyGtids | None = None
    if facts.gtids and not _is_mariadb(facts):
        gtids = _executed(connection)  # before the place, or it could name what lies behind
    shown = ask(connection, facts.log_status)
    if not shown:
        raise LOG_MISSING(reason="log_bin is off")
    file, offset = str(shown[0]["File"]), int(shown[0]["Position"])
    if _is_mariadb(facts):
        [told] = ask(connection, "SELECT BINLOG_GTID_POS(%s, %s) AS gtids", file, offset)
        gtids = MariaDbGtids.parse(str(told["gtids"] or ""))
    return MySqlPosition(
        epoch, file_number(file), offset, history=History(facts.identity, file, 0), gtids=gtids
    )


def _look(connection: Asked, facts: ServerFacts, position: MySqlPosition, history: History) -> None:
    """See that the place is there, and that the server still has what it had up to there."""
    files = {str(row["Log_name"]): int(row["File_size"]) for row in ask(connection, "SHOW BINARY LOGS")}
    if history.file not in files:
        if files and file_number(min(files, key=file_number)) > position.file:
            raise LOG_PURGED(reason=f"{history.file} is gone")
        raise LOG_ANOTHER(reason=f"it has no {history.file}")
    if files[history.file] < position.offset:
        raise LOG_ANOTHER(reason=f"{history.file} ends before {position.offset}")
    owned = _owned(connection, facts)  # first: what it has meanwhile it has executed by then
    missing = _missing(connection, facts, position.gtids)
    if missing and not (isinstance(missing, MySqlGtids) and owned.contains(missing)):
        raise LOG_ANOTHER(reason=f"it lacks transactions that were read: {missing}")


def _compare(connection: Asked, facts: ServerFacts, gtids: AnyGtids) -> None:
    """See that another server has all that was read, and all that comes next."""
    if _is_mariadb(facts) != isinstance(gtids, MariaDbGtids):
        raise SERVER_CHANGED(server=facts.identity)
    missing = _missing(connection, facts, gtids)
    if missing:
        raise SERVER_BEHIND(reason=f"it lacks {missing}")
    if isinstance(gtids, MySqlGtids):
        [told] = ask(connection, "SELECT @@global.gtid_purged AS purged")
        purged = gtids.missing(MySqlGtids.parse(str(told["purged"])))
        if purged:
            raise LOG_PURGED(reason=f"it purged {purged}")


def _missing(connection: Asked, facts: ServerFacts, gtids: AnyGtids | None) -> AnyGtids | None:
    """Return what was read and the server does not have."""
    if isinstance(gtids, MySqlGtids) and facts.gtids and not _is_mariadb(facts):
        return _executed(connection).missing(gtids)
    if isinstance(gtids, MariaDbGtids) and _is_mariadb(facts):
        look = "SELECT @@global.gtid_binlog_pos AS logged, @@global.gtid_slave_pos AS applied"
        [told] = ask(connection, look)
        unlogged = MariaDbGtids.parse(str(told["logged"])).missing(gtids)
        return MariaDbGtids.parse(str(told["applied"])).missing(unlogged)
    return None


def _executed(connection: Asked) -> MySqlGtids:
    [told] = ask(connection, "SELECT @@global.gtid_executed AS has")
    return MySqlGtids.parse(str(told["has"]))


def _owned(connection: Asked, facts: ServerFacts) -> MySqlGtids:
    """Return what is logged and not executed yet, and may stay so for long: a session owns it until then."""
    if not facts.gtids or _is_mariadb(facts):
        return MySqlGtids()
    [told] = ask(connection, "SELECT @@global.gtid_owned AS has")
    return MySqlGtids.owned(str(told["has"]))


def _is_mariadb(facts: ServerFacts) -> bool:
    return facts.flavour is Flavour.MARIADB
