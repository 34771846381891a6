"""XA transactions that were prepared before the first start: we wait until each has ended.

    log    … PREPARE a … | here we begin … XA COMMIT a … PREPARE b … | we continue … XA COMMIT b
                          a is open, b is not yet                     a has ended
                          '------------ we wait ---------------------'

The place of the rows of `a` is unknown.  So nothing is read before `a` has ended: then a SELECT shows all its
rows from here on, and its XA COMMIT is skipped.  `b` is in the log as a whole.
A transaction that does not end needs an operator.  Where the right to look is missing (MySQL:
XA_RECOVER_ADMIN), the XA COMMIT of an unknown transaction stops the stream instead (`mysql.xa_unknown`).
"""

import time
from collections.abc import Callable
from dataclasses import replace

import pymysql

from wrackline.producers.sources.mysql.connect.connect import query_dicts
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, MySqlServerFacts
from wrackline.producers.sources.mysql.events.events import Xid
from wrackline.producers.sources.mysql.log.position import MySqlPosition, PreparedXa
from wrackline.producers.sources.mysql.resume.log_opening import OpenConnection
from wrackline.producers.sources.mysql.transactions.xa_parts import XA_OPEN

_PATIENCE_S = 10.0
_BETWEEN_LOOKS_S = 0.05
NOT_SHOWN = 1401
_LOOKS = {Flavour.MYSQL: "XA RECOVER CONVERT XID", Flavour.MARIADB: "XA RECOVER"}


def wait_for_open_xa(
    connection: OpenConnection, facts: MySqlServerFacts, start: MySqlPosition, clock: Callable[[], float]
) -> MySqlPosition:
    """Return the place to begin at, when all transactions that were open there have ended."""
    look = _LOOKS[facts.flavour]
    before = _open(connection, look)
    end = clock() + _PATIENCE_S
    while left := before & _open(connection, look):
        if clock() > end:
            raise XA_OPEN(xids="; ".join(sorted(left)), look=look)
        time.sleep(_BETWEEN_LOOKS_S)
    return replace(start, prepared=dict.fromkeys(before, PreparedXa())) if before else start


def _open(connection: OpenConnection, look: str) -> set[str]:
    try:
        rows = query_dicts(connection, look)
    except pymysql.MySQLError as exc:
        if exc.args[:1] != (NOT_SHOWN,):
            raise
        return set()
    found = set()
    for row in rows:
        data, first = _bytes(row["data"]), int(row["gtrid_length"])
        found.add(str(Xid(int(row["formatID"]), data[:first], data[first:])))
    return found


def _bytes(data: bytes | str) -> bytes:
    """Read the bytes as MariaDB sends them, or as MySQL writes them: 0x6162."""
    return bytes.fromhex(data.removeprefix("0x")) if isinstance(data, str) else data
