"""Why a server does not send its log, or stopped sending it: its error becomes one of ours.  Pure.

Most errors have the number 1236, and only their words differ.  They name files, places and GTIDs, never a
row.  Unknown words are tried again, with a limit.
"""

from collections.abc import Mapping
from types import MappingProxyType

from wrackline.producers.sources.mysql.connect.server_errors import RIGHTS
from wrackline.schemas.error_table import first_match
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
    "the server no longer has the next part of its log: {reason}",
    hint="let it keep its log longer: SET GLOBAL binlog_expire_logs_seconds = 604800; and start over:"
    " wrackline offsets reset <pipeline.toml>",
)
LOG_ANOTHER = define(
    "mysql.log_another",
    Definite,
    "the server's log is not the one that was read so far: {reason}",
    hint="was it restored, reset, or did it lose its last transactions in a crash? If this server is the"
    " right one, start over: wrackline offsets reset <pipeline.toml>",
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
    "a file of the server's log ends in the middle of an event, as after a crash, and the server sends"
    " nothing that follows: {reason}",
    hint="start after it: wrackline offsets reset <pipeline.toml>, and the next start reads all rows",
)
SERVER_BEHIND = define(
    "mysql.server_behind",
    Transient,
    "the server does not have everything that was read so far: {reason}",
    hint="if it is a replica that lags behind, Wrackline waits for it; to see how far it is: SHOW REPLICA"
    " STATUS",
)
REPLICA_TWICE = define(
    "mysql.replica_twice",
    Transient,
    "another reader with our server id or UUID took over the stream: {reason}",
    hint="give each reader of this server an id of its own: database.server.id; to list the readers: SHOW"
    " REPLICAS, on MariaDB SHOW REPLICA HOSTS",
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
        "higher sequence numbers": LOG_ANOTHER,  # MariaDB: it continued without ours
        "which is not in the master's binlog": SERVER_BEHIND,
        "has more gtids": LOG_ANOTHER,  # with this very server's UUID: it has lost them
        "> file size": LOG_ANOTHER,
        "impossible position": LOG_ANOTHER,
        "truncated in the middle of event": LOG_TORN,
        "bogus data": LOG_ANOTHER,  # an event does not begin there
        "max_allowed_packet": PACKET_TOO_LARGE,
        "binary log is not open": LOG_MISSING,
        "server id was not set": LOG_MISSING,
        "misconfigured": LOG_MISSING,
    }
)


def log_refused(number: int, words: str, user: str) -> WracklineError:
    """Return what an error of the server means to the stream."""
    reason = " ".join(words.split())
    if number in RIGHTS:
        return LOG_RIGHT_MISSING(user=user, reason=reason)
    code = first_match(_WORDS, reason.lower()) if number == _FATAL else None
    return LOG_ENDED(reason=f"{reason} ({number})") if code is None else code(reason=reason)
