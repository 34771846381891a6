"""MySQL's and MariaDB's numbers for types, as the log writes them (MYSQL_TYPE_* in the servers' sources)."""

from collections.abc import Container, Mapping

DECIMAL, TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP, LONGLONG, INT24, DATE, TIME, DATETIME, YEAR = (
    range(14)
)
NEWDATE, VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2 = range(14, 20)
BLOB_COMPRESSED, VARCHAR_COMPRESSED = 140, 141  # MariaDB's
VECTOR = 242  # MySQL's
JSON, NEWDECIMAL, ENUM, SET = 245, 246, 247, 248
BLOB, VAR_STRING, STRING, GEOMETRY = 252, 253, 254, 255

# Types with a sign; the log contains the sign only of these types, also of a year.
NUMBERS = frozenset({DECIMAL, TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24, YEAR, NEWDECIMAL})
# Types with a collation, 63 if they hold bytes; MariaDB includes its geometry.
CHARACTERS = frozenset({VARCHAR, VAR_STRING, STRING, BLOB, BLOB_COMPRESSED, VARCHAR_COMPRESSED, VECTOR})
LABELLED = frozenset({ENUM, SET})
AS_STRING = LABELLED | {VAR_STRING, STRING}  # the real types behind a STRING in the log
WITH_COLLATION = CHARACTERS - {VECTOR} | LABELLED  # useless without a collation

# Types whose cells begin with a length; the size of the length is beside the type.
LENGTHS = frozenset({BLOB, BLOB_COMPRESSED, GEOMETRY, JSON, VECTOR})
LAST_GEOMETRY = 7  # geometrycollection

# Values that are allowed beside a type, where not all are; cells are read and written by them.
METAS: Mapping[int, Container[int]] = {
    **dict.fromkeys(LENGTHS, range(1, 5)),
    **dict.fromkeys((TIME2, DATETIME2, TIMESTAMP2), range(7)),  # decimal places of a second
    FLOAT: (4,),
    DOUBLE: (8,),
    BIT: range(1, 65),
    NEWDECIMAL: range(1 << 8, 66 << 8),  # digits, and decimal places in the lower byte
    ENUM: (1, 2),
    SET: (1, 2, 3, 4, 8),
}

# How many bytes the log has beside a type's number; a type that is not listed is unknown.
META_BYTES = {
    **dict.fromkeys((DECIMAL, TINY, SHORT, LONG, NULL, TIMESTAMP, LONGLONG, INT24), 0),
    **dict.fromkeys((DATE, TIME, DATETIME, YEAR, NEWDATE), 0),
    **dict.fromkeys((FLOAT, DOUBLE, TIMESTAMP2, DATETIME2, TIME2), 1),
    **dict.fromkeys((BLOB, BLOB_COMPRESSED, GEOMETRY, JSON, VECTOR), 1),
    **dict.fromkeys((VARCHAR, VARCHAR_COMPRESSED, BIT, NEWDECIMAL, VAR_STRING, STRING), 2),
}
