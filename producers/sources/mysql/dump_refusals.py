"""Why a server does not send its log, or stopped doing so: its error's number becomes one of ours.  Pure.

Most have the number 1236, and only the words tell them apart.  They name files, places and GTIDs, never a
row.  Words that nobody here knows are tried again, with a limit.
"""

from collections.abc import Mapping
from types import MappingProxyType

from wrackline.producers.sources.mysql.server_errors import RIGHTS
from wrackline.schemas.errors import Definite, ErrorCode, OperatorNeeded, Transient, WracklineError, define

LOG_ENDED = define(
    "mysql.log_ended",
    Transient,
    "the server ended the stream of its log: {reason}",
    hint="see the server's error log; the stream is opened again at the last committed position",
)
LOG_PURGED = define(
    "mysql.log_purged",
    Definite,
    "the server no longer has the part of its log that comes next: {reason}",
    hint="let it keep its log longer: SET GLOBAL binlog_expire_logs_seconds = 604800; and begin anew:"
    " wrackline offsets reset <pipeline.toml>",
)
LOG_ANOTHER = define(
    "mysql.log_another",
    Definite,
    "the server's log is not the one that was read so far: {reason}",
    hint="was it restored, reset, or did it lose its last transactions in a crash? If this server is the"
    " right one, begin anew: wrackline offsets reset <pipeline.toml>",
)
LOG_OUT_OF_ORDER = define(
    "mysql.log_out_of_order",
    Definite,
    "{file} has an event before position {offset} that does not belong there: {reason}",
    hint="report it with the server's version: SELECT version(); and look at it:"
    " mysqlbinlog --base64-output=DECODE-ROWS -v --stop-position={offset} {file}",
)
LOG_TORN = define(
    "mysql.log_torn",
    Definite,
    "a file of the server's log ends within an event, as a crash leaves it, and the server sends nothing that"
    " stands behind: {reason}",
    hint="begin behind it: wrackline offsets reset <pipeline.toml>, and the next start reads all rows",
)
SERVER_BEHIND = define(
    "mysql.server_behind",
    Transient,
    "the server does not have all that was read so far: {reason}",
    hint="a replica that lags behind is waited for; see how far it is: SHOW REPLICA STATUS",
)
REPLICA_TWICE = define(
    "mysql.replica_twice",
    Transient,
    "another reader with our server id or UUID took the stream: {reason}",
    hint="give each reader of this server an id of its own: database.server.id; who reads: SHOW REPLICAS, on"
    " MariaDB SHOW REPLICA HOSTS",
)
PACKET_TOO_LARGE = define(
    "mysql.packet_too_large",
    OperatorNeeded,
    "the server can't send an event of its log: {reason}",
    hint="let larger ones through: SET GLOBAL max_allowed_packet = 1073741824",
)
LOG_MISSING = define(
    "mysql.log_missing",
    OperatorNeeded,
    "the server has no log that could be read: {reason}",
    hint="in the server's my.cnf, under [mysqld]: log_bin and a server_id above 0; then restart it",
)
LOG_RIGHT_MISSING = define(
    "mysql.log_right_missing",
    OperatorNeeded,
    "the user {user} may not read the server's log: {reason}",
    hint="GRANT REPLICATION SLAVE ON *.* TO {user}",
)

_FATAL = 1236
_WORDS: Mapping[str, ErrorCode] = MappingProxyType(
    {
        "same server_": REPLICA_TWICE,
        "purged": LOG_PURGED,
        "could not find first log file": LOG_PURGED,
        "could not find gtid state": LOG_PURGED,
        "higher sequence numbers": LOG_ANOTHER,  # MariaDB: it went on without ours
        "which is not in the master's binlog": SERVER_BEHIND,
        "has more gtids": LOG_ANOTHER,  # with this very server's UUID: it has lost them
        "> file size": LOG_ANOTHER,
        "impossible position": LOG_ANOTHER,
        "truncated in the middle of event": LOG_TORN,
        "bogus data": LOG_ANOTHER,  # no event begins there
        "max_allowed_packet": PACKET_TOO_LARGE,
        "binary log is not open": LOG_MISSING,
        "server id was not set": LOG_MISSING,
        "misconfigured": LOG_MISSING,
    }
)


def log_refused(number: int, words: str, user: str) -> WracklineError:
    """Return what an error of the server's means to the stream."""
    reason = " ".join(words.split())
    if number in RIGHTS:
        return LOG_RIGHT_MISSING(user=user, reason=reason)
    if number == _FATAL:
        for known, code in _WORDS.items():
            if known in reason.lower():
                return code(reason=reason)
    return LOG_ENDED(reason=f"{reason} ({number})")
