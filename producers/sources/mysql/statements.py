"""What a query event of the binlog does, from its text.  Pure.

    b"RENAME TABLE a TO b, c TO d", the session's database and spelling  ->  (Moved(a, b), Moved(c, d))

Both servers log a DDL as the statement that it was, at the place where it took effect, and say nothing of
shapes there, which the table maps tell.  So only the leading words are taken apart, and of an ALTER
TABLE its clauses.  A statement of no consequence gives no deed: what is about users, routines, views,
temporary tables, or is a database's default for tables that are made later.

What can't be read is `Doubtful`: the catalogue must be looked at.  It is never taken for nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from wrackline.producers.sources.mysql.alterations import ORDINARY_ENGINES, alteration
from wrackline.producers.sources.mysql.events import Xid
from wrackline.producers.sources.mysql.words import Kind, Piece, Spelling, Unreadable, Words, keywords
from wrackline.schemas.table import TableId


@dataclass(frozen=True, slots=True)
class Created:
    """A table is there from here on."""

    table: TableId
    complete: bool = True  # all its rows come through the log
    replaces: bool = False  # CREATE OR REPLACE: one of that name may have been there until now
    perhaps: bool = False  # IF NOT EXISTS: it may have been there, and is then as it was


@dataclass(frozen=True, slots=True)
class Dropped:
    """A table is not there from here on, whether it was before or not."""

    table: TableId


@dataclass(frozen=True, slots=True)
class Moved:
    """A table or view has another name from here on."""

    old: TableId
    new: TableId
    perhaps: bool = False  # IF EXISTS: there may have been none


@dataclass(frozen=True, slots=True)
class Emptied:
    """All rows of a table are gone, and none was logged."""

    table: TableId


@dataclass(frozen=True, slots=True)
class Altered:
    """A table was altered; `keeps`: every stored value is as it was; `loses`: rows may be gone.

    `renamed` are columns, from name to name, and all begin to hold at once.  A column that later takes the
    name of a `dropped` one is another column.
    """

    table: TableId
    keeps: bool
    renamed: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()
    loses: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseDropped:
    """A database is not there from here on, nor are its tables."""

    database: str


@dataclass(frozen=True, slots=True)
class Logged:
    """Rows were changed and the statement was logged in their place: nobody can say which rows."""

    verb: str


@dataclass(frozen=True, slots=True)
class Doubtful:
    """Nobody knows what this did; only the catalogue can show it."""


class Word(Enum):
    """What a statement says of the transaction that it stands in."""

    BEGIN = "BEGIN"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    SAVEPOINT = "SAVEPOINT"
    ROLLBACK_TO = "ROLLBACK TO"
    XA_START = "XA START"
    XA_END = "XA END"
    XA_PREPARE = "XA PREPARE"
    XA_COMMIT = "XA COMMIT"
    XA_ROLLBACK = "XA ROLLBACK"


@dataclass(frozen=True, slots=True)
class Control:
    """A word about the transaction, with the savepoint's name or the XA transaction's."""

    word: Word
    savepoint: str = ""
    xid: Xid | None = None


Deed: TypeAlias = (
    Created | Dropped | Moved | Emptied | Altered | DatabaseDropped | Logged | Doubtful | Control
)

_SERVERS_OWN: Final = frozenset({"mysql", "sys", "performance_schema", "information_schema"})
_COMMON: Final = MappingProxyType(
    {text: (Control(Word(text.decode())),) for text in (b"BEGIN", b"COMMIT", b"ROLLBACK")}
)
# What may stand before the table that a statement writes, and what may follow it if it is the only one.
_BEFORE_A_TABLE: Final = keywords(
    """LOW_PRIORITY DELAYED HIGH_PRIORITY QUICK IGNORE INTO FROM HISTORY DATA XML CONCURRENT LOCAL INFILE
    REPLACE TABLE"""
)
_AFTER_ONE_TABLE: Final = keywords(
    "SET VALUES VALUE SELECT WHERE LIMIT PARTITION CHARACTER FIELDS COLUMNS LINES"
)
_NOTHING: Final = keywords(
    """GRANT REVOKE SET FLUSH ANALYZE OPTIMIZE CHECK CHECKSUM INSTALL UNINSTALL LOCK UNLOCK USE SHOW KILL
    RESET PURGE CHANGE STOP BINLOG CACHE HELP EXPLAIN DESCRIBE DESC PREPARE DEALLOCATE RELEASE
    BACKUP RESTART SHUTDOWN CLONE GET SIGNAL RESIGNAL"""
)
_BESIDE_TABLES: Final = keywords(
    """VIEW PROCEDURE FUNCTION TRIGGER EVENT USER ROLE SERVER TABLESPACE LOGFILE UNDO SEQUENCE PACKAGE
    LIBRARY DEFINER ALGORITHM SQL AGGREGATE RESOURCE JSON INSTANCE CATALOG PREPARE"""
)


def deeds(text: bytes, database: str, spelling: Spelling) -> tuple[Deed, ...]:
    """Say what a statement does, in its order; nothing if it is of no consequence."""
    if (common := _COMMON.get(text)) is not None:
        return common
    try:
        words = Words(text.decode(spelling.encoding, "surrogateescape"), database, spelling)
        return () if words.ended else _of(words)
    except Unreadable:
        return (Doubtful(),)


def _of(words: Words) -> tuple[Deed, ...]:
    while words.mark("("):
        pass
    verb = words.take().word
    if verb in _READ:
        return _READ[verb](words)
    if verb in _WRITES:
        return () if _of_the_server(words, verb) else (Logged(verb),)
    return () if verb in _NOTHING else (Doubtful(),)


def _creates(words: Words) -> tuple[Deed, ...]:
    replaces = words.got("OR", "REPLACE")
    if words.got("TEMPORARY"):
        return ()
    if words.got("SPATIAL", "REFERENCE"):
        return ()
    if words.any_of("DATABASE", "SCHEMA"):
        return (DatabaseDropped(words.database()),) if replaces else ()
    external = words.got("EXTERNAL")
    if words.got("TABLE"):
        perhaps = words.got("IF", "NOT", "EXISTS")
        table = words.table()
        return (Created(table, not external and _complete(words), replaces, perhaps),)
    return _index(words) or _beside_tables(words)


def _complete(words: Words) -> bool:
    """Whether a new table is empty and has rows only from writers whom the log follows.

    `CREATE TABLE … SELECT` is logged so only by a session that logs statements.  Otherwise both servers log
    the table as it became and its rows behind it, in one transaction.
    """
    depth = 0
    while True:
        piece = words.take()
        if piece.kind is Kind.END:
            return True
        if piece.kind is Kind.MARK:
            depth += (piece.text == "(") - (piece.text == ")")
        if piece.word == "SELECT" or (not depth and piece.word in {"TABLE", "VALUES", "UNION", "CONNECTION"}):
            return False
        if not depth and piece.word == "ENGINE":
            words.mark("=")
            if words.take().text.upper() not in ORDINARY_ENGINES:
                return False


def _index(words: Words) -> tuple[Deed, ...]:
    """Read CREATE or DROP INDEX; the primary key's has its name."""
    while words.any_of("ONLINE", "OFFLINE", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"):
        pass
    if not words.got("INDEX"):
        return ()
    _ = words.got("IF", "NOT", "EXISTS") or words.got("IF", "EXISTS")
    name = words.name()
    if words.got("USING"):
        words.take()
    words.need("ON")
    return (Altered(words.table(), keeps=name.upper() != "PRIMARY"),)


def _beside_tables(words: Words) -> tuple[Deed, ...]:
    return () if words.next_is(*_BESIDE_TABLES) else (Doubtful(),)


def _drops(words: Words) -> tuple[Deed, ...]:
    if words.got("TEMPORARY"):
        return ()
    if words.any_of("DATABASE", "SCHEMA"):
        words.got("IF", "EXISTS")
        return (DatabaseDropped(words.database()),)
    if words.any_of("TABLE", "TABLES"):
        words.got("IF", "EXISTS")
        return tuple(Dropped(table) for table in _tables(words))
    if words.got("SPATIAL", "REFERENCE"):
        return ()
    return _index(words) or _beside_tables(words)


def _tables(words: Words) -> list[TableId]:
    tables = [words.table()]
    while words.mark(","):
        tables.append(words.table())
    return tables


def _alters(words: Words) -> tuple[Deed, ...]:
    ignores = False
    while how := words.any_of("ONLINE", "OFFLINE", "IGNORE"):
        ignores = ignores or how == "IGNORE"  # rows that a new unique index would refuse are deleted
    if words.any_of("DATABASE", "SCHEMA"):
        return (Doubtful(),) if any(piece.word == "UPGRADE" for piece in words.clause()) else ()
    if not words.got("TABLE"):
        return _beside_tables(words)
    words.got("IF", "EXISTS")
    return _alters_table(words, words.table(), ignores=ignores)


def _alters_table(words: Words, table: TableId, *, ignores: bool) -> tuple[Deed, ...]:
    try:
        found = alteration(words)
    except Unreadable:
        return (Altered(table, keeps=False), Doubtful())
    done: list[Deed] = []
    if not found.only_moves:
        keeps = found.keeps and not ignores
        loses = found.loses or ignores
        done.append(Altered(table, keeps, tuple(found.renamed.items()), tuple(found.dropped), loses))
    if found.swapped is not None:
        done.append(Altered(found.swapped, keeps=False, loses=True))
    if found.made is not None:
        done.append(Created(found.made, complete=False))
    if found.taken is not None:
        done.append(Dropped(found.taken))
    if found.moved_to is not None:
        done.append(Moved(table, found.moved_to))
    return tuple(done)


def _renames(words: Words) -> tuple[Deed, ...]:
    if words.got("USER"):
        return ()
    if not words.any_of("TABLE", "TABLES"):
        raise Unreadable
    perhaps = words.got("IF", "EXISTS")
    moved: list[Deed] = []
    while True:
        old = words.table()
        if words.any_of("NOWAIT", "WAIT") == "WAIT":
            words.take()
        words.need("TO")
        moved.append(Moved(old, words.table(), perhaps))
        if not words.mark(","):
            return tuple(moved)


def _truncates(words: Words) -> tuple[Deed, ...]:
    words.got("TABLE")
    return (Emptied(words.table()),)


def _repairs(words: Words) -> tuple[Deed, ...]:
    """Read REPAIR TABLE, which leaves out rows that it can't read."""
    words.any_of("NO_WRITE_TO_BINLOG", "LOCAL")
    if words.got("VIEW"):
        return ()
    if not words.any_of("TABLE", "TABLES"):
        raise Unreadable
    return tuple(Altered(table, keeps=False, loses=True) for table in _tables(words))


def _of_the_server(words: Words, verb: str) -> bool:
    """Whether a statement writes one table, and that is the server's own housekeeping."""
    if verb in {"CALL", "DO", "SELECT", "WITH", "VALUES", "TABLE", "EXECUTE"}:
        return False
    while words.any_of(*_BEFORE_A_TABLE) or words.peek().kind is Kind.TEXT:
        if words.peek().kind is Kind.TEXT:
            words.take()
    try:
        database = words.table().database
    except Unreadable:
        return False
    follows: Piece = words.peek()
    alone = (
        words.ended or follows.word in _AFTER_ONE_TABLE or follows == Piece(Kind.MARK, "(", follows.after_gap)
    )
    return alone and database.lower() in _SERVERS_OWN


def _controls(word: Word) -> Callable[[Words], tuple[Deed, ...]]:
    def read(words: Words) -> tuple[Deed, ...]:
        words.got("WORK")
        return (Control(word),) if words.ended else (Doubtful(),)

    return read


def _starts(words: Words) -> tuple[Deed, ...]:
    return (Control(Word.BEGIN),) if words.got("TRANSACTION") else ()  # else a replica, which is not logged


def _rolls_back(words: Words) -> tuple[Deed, ...]:
    words.got("WORK")
    if not words.got("TO"):
        return (Control(Word.ROLLBACK),) if words.ended else (Doubtful(),)
    words.got("SAVEPOINT")
    return (Control(Word.ROLLBACK_TO, words.name()),)


def _saves(words: Words) -> tuple[Deed, ...]:
    return (Control(Word.SAVEPOINT, words.name()),)


def _xa(words: Words) -> tuple[Deed, ...]:
    said = words.take().word
    word = _XA_WORDS.get(said)
    if word is None:
        raise Unreadable
    global_part = _bytes(words)
    branch = _bytes(words) if words.mark(",") else b""
    kind = _number(words) if words.mark(",") else 1
    return (Control(word, xid=Xid(kind, global_part, branch)),)


def _bytes(words: Words) -> bytes:
    """Take a part of an xid as both servers log it, X'61', or as somebody may write it, 'a'."""
    piece = words.take()
    hexadecimal = piece.word == "X" and words.peek().kind is Kind.TEXT and not words.peek().after_gap
    if not hexadecimal and piece.kind is not Kind.TEXT:
        raise Unreadable
    try:
        return (
            bytes.fromhex(words.take().text) if hexadecimal else piece.text.encode("utf-8", "surrogateescape")
        )
    except ValueError:
        raise Unreadable from None


def _number(words: Words) -> int:
    digits = words.take().text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise Unreadable
    return int(digits)


_XA_WORDS: Final = {
    "START": Word.XA_START,
    "BEGIN": Word.XA_START,
    "END": Word.XA_END,
    "PREPARE": Word.XA_PREPARE,
    "COMMIT": Word.XA_COMMIT,
    "ROLLBACK": Word.XA_ROLLBACK,
}
_WRITES: Final = keywords("INSERT UPDATE DELETE REPLACE LOAD CALL DO SELECT WITH VALUES TABLE EXECUTE")
_READ: Final = MappingProxyType(
    {
        "CREATE": _creates,
        "DROP": _drops,
        "ALTER": _alters,
        "RENAME": _renames,
        "TRUNCATE": _truncates,
        "REPAIR": _repairs,
        "BEGIN": _controls(Word.BEGIN),
        "COMMIT": _controls(Word.COMMIT),
        "START": _starts,
        "ROLLBACK": _rolls_back,
        "SAVEPOINT": _saves,
        "XA": _xa,
    }
)
