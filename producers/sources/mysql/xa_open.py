"""XA transactions that were prepared before the first start: waited for, until each has ended.

    log    … PREPARE a … | here we begin … XA COMMIT a … PREPARE b … | we go on …… XA COMMIT b
                          a is open, b is not yet                     a has ended
                          '------------ waited for ------------------'

The rows of `a` stand where nobody can say.  So nothing is read before it has ended: then every row of it
is in what a SELECT shows from here on, and its XA COMMIT is passed over.  `b` is in the log as a whole.
One that does not end is an operator's.  Where the right to look is missing (MySQL: XA_RECOVER_ADMIN), the
XA COMMIT of one that is not known stops the stream instead (`mysql.xa_unknown`).
"""

import time
from collections.abc import Callable
from dataclasses import replace

import pymysql

from wrackline.producers.sources.mysql.connect import ask
from wrackline.producers.sources.mysql.events import Xid
from wrackline.producers.sources.mysql.opening import Asked
from wrackline.producers.sources.mysql.position import MySqlPosition, Prepared
from wrackline.producers.sources.mysql.prepared import XA_OPEN
from wrackline.producers.sources.mysql.server_facts import Flavour, ServerFacts

_PATIENCE_S = 10.0
_BETWEEN_LOOKS_S = 0.05
NOT_SHOWN = 1401
_LOOKS = {Flavour.MYSQL: "XA RECOVER CONVERT XID", Flavour.MARIADB: "XA RECOVER"}


def waited_for(
    connection: Asked, facts: ServerFacts, start: MySqlPosition, clock: Callable[[], float]
) -> MySqlPosition:
    """Return the place to begin at, when all that were open there have ended."""
    look = _LOOKS[facts.flavour]
    before = _open(connection, look)
    end = clock() + _PATIENCE_S
    while left := before & _open(connection, look):
        if clock() > end:
            raise XA_OPEN(xids="; ".join(sorted(left)), look=look)
        time.sleep(_BETWEEN_LOOKS_S)
    return replace(start, prepared=dict.fromkeys(before, Prepared())) if before else start


def _open(connection: Asked, look: str) -> set[str]:
    try:
        rows = ask(connection, look)
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
    """Read them as MariaDB tells them, or as MySQL writes them: 0x6162."""
    return bytes.fromhex(data.removeprefix("0x")) if isinstance(data, str) else data
