"""A place behind 4 GB of a file, which is the end of a transaction that made the file so long.

    file 7:  A [GTID … 5 GB of rows … XID] Rotate          file 8:  B […
                                          ^ after A            ^ the same place, where a dump can begin

A dump is asked for by 32 bits.  But the server goes on in a new file once one is too long, so what stands
behind such a place is asked for; where no transaction begins there, the next file's beginning is the same
place.  One that was committed in a group with A may begin there, and could not be told.
"""

from dataclasses import replace
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.sources.mysql.connect import ask
from wrackline.producers.sources.mysql.dump import FIRST_EVENT
from wrackline.producers.sources.mysql.dump_refusals import LOG_ENDED
from wrackline.producers.sources.mysql.position import (
    MOST_OFFSET,
    PLACE_TOO_HIGH,
    History,
    MySqlPosition,
    file_number,
)

_NO_TRANSACTION = frozenset({"Rotate", "Stop", "Binlog_checkpoint"})
_SOME = 10  # events: more of these do not end a file


def reachable(connection: "Connection[Any]", position: MySqlPosition, history: History) -> MySqlPosition:
    """Return a place that means the same, and that a dump can begin at."""
    if position.offset <= MOST_OFFSET:
        return position
    behind = ask(
        connection, "SHOW BINLOG EVENTS IN %s FROM %s LIMIT %s", history.file, position.offset, _SOME
    )
    if any(row["Event_type"] not in _NO_TRANSACTION for row in behind):
        raise PLACE_TOO_HIGH(file=history.file, offset=position.offset)
    names = [str(row["Log_name"]) for row in ask(connection, "SHOW BINARY LOGS")]
    files = {file_number(name): name for name in names}
    later = [number for number in files if number > position.file]
    if not later:
        raise LOG_ENDED(reason=f"{history.file} is longer than 4 GB, and the next file has not begun")
    number = min(later)
    return replace(
        position, file=number, offset=FIRST_EVENT, history=History(history.server, files[number], 0)
    )
