"""A place behind 4 GB of a file: the end of the transaction that made the file so long.

    file 7:  A [GTID … 5 GB of rows … XID] Rotate          file 8:  B […
                                          ^ after A            ^ the same place, where a dump can begin

The request for a dump has 32 bits.  But the server continues in a new file once a file is too long.  So the
events behind such a place are listed; if no transaction begins there, the next file's beginning is the same
place.  A transaction that was committed in a group with A may begin there, and is refused.
"""

from dataclasses import replace
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.sources.mysql.connect.connect import query_dicts
from wrackline.producers.sources.mysql.log.dump import FIRST_EVENT
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_ENDED
from wrackline.producers.sources.mysql.log.position import (
    MOST_OFFSET,
    PLACE_TOO_HIGH,
    MySqlHistory,
    MySqlPosition,
    file_number,
)

_NO_TRANSACTION = frozenset({"Rotate", "Stop", "Binlog_checkpoint"})
_SOME = 10  # events: more of these do not end a file


def reachable_position(
    connection: "Connection[Any]", position: MySqlPosition, history: MySqlHistory
) -> MySqlPosition:
    """Return an equivalent place, where a dump can begin."""
    if position.offset <= MOST_OFFSET:
        return position
    behind = query_dicts(
        connection, "SHOW BINLOG EVENTS IN %s FROM %s LIMIT %s", history.file, position.offset, _SOME
    )
    if any(row["Event_type"] not in _NO_TRANSACTION for row in behind):
        raise PLACE_TOO_HIGH(file=history.file, offset=position.offset)
    names = [str(row["Log_name"]) for row in query_dicts(connection, "SHOW BINARY LOGS")]
    files = {file_number(name): name for name in names}
    later = [number for number in files if number > position.file]
    if not later:
        raise LOG_ENDED(reason=f"{history.file} is longer than 4 GB, and the next file has not begun")
    number = min(later)
    return replace(
        position, file=number, offset=FIRST_EVENT, history=MySqlHistory(history.server, files[number], 0)
    )
