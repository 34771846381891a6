"""What a query event of the binlog does, from its text.  Pure.

    b"RENAME TABLE a TO b, c TO d", the session's database and spelling
        ->  (TableRenamed(a, b), TableRenamed(c, d))

Both servers log a DDL as its statement, at the place where it took effect, without shapes, which are in the
table maps.  So only the leading words are parsed, and the clauses of an ALTER TABLE.  A statement without
consequences gives no effect: it is about users, routines, views, temporary tables, or a database's default
for tables that are created later.

A statement that can't be read is `UnknownEffect`: the catalogue must be read.  It never counts as no effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from wrackline.producers.sources.mysql.ddl.alterations import ORDINARY_ENGINES, alteration
from wrackline.producers.sources.mysql.ddl.sql_tokens import (
    SqlSpelling,
    SqlToken,
    TokenKind,
    TokenReader,
    UnreadableSql,
    keywords,
)
from wrackline.producers.sources.mysql.events.events import Xid
from wrackline.schemas.tables.table import TableId


@dataclass(frozen=True, slots=True)
class TableCreated:
    """A table exists from here on."""

    table: TableId
    complete: bool = True  # all its rows come through the log
    replaces: bool = False  # CREATE OR REPLACE: a table of that name may have existed until now
    perhaps: bool = False  # IF NOT EXISTS: it may have existed, and is then unchanged


@dataclass(frozen=True, slots=True)
class TableDropped:
    """A table does not exist from here on, whether it existed before or not."""

    table: TableId


@dataclass(frozen=True, slots=True)
class TableRenamed:
    """A table or view has another name from here on."""

    old: TableId
    new: TableId
    perhaps: bool = False  # IF EXISTS: there may have been none


@dataclass(frozen=True, slots=True)
class TableEmptied:
    """All rows of a table are gone, without a logged row."""

    table: TableId


@dataclass(frozen=True, slots=True)
class TableAltered:
    """A table was altered; `keeps`: every stored value is unchanged; `loses`: rows may be gone.

    `renamed` are columns, from name to name, and all take effect at once.  A column that later takes the name
    of a `dropped` column is another column.
    """

    table: TableId
    keeps: bool
    renamed: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()
    loses: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseDropped:
    """A database and its tables do not exist from here on."""

    database: str


@dataclass(frozen=True, slots=True)
class StatementLogged:
    """Rows were changed, and the statement was logged instead of them: the rows are unknown."""

    verb: str


@dataclass(frozen=True, slots=True)
class UnknownEffect:
    """The effect is unknown; only the catalogue can show it."""


class ControlKind(Enum):
    """What a statement says about its transaction."""

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
class TransactionControl:
    """A statement about the transaction, with the name of the savepoint or the XA transaction."""

    word: ControlKind
    savepoint: str = ""
    xid: Xid | None = None


DdlEffect: TypeAlias = (
    TableCreated
    | TableDropped
    | TableRenamed
    | TableEmptied
    | TableAltered
    | DatabaseDropped
    | StatementLogged
    | UnknownEffect
    | TransactionControl
)

_SERVERS_OWN: Final = frozenset({"mysql", "sys", "performance_schema", "information_schema"})
_COMMON: Final = MappingProxyType(
    {text: (TransactionControl(ControlKind(text.decode())),) for text in (b"BEGIN", b"COMMIT", b"ROLLBACK")}
)
# Words that may come before the table that a statement writes, and that may follow it if it is the only one.
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


def common_effects(text: bytes) -> tuple[DdlEffect, ...] | None:
    """Return the effects of a statement that most transactions have; None for any other statement."""
    return _COMMON.get(text)


def effects(text: bytes, database: str, spelling: SqlSpelling) -> tuple[DdlEffect, ...]:
    """Return a statement's effects, in their order; empty if it has no consequences."""
    if (common := common_effects(text)) is not None:
        return common
    try:
        words = TokenReader(text.decode(spelling.encoding, "surrogateescape"), database, spelling)
        return () if words.ended else _effects_of(words)
    except UnreadableSql:
        return (UnknownEffect(),)


def _effects_of(words: TokenReader) -> tuple[DdlEffect, ...]:
    while words.mark("("):
        pass
    verb = words.take().word
    if verb in _READ:
        return _READ[verb](words)
    if verb in _WRITES:
        return () if _of_the_server(words, verb) else (StatementLogged(verb),)
    return () if verb in _NOTHING else (UnknownEffect(),)


def _creates(words: TokenReader) -> tuple[DdlEffect, ...]:
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
        return (TableCreated(table, not external and _complete(words), replaces, perhaps),)
    return _index(words) or _beside_tables(words)


def _complete(words: TokenReader) -> bool:
    """Whether a new table is empty and gets rows only from writes that are in the log.

    Only a session that logs statements logs `CREATE TABLE … SELECT` in this form.  Otherwise both servers log
    the new table and then its rows, in one transaction.
    """
    depth = 0
    while True:
        piece = words.take()
        if piece.kind is TokenKind.END:
            return True
        if piece.kind is TokenKind.MARK:
            depth += (piece.text == "(") - (piece.text == ")")
        if piece.word == "SELECT" or (not depth and piece.word in {"TABLE", "VALUES", "UNION", "CONNECTION"}):
            return False
        if not depth and piece.word == "ENGINE":
            words.mark("=")
            if words.take().text.upper() not in ORDINARY_ENGINES:
                return False


def _index(words: TokenReader) -> tuple[DdlEffect, ...]:
    """Read CREATE or DROP INDEX; the primary key's index is named PRIMARY."""
    while words.any_of("ONLINE", "OFFLINE", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"):
        pass
    if not words.got("INDEX"):
        return ()
    _ = words.got("IF", "NOT", "EXISTS") or words.got("IF", "EXISTS")
    name = words.name()
    if words.got("USING"):
        words.take()
    words.need("ON")
    return (TableAltered(words.table(), keeps=name.upper() != "PRIMARY"),)


def _beside_tables(words: TokenReader) -> tuple[DdlEffect, ...]:
    return () if words.next_is(*_BESIDE_TABLES) else (UnknownEffect(),)


def _drops(words: TokenReader) -> tuple[DdlEffect, ...]:
    if words.got("TEMPORARY"):
        return ()
    if words.any_of("DATABASE", "SCHEMA"):
        words.got("IF", "EXISTS")
        return (DatabaseDropped(words.database()),)
    if words.any_of("TABLE", "TABLES"):
        words.got("IF", "EXISTS")
        return tuple(TableDropped(table) for table in _tables(words))
    if words.got("SPATIAL", "REFERENCE"):
        return ()
    return _index(words) or _beside_tables(words)


def _tables(words: TokenReader) -> list[TableId]:
    tables = [words.table()]
    while words.mark(","):
        tables.append(words.table())
    return tables


def _alters(words: TokenReader) -> tuple[DdlEffect, ...]:
    ignores = False
    while how := words.any_of("ONLINE", "OFFLINE", "IGNORE"):
        ignores = ignores or how == "IGNORE"  # rows that a new unique index would refuse are deleted
    if words.any_of("DATABASE", "SCHEMA"):
        return (UnknownEffect(),) if any(piece.word == "UPGRADE" for piece in words.clause()) else ()
    if not words.got("TABLE"):
        return _beside_tables(words)
    words.got("IF", "EXISTS")
    return _alters_table(words, words.table(), ignores=ignores)


def _alters_table(words: TokenReader, table: TableId, *, ignores: bool) -> tuple[DdlEffect, ...]:
    try:
        found = alteration(words)
    except UnreadableSql:
        return (TableAltered(table, keeps=False), UnknownEffect())
    done: list[DdlEffect] = []
    if not found.only_moves:
        keeps = found.keeps and not ignores
        loses = found.loses or ignores
        done.append(TableAltered(table, keeps, tuple(found.renamed.items()), tuple(found.dropped), loses))
    if found.swapped is not None:
        done.append(TableAltered(found.swapped, keeps=False, loses=True))
    if found.new_table is not None:
        done.append(TableCreated(found.new_table, complete=False))
    if found.old_table is not None:
        done.append(TableDropped(found.old_table))
    if found.moved_to is not None:
        done.append(TableRenamed(table, found.moved_to))
    return tuple(done)


def _renames(words: TokenReader) -> tuple[DdlEffect, ...]:
    if words.got("USER"):
        return ()
    if not words.any_of("TABLE", "TABLES"):
        raise UnreadableSql
    perhaps = words.got("IF", "EXISTS")
    moved: list[DdlEffect] = []
    while True:
        old = words.table()
        if words.any_of("NOWAIT", "WAIT") == "WAIT":
            words.take()
        words.need("TO")
        moved.append(TableRenamed(old, words.table(), perhaps))
        if not words.mark(","):
            return tuple(moved)


def _truncates(words: TokenReader) -> tuple[DdlEffect, ...]:
    words.got("TABLE")
    return (TableEmptied(words.table()),)


def _repairs(words: TokenReader) -> tuple[DdlEffect, ...]:
    """Read REPAIR TABLE, which leaves out rows that it can't read."""
    words.any_of("NO_WRITE_TO_BINLOG", "LOCAL")
    if words.got("VIEW"):
        return ()
    if not words.any_of("TABLE", "TABLES"):
        raise UnreadableSql
    return tuple(TableAltered(table, keeps=False, loses=True) for table in _tables(words))


def _of_the_server(words: TokenReader, verb: str) -> bool:
    """Whether a statement writes only one table, and that table is one of the server's own."""
    if verb in {"CALL", "DO", "SELECT", "WITH", "VALUES", "TABLE", "EXECUTE"}:
        return False
    while words.any_of(*_BEFORE_A_TABLE) or words.peek().kind is TokenKind.TEXT:
        if words.peek().kind is TokenKind.TEXT:
            words.take()
    try:
        database = words.table().database
    except UnreadableSql:
        return False
    follows: SqlToken = words.peek()
    alone = (
        words.ended
        or follows.word in _AFTER_ONE_TABLE
        or follows == SqlToken(TokenKind.MARK, "(", follows.after_gap)
    )
    return alone and database.lower() in _SERVERS_OWN


def _controls(word: ControlKind) -> Callable[[TokenReader], tuple[DdlEffect, ...]]:
    def read(words: TokenReader) -> tuple[DdlEffect, ...]:
        words.got("WORK")
        return (TransactionControl(word),) if words.ended else (UnknownEffect(),)

    return read


def _starts(words: TokenReader) -> tuple[DdlEffect, ...]:
    return (
        (TransactionControl(ControlKind.BEGIN),) if words.got("TRANSACTION") else ()
    )  # otherwise START REPLICA, which is not logged


def _rolls_back(words: TokenReader) -> tuple[DdlEffect, ...]:
    words.got("WORK")
    if not words.got("TO"):
        return (TransactionControl(ControlKind.ROLLBACK),) if words.ended else (UnknownEffect(),)
    words.got("SAVEPOINT")
    return (TransactionControl(ControlKind.ROLLBACK_TO, words.name()),)


def _saves(words: TokenReader) -> tuple[DdlEffect, ...]:
    return (TransactionControl(ControlKind.SAVEPOINT, words.name()),)


def _xa(words: TokenReader) -> tuple[DdlEffect, ...]:
    said = words.take().word
    word = _XA_WORDS.get(said)
    if word is None:
        raise UnreadableSql
    global_part = _bytes(words)
    branch = _bytes(words) if words.mark(",") else b""
    kind = _number(words) if words.mark(",") else 1
    return (TransactionControl(word, xid=Xid(kind, global_part, branch)),)


def _bytes(words: TokenReader) -> bytes:
    """Take a part of an xid as both servers log it, X'61', or as a user may write it, 'a'."""
    piece = words.take()
    hexadecimal = piece.word == "X" and words.peek().kind is TokenKind.TEXT and not words.peek().after_gap
    if not hexadecimal and piece.kind is not TokenKind.TEXT:
        raise UnreadableSql
    try:
        return (
            bytes.fromhex(words.take().text) if hexadecimal else piece.text.encode("utf-8", "surrogateescape")
        )
    except ValueError:
        raise UnreadableSql from None


def _number(words: TokenReader) -> int:
    digits = words.take().text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise UnreadableSql
    return int(digits)


_XA_WORDS: Final = {
    "START": ControlKind.XA_START,
    "BEGIN": ControlKind.XA_START,
    "END": ControlKind.XA_END,
    "PREPARE": ControlKind.XA_PREPARE,
    "COMMIT": ControlKind.XA_COMMIT,
    "ROLLBACK": ControlKind.XA_ROLLBACK,
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
        "BEGIN": _controls(ControlKind.BEGIN),
        "COMMIT": _controls(ControlKind.COMMIT),
        "START": _starts,
        "ROLLBACK": _rolls_back,
        "SAVEPOINT": _saves,
        "XA": _xa,
    }
)
