"""The kinds of a binlog's events, by number, and which of them we read, skip or refuse.  Pure.

Both databases number up to 42; from 160 on the numbers are MariaDB's own.  An unknown kind is skipped only if
the server has marked the event as ignorable: any other event may contain changes, and the GTID beside it
would say that we had them.
"""

QUERY = 2
STOP = 3
ROTATE = 4
INTVAR = 5
APPEND_BLOCK = 9
DELETE_FILE = 11
RAND = 13
USER_VAR = 14
FORMAT_DESCRIPTION = 15
XID = 16
BEGIN_LOAD_QUERY = 17
EXECUTE_LOAD_QUERY = 18
TABLE_MAP = 19
WRITE_ROWS_V1 = 23
UPDATE_ROWS_V1 = 24
DELETE_ROWS_V1 = 25
INCIDENT = 26
HEARTBEAT = 27
IGNORABLE = 28
ROWS_QUERY = 29
WRITE_ROWS_V2 = 30
UPDATE_ROWS_V2 = 31
DELETE_ROWS_V2 = 32
GTID = 33
ANONYMOUS_GTID = 34
PREVIOUS_GTIDS = 35
TRANSACTION_CONTEXT = 36
VIEW_CHANGE = 37
XA_PREPARE = 38
PARTIAL_UPDATE_ROWS = 39
TRANSACTION_PAYLOAD = 40
HEARTBEAT_V2 = 41
TAGGED_GTID = 42
ANNOTATE_ROWS = 160
BINLOG_CHECKPOINT = 161
MARIADB_GTID = 162
MARIADB_GTID_LIST = 163
START_ENCRYPTION = 164
QUERY_COMPRESSED = 165
WRITE_ROWS_COMPRESSED_V1 = 166
UPDATE_ROWS_COMPRESSED_V1 = 167
DELETE_ROWS_COMPRESSED_V1 = 168
WRITE_ROWS_COMPRESSED_V2 = 169
UPDATE_ROWS_COMPRESSED_V2 = 170
DELETE_ROWS_COMPRESSED_V2 = 171

ROWS = frozenset(
    {
        WRITE_ROWS_V1,
        UPDATE_ROWS_V1,
        DELETE_ROWS_V1,
        WRITE_ROWS_V2,
        UPDATE_ROWS_V2,
        DELETE_ROWS_V2,
        PARTIAL_UPDATE_ROWS,
    }
)
PACKED_ROWS = frozenset(range(WRITE_ROWS_COMPRESSED_V1, DELETE_ROWS_COMPRESSED_V2 + 1))
PACKED = frozenset({TRANSACTION_PAYLOAD, QUERY_COMPRESSED}) | PACKED_ROWS
"""What `packed_events.plain_events` turns into plain events."""

PASSED_BY = frozenset(
    {
        STOP,
        IGNORABLE,
        ROWS_QUERY,
        ANNOTATE_ROWS,
        BINLOG_CHECKPOINT,
        TRANSACTION_CONTEXT,
        VIEW_CHANGE,
        # events before a logged statement; the statement itself is the query event that follows
        INTVAR,
        RAND,
        USER_VAR,
        BEGIN_LOAD_QUERY,
        APPEND_BLOCK,
        DELETE_FILE,
    }
)
"""What changes no row and says nothing that we need."""

MAY_END = frozenset({QUERY, EXECUTE_LOAD_QUERY, QUERY_COMPRESSED, TRANSACTION_PAYLOAD})
"""What may be the last event of a transaction without saying so."""

CUT = ROWS | PACKED_ROWS | PASSED_BY
"""What may be larger than we hold: its head says whose rows it has, or that nothing in it is for us."""
