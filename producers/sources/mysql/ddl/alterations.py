"""What the clauses of an ALTER TABLE do to stored rows, to columns' names and to other tables.  Pure.

Neither server logs a row when an ALTER TABLE changes stored rows.  A clause that is known here leaves every
stored value as it was.  An unknown clause, or an unknown form of a clause, costs a read of the table (`keeps`
is False), because an unneeded read costs time, and a missing read leaves wrong rows.  A read does not show
rows that are gone: a clause that may remove rows says so (`loses`).
"""

from dataclasses import dataclass, field
from typing import Final

from wrackline.producers.sources.mysql.ddl.sql_tokens import TokenKind, TokenReader, UnreadableSql, keywords
from wrackline.schemas.tables.table import TableId

ORDINARY_ENGINES: Final = frozenset(
    {"INNODB", "MYISAM", "ARIA", "MEMORY", "HEAP", "ROCKSDB", "NDB", "NDBCLUSTER"}
)
"""Engines whose tables hold what was written into them, and nothing else."""

_TYPES: Final = keywords(
    """TINYINT SMALLINT MEDIUMINT INT INTEGER BIGINT INT1 INT2 INT3 INT4 INT8 MIDDLEINT UNSIGNED SIGNED
    ZEROFILL DECIMAL DEC NUMERIC FIXED NUMBER FLOAT FLOAT4 FLOAT8 DOUBLE PRECISION REAL BIT BOOL
    BOOLEAN DATE TIME DATETIME YEAR CHAR CHARACTER NCHAR NATIONAL VARYING VARCHAR VARCHAR2 NVARCHAR
    VARCHARACTER LONG TINYTEXT TEXT MEDIUMTEXT LONGTEXT CLOB RAW BINARY VARBINARY BYTE ASCII UNICODE
    TINYBLOB BLOB MEDIUMBLOB LONGBLOB ENUM SET JSON UUID INET4 INET6 XMLTYPE VECTOR GEOMETRY POINT
    LINESTRING POLYGON MULTIPOINT MULTILINESTRING MULTIPOLYGON GEOMETRYCOLLECTION GEOMCOLLECTION"""
)
_BARE: Final = keywords("NULL FIRST VISIBLE INVISIBLE COMPRESSED UNIQUE CHECK TIMESTAMP")
_WITH_VALUE: Final = keywords(
    """COMMENT COLLATE CHARSET AFTER COLUMN_FORMAT STORAGE SRID REF_SYSTEM_ID ENGINE_ATTRIBUTE
    SECONDARY_ENGINE_ATTRIBUTE"""
)
_INDEXES: Final = ("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK")
_OPTIONS: Final = keywords(
    """ALGORITHM LOCK COMMENT AUTO_INCREMENT AUTOEXTEND_SIZE AVG_ROW_LENGTH CHECKSUM TABLE_CHECKSUM CHARSET
    COLLATE COMPRESSION DELAY_KEY_WRITE ENCRYPTION ENCRYPTED ENCRYPTION_KEY_ID ENGINE_ATTRIBUTE
    INSERT_METHOD KEY_BLOCK_SIZE MAX_ROWS MIN_ROWS PACK_KEYS PAGE_CHECKSUM PAGE_COMPRESSED
    PAGE_COMPRESSION_LEVEL PASSWORD ROW_FORMAT SECONDARY_ENGINE SECONDARY_ENGINE_ATTRIBUTE
    STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES TABLESPACE TRANSACTIONAL"""
)
_PHRASES: Final = (
    ("FORCE",),
    ("NOWAIT",),
    ("ENABLE", "KEYS"),
    ("DISABLE", "KEYS"),
    ("WITH", "VALIDATION"),
    ("WITHOUT", "VALIDATION"),
    ("REMOVE", "PARTITIONING"),
    ("SECONDARY_LOAD",),
    ("SECONDARY_UNLOAD",),
)
_PARTITIONS_STAY: Final = ("ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "COALESCE", "REORGANIZE")


@dataclass(slots=True)
class Alteration:
    """What one ALTER TABLE does; the columns' new names all take effect at once."""

    keeps: bool = True  # it changes no stored value
    loses: bool = False  # rows may be gone, and no event shows it
    only_moves: bool = True  # the table itself does not change
    renamed: dict[str, str] = field(default_factory=dict)  # columns, from old to new name
    dropped: list[str] = field(default_factory=list)  # columns
    added: list[str] = field(default_factory=list)  # columns
    moved_to: TableId | None = None
    swapped: TableId | None = None  # EXCHANGE PARTITION: its rows change too
    new_table: TableId | None = None  # CONVERT PARTITION: from rows that were this table's
    old_table: TableId | None = None  # CONVERT TABLE: it is a partition from here on


def alteration(words: TokenReader) -> Alteration:
    """Read the clauses, up to the statement's end."""
    found = Alteration()
    while words.any_of("NOWAIT", "WAIT") == "WAIT":
        words.take()
    if words.next_is(*_PARTITIONS_STAY) and words.peek(1).word == "PARTITION":
        found.only_moves = False  # it is the only clause, and partitions' names follow
        return found
    while not words.ended:
        clause = words.within(words.clause())
        try:
            stays = _clause(clause, found) and clause.ended
        except UnreadableSql:
            stays = found.only_moves = False
        found.keeps = found.keeps and stays
    lower = {name.lower() for name in found.dropped}
    if any(name.lower() in lower for name in found.added):
        found.keeps = False  # one column's values are gone, and another has its name
    return found


def _clause(words: TokenReader, found: Alteration) -> bool:
    """Whether a clause keeps all stored values; its other effects are noted."""
    if words.got("RENAME"):
        return _renames(words, found)
    found.only_moves = False
    verb = words.peek().word
    if verb in _CLAUSES:
        return _CLAUSES[verb](words, found)
    return _options(words, found)


def _renames(words: TokenReader, found: Alteration) -> bool:
    if words.got("COLUMN"):
        found.only_moves = False
        words.got("IF", "EXISTS")
        old = words.name()
        words.need("TO")
        found.renamed[old] = words.name()
    elif words.any_of("INDEX", "KEY", "CONSTRAINT"):
        found.only_moves = False
        words.clause()
    else:
        if not words.any_of("TO", "AS"):
            words.mark("=")
        found.moved_to = words.table()
    return True


def _changes(words: TokenReader, found: Alteration) -> bool:
    words.need("CHANGE")
    words.got("COLUMN")
    words.got("IF", "EXISTS")
    old, new = words.name(), words.name()
    if old != new:
        found.renamed[old] = new
    return False  # the definition may be the old definition: nothing here proves it


def _drops(words: TokenReader, found: Alteration) -> bool:
    words.need("DROP")
    if words.next_is("PARTITION") or words.got("SYSTEM", "VERSIONING"):
        return _loses(words, found)  # its rows, or their history
    if words.got("PRIMARY", "KEY"):
        return False
    if words.got("PERIOD", "FOR"):
        words.take()
        return True
    constraint = words.any_of("INDEX", "KEY", "CONSTRAINT", "CHECK") or words.got("FOREIGN", "KEY")
    words.got("COLUMN")
    words.got("IF", "EXISTS")
    name = words.name()
    words.any_of("RESTRICT", "CASCADE")
    if not constraint:
        found.dropped.append(name)
    return not (constraint and name.upper() == "PRIMARY")


def _adds(words: TokenReader, found: Alteration) -> bool:
    words.need("ADD")
    if words.next_is("PARTITION") or words.got("PERIOD", "FOR"):
        words.clause()
        return True
    if words.got("SYSTEM", "VERSIONING") or words.next_is("PRIMARY"):
        return False
    vector = words.next_is("VECTOR") and words.peek(1).word in {"INDEX", "KEY"}
    if vector or words.next_is(*_INDEXES, "CONSTRAINT"):
        keeps = not (words.got("CONSTRAINT") and _names_primary_key(words))
        words.clause()
        return keeps
    words.got("COLUMN")
    words.got("IF", "NOT", "EXISTS")
    inside = words.brackets()
    if inside is None:
        return _column(words, found)
    keeps, several = True, words.within(inside)
    while not several.ended:
        one = several.within(several.clause())
        if one.next_is("PRIMARY", "CONSTRAINT"):
            keeps = False
        elif not one.next_is(*_INDEXES):
            keeps = _column(one, found) and keeps
    return keeps


def _names_primary_key(words: TokenReader) -> bool:
    words.got("IF", "NOT", "EXISTS")
    if not words.next_is("PRIMARY", *_INDEXES):
        words.name()
    return words.next_is("PRIMARY")


def _column(words: TokenReader, found: Alteration) -> bool:
    """Whether a new column is null in every older row."""
    found.added.append(words.name())
    timestamp = words.next_is("TIMESTAMP")  # not null by default, if the server is set so
    null = False
    while not words.ended:
        word = words.take().word
        if word == "NULL":
            null = True
        elif word == "CHARACTER" and words.got("SET"):
            words.mark("=")
            words.take()
        elif word in _TYPES or word in _BARE:
            if word == "UNIQUE":
                words.got("KEY")
            words.brackets()
        elif word in _WITH_VALUE:
            words.mark("=")
            words.take()
        elif word != "DEFAULT" or not words.got("NULL"):
            return False
    return null or not timestamp


def _alters(words: TokenReader, _found: Alteration) -> bool:
    """Read ALTER COLUMN, INDEX, CHECK, CONSTRAINT: defaults of new rows, visibility, checks."""
    words.need("ALTER")
    kind = words.any_of("COLUMN", "INDEX", "KEY", "CHECK", "CONSTRAINT")
    words.got("IF", "EXISTS")
    words.name()
    if kind in {"", "COLUMN"}:
        return words.got("DROP", "DEFAULT") or (words.got("SET") and bool(words.clause()))
    return bool(words.clause())


def _exchanges(words: TokenReader, found: Alteration) -> bool:
    words.need("EXCHANGE", "PARTITION")
    words.name()
    words.need("WITH", "TABLE")
    found.swapped = words.table()
    return _loses(words, found)


def _converts(words: TokenReader, found: Alteration) -> bool:
    words.need("CONVERT")
    if words.got("TABLE"):
        found.old_table = words.table()
    elif words.got("PARTITION"):
        words.name()
        words.need("TO", "TABLE")
        found.new_table = words.table()
        found.loses = True
    return False


def _loses(_words: TokenReader, found: Alteration) -> bool:
    """Read a clause that removes rows: DROP, TRUNCATE, REPAIR PARTITION, DISCARD, IMPORT TABLESPACE."""
    found.loses = True
    return False


def _options(words: TokenReader, found: Alteration) -> bool:
    """Whether all table options in this list are known to keep rows."""
    while not words.ended:
        if words.got("PARTITION", "BY") or words.got("ORDER", "BY"):
            words.clause()
        elif words.got("ENGINE"):
            words.mark("=")
            if words.take().text.upper() not in ORDINARY_ENGINES:
                found.loses = True
                return False
        elif any(words.got(*phrase) for phrase in _PHRASES):
            continue
        else:
            words.got("DEFAULT")
            directory = words.got("DATA", "DIRECTORY") or words.got("INDEX", "DIRECTORY")
            if not directory and not words.got("CHARACTER", "SET") and not words.any_of(*_OPTIONS):
                return False
            words.mark("=")
            if words.take().kind not in {TokenKind.WORD, TokenKind.NAME, TokenKind.TEXT}:
                return False
    return True


_CLAUSES: Final = {
    "ADD": _adds,
    "DROP": _drops,
    "CHANGE": _changes,
    "ALTER": _alters,
    "EXCHANGE": _exchanges,
    "CONVERT": _converts,
    "TRUNCATE": _loses,
    "REPAIR": _loses,
    "DISCARD": _loses,
    "IMPORT": _loses,
}
